"""`shuffledp separate`: how many people each model needs for the same problem."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from shuffledp.applications.bernoulli import LATER_RIPPLES
from shuffledp.applications.search import TARGET
from shuffledp.applications.separation import PROBLEMS, Cell, Column, Separation, separate
from shuffledp.checks import whole
from shuffledp.cli.plan import parse_bins
from shuffledp.cli.progress import ProgressBar
from shuffledp.errors import ParameterError
from shuffledp.report.save import check_folder


def show_separation(
    *,
    problem: str,
    options: dict[str, str | None],
    epsilon: float,
    delta: float,
    seed: int,
    local: bool,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Prints the table and saves the figure."""
    if problem not in PROBLEMS:
        raise ParameterError(f"problem must be one of {', '.join(PROBLEMS)}; got {problem!r}")
    wishes = _wishes(problem, options)
    if figure is not None:
        from shuffledp.report.separation import check_figure

        check_figure(figure)
        check_folder(figure)
    with ProgressBar() as progress:
        result = separate(problem, epsilon=epsilon, delta=delta, seed=seed, local=local, progress=progress, **wishes)
    if as_json:
        print(json.dumps(result.to_dict(), allow_nan=False))
    else:
        _print(result)
    if figure is not None:
        from shuffledp.report.separation import draw_separation

        draw_separation([result], figure)
        Console(stderr=True).print(f"wrote {figure}")


def shown(cell: Cell) -> str:
    """A number of people; measured ones with the number that was shown to be too few."""
    if cell.users is None:
        return "-"
    number = f"{cell.users:,.0f}" if cell.users >= 10 else f"{cell.users:.2g}"
    return number if cell.too_few is None else f"{number} (> {cell.too_few:,})"


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


def label(column: Column) -> str:
    """What a row is called."""
    kind = "lower bound" if column.model == "local" else "bound"
    return f"{column.model}, {kind}" if column.how == "bound" else column.title


def title(result: Separation) -> str:
    """What was measured."""
    return f"{result.problem}, epsilon {result.epsilon:g}, delta {result.delta:g}"


def _columns(result: Separation) -> list[tuple[Column, tuple[Cell, ...]]]:
    return list(zip(result.columns, result.cells, strict=True))


def _print(result: Separation) -> None:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("")
    for size in result.sizes:
        table.add_column(f"{result.size_name} = {size:,}", justify="right")
    previous = "exact"
    for column, cells in _columns(result):
        if column.how == "bound" and previous != "bound":
            table.add_section()
        table.add_row(label(column), *map(shown, cells))
        previous = column.how
    console = Console()
    console.print(f"{title(result)}: people needed", soft_wrap=True, highlight=False)
    console.print(table)
    for line in notes(result):
        console.print(line, soft_wrap=True, highlight=False)


def _wishes(problem: str, options: dict[str, str | None]) -> dict[str, Any]:
    """The sizes and options that were given, each of which must belong to the problem."""
    given = {name: text for name, text in options.items() if text is not None}
    known = _OPTIONS[problem]
    for name in given:
        if name not in known:
            raise ParameterError(f"--{name} does not belong to {problem}, which takes --{' and --'.join(known)}")
    return {known[name][0]: known[name][1](name, text) for name, text in given.items()}


def _whole_numbers(name: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"{name} must be whole numbers such as 10,100,1000; got {text!r}") from None


def _numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"{name} must be numbers such as 0.1,0.03; got {text!r}") from None


def _one_number(name: str, text: str) -> int:
    if name == "bins":
        return parse_bins(text)
    try:
        return whole(name, int(text))
    except ParameterError:
        raise
    except ValueError:
        raise ParameterError(f"{name} must be one whole number, got {text!r}") from None


_OPTIONS: dict[str, dict[str, tuple[str, Callable[[str, str], Any]]]] = {
    "pointer-chasing": {"l": ("sizes", _whole_numbers)},
    "pointer-jumping": {"h": ("sizes", _whole_numbers), "s": ("branching", _one_number)},
    "support": {"h": ("sizes", _whole_numbers), "bins": ("bins", _one_number)},
    "bernoulli": {"alpha": ("sizes", _numbers)},
}
