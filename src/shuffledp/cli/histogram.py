"""A release on the terminal: the largest values with bars, and what the reader must know."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from shuffledp.bars.scale import Scale
from shuffledp.bars.text import interval, people
from shuffledp.cli.output import (
    Screen,
    natural_width,
    note_written,
    print_note,
    print_paragraphs,
    print_sentence,
    print_title,
    print_whole,
    width,
)
from shuffledp.cli.ranges import show_quantiles
from shuffledp.cli.two_way import show_two_way
from shuffledp.jobs.release import Release
from shuffledp.pipeline.estimate import Row, values_among
from shuffledp.pipeline.ordered_estimate import OrderedEstimate
from shuffledp.report.release_file import save
from shuffledp.words import counted, shown, sure_percent

_SMALLEST_SHOWN = 5  # enough to see where the release ends
_WIDEST_BAR = 21  # fits a terminal of 80 columns
_NARROWEST_BAR = 9  # shorter bars show nothing
_MAGNIFIED = 10  # on a linear scale the smallest values would have no bars beside the largest


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
    if isinstance(estimate, OrderedEstimate):
        show_quantiles(estimate)
    if len(estimate):
        table = _Lines(release, top=top)
        without = natural_width(table.drawn(0))
        room = int(min(_WIDEST_BAR, width() - without - _FRAME))
        print_whole(table.drawn(room if room >= _NARROWEST_BAR else 0))
    if not estimate.values_shown:
        print_sentence("No value is frequent enough to be reported.")
        if estimate.domain is not None and not estimate.domain.can_list:
            print_sentence("Numbers and dates that hardly ever repeat are counted in intervals: see --edges and --by.")
    show_two_way(estimate, column=release.column)
    if release.evaluation is not None:
        print_sentence(_comparison(release))
    print_paragraphs(release.story())


_FRAME = 3  # what one more column takes beside its content


class _Lines:
    """The largest values and, where the release has a clear end, the smallest."""

    def __init__(self, release: Release, *, top: int) -> None:
        self._release, self._rows = release, release.estimate.top()
        self._truth = _true_counts(release)
        self._kept = min(top, len(self._rows))
        if len(in_order := release.estimate.rows_to_show(top)) == len(self._rows):
            self._rows, self._kept = in_order, len(in_order)
        self._smallest = min(_SMALLEST_SHOWN, max(0, len(self._rows) - self._kept - 1))
        self._scale = Scale.of([*self._rows[: self._kept], *self._rows[len(self._rows) - self._smallest :]])
        self._marks = ("█", "▒") if Screen().encoding.startswith("utf") else ("#", ".")

    def drawn(self, bar: int) -> Table:
        """The table with bars of at most this length; none at all for 0."""
        rows, release = self._rows, self._release
        caption = "bar: solid up to the lower end of the interval, shaded above"
        if self._scale.logarithmic:
            caption += "; the scale is logarithmic: the same length more is the same factor"
        table = Table(caption=caption if bar else None, caption_justify="left")
        table.add_column(Text(shown(release.column)), overflow="fold")
        sure = f"{sure_percent(release.estimate.beta)} % interval"
        for name in ("estimate", sure, *(["true"] if self._truth else [])):
            table.add_column(name, justify="right")
        if bar:
            table.add_column("")
        for row in rows[: self._kept]:
            self._add(table, row, bar)
        if self._smallest:
            table.add_section()
            blank = [""] * (3 if self._truth else 2)
            hidden = values_among(row.label for row in rows[self._kept : len(rows) - self._smallest])
            table.add_row(f"... {hidden:,} more ...", *blank, *([self._about_smallest(bar)] if bar else []))
            table.add_section()
            for row in rows[len(rows) - self._smallest :]:
                self._add(table, row, bar, factor=self._magnified)
        return table

    @property
    def _magnified(self) -> int:
        """By how much the bars of the smallest values are longer than those of the largest."""
        return 1 if self._scale.logarithmic else _MAGNIFIED

    def _about_smallest(self, bar: int) -> str:
        """What stands above the bars of the smallest values, if there is room."""
        longer = "" if self._magnified == 1 else f"bars x {self._magnified}"
        said = f"smallest {self._smallest}" + (f", {longer}" if longer else "")
        return said if len(said) <= bar else longer

    def _add(self, table: Table, row: Row, bar: int, *, factor: int = 1) -> None:
        cells = [people(row.count), interval(row)]
        if self._truth:
            cells.append(f"{self._truth[row.label]:,}")
        table.add_row(Text(shown(row.label)), *cells, *([self._bar(row, bar, factor)] if bar else []))

    def _bar(self, row: Row, length: int, factor: int) -> str:
        low, high = (round(length * self._scale.place(factor * end)) for end in (row.low, row.high))
        low = min(low, max(high - 1, 0))  # an interval can be seen, also a short one at the end of the longest bar
        solid, shaded = self._marks
        return solid * low + shaded * max(high - low, 1)


def _true_counts(release: Release) -> dict[Any, int]:
    """The true count of each reported label, where the release was evaluated."""
    if release.evaluation is None:
        return {}
    return dict(zip(release.estimate.labels.tolist(), release.evaluation.true_counts.tolist(), strict=True))


def _comparison(release: Release) -> Text:
    """How good the release is, where that was asked for."""
    assert release.evaluation is not None
    return Text.assemble(("NOT PRIVATE, do not publish:", "bold red"), f" {release.evaluation.in_words()}")
