"""A release on the terminal: the largest values with bars, five lines, and more with --explain.

Also tables of two columns, of quantiles and of plans for ranges.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Column, Table
from rich.text import Text

from shuffledp.cli.output import (
    Screen,
    natural_width,
    new_table,
    note_written,
    numbers,
    print_indented,
    print_note,
    print_paragraphs,
    print_sentence,
    print_sentences,
    print_title,
    print_whole,
    width,
)
from shuffledp.errors import ParameterError
from shuffledp.explain.bars import Scale, interval, people
from shuffledp.explain.charts import quantile_rows
from shuffledp.explain.files import save
from shuffledp.explain.heat_map import can_be_mapped
from shuffledp.explain.ledger import spent_note
from shuffledp.explain.page import short_edges
from shuffledp.explain.protocols import within
from shuffledp.explain.release import (
    curator_tip,
    evaluation_sentence,
    lines,
    more_values,
    nothing_shown,
    paragraphs,
    share_interval,
    title,
    values_shown,
    warning_sentences,
)
from shuffledp.explain.series import is_condensed, series_of, text_series
from shuffledp.formatting import at_most, confidence, counted, percent_at_most, shown
from shuffledp.histogram.cross_table import CrossTable, cross_table
from shuffledp.histogram.estimate import Estimate, Row, values_among
from shuffledp.histogram.labels import NotAValue
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.ledger import Spent
from shuffledp.release.choose import checked_shares
from shuffledp.release.plan_rows import RangeRow
from shuffledp.release.release import Release

MOST_ROWS, MOST_COLUMNS = 15, 10
"""The largest table of two columns on a terminal; a larger one is on the page."""


def show_two_way(estimate: Estimate, *, column: str) -> None:
    """Print the table of a histogram of two columns, or where to find it if there is no room."""
    if not can_be_mapped(estimate):
        return
    table = two_way(estimate, column=column)
    if table is None:
        print_sentence("The table of both columns is too large for a terminal: --out FILE.html writes a page.")
    elif (needed := natural_width(table)) > width():
        print_sentence(
            f"The table of both columns needs a terminal of {needed} columns; --out FILE.html writes it to a page."
        )
    else:
        print_whole(table)


def two_way(estimate: Estimate, *, column: str) -> Table | None:
    """The table with sums of rows and columns; None if it is too large."""
    table = cross_table(estimate, most_rows=MOST_ROWS + 1, most_columns=MOST_COLUMNS + 1)
    if len(table.rows) > MOST_ROWS or len(table.columns) > MOST_COLUMNS:
        return None
    sure = f"{confidence(estimate.beta)} interval"
    names = (shown(name, width=16) for name in (*table.columns, "total", sure))
    found = Table(
        Column(Text(shown(column, width=24)), overflow="fold"),
        *(Column(Text(name), justify="right", overflow="fold") for name in names),
        caption=_about_totals(estimate, table),
        caption_justify="left",
    )
    for name, counts, total in zip(table.rows, table.counts.tolist(), table.row_sums, strict=True):
        cells = ["-" if np.isnan(count) else people(count) for count in counts]
        found.add_row(Text(shown(name, width=24)), *cells, people(total.count), interval(total))
    found.add_section()
    sums = (*table.column_sums, table.total)
    found.add_row("total", *(people(total.count) for total in sums), "")
    found.add_row(sure, *(interval(total).replace(" to ", " to\n") for total in sums), "")
    return found


def _about_totals(estimate: Estimate, table: CrossTable) -> str:
    text = "totals: sums of estimates; intervals include pairs that are not shown"
    if np.isnan(table.counts).any():
        text += f"\n-: not shown, at most {counted(estimate.simultaneous.unreported_high, 'person', things='people')}"
    return text


def parse_shares(text: str) -> tuple[float, ...]:
    """Parse the shares of quantiles: 0.25,0.5,0.75."""
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--quantiles must be shares such as 0.25,0.5,0.99; got {text[:60]!r}") from None
    return checked_shares(shares)


def show_quantiles(estimate: OrderedEstimate) -> None:
    """Print a table of the requested quantiles with their intervals."""
    interval_name = f"{confidence(estimate.beta)} interval"
    table = new_table("share of people", *numbers("have at most", interval_name, overflow="fold"))
    for share, value, bounds in quantile_rows(estimate):
        table.add_row(share, Text(value), Text(bounds))
    print_whole(table)
    off = estimate.distribution().widest
    among = "; shares are of the people who have a value" if estimate.some_without else ""
    print_indented(
        f"{confidence(estimate.beta)} confidence, all intervals at once; the number of people up to any value is "
        f"{within(off, estimate.people)}{among}"
    )


def show_range_plan(rows: Sequence[RangeRow], *, users: int, beta: float, held: bool = False) -> None:
    """Print a table of the ways to count ranges; without messages if the data is `held` by one party."""
    from shuffledp.explain.plan import range_problem

    everybody = counted(users, "person", things="people")
    print_title(f"Error of the distribution function of {everybody}, with {confidence(beta)} confidence")
    names = ["error in people", "of all people", "levels", "branching", *([] if held else ["messages per person"])]
    table = new_table("protocol", *numbers(*names))
    for row in rows:
        if row.error is None:
            table.add_row(row.title, range_problem(row), *[""] * (len(names) - 1))
            continue
        cells = [at_most(row.error), percent_at_most(row.error, users), str(row.levels), str(row.branching)]
        messages = "-" if row.messages is None else f"{row.messages:,.1f}"
        table.add_row(row.title, *cells, *([] if held else [messages]))
    print_whole(table)
    print_indented("error: of the number of people up to any value, everywhere at once")


_SMALLEST_SHOWN = 5  # enough to see where the release ends
_WIDEST_BAR = 21  # fits a terminal of 80 columns
_NARROWEST_BAR = 9  # shorter bars show nothing
_MAGNIFIED = 10  # on a linear scale the smallest values would have no bars beside the largest


def publish(
    release: Release,
    *,
    out: Iterable[Path] = (),
    top: int | None = None,
    as_json: bool = False,
    explain: bool = False,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write a release to files and print it, with all paragraphs if `explain`; `more` is added to the printed JSON.

    A release cannot be repeated, so it is printed even if a file cannot be written or writing is interrupted.
    """
    # before anything is printed, because the reader of stdout may close the pipe
    written, failure = _save(release, out)
    for text in warning_sentences(release):
        print_note(f"warning: {text}")
    try:
        if as_json:
            print(json.dumps(json.loads(release.to_json()) | dict(more)) if more else release.to_json())
        else:
            _show(release, top=top, explain=explain)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:  # stdout is a file on a full disk
        if not written:
            print_note(release.to_json() if as_json else str(release))
        raise
    for path in written:
        note_written(path)
    if failure is not None:
        failure.add_note("the result was printed instead")
        raise failure


