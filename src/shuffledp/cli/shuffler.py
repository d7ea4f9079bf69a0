"""`shuffledp shuffler`: takes or pulls, mixes, and hands on whole batches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shuffledp.cli import serving
from shuffledp.cli.options import flag, option, whole_number

EXAMPLE = r"""
shuffledp shuffler --task theme.task.json --key shuffler.key \
--store reports.db --port 8001 --next HASH
""".strip()

_ADMISSION, _CHAIN = "Who may send", "The hops before and after"


def shuffler(
    task: serving.Tasks,
    key: Annotated[list[Path], option("FILE", "This shuffler's private key of a task; may be repeated.", name="--key")],
    store: Annotated[str, option("URL", "Where reports wait: a file (SQLite), or postgresql://...")],
    port: serving.Port,
    next: Annotated[
        list[str] | None,
        option("HASH", "Hash of the token with which the next hop fetches batches; may be repeated.", panel=_CHAIN),
    ] = None,
    upstream: Annotated[
        str | None, option("URL", "The shuffler before this one, if not at its address in the task.", panel=_CHAIN)
    ] = None,
    token: Annotated[
        Path | None, option("FILE", "The token for the shuffler before this one; only for later ones.", panel=_CHAIN)
    ] = None,
    admission_secret: Annotated[
        Path | None, option("FILE", "The secret that people send along, if the task asks for one.", panel=_ADMISSION)
    ] = None,
    admission_hashes: Annotated[
        Path | None,
        option("FILE", "Hashes of one-time tokens, one per line, if the task asks for them.", panel=_ADMISSION),
    ] = None,
    page: Annotated[
        bool,
        flag("--page", "Serve a page, at /, that asks people in their browsers.", panel=serving.NETWORK),
    ] = False,
    host: serving.Host = "127.0.0.1",
    workers: Annotated[
        int, option("NUMBER", "Processes that take reports.", panel=serving.NETWORK, parser=whole_number)
    ] = 1,
    certificate: serving.CertificateFile = None,
    certificate_key: serving.CertificateKey = None,
    most_per_second: Annotated[
        float | None,
        option("NUMBER", "Reports per second that are taken; as many as come unless given.", panel=serving.NETWORK),
    ] = None,
) -> None:
    """Take people's reports, mix them in whole batches, and hand these to the next hop.

    The key decides which shuffler of the task this is. The first takes
    reports; a later one pulls batches from the one before it. A report is
    acknowledged when it is on the disk, and a batch that lacks people is
    never handed on. SIGTERM or Ctrl-C stops it in good order. Logs are
    lines of JSON on stderr, without anything about anybody.
    """
    from shuffledp.collection.service.serving import serve
    from shuffledp.collection.shuffler.starting import Options

    tls = serving.certificate_of(certificate, certificate_key)
    options = Options(
        tasks=task,
        keys=key,
        store=store,
        next_hashes=next or (),
        upstream=upstream,
        token=token,
        admission_secret=admission_secret,
        admission_hashes=admission_hashes,
        workers=workers,
        most_per_second=most_per_second,
        page=page,
    )
    options.check()
    serve(options.app, port=port, host=host, workers=workers, certificate=tls)
