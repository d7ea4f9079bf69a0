"""`shuffledp compare`: every protocol of the comparison table, measured side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from shuffledp.cli.plan import parse_bins
from shuffledp.cli.progress import ProgressBar
from shuffledp.engines import find_files
from shuffledp.engines.people import Values
from shuffledp.errors import DataError, ParameterError
from shuffledp.jobs.compare import Measurement, compare_protocols
from shuffledp.pipeline.tally import Tally
from shuffledp.report.drawing import check_figure
from shuffledp.words import readable

_WIDTH = 110
_MADE_UP = ("zipf", "uniform", "adversarial")


def show_comparison(
    *,
    users: str | None,
    bins: str,
    data: str,
    column: str | None,
    protocols: str | None,
    figure: Path | None,
    markdown: Path | None,
    as_json: bool,
    **question: Any,
) -> None:
    """Prints one table for every number of people and bins; draws and writes what is asked for."""
    if figure is not None:
        check_figure(figure)
    people = [] if users is None else [parse_bins(part, name="users") for part in users.split(",")]
    with ProgressBar() as progress:
        if data in _MADE_UP:
            if not people:
                raise ParameterError("users must say how many people there are")
            chosen: str | Tally = data
        else:
            chosen = _counted(data, column)
            if people not in ([], [chosen.total]):
                raise ParameterError(f"the file has {chosen.total:,} people: leave users out")
            people = [chosen.total]
        results = compare_protocols(
            users=people,
            bins=[parse_bins(part) for part in bins.split(",")],
            data=chosen,
            protocols=None if protocols is None else [name.strip() for name in protocols.split(",")],
            progress=progress,
            **question,
        )
    if as_json:
        print(json.dumps([_plain(result) for result in results], allow_nan=False))
    else:
        _show(results, data=data, **question)
    if markdown is not None:
        _write(markdown, _markdown(results, data=data, **question))
    if figure is not None:
        from shuffledp.report.comparison import draw_comparison

        draw_comparison(results, figure, epsilon=question["epsilon"], delta=question["delta"])
        Console(stderr=True).print(f"wrote {figure}")


def _counted(name: str, column: str | None) -> Tally:
    """The true counts of a column of a file."""
    if column is None:
        raise ParameterError(f"data must be {', '.join(_MADE_UP)}, or the name of a file together with --column")
    files = find_files([name])
    with Values(files, column=column, user=None, drop_missing=False, domain=None, other=False) as values:
        values.people(count=True)
        return values.numbered()


_CELLS: dict[str, Callable[[Measurement], str]] = {
    "model": lambda m: m.model,
    "protocol": lambda m: m.title,
    "error": lambda m: f"{m.mean:,.1f} ±{m.high - m.mean:,.1f}",
    "bound": lambda m: f"{m.bound:,.0f}",
    "messages": lambda m: f"{m.messages:,.4g}",
    "bits": lambda m: f"{m.bits:,.4g}",
    "seconds": lambda m: f"{m.seconds:.3g}",
}


def _show(results: list[Measurement], *, epsilon: float, delta: float, **question: Any) -> None:
    console = Console()
    console.width = max(console.width, _WIDTH)
    for (users, bins), rows in _cases(results).items():
        table = Table(
            title=f"{users:,} people, {readable(bins)} values, epsilon {epsilon:g}, delta {delta:g}",
            caption="\n".join(_legend(**question)),
            box=SIMPLE_HEAD,
            title_justify="left",
            caption_justify="left",
        )
        for name in _CELLS:
            table.add_column(name, justify="left" if name in ("model", "protocol") else "right", no_wrap=True)
        for row in rows:
            if not row.problem:
                table.add_row(*(cell(row) for cell in _CELLS.values()))
        console.print(table)
        for row in rows:
            if row.problem:
                console.print(f"{row.title}: {row.problem}", soft_wrap=True, highlight=False)
    console.print("Not private: this compares with the true counts.", highlight=False)


def _legend(*, beta: float, trials: int, data: str, **_: Any) -> list[str]:
    """What the columns are."""
    return [
        f"error: the largest over all values, in people; mean over {trials} trials of {data} data, ± its 95 % interval",
        f"bound: what is exceeded {beta:.0%} of the time at most, whatever the data",
        "messages, bits: per person; seconds: one trial",
    ]


def _markdown(results: list[Measurement], *, epsilon: float, delta: float, **question: Any) -> str:
    """Tables for a document."""
    lines = [f"# Every protocol for epsilon {epsilon:g}, delta {delta:g}", "", "; ".join(_legend(**question)) + ".", ""]
    for (users, bins), rows in _cases(results).items():
        lines += [f"### {users:,} people, {readable(bins)} values", "", "| " + " | ".join(_CELLS) + " |"]
        lines += ["|" + "---|" * len(_CELLS)]
        for row in rows:
            cells = [cell(row) for cell in _CELLS.values()]
            if row.problem:
                cells = [row.model, row.title, row.problem, *[""] * (len(_CELLS) - 3)]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _cases(results: list[Measurement]) -> dict[tuple[int, int], list[Measurement]]:
    cases: dict[tuple[int, int], list[Measurement]] = {}
    for result in results:
        cases.setdefault((result.users, result.bins), []).append(result)
    return cases


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None
    Console(stderr=True).print(f"wrote {path}")


def _plain(result: Measurement) -> dict[str, Any]:
    plain = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(result).items()
    }
    if result.bins.bit_length() > 64:
        plain["bins"] = readable(result.bins)
    return plain
