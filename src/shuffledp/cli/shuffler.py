"""`shuffledp shuffler`: takes or pulls, mixes, and hands on whole batches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shuffledp.cli.options import option, whole_number
from shuffledp.errors import ParameterError

EXAMPLE = "shuffledp shuffler --task a.json --key a.key --store a.db --port 0 --next HASH"

ADMISSION, NETWORK, CHAIN = "Who may send", "Network", "The hops before and after"


def shuffler(
    task: Annotated[list[Path], option("FILE", "A task to serve; may be repeated.", name="--task")],
    key: Annotated[list[Path], option("FILE", "This shuffler's private key of a task; may be repeated.", name="--key")],
    store: Annotated[str, option("URL", "Where reports wait: a file (SQLite), or postgresql://...")],
    port: Annotated[int, option("NUMBER", "Port to listen at; 0 is any, and is shown.", parser=whole_number)],
    next: Annotated[
        list[str] | None,
        option("HASH", "Hash of the token with which the next hop fetches batches; may be repeated.", panel=CHAIN),
    ] = None,
    upstream: Annotated[
        str | None, option("URL", "The shuffler before this one, if not at its address in the task.", panel=CHAIN)
    ] = None,
    token: Annotated[
        Path | None, option("FILE", "The token for the shuffler before this one; only for later ones.", panel=CHAIN)
    ] = None,
    admission_secret: Annotated[
        Path | None, option("FILE", "The secret that people send along, if the task asks for one.", panel=ADMISSION)
    ] = None,
    admission_hashes: Annotated[
        Path | None,
        option("FILE", "Hashes of one-time tokens, one per line, if the task asks for them.", panel=ADMISSION),
    ] = None,
    host: Annotated[str, option("ADDRESS", "Where to listen; 0.0.0.0 is everywhere.", panel=NETWORK)] = "127.0.0.1",
    workers: Annotated[int, option("NUMBER", "Processes that take reports.", panel=NETWORK, parser=whole_number)] = 1,
    certificate: Annotated[
        Path | None, option("FILE", "Certificate with its chain, for TLS without a proxy.", panel=NETWORK)
    ] = None,
    certificate_key: Annotated[
        Path | None, option("FILE", "The private key of the certificate.", panel=NETWORK)
    ] = None,
    most_per_second: Annotated[
        float | None,
        option("NUMBER", "Reports per second that are taken; as many as come unless given.", panel=NETWORK),
    ] = None,
) -> None:
    """Take people's reports, mix them in whole batches, and hand these to the next hop.

    The key decides which shuffler of the task this is. The first takes
    reports; a later one pulls batches from the one before it. A report is
    acknowledged when it is on the disk, and a batch that lacks people is
    never handed on. SIGTERM or Ctrl-C stops it in good order. Logs are
    lines of JSON on stderr, without anything about anybody.
    """
    from shuffledp.collection.service.serving import Certificate, serve
    from shuffledp.collection.shuffler.starting import Options

    if (certificate is None) != (certificate_key is None):
        raise ParameterError("--certificate and --certificate-key belong together: give both, or none behind a proxy")
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
    )
    options.check()
    tls = None
    if certificate is not None and certificate_key is not None:
        tls = Certificate(certificate=certificate, key=certificate_key)
    serve(options.app, port=port, host=host, workers=workers, certificate=tls)
