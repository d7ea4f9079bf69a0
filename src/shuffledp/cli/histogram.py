"""A release on the terminal: the largest values with bars, and what the reader must know."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp.bars.text import people
from shuffledp.cli.output import (
    natural_width,
    note_written,
    print_note,
    print_paragraphs,
    print_sentence,
    print_title,
    print_whole,
    width,
)
from shuffledp.jobs.release import Release
from shuffledp.pipeline.estimate import Row
from shuffledp.report.release_file import save
from shuffledp.words import counted, shown, sure_percent

_SMALLEST_SHOWN = 5  # enough to see where the release ends
_WIDEST_BAR = 22  # fits a terminal of 80 columns
_NARROWEST_BAR = 9  # shorter bars show nothing
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
    everybody = counted(estimate.people, "person", things="people")
    print_title(f"{shown(release.column)} of {everybody}, {estimate.guarantee}")
    if len(estimate):
        table = _Lines(release, top=top)
        without = natural_width(table.drawn(0))
        room = int(min(_WIDEST_BAR, width() - without - _FRAME))
        print_whole(table.drawn(room if room >= _NARROWEST_BAR else 0))
    else:
        print_sentence("No value is frequent enough to be reported.")
    if release.evaluation is not None:
        print_sentence(_comparison(release))
    print_paragraphs(release.explain())


_FRAME = 3  # what one more column takes beside its content


class _Lines:
    """The largest values and, where the release has a clear end, the smallest."""

    def __init__(self, release: Release, *, top: int) -> None:
        self._release, self._rows = release, release.estimate.top()
        self._truth = _true_counts(release)
        self._kept = min(top, len(self._rows))
        self._smallest = min(_SMALLEST_SHOWN, max(0, len(self._rows) - self._kept - 1))

    def drawn(self, bar: int) -> Table:
        """The table with bars of at most this length; none at all for 0."""
        rows, release = self._rows, self._release
        caption = "bar: solid up to the lower end of the interval, shaded above" if bar else None
        table = Table(caption=caption, caption_justify="left")
        table.add_column(Text(shown(release.column)), overflow="fold")
        interval = f"{sure_percent(release.estimate.beta)} % interval"
        for name in ("estimate", interval, *(["true"] if self._truth else [])):
            table.add_column(name, justify="right")
        if bar:
            table.add_column("")
        for row in rows[: self._kept]:
            self._add(table, row, bar, scale=rows[0].high)
        if self._smallest:
            table.add_section()
            blank = [""] * (3 if self._truth else 2)
            hidden = len(rows) - self._kept - self._smallest
            said = f"smallest {self._smallest}, bars x {_MAGNIFIED}"
            magnified = [said if len(said) <= bar else f"bars x {_MAGNIFIED}"] if bar else []
            table.add_row(f"... {hidden:,} more ...", *blank, *magnified)
            table.add_section()
            for row in rows[len(rows) - self._smallest :]:
                self._add(table, row, bar, scale=rows[0].high / _MAGNIFIED)
        return table

    def _add(self, table: Table, row: Row, bar: int, *, scale: float) -> None:
        cells = [people(row.count), f"{row.low:,} - {row.high:,}"]
        if self._truth:
            cells.append(f"{self._truth[row.label]:,}")
        table.add_row(Text(shown(row.label)), *cells, *([_bar(row, scale, bar)] if bar else []))


def _true_counts(release: Release) -> dict[Any, int]:
    """The true count of each reported label, where the release was evaluated."""
    if release.evaluation is None:
        return {}
    return dict(zip(release.estimate.labels.tolist(), release.evaluation.true_counts.tolist(), strict=True))


def _bar(row: Row, scale: float, length: int) -> str:
    low, high = (min(length, max(0, round(length * value / max(scale, 1)))) for value in (row.low, row.high))
    low = min(low, max(high - 1, 0))  # an interval can be seen, also a short one at the end of the longest bar
    solid, shaded = ("█", "▒") if Console().encoding.startswith("utf") else ("#", ".")
    return solid * low + shaded * max(high - low, 1)


def _comparison(release: Release) -> Text:
    """How good the release is, where that was asked for."""
    found = release.evaluation
    assert found is not None
    are = "is" if found.found == 1 else "are"
    reported = f"{found.found:,} of {counted(found.occupied, 'value')} present {are} reported, and"
    return Text.assemble(
        ("NOT PRIVATE, do not publish:", "bold red"),
        f" compared with the truth, the largest error is {found.largest_error:,.1f} people; all intervals at once hold "
        f"the truth: {'yes' if found.covered else 'no'}; {reported} {found.phantoms:,} reported that nobody has.",
    )
