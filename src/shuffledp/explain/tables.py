"""A comparison as tables: what stands in their cells, and a page of them in Markdown.

A separation as a table: its rows and cells in words, how to read them, and a section in Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shuffledp.formatting import at_most, counted, share_at_most
from shuffledp.paper.bernoulli import LATER_RIPPLES
from shuffledp.paper.sample_size import TARGET
from shuffledp.paper.separation import Approach, Cell, Separation
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
"""What a row shows of a measurement, by the heads of the columns."""


def by_case(results: Iterable[Measurement]) -> dict[tuple[int, int], list[Measurement]]:
    """The measurements of each number of people and values."""
    cases: dict[tuple[int, int], list[Measurement]] = {}
    for result in results:
        cases.setdefault((result.users, result.bins), []).append(result)
    return cases


def legend(*, beta: float, trials: int, data: str) -> list[str]:
    """What the columns are."""
    measured = f"mean over {counted(trials, 'trial')} of {data} data, ± its 95 % interval"
    return [
        f"error: the largest over all values, in people; {measured}",
        f"bound: what is exceeded with probability at most {share_at_most(beta, digits=3)}, whatever the data",
        "messages, bits: per person; seconds: one trial",
    ]


def markdown_page(
    results: Iterable[Measurement], *, epsilon: float, delta: float, beta: float, trials: int, data: str
) -> str:
    """A page with a table for every number of people and values."""
    about = "; ".join(legend(beta=beta, trials=trials, data=data))
    lines = [f"# Every protocol for epsilon {epsilon:g}, delta {delta:g}", "", f"{about}.", ""]
    for (users, bins), rows in by_case(results).items():
        lines += [
            f"### {counted(users, 'person', things='people')}, {counted(bins, 'value')}",
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
    """A number of people; measured ones with the number that was shown to be too few."""
    if cell.users is None:
        return "-"
    number = f"{cell.users:,.0f}" if cell.users >= 10 else f"{cell.users:.2g}"
    return number if cell.too_few is None else f"{number} (> {cell.too_few:,})"


def label(column: Approach) -> str:
    """What a row is called."""
    kind = "lower bound" if column.model == "local" else "bound"
    return f"{column.model}, {kind}" if column.how == "bound" else column.title


def notes(result: Separation) -> list[str]:
    """How to read the numbers, and why some are missing."""
    lines = [f"Enough people are right with probability at least {TARGET:g}."]
    measured = [cell.trials for column, cells in _columns(result) if column.how == "measured" for cell in cells]
    trials = sum(number or 0 for number in measured)
    if trials:
        lines.append(
            f"Measured: n (> m) says that n people are enough and m too few, each pair with confidence "
            f"{result.confidence:g}; {trials:,} trials."
        )
    computed = "Everything else is computed" if trials else "Everything is computed"
    bounds = "; ".join(f"{column.model} {column.title}" for column in result.columns if column.how == "bound")
    if result.problem == "bernoulli":
        lines.append(
            f"{computed}, for the worst p: n people are enough, as are the last of its own and of the next "
            f"{LATER_RIPPLES} ripples of success, and n - 1 are not (or too few for the guarantee); fewer may be, at "
            "the top of a ripple."
        )
    else:
        lines.append(
            f"{computed}: n people are enough, and n - 1 are not (or too few for the guarantee), but for the paper's "
            "proof, of which n is what it asks for."
        )
    lines.append(f"Bounds as published, without their constants: {bounds}.")
    reasons = [(label(column), cell.problem) for column, cells in _columns(result) for cell in cells if cell.problem]
    return lines + [f"{name}: {reason}." for name, reason in dict.fromkeys(reasons)]


def markdown_section(result: Separation) -> str:
    """A heading, the table and how to read it."""
    sizes = [f"{result.size_name} = {size:,}" for size in result.sizes]
    rows = [["", *sizes], ["---", *("---:" for _ in sizes)]]
    rows += [[label(column), *map(people, cells)] for column, cells in _columns(result)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    name = result.problem.replace("-", " ").capitalize()
    return f"\n## {name}, epsilon {result.epsilon:g}\n\n{table}\n\n{' '.join(notes(result))}\n"


def _columns(result: Separation) -> list[tuple[Approach, tuple[Cell, ...]]]:
    return list(zip(result.columns, result.cells, strict=True))