def _save(release: Release, out: Iterable[Path]) -> tuple[list[Path], BaseException | None]:
    """Write all files that can be written; return them, and the first error or interrupt."""
    written: list[Path] = []
    failure: BaseException | None = None
    for path in out:
        try:
            written.append(save(release, path, command=command_of(release.asked)))
        except KeyboardInterrupt as error:
            return written, error
        except Exception as error:
            failure = failure or error
    return written, failure


def _show(release: Release, *, top: int | None, explain: bool) -> None:
    estimate = release.estimate
    everybody = counted(estimate.people, "person", things="people")
    print_title(f"{title(release)} of {everybody}: {values_shown(estimate)} shown")
    if isinstance(estimate, OrderedEstimate):
        show_quantiles(estimate)
    if len(estimate):
        table = _Lines(release, top=top)
        if table.condensed:
            _show_series(estimate)
        without = natural_width(table.drawn(0))
        room = int(min(_WIDEST_BAR, width() - without - _FRAME))
        print_whole(table.drawn(room if room >= _NARROWEST_BAR else 0))
    if not estimate.values_shown:
        print_sentence(nothing_shown(estimate))
    show_two_way(estimate, column=release.column)
    if release.evaluation is not None:
        warning = ("NOT PRIVATE, do not publish:", "bold red")
        print_sentence(Text.assemble(warning, f" {evaluation_sentence(release.evaluation)}"))
    *first, protocol = lines(release)
    print_sentences([*first, *_tip(release), protocol if explain else f"{protocol} Details: --explain"])
    if explain:
        print_paragraphs({title: text for title, text in paragraphs(release).items() if title != "Tip"})


