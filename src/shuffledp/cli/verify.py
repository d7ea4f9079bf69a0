"""`shuffledp verify`: the paper's statements and one privacy check per protocol, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import option
from shuffledp.cli.output import new_table, print_json, print_sentence, print_table

if TYPE_CHECKING:
    from shuffledp.paper.statements import Statement

EXAMPLE = "shuffledp verify --protocol hist"
FALSE_STATEMENT = 4
"""The exit code where a statement fails."""


def verify(
    protocol: Annotated[str | None, option("NAME", "Check only one: {verified}.")] = None,
    json: given.Json = False,
) -> None:
    """Check the paper's statements and the privacy of every protocol.

    Each claimed number stands beside an independently computed one. Without
    --protocol, one protocol of every class is checked. This takes seconds.

    The basis says how the number was computed: enumerated (all outcomes are
    listed with exact probabilities), recomputed (the distributions that a
    theorem compares are summed again), noise (the exact distribution of the
    noise) or bound (an upper bound; the true number may be smaller).

    Exit codes: 0 every statement holds, 2 a wrong parameter, 4 a statement fails.
    """
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.paper.protocol_checks import check

    with ProgressBar() as progress:
        statements = list(check(protocol, progress=progress))
    holds = all(statement.holds for statement in statements)
    if json:
        print_json({"holds": holds, "statements": [_as_json(statement) for statement in statements]})
    else:
        _show(statements)
    if not holds:
        raise typer.Exit(FALSE_STATEMENT)


def _as_json(statement: Statement) -> dict[str, Any]:
    """Infinite numbers are the word, and an upper limit is not called exact."""
    exact, slack = ("exact_below", "slack_above") if statement.is_limit else ("exact", "slack")
    fields = {
        "protocol": statement.group,
        "statement": statement.source,
        "claim": _claim(statement),
        "claimed": statement.claimed,
        "basis": statement.basis.value,
        exact: statement.computed,
        slack: statement.slack,
        "holds": statement.holds,
    }
    return {name: "infinite" if value == math.inf else value for name, value in fields.items()}


def _show(statements: Sequence[Statement]) -> None:
    table = new_table(padding=(0, 1, 0, 0))
    table.add_column("statement")
    for heading in ("claimed", "computed", "slack"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("basis", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for statement in statements:
        table.add_row(*_cells(statement), style=None if statement.holds else "bold red")
    print_table(table)
    print_sentence(f"{sum(statement.holds for statement in statements)} of {len(statements)} statements hold.")


def _cells(statement: Statement) -> tuple[str, ...]:
    from shuffledp.paper.statements import UNRESOLVED

    computed = max(statement.computed, UNRESOLVED) if statement.is_limit else statement.computed
    below, above = ("<=", ">=") if statement.is_limit else ("", "")
    return (
        f"{statement.source}: {_claim(statement)}",
        _number(statement.claimed),
        below + _number(computed),
        "" if statement.slack is None else f"{above}{_number(statement.claimed / computed)}",
        statement.basis.value,
        "holds" if statement.holds else "FAILS",
    )


def _claim(statement: Statement) -> str:
    """What the numbers of a statement mean."""
    from shuffledp.paper.statements import Quantity

    if statement.problem:
        return f"not checked ({statement.problem})"
    parameters = statement.parameters
    if statement.quantity is Quantity.EPSILON and statement.claimed == math.inf:
        words = "epsilon without and with shuffling"
    else:
        words = {
            Quantity.DELTA: "delta",
            Quantity.EPSILON: "epsilon of one message",
            Quantity.ERROR: "error in people",
            Quantity.MESSAGES: "messages per person",
            Quantity.FALSE_POSITIVE: "chance of a nonzero count of nobody",
            Quantity.SUCCESS: "chance of success",
            Quantity.DISTANCE: "distance of outputs",
        }[statement.quantity]
    if "epsilon" in parameters:
        words += f" at epsilon {parameters['epsilon']:.3g}"
    if "beta" in parameters:
        words += f", confidence {1 - parameters['beta']:g}"
    if parameters.get("honest", parameters.get("users")) != parameters.get("users"):
        words += f", {parameters['honest']:,} of {parameters['users']:,} honest"
    elif parameters.get("users", 1) > 1:
        words += f", n = {parameters['users']:,}"
    if "bins" in parameters:
        words += f", d = {parameters['bins']:,}"
    return words


def _number(value: float) -> str:
    if math.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if 1000 <= value < 1e7 else f"{value:.3g}"
