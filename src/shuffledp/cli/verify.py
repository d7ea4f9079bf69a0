"""`shuffledp verify`: the paper's statements and the protocols' promises as a table one can run again."""

from __future__ import annotations

import json
import math

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from shuffledp.cli.progress import ProgressBar
from shuffledp.verification.statements import Verdict, check
from shuffledp.verification.statements.verdict import UNRESOLVED


def show_verdicts(*, protocol: str | None, as_json: bool) -> bool:
    """Prints every verdict; whether all claims hold."""
    with ProgressBar() as progress:
        verdicts = list(check(protocol, progress=progress))
    failed = [verdict for _, verdict in verdicts if not verdict.holds]
    if as_json:
        rows = [{"protocol": name, **verdict.as_dict()} for name, verdict in verdicts]
        print(json.dumps({"holds": not failed, "statements": rows}))
        return not failed
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("statement")
    for heading in ("claimed", "truth", "slack"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("basis", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for name in dict.fromkeys(name for name, _ in verdicts):
        table.add_row(name, style="bold")
        for verdict in (verdict for group, verdict in verdicts if group == name):
            table.add_row(*_cells(verdict), style=None if verdict.holds else "bold red")
        table.add_section()
    console = Console()
    console.print(table)
    summary = f"{len(verdicts) - len(failed)} of {len(verdicts)} statements hold."
    console.print(summary, soft_wrap=True, highlight=False)
    return not failed


def _cells(verdict: Verdict) -> tuple[str, ...]:
    """Where the truth is known only to be below a limit, that is said."""
    claimed = "finite" if verdict.claimed is None else _number(verdict.claimed)
    truth = verdict.exact
    if verdict.is_limit:
        truth = max(truth, UNRESOLVED)
    below, above = ("<=", ">=") if verdict.is_limit else ("", "")
    slack = "" if verdict.slack is None or verdict.claimed is None else f"{above}{_number(verdict.claimed / truth)}"
    return (
        f"{verdict.statement}: {verdict.claim}",
        claimed,
        below + _number(truth),
        slack,
        verdict.basis,
        "holds" if verdict.holds else "FAILS",
    )


def _number(value: float) -> str:
    if math.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if 1000 <= value < 1e7 else f"{value:.3g}"