def _tip(release: Release) -> Iterator[str]:
    """The entry in the ledger, or else one tip."""
    estimate = release.estimate
    if entered := [spent_note(note) for note in release.notes if isinstance(note, Spent)]:
        yield from entered
    elif not estimate.values_shown and "column" in release.asked and not {"domain", "free_text"} & set(release.asked):
        yield "Tip: values that hardly ever repeat, such as amounts and times, need intervals: `--edges` or `--by`."
    elif (saving := release.smaller_curator_error) is not None:
        yield f"Tip: {curator_tip(saving, option='`--trust curator`')}"


_FRAME = 3  # what one more column takes beside its content


def _show_series(estimate: Estimate) -> None:
    series = series_of(estimate, most=int(min(_MOST_COLUMNS, max(20, width() - _AXIS))))
    if series is not None:
        blocks = {} if Screen().encoding.startswith("utf") else {"blocks": " .:#"}
        print_sentences(text_series(series, **blocks).splitlines())
        averaged = f"; a column is the average of up to {series.averaged}" if series.averaged > 1 else ""
        print_sentence(f"all {estimate.values_shown:,} values in order{averaged}")


_MOST_COLUMNS = 100
_AXIS = 14  # characters of the axis of people


class _Lines:
    """The table of the largest values: in order if they have one, else with the smallest if there are many.

    Bins that are not values come last.
    """

    def __init__(self, release: Release, *, top: int | None) -> None:
        self._release, estimate = release, release.estimate
        self._rows = estimate.rows_to_show(top)
        self._truth = list(_true_counts(release))
        self._kept = len(self._rows)
        self.condensed = is_condensed(self._rows, estimate)
        """Whether ordered values are left out."""

        if not estimate.in_order:
            self._rows = estimate.top()
        values = len(self._rows) if estimate.in_order else estimate.values_shown
        self._rows, self._not_values = self._rows[:values], self._rows[values:]
        self._kept = min(self._kept, values)
        self._smallest = min(_SMALLEST_SHOWN, max(0, values - self._kept - 1))
        self._scale = Scale.of([*self._rows[: self._kept], *self._rows[values - self._smallest :], *self._not_values])
        self._marks = ("█", "▒") if Screen().encoding.startswith("utf") else ("#", ".")

    def _caption(self, *, bars: bool) -> str | None:
        """What a reader must know about rows, estimates and bars."""
        estimate, parts = self._release.estimate, []
        if self.condensed:
            parts.append(more_values(estimate, estimate.values_shown - values_among(row.label for row in self._rows)))
        if bars:
            parts.append("bar: solid up to the lower end of the interval, shaded above")
        if any(row.count < 0 for row in [*self._rows, *self._not_values]):
            parts.append("an estimate below 0 is noise around a small count")
        return "\n".join(parts) or None

    def drawn(self, bar: int) -> Table:
        """The table with bars of at most this length; without bars for 0."""
        rows, release = self._rows, self._release
        shares = [] if release.estimate.passing is None else ["share of those who pass"]
        names = [
            "estimate",
            f"{confidence(release.estimate.beta)} interval",
            *(name for name, _ in self._truth),
            *shares,
        ]
        table = Table(
            Column(Text(shown(release.column)), overflow="fold"),
            *numbers(*names),
            *([""] if bar else []),
            caption=self._caption(bars=bar > 0),
            caption_justify="left",
        )
        for row in rows[: self._kept]:
            self._add(table, row, bar)
        if self._kept < len(rows):
            table.add_section()
            blank = [""] * len(names)
            hidden = len(rows) - self._smallest - self._kept
            table.add_row(f"... {hidden:,} more ...", *blank, *([self._about_smallest(bar)] if bar else []))
            table.add_section()
            for row in rows[len(rows) - self._smallest :]:
                self._add(table, row, bar, factor=_MAGNIFIED)
            table.add_section()
        for row in self._not_values:
            self._add(table, row, bar)
        return table

    def _about_smallest(self, bar: int) -> str:
        """The caption above the bars of the smallest values, if there are any and there is room."""
        if not self._smallest:
            return ""
        longer = f"bars x {_MAGNIFIED}"
        caption = f"smallest {self._smallest}, {longer}"
        return caption if len(caption) <= bar else longer

    def _add(self, table: Table, row: Row, bar: int, *, factor: int = 1) -> None:
        cells = [people(row.count), interval(row)]
        cells += [f"{counts[row.label]:,}" for _, counts in self._truth]
        if (passing := self._release.estimate.passing) is not None:
            value = not isinstance(row.label, NotAValue)
            cells.append(share_interval(passing.share(row.count, low=row.low, high=row.high)) if value else "")
        table.add_row(Text(shown(row.label)), *cells, *([self._bar(row, bar, factor)] if bar else []))

    def _bar(self, row: Row, length: int, factor: int) -> str:
        low, high = (round(length * self._scale.place(factor * end)) for end in (row.low, row.high))
        low = min(low, max(high - 1, 0))  # a short interval at the end of the longest bar is visible too
        solid, shaded = self._marks
        return solid * low + shaded * max(high - low, 1)


