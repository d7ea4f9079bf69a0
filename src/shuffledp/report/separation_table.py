"""A separation as a table: its rows and cells in words, how to read them, and a section in Markdown."""

from __future__ import annotations

from shuffledp.applications.bernoulli import LATER_RIPPLES
from shuffledp.applications.search import TARGET
from shuffledp.applications.separation import Approach, Cell, Separation


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
