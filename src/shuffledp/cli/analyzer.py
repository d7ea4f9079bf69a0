"""`shuffledp analyzer`: pulls whole batches, counts them, and publishes what the ledger allows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shuffledp.cli import serving
from shuffledp.cli.options import RESULT, flag, option, whole_number

EXAMPLE = r"""
shuffledp analyzer --task theme.task.json --key analyzer.key \
--store tallies.db --port 8002 --token analyzer.token --ledger budget.ledger
""".strip()

_CHAIN = "The shuffler before"


def analyzer(
    task: serving.Tasks,
    store: Annotated[str, option("URL", "Where tallies and releases are kept: a file (SQLite), or postgresql://...")],
    port: serving.Port,
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
        str | None, option("URL", "The last shuffler, if not at its address in the task.", panel=_CHAIN)
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
    host: serving.Host = "127.0.0.1",
    certificate: serving.CertificateFile = None,
    certificate_key: serving.CertificateKey = None,
) -> None:
    """Fetch whole batches from the last shuffler, count them, and publish histograms with their guarantee.

    A batch counts once, whatever is interrupted. One with too few messages
    is refused, since noise is missing. Each task is entered in the ledger
    once, before its first release can be seen. Its console is at /: the
    releases for everybody and, with --operator, what goes on for whoever
    has the token. SIGTERM or Ctrl-C stops it in good order. Logs are lines
    of JSON on stderr, without anything about anybody.
    """
    from shuffledp.collection.analyzer.starting import Options
    from shuffledp.collection.service.serving import serve

    tls = serving.certificate_of(certificate, certificate_key)
    options = Options(
        tasks=task,
        keys=key or (),
        store=store,
        ledger=ledger,
        token=token,
        upstream=upstream,
        answers=answers or (),
        joined=join,
        processes=processes,
        operators=operator or (),
    )
    options.check()
    serve(options.app, port=port, host=host, certificate=tls)