def _true_counts(release: Release) -> Iterator[tuple[str, dict[Any, int]]]:
    """The true count of each reported label, if the release was evaluated; under a cap, also the capped one."""
    found, labels = release.evaluation, release.estimate.labels.tolist()
    if found is None:
        return
    if found.uncapped is not None:
        yield "capped", dict(zip(labels, found.true_counts.tolist(), strict=True))
    true = found if found.uncapped is None else found.uncapped
    yield "true", dict(zip(labels, true.true_counts.tolist(), strict=True))


def command_of(asked: Mapping[str, Any]) -> str | None:
    """Return the command that asks for the same release; None if no column of a file was asked for."""
    if "column" not in asked:
        return None
    column = asked["column"]
    columns = [str(name) for name in column] if isinstance(column, list) else [str(column)]
    words = (word for name, value in asked.items() for word in _words(name, value, columns=columns))
    return " ".join(["shuffledp", "run", "FILE", *words])


def _words(name: str, value: Any, *, columns: list[str]) -> Iterator[str]:
    """Yield an option, once for each column if it is about columns."""
    if name == "column":
        for column in columns:
            yield from ("--column", shlex.quote(column))
    elif name == "domain":
        domains = value if isinstance(value, list) else [value] * len(columns)
        for column, domain in zip(columns, domains, strict=True):
            prefix = f"{column}=" if len(columns) > 1 else ""
            for option, text in (domain if isinstance(domain, dict) else {"domain": "FILE"}).items():
                value = f"{prefix}{short_edges(text) if option == 'edges' else text}"
                yield from (f"--{option.replace('_', '-')}", shlex.quote(value))
    else:
        yield f"--{name.replace('_', '-')}"
        if name == "quantiles":
            yield ",".join(f"{share:g}" for share in value)
        elif value is not True:
            yield shlex.quote(f"{value:.15g}" if isinstance(value, float) else str(value))
