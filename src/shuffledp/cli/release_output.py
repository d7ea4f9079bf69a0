"""A histogram of two columns as a small table on the terminal.

Quantiles and plans of ranges on the terminal.

A release on the terminal: the largest values with bars, and what the reader must know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from shuffledp.cli.output import (
    Screen,
    natural_width,
    new_table,
    note_written,
    print_indented,
    print_note,
    print_paragraphs,
    print_sentence,
    print_title,
    print_whole,
    width,
)
from shuffledp.errors import ParameterError
from shuffledp.explain.bars import Scale, interval, people
from shuffledp.explain.distribution import quantile_rows
from shuffledp.explain.files import save
from shuffledp.explain.heat_map import can_be_mapped
from shuffledp.formatting import at_most, counted, percent_at_most, shown, sure_percent, surely
from shuffledp.histogram.cross_table import cross_table
from shuffledp.histogram.estimate import Estimate, Row, values_among
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.release.ranges import RangeRow, checked_shares
from shuffledp.release.release import Release

MOST_ROWS, MOST_COLUMNS = 15, 10
"""Of a table that is small enough to be taken in; for a larger one there is the page."""


def show_two_way(estimate: Estimate, *, column: str) -> None:
    """Prints the table of a histogram of two columns, or where to find it if it has no room."""
    if not can_be_mapped(estimate):
        return
    table = two_way(estimate, column=column)
    if table is None:
        print_sentence("Both columns at once are too large a table for a terminal: --out FILE.html writes a page.")
    elif (needed := natural_width(table)) > width():
        print_sentence(
            f"Both columns at once are a table that needs a terminal of {needed} columns; it is also in the page that "
            "--out FILE.html writes."
        )
    else:
        print_whole(table)


def two_way(estimate: Estimate, *, column: str) -> Table | None:
    """The table with sums of rows and columns; None where it would be too large."""
    table = cross_table(estimate, most_rows=MOST_ROWS + 1, most_columns=MOST_COLUMNS + 1)
    if len(table.rows) > MOST_ROWS or len(table.columns) > MOST_COLUMNS:
        return None
    caption = "totals are sums of estimates"
    if np.isnan(table.counts).any():
        caption = "- was not shown; totals are sums of all estimates that were"
    found = Table(caption=caption, caption_justify="left")
    found.add_column(Text(shown(column, width=24)), overflow="fold")
    for name in (*table.columns, "total"):
        found.add_column(Text(shown(name, width=16)), justify="right", overflow="fold")
    for name, counts, total in zip(table.rows, table.counts.tolist(), table.row_sums, strict=True):
        cells = ["-" if np.isnan(count) else f"{round(count):,}" for count in counts]
        found.add_row(Text(shown(name, width=24)), *cells, f"{round(total.count):,}")
    found.add_section()
    found.add_row("total", *(f"{round(total.count):,}" for total in table.column_sums), f"{round(table.total):,}")
    return found


def parse_shares(text: str) -> tuple[float, ...]:
    """The shares of quantiles from what is written: 0.25,0.5,0.75."""
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--quantiles must be shares such as 0.25,0.5,0.99; got {text[:60]!r}") from None
    return checked_shares(shares)


def show_quantiles(estimate: OrderedEstimate) -> None:
    """A table of the quantiles that were asked for, with their intervals."""
    table = new_table()
    table.add_column("share of people")
    for name in ("have at most", f"{sure_percent(estimate.beta)} % interval"):
        table.add_column(name, justify="right", overflow="fold")
    for share, value, bounds in quantile_rows(estimate):
        table.add_row(share, Text(value), Text(bounds))
    print_whole(table)
    off = estimate.distribution().widest
    among = "; shares of people are of those who have a value" if estimate.some_without else ""
    print_indented(
        f"all intervals hold at once with probability {surely(estimate.beta)}; the number of people up to any value is "
        f"off by at most {at_most(off)} ({percent_at_most(off, estimate.people)} of all people){among}"
    )


def show_range_plan(rows: Sequence[RangeRow], *, users: int, beta: float, held: bool = False) -> None:
    """A table of what ways to count ranges would give; without messages where nobody sends any."""
    from shuffledp.explain.plan import range_problem

    everybody = counted(users, "person", things="people")
    print_title(f"Error of the distribution function of {everybody}, with probability {surely(beta)}")
    table = new_table()
    table.add_column("protocol")
    names = ["error in people", "of all people", "levels", "branching", *([] if held else ["messages per person"])]
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        if row.error is None:
            table.add_row(row.title, range_problem(row), *[""] * (len(names) - 1))
            continue
        cells = [at_most(row.error), percent_at_most(row.error, users), str(row.levels), str(row.branching)]
        messages = "-" if row.messages is None else f"{row.messages:,.1f}"
        table.add_row(row.title, *cells, *([] if held else [messages]))
    print_whole(table)
    print_indented("the number of people up to any value is off by no more, everywhere at once")


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
