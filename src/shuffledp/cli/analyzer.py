"""`shuffledp analyzer`: pulls whole batches, counts them, and publishes what the ledger allows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shuffledp.cli.options import flag, option, whole_number
from shuffledp.errors import ParameterError

EXAMPLE = "shuffledp analyzer --task theme.json --key own.key --store own.db --port 8002"

NETWORK, CHAIN, RESULT = "Network", "The shuffler before", "Result"


def analyzer(
    task: Annotated[list[Path], option("FILE", "A task to serve; may be repeated.", name="--task")],
    key: Annotated[list[Path], option("FILE", "The analyzer's private key of a task; may be repeated.", name="--key")],
    store: Annotated[str, option("URL", "Where tallies and releases are kept: a file (SQLite), or postgresql://...")],
    port: Annotated[int, option("NUMBER", "Port to listen at; 0 is any, and is shown.", parser=whole_number)],
    ledger: Annotated[Path, option("FILE", "The ledger that each task is entered in before its first release.")],
    token: Annotated[Path, option("FILE", "The token that the last shuffler knows the hash of.")],
    upstream: Annotated[
        str | None, option("URL", "The last shuffler, if not at its address in the task.", panel=CHAIN)
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
    host: Annotated[str, option("ADDRESS", "Where to listen; 0.0.0.0 is everywhere.", panel=NETWORK)] = "127.0.0.1",
    certificate: Annotated[
        Path | None, option("FILE", "Certificate with its chain, for TLS without a proxy.", panel=NETWORK)
    ] = None,
    certificate_key: Annotated[
        Path | None, option("FILE", "The private key of the certificate.", panel=NETWORK)
    ] = None,
) -> None:
    """Fetch whole batches from the last shuffler, count them, and publish histograms with their guarantee.

    A batch counts once, whatever is interrupted. One with too few messages is refused, since noise is missing. Each
    task is entered in the ledger once, before its first release can be seen. Releases are at /v1/tasks/ID/releases, as
    JSON, CSV, Arrow or a page. Logs are lines of JSON on stderr, without anything about anybody.
    """
    from shuffledp.collection.analyzer.starting import Options
    from shuffledp.collection.service.serving import Certificate, serve

    if (certificate is None) != (certificate_key is None):
        raise ParameterError("--certificate and --certificate-key belong together: give both, or none behind a proxy")
    options = Options(
        tasks=task,
        keys=key,
        store=store,
        ledger=ledger,
        token=token,
        upstream=upstream,
        answers=answers or (),
        joined=join,
        processes=processes,
    )
    options.check()
    tls = None
    if certificate is not None and certificate_key is not None:
        tls = Certificate(certificate=certificate, key=certificate_key)
    serve(options.app, port=port, host=host, certificate=tls)
