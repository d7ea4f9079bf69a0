"""The options that both servers have, `shuffledp shuffler` and `shuffledp analyzer`, each said once.

`shuffledp shuffler`: takes or pulls, mixes, and hands on whole batches.

`shuffledp analyzer`: pulls whole batches, counts them, and publishes what the ledger allows.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shuffledp.cli.options import RESULT, flag, option, whole_number
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from shuffledp.collect.server.run import Certificate


NETWORK = "Network"

Tasks = Annotated[list[Path], option("FILE", "A task to serve; may be repeated.", name="--task")]
Port = Annotated[int, option("NUMBER", "Port to listen at; 0 is any, and is shown.", parser=whole_number)]
Host = Annotated[str, option("ADDRESS", "Where to listen; 0.0.0.0 is everywhere.", panel=NETWORK)]
CertificateFile = Annotated[
    Path | None, option("FILE", "Certificate with its chain, for TLS without a proxy.", panel=NETWORK)
]
CertificateKey = Annotated[Path | None, option("FILE", "The private key of the certificate.", panel=NETWORK)]


def certificate_of(certificate: Path | None, key: Path | None) -> Certificate | None:
    """The certificate that the options name; none behind a proxy that has one."""
    from shuffledp.collect.server.run import Certificate

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise ParameterError("--certificate and --certificate-key belong together: give both, or none behind a proxy")
    return Certificate(certificate=certificate, key=key)


SHUFFLER_EXAMPLE = r"""
shuffledp shuffler --task theme.task.json --key shuffler.key \
--store reports.db --port 8001 --next HASH
""".strip()

_ADMISSION, _SHUFFLER_CHAIN = "Who may send", "The hops before and after"


def shuffler(
    task: Tasks,
    key: Annotated[list[Path], option("FILE", "This shuffler's private key of a task; may be repeated.", name="--key")],
    store: Annotated[str, option("URL", "Where reports wait: a file (SQLite), or postgresql://...")],
    port: Port,
    next: Annotated[
        list[str] | None,
        option(
            "HASH", "Hash of the token with which the next hop fetches batches; may be repeated.", panel=_SHUFFLER_CHAIN
        ),
    ] = None,
    upstream: Annotated[
        str | None,
        option("URL", "The shuffler before this one, if not at its address in the task.", panel=_SHUFFLER_CHAIN),
    ] = None,
    token: Annotated[
        Path | None,
        option("FILE", "The token for the shuffler before this one; only for later ones.", panel=_SHUFFLER_CHAIN),
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
        flag("--page", "Serve a page, at /, that asks people in their browsers.", panel=NETWORK),
    ] = False,
    host: Host = "127.0.0.1",
    workers: Annotated[int, option("NUMBER", "Processes that take reports.", panel=NETWORK, parser=whole_number)] = 1,
    certificate: CertificateFile = None,
    certificate_key: CertificateKey = None,
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
    from shuffledp.collect.server.run import serve
    from shuffledp.collect.shuffler.app import app_from
    from shuffledp.collect.shuffler.settings import Settings

    tls = certificate_of(certificate, certificate_key)
    read_settings = partial(
        Settings.read,
        task=task,
        key=key,
        store=store,
        next=next or (),
        upstream=upstream,
        token=token,
        admission_secret=admission_secret,
        admission_hashes=admission_hashes,
        workers=workers,
        most_per_second=most_per_second,
        page=page,
    )
    read_settings().check()
    serve(partial(app_from, read_settings), port=port, host=host, workers=workers, certificate=tls)


ANALYZER_EXAMPLE = r"""
shuffledp analyzer --task theme.task.json --key analyzer.key \
--store tallies.db --port 8002 --token analyzer.token --ledger budget.ledger
""".strip()

_ANALYZER_CHAIN = "The shuffler before"


def analyzer(
    task: Tasks,
    store: Annotated[str, option("URL", "Where tallies and releases are kept: a file (SQLite), or postgresql://...")],
    port: Port,
    ledger: Annotated[Path, option("FILE", "The ledger that each task is entered in before its first release.")],
    key: Annotated[
        list[Path] | None,
        option("FILE", "The analyzer's private key of a task; may be repeated. Without one releases are only shown."),
    ] = None,
    token: Annotated[Path | None, option("FILE", "The token that the last shuffler knows the hash of.")] = None,
    operator: Annotated[
        list[str] | None,
        option("HASH", "Hash of a token with which the operator signs in to the console; may be repeated."),
    ] = None,
    upstream: Annotated[
        str | None, option("URL", "The last shuffler, if not at its address in the task.", panel=_ANALYZER_CHAIN)
    ] = None,
    answers: Annotated[
        list[Path] | None,
        option("FILE", "The list of answers of a task that keeps it elsewhere; may be repeated.", panel=RESULT),
    ] = None,
    join: Annotated[
        bool, flag("--join", "Each release counts all batches so far, not every batch by itself.", panel=RESULT)
    ] = False,
    processes: Annotated[
        int | None,
        option("NUMBER", "Processes that open messages; one for each core unless given.", parser=whole_number),
    ] = None,
    host: Host = "127.0.0.1",
    certificate: CertificateFile = None,
    certificate_key: CertificateKey = None,
) -> None:
    """Fetch whole batches from the last shuffler, count them, and publish histograms with their guarantee.

    A batch counts once, whatever is interrupted. One with too few messages
    is refused, since noise is missing. Each task is entered in the ledger
    once, before its first release can be seen. Its console is at /: the
    releases for everybody and, with --operator, what goes on for whoever
    has the token. SIGTERM or Ctrl-C stops it in good order. Logs are lines
    of JSON on stderr, without anything about anybody.
    """
    from shuffledp.collect.analyzer.app import app_from
    from shuffledp.collect.analyzer.settings import Settings
    from shuffledp.collect.server.run import serve

    tls = certificate_of(certificate, certificate_key)
    read_settings = partial(
        Settings.read,
        task=task,
        key=key or (),
        store=store,
        ledger=ledger,
        token=token,
        upstream=upstream,
        answers=answers or (),
        join=join,
        processes=processes,
        operator=operator or (),
    )
    read_settings().check()
    serve(partial(app_from, read_settings), port=port, host=host, certificate=tls)
