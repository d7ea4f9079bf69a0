"""A release on the terminal: the largest values with bars, and what the reader must know."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp.cli.output import note_written, print_note, print_sentence
from shuffledp.jobs.release import Release
from shuffledp.pipeline.estimate import Row
from shuffledp.report.release_file import save
from shuffledp.words import shown

_SMALLEST_SHOWN = 5  # enough to see where the release ends
_BAR_WIDTH = 22  # fits a terminal of 80 columns
_MAGNIFIED = 10  # the smallest values would have no bars at the scale of the largest


def publish(release: Release, *, out: Iterable[Path], top: int, as_json: bool) -> None:
    """Writes a release to files and shows it."""
    written = [save(release, path) for path in out]  # first of all: whoever reads stdout may go away
    for text in release.warnings:
        print_note(f"warning: {text}")
    if as_json:
        print(release.to_json())
    else:
        _show(release, top=top)
    for path in written:
        note_written(path)


def _show(release: Release, *, top: int) -> None:
    estimate = release.estimate
    title = f"{shown(release.column)} of {estimate.people:,} people, {estimate.guarantee}"
    print_sentence(Text(title, style="bold"))
    if len(estimate):
        Console().print(_table(release, top=top))
    else:
        print_sentence("No value is frequent enough to be reported.")
    print_sentence(_verdict(release))
    print_sentence("")
    print_sentence(Text(estimate.explain()))
    print_sentence("")
    for note in release.notes:
        print_sentence(Text(f"- {note}"))


def _table(release: Release, *, top: int) -> Table:
    """The largest values and, where the release has a clear end, the smallest."""
    rows, truth = release.estimate.top(), _true_counts(release)
    kept = min(top, len(rows))
    smallest = min(_SMALLEST_SHOWN, max(0, len(rows) - kept - 1))
    table = Table(caption="bar: solid up to the lower end of the interval, shaded above", caption_justify="left")
    table.add_column(Text(shown(release.column)), overflow="fold")
    interval = f"{100 * (1 - release.estimate.beta):.4g} % interval"
    for name in ("estimate", interval, *(["true"] if truth else [])):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in rows[:kept]:
        _add(table, row, truth, scale=rows[0].high)
    if smallest:
        table.add_section()
        blank = [""] * (3 if truth else 2)
        hidden = len(rows) - kept - smallest
        table.add_row(f"... {hidden:,} more ...", *blank, f"smallest {smallest}, bars x {_MAGNIFIED}")
        table.add_section()
        for row in rows[len(rows) - smallest :]:
            _add(table, row, truth, scale=rows[0].high / _MAGNIFIED)
    return table


def _true_counts(release: Release) -> dict[Any, int]:
    """The true count of each reported label, where the release was evaluated."""
    if release.evaluation is None:
        return {}
    return dict(zip(release.estimate.labels.tolist(), release.evaluation.true_counts.tolist(), strict=True))


def _add(table: Table, row: Row, truth: dict[Any, int], *, scale: float) -> None:
    cells = [f"{row.count:,.0f}", f"{row.low:,} - {row.high:,}"]
    if truth:
        cells.append(f"{truth[row.label]:,}")
    table.add_row(Text(shown(row.label)), *cells, _bar(row, scale))


def _bar(row: Row, scale: float) -> str:
    low, high = (min(_BAR_WIDTH, round(_BAR_WIDTH * value / max(scale, 1))) for value in (row.low, row.high))
    return "█" * low + "▒" * max(high - low, 1)


def _verdict(release: Release) -> str:
    """What was found, in two sentences; and how good it is, where that was asked for."""
    estimate, found = release.estimate, release.evaluation
    text = f"{len(estimate):,} values are reported. "
    text += f"A value that {release.surely_seen:,} or more people hold is surely seen, and no estimate is off by more "
    text += f"than {release.error:,.0f} people, with probability {1 - estimate.beta:g}."
    if found is not None:
        text += (
            "\n[bold red]NOT PRIVATE, do not publish:[/] compared with the truth, the largest error is "
            f"{found.largest_error:,.0f} people; all intervals at once hold the truth: "
            f"{'yes' if found.covered else 'no'}; {found.found:,} of {found.occupied:,} values present are reported, "
            f"and {found.phantoms:,} reported that nobody has."
        )
    return text
