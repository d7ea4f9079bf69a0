"""`shuffledp verify`: the paper's statements and the protocols' promises as a table one can run again.

The shipped samplers are run as well as the formulas, with fresh randomness each time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import option
from shuffledp.cli.output import new_table, print_json, print_sentence, print_table

if TYPE_CHECKING:
    from shuffledp.verification.statements import Verdict

EXAMPLE = "shuffledp verify --protocol hist"
FALSE_STATEMENT = 4
"""The exit code where a statement fails."""


def verify(
    protocol: Annotated[str | None, option("NAME", "Only the statements about one: {verified}.")] = None,
    json: given.Json = False,
) -> None:
    """The paper's statements and every protocol's promise, each beside the truth.

    Protocols are calibrated and run as they are deployed: for one person at a
    time, for many at once, and drawn. Everything takes less than a minute.

    The basis says how the truth is known: enumerated (all outcomes, listed),
    recomputed (the laws that a theorem compares, summed anew), counted (what
    was drawn, against its law), own law (the exact law of the noise) or bound
    (an upper bound, computed anew). A run fails by bad luck once in a million.

    Exit codes: 0 every statement holds, 2 a wrong parameter, 4 a statement fails.
    """
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.verification.statements import check

    with ProgressBar() as progress:
        verdicts = list(check(protocol, progress=progress))
    holds = all(verdict.holds for _, verdict in verdicts)
    if json:
        rows = [{"protocol": name, **verdict.as_dict()} for name, verdict in verdicts]
        print_json({"holds": holds, "statements": rows})
    else:
        _show(verdicts)
    if not holds:
        raise typer.Exit(FALSE_STATEMENT)


def _show(verdicts: Sequence[tuple[str, Verdict]]) -> None:
    table = new_table(padding=(0, 1, 0, 0))
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
    print_table(table)
    print_sentence(f"{sum(verdict.holds for _, verdict in verdicts)} of {len(verdicts)} statements hold.")


def _cells(verdict: Verdict) -> tuple[str, ...]:
    """Where the truth is known only to be below a limit, that is said."""
    from shuffledp.verification.statements.verdict import UNRESOLVED

    claimed = "finite" if verdict.claimed is None else _number(verdict.claimed)
    truth = max(verdict.exact, UNRESOLVED) if verdict.is_limit else verdict.exact
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
