"""`shuffledp separate`: how many people each model needs for the same problem."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from shuffledp.applications.search import TARGET
from shuffledp.applications.separation import PROBLEMS, Cell, Column, Separation, separate
from shuffledp.cli.plan import parse_bins
from shuffledp.cli.progress import ProgressBar
from shuffledp.errors import ParameterError
from shuffledp.parameters import whole
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
    lines = [f"Smallest number of people whose answer is right with probability {TARGET:g}."]
    measured = [cell for column, cells in _columns(result) if column.how == "measured" for cell in cells]
    if measured:
        lines.append(
            f"Measured: n (> m) says that n people are enough and m too few, each pair with confidence "
            f"{result.confidence:g}; {sum(cell.trials or 0 for cell in measured):,} trials."
        )
    bounds = "; ".join(f"{column.model} {column.title}" for column in result.columns if column.how == "bound")
    lines.append(f"{'Everything else' if measured else 'Everything'} is computed exactly.")
    lines.append(f"Bounds as published, without their constants: {bounds}.")
    reasons = {cell.problem: column.title for column, cells in _columns(result) for cell in cells if cell.problem}
    return lines + [f"{title}: {reason}." for reason, title in reasons.items()]


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
    if not text.isdigit():
        raise ParameterError(f"{name} must be one whole number, got {text!r}")
    return whole(name, int(text))


_OPTIONS: dict[str, dict[str, tuple[str, Callable[[str, str], Any]]]] = {
    "pointer-chasing": {"l": ("sizes", _whole_numbers)},
    "pointer-jumping": {"h": ("sizes", _whole_numbers), "s": ("branching", _one_number)},
    "support": {"h": ("sizes", _whole_numbers), "bins": ("bins", _one_number)},
    "bernoulli": {"alpha": ("sizes", _numbers)},
}
