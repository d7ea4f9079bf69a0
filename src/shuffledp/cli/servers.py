"""The servers of a collection: `shuffledp shuffler` and `shuffledp analyzer`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shuffledp.cli import options as given
from shuffledp.cli.options import RESULT, flag, option, whole_number
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from shuffledp.collect.server.run import Certificate


NETWORK = "Network"

Tasks = Annotated[list[Path], option("FILE", "A task to serve; may be repeated.", name="--task")]
Port = Annotated[int, option("NUMBER", "Port to listen on; 0 for any, which is logged.", parser=whole_number)]
Host = Annotated[str, option("ADDRESS", "Address to listen on; 0.0.0.0 for all interfaces.", panel=NETWORK)]
CertificateFile = Annotated[
    Path | None, option("FILE", "Certificate with its chain, for TLS without a proxy.", panel=NETWORK)
]
CertificateKey = Annotated[Path | None, option("FILE", "The private key of the certificate.", panel=NETWORK)]


def certificate_of(certificate: Path | None, key: Path | None) -> Certificate | None:
    """Return the certificate of the options; None behind a proxy that terminates TLS."""
    from shuffledp.collect.server.run import Certificate

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise ParameterError("--certificate and --certificate-key must be given together")
    return Certificate(certificate=certificate, key=key)


SHUFFLER_EXAMPLE = r"""
shuffledp shuffler --task theme.task.json --key shuffler.key \
--store reports.db --port 8001 --next HASH
""".strip()

_ADMISSION, _SHUFFLER_CHAIN = "Admission", "Previous and next server"


def shuffler(
    task: Tasks,
    key: Annotated[
        list[Path], option("FILE", "Private key of this shuffler for a task; may be repeated.", name="--key")
    ],
    store: Annotated[str, option("URL", "Store of reports: a file (SQLite), or postgresql://...")],
    port: Port,
    next: Annotated[
        list[str] | None,
        option("HASH", "SHA-256 of the token of the next server; may be repeated.", panel=_SHUFFLER_CHAIN),
    ] = None,
    upstream: Annotated[
        str | None,
        option("URL", "The previous shuffler, if not at its address in the task.", panel=_SHUFFLER_CHAIN),
    ] = None,
    token: Annotated[
        Path | None,
        option("FILE", "The token for the previous shuffler; only for later shufflers.", panel=_SHUFFLER_CHAIN),
    ] = None,
    admission_secret: Annotated[
        Path | None, option("FILE", "The secret of the task, if it requires one.", panel=_ADMISSION)
    ] = None,
    admission_hashes: Annotated[
        Path | None,
        option("FILE", "SHA-256 of the one-time tokens, one per line, if required.", panel=_ADMISSION),
    ] = None,
    page: Annotated[
        bool,
        flag("--page", "Serve the survey page at /.", panel=NETWORK),
    ] = False,
    host: Host = "127.0.0.1",
    workers: Annotated[int, option("NUMBER", "Processes that accept reports.", panel=NETWORK, parser=whole_number)] = 1,
    certificate: CertificateFile = None,
    certificate_key: CertificateKey = None,
    most_per_second: Annotated[
        float | None,
        option("NUMBER", "The most reports per second; default: no limit.", panel=NETWORK),
    ] = None,
) -> None:
    """Run a shuffler: accept reports, mix them in batches, and forward them.

    The key determines the position in the chain. The first shuffler accepts
    reports; a later one pulls batches from the previous one. A report is
    acknowledged after it is on disk, and incomplete batches are never
    forwarded. SIGTERM or Ctrl-C stops it gracefully. Logs are JSON lines on
    stderr without personal data.
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

_ANALYZER_CHAIN = "Previous server"


def analyzer(
    task: Tasks,
    store: Annotated[str, option("URL", "Store of tallies and releases: a file (SQLite), or postgresql://...")],
    port: Port,
    ledger: Annotated[Path, option("FILE", "The ledger; each task is entered once, before its first release.")],
    key: Annotated[
        list[Path] | None,
        option("FILE", "Private key of the analyzer for a task; may be repeated. Without it, old releases are shown."),
    ] = None,
    token: Annotated[Path | None, option("FILE", "The token for the last shuffler.")] = None,
    operator: Annotated[
        list[str] | None,
        option("HASH", "SHA-256 of a token to sign in to the console; may be repeated."),
    ] = None,
    upstream: Annotated[
        str | None, option("URL", "The last shuffler, if not at its address in the task.", panel=_ANALYZER_CHAIN)
    ] = None,
    answers: Annotated[
        list[Path] | None,
        option("FILE", "The list of answers of a task that links to it; may be repeated.", panel=RESULT),
    ] = None,
    join: Annotated[
        bool, flag("--join", "Each release counts all batches so far instead of one batch.", panel=RESULT)
    ] = False,
    block: given.Block = None,
    processes: Annotated[
        int | None,
        option("NUMBER", "Processes that decrypt messages; default: one per core.", parser=whole_number),
    ] = None,
    host: Host = "127.0.0.1",
    certificate: CertificateFile = None,
    certificate_key: CertificateKey = None,
) -> None:
    """Run an analyzer: pull batches from the last shuffler, count them, and publish histograms.

    Each batch is counted exactly once, also after a crash. Batches with too
    few messages are refused, because their noise is incomplete. Each task is
    entered in the ledger once, before its first release. The console at /
    shows the releases to everyone and, with --operator, the state of the
    servers to its operator. SIGTERM or Ctrl-C stops it gracefully. Logs are
    JSON lines on stderr without personal data.
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
        block=block,
    )
    read_settings().check()
    serve(partial(app_from, read_settings), port=port, host=host, certificate=tls)
