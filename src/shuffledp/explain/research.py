"""Research results as text: comparisons, separations, verified statements, amplification bounds and protocols."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from shuffledp.formatting import (
    at_most,
    counted,
    epsilon_delta,
    percent_at_most,
    privacy_figure,
    share_at_least,
    share_at_most,
)
from shuffledp.paper.bernoulli import LATER_RIPPLES
from shuffledp.paper.separation import Approach, Cell, Separation
from shuffledp.paper.statements import UNRESOLVED, Quantity, Statement
from shuffledp.paper.support_identification import TARGET
from shuffledp.release.compare import Measurement

CELLS: dict[str, Callable[[Measurement], str]] = {
    "model": lambda m: m.model,
    "protocol": lambda m: m.title,
    "error": lambda m: f"{m.mean:,.1f} ±{m.high - m.mean:,.1f}",
    "bound": lambda m: at_most(m.bound),
    "messages": lambda m: f"{m.messages:,.4g}",
    "bits": lambda m: f"{m.bits:,.4g}",
    "seconds": lambda m: f"{m.seconds:.3g}",
}
"""The columns of a comparison."""


def by_case(results: Iterable[Measurement]) -> dict[tuple[int, int], list[Measurement]]:
    """Group measurements by number of people and number of values."""
    cases: dict[tuple[int, int], list[Measurement]] = {}
    for result in results:
        cases.setdefault((result.users, result.bins), []).append(result)
    return cases


_DATA = {"zipf": "Zipf"}
"""Names of synthetic data that are written differently in text."""


def legend(*, beta: float, trials: int, data: str) -> list[str]:
    """Return the meaning of the columns of a comparison."""
    mean = f"mean over {counted(trials, 'trial')} of {_DATA.get(data, data)} data, ± its 95 % interval"
    probability = percent_at_most(beta, 1, digits=3).replace(" ", "")
    return [
        f"error: the largest error over all values, in people, {mean}",
        f"bound: exceeded with probability at most {probability}, for any data",
        "messages, bits: per person; seconds: one trial",
    ]


def markdown_page(
    results: Iterable[Measurement], *, epsilon: float, delta: float, beta: float, trials: int, data: str
) -> str:
    """Return a page with a table for every number of people and values."""
    about = "; ".join(legend(beta=beta, trials=trials, data=data))
    lines = [
        f"# Every protocol for {epsilon_delta(epsilon, delta)}",
        "",
        f"{about}.",
        "",
    ]
    for (users, bins), rows in by_case(results).items():
        lines += [
            f"### {counted(users, 'person')}, {counted(bins, 'value')}",
            "",
            "| " + " | ".join(CELLS) + " |",
        ]
        lines += ["|" + "---|" * len(CELLS)]
        for row in rows:
            cells = [cell(row) for cell in CELLS.values()]
            if row.problem:
                cells = [row.model, row.title, row.problem, *[""] * (len(CELLS) - 3)]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def people(cell: Cell) -> str:
    """Return a number of people, if it was measured with the number that was shown to be too small."""
    if cell.users is None:
        return "-"
    number = f"{cell.users:,.0f}" if cell.users >= 10 else f"{cell.users:.2g}"
    return number if cell.too_few is None else f"{number} (> {cell.too_few:,})"


def label(column: Approach) -> str:
    """Return the title of a row."""
    kind = "lower bound" if column.model == "local" else "bound"
    return f"{column.model}, {kind}" if column.how == "bound" else column.title


def notes(result: Separation, *, ripples: str = "ripples") -> list[str]:
    """Return how to read the numbers, and why some are missing; `ripples` may be a link to their explanation."""
    lines = [f"With n people, the success probability is at least {TARGET:g}."]
    measured = [cell.trials for column, cells in _columns(result) if column.how == "measured" for cell in cells]
    trials = sum(number or 0 for number in measured)
    if trials:
        lines.append(
            "Measured: n (> m) means that n people suffice and m do not, each pair with confidence "
            f"{result.confidence:g}; {trials:,} trials."
        )
    computed = "All other numbers are computed" if trials else "All numbers are computed"
    bounds = "; ".join(f"{column.model} {column.title}" for column in result.columns if column.how == "bound")
    if result.problem == "bernoulli":
        lines.append(
            f"{computed}, for the worst p: n people suffice, also at the low points of this and the next "
            f"{LATER_RIPPLES} {ripples}, and n - 1 do not (or are too few for the guarantee). Fewer may suffice at the "
            "top of a ripple."
        )
    else:
        lines.append(
            f"{computed}: n people suffice and n - 1 do not (or are too few for the guarantee); for the paper's proof, "
            "n is what it requires."
        )
    lines.append(f"Published bounds, without constants: {bounds}.")
    reasons = [(label(column), cell.problem) for column, cells in _columns(result) for cell in cells if cell.problem]
    return lines + [f"{name}: {reason}." for name, reason in dict.fromkeys(reasons)]


def markdown_section(result: Separation) -> str:
    """Return a section of a page in docs/reference: a heading, the table and its notes."""
    sizes = [f"{result.size_name} = {size:,}" for size in result.sizes]
    rows = [["", *sizes], ["---", *("---:" for _ in sizes)]]
    rows += [[label(column), *map(people, cells)] for column, cells in _columns(result)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    name = result.problem.replace("-", " ").capitalize()
    text = " ".join(notes(result, ripples="[ripples](../proofs/bernoulli-mean.md#ripples)"))
    return f"\n## {name}, epsilon {privacy_figure(result.epsilon)}\n\n{table}\n\n{text}\n"


def _columns(result: Separation) -> list[tuple[Approach, tuple[Cell, ...]]]:
    return list(zip(result.columns, result.cells, strict=True))


def claim(statement: Statement) -> str:
    """Return what the numbers of a statement mean."""
    if statement.problem:
        return f"not checked ({statement.problem})"
    parameters = statement.parameters
    if statement.quantity is Quantity.EPSILON and statement.claimed == math.inf:
        text = "epsilon without and with shuffling"
    else:
        text = _QUANTITIES[statement.quantity]
    if "epsilon" in parameters:
        text += f" at epsilon {parameters['epsilon']:.3g}"
    if "beta" in parameters:
        text += f", confidence {1 - parameters['beta']:g}"
    if parameters.get("honest", parameters.get("users")) != parameters.get("users"):
        text += f", {parameters['honest']:,} of {parameters['users']:,} honest"
    elif parameters.get("users", 1) > 1:
        text += f", n = {parameters['users']:,}"
    if "bins" in parameters:
        text += f", d = {parameters['bins']:,}"
    return text


_QUANTITIES = {
    Quantity.DELTA: "delta",
    Quantity.EPSILON: "epsilon of one message",
    Quantity.ERROR: "error in people",
    Quantity.MESSAGES: "messages per person",
    Quantity.FALSE_POSITIVE: "probability of a false positive",
    Quantity.SUCCESS: "success probability",
    Quantity.DISTANCE: "distance of outputs",
}


def statement_cells(statement: Statement) -> tuple[str, ...]:
    """Return the row of a statement: source and claim, claimed and computed number, slack, basis, verdict."""
    computed = max(statement.computed, UNRESOLVED) if statement.is_limit else statement.computed
    below, above = ("<=", ">=") if statement.is_limit else ("", "")
    return (
        f"{statement.source}: {claim(statement)}",
        _number(statement.claimed),
        below + _number(computed),
        "" if statement.slack is None else f"{above}{_number(statement.claimed / computed)}",
        statement.basis.value,
        "holds" if statement.holds else "FAILS",
    )


def statement_fields(statement: Statement) -> dict[str, Any]:
    """Return a statement for JSON: infinity as text, and an upper limit not called exact."""
    exact, slack = ("exact_below", "slack_above") if statement.is_limit else ("exact", "slack")
    fields = {
        "protocol": statement.group,
        "statement": statement.source,
        "claim": claim(statement),
        "claimed": statement.claimed,
        "basis": statement.basis.value,
        exact: statement.computed,
        slack: statement.slack,
        "holds": statement.holds,
    }
    return {name: "infinite" if value == math.inf else value for name, value in fields.items()}


def _number(value: float) -> str:
    if math.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if 1000 <= value < 1e7 else f"{value:.3g}"


MODELS = {
    "shuffled": "Shuffled model: people send messages, which a shuffler mixes.",
    "local": "Local model: every message is private by itself, and no server is trusted.",
    "central": "Central model: a trusted curator sees every value.",
}

AMPLIFICATION = {
    "closed form": "Erlingsson et al. 2019; for a local epsilon below 1/2 and at least 1000 people",
    "privacy blanket": "Balle et al. 2019, with Hoeffding's inequality",
    "tight": "Feldman, McMillan and Talwar; numerical, rounded up",
    "lower bound": "binary randomized response: no bound for all randomizers is smaller",
}
"""The source of each bound on privacy amplification by shuffling."""


def amplified_epsilon(name: str, epsilon: float | None) -> str:
    """Return a bound on an epsilon; an upper bound is rounded up, a lower bound down."""
    if epsilon is None:
        return "not applicable"
    return share_at_least(epsilon, digits=4) if name == "lower bound" else share_at_most(epsilon, digits=4)
