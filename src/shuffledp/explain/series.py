"""Ordered values as a chart: columns from left to right, in a page, on a terminal and on matplotlib axes.

Values at equal distances, such as ages or days, have a place each, so that a gap is a value that is not shown. If there
are more places than columns, a column is the average of neighbouring values. The averages of the ends of their
intervals bound the average of the true counts, all at once with the confidence of the intervals.

In a page, all lengths are in per cent and letters keep their size, so that the chart fits a phone and a wide screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shuffledp.explain.bars import BAR_COLOUR, INTERVAL_COLOUR, PERCENT_PER_DIGIT, Scale
from shuffledp.explain.figures import new_axes, plain
from shuffledp.explain.html import render
from shuffledp.formatting import counted, shown
from shuffledp.histogram.estimate import Estimate, Row
from shuffledp.histogram.order import is_last, regular_places

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_COLUMNS = 240
"""Columns of a page: each is at least one pixel wide on a phone."""

_MOST_PLACES = 2000
"""The longest regular grid; sparser values are drawn side by side."""

_WIDE = 62
"""Up to this number of columns, there is a gap between columns and a line for each interval."""

_LONGEST_MARK = 22
_MOST_MARKS = 7


@dataclass(frozen=True, kw_only=True)
class Column:
    """A value, or the average of `values` neighbouring ones from `first` to `last`; `place` numbers the columns."""

    place: int
    first: Any
    last: Any
    values: int
    count: float
    low: float
    high: float


class Mark(NamedTuple):
    """A label along the axis: its column, where it is, which part of it is there, and its ends in per cent."""

    place: int
    x: str
    anchor: str
    text: str
    begin: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Series:
    """The columns of a chart with a number of `places`, which may have gaps, on an axis of people."""

    columns: tuple[Column, ...]
    places: int
    gaps: bool
    scale: Scale

    @classmethod
    def of(cls, rows: Iterable[Row], *, most: int = MOST_COLUMNS, log: bool = False) -> Series | None:
        """Return the chart of rows in order; None if fewer than two of them are values in the order."""
        rows = [row for row in rows if not is_last(row.label)]
        if len(rows) < 2:
            return None
        places = regular_places((row.label for row in rows), most=_MOST_PLACES)
        gaps = places is not None and int(places[-1]) + 1 > len(rows)
        at = np.arange(len(rows)) if places is None else places
        number = int(at[-1]) + 1
        if number > most:
            at, number = at * most // number, most
        starts = np.flatnonzero(np.diff(at, prepend=-1))
        sizes = np.diff(starts, append=len(rows))
        counts, low, high = (
            (np.add.reduceat([float(getattr(row, name)) for row in rows], starts) / sizes).tolist()
            for name in ("count", "low", "high")
        )
        columns = tuple(
            Column(
                place=int(at[start]),
                first=rows[start].label,
                last=rows[start + size - 1].label,
                values=size,
                count=counts[i],
                low=low[i],
                high=high[i],
            )
            for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True))
        )
        return cls(columns=columns, places=number, gaps=gaps, scale=Scale.of(columns, log=log))

    @property
    def averaged(self) -> int:
        """The most values of a column."""
        return max(column.values for column in self.columns)

    @property
    def marks(self) -> list[Mark]:
        """The labels along the axis: near its ends, and as many between, at equal distances, as do not touch.

        Labels that are longer than most, such as that of everything before the first day, are left out.
        """
        lengths = [len(shown(column.first, width=_LONGEST_MARK)) for column in self.columns]
        usual = [at for at, length in enumerate(lengths) if length <= np.median(lengths)]
        places = np.array([self.columns[at].place for at in usual])
        for number in range(_MOST_MARKS, 1, -1):
            wanted = np.linspace(places[0], places[-1], number)
            chosen = sorted({usual[int(np.argmin(np.abs(places - place)))] for place in wanted})
            marks = [self._mark(self.columns[at]) for at in chosen]
            if all(before.end <= after.begin for before, after in pairwise(marks)):
                return marks
        return [self._mark(self.columns[usual[0]])]

    def _mark(self, column: Column) -> Mark:
        text = shown(column.first, width=_LONGEST_MARK)
        place, width = 100 * self.middle(column), PERCENT_PER_DIGIT * (len(text) + 2)
        anchor = "start" if place < width / 2 else "end" if place > 100 - width / 2 else "middle"
        begin = place - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        return Mark(column.place, f"{place:.2f}%", anchor, text, begin, begin + width)

    def middle(self, column: Column) -> float:
        """Return where a column is, as a share of the axis."""
        return (column.place + 0.5) / self.places


def series_of(estimate: Estimate, *, most: int = MOST_COLUMNS, log: bool = False) -> Series | None:
    """Return the chart of all values of an estimate; None if they have no order."""
    return Series.of(estimate.rows_in_order(), most=most, log=log) if estimate.in_order else None


def about_series(series: Series, *, unreported_high: int | None) -> str:
    """Return what a reader of the chart must know; `unreported_high` is the bound of values that are not shown."""
    intervals = "thin lines" if series.places <= _WIDE else "shaded parts"
    text = f"Columns are estimates, in the order of the values; the {intervals} are intervals."
    if series.averaged > 1:
        text += f" Each column is the average of up to {counted(series.averaged, 'neighbouring value')}."
    if series.gaps and unreported_high is not None:
        text += f" A gap is a value that is not shown: at most {counted(unreported_high, 'person')}."
    return text


def html_series(series: Series, *, column: str) -> Markup:
    """Render the chart."""
    wide = series.places <= _WIDE
    width = (0.76 if wide else 1.0) / series.places
    scale = series.scale
    columns = [
        {
            "x": f"{series.middle(one) - width / 2:.3%}",
            "middle": f"{series.middle(one):.3%}",
            "top": f"{1 - scale.place(one.count):.2%}",
            "height": f"{scale.place(one.count):.2%}",
            "low": f"{1 - scale.place(one.low):.2%}",
            "high": f"{1 - scale.place(one.high):.2%}",
            "reach": f"{scale.place(one.high) - scale.place(one.low):.2%}",
        }
        for one in series.columns
    ]
    first, last = series.columns[0], series.columns[-1]
    most = max(series.columns, key=lambda one: one.count)
    return render(
        "series.html",
        column=column,
        columns=columns,
        wide=wide,
        width=f"{width:.3%}",
        up=[{"y": f"{1 - scale.place(mark):.2%}", "text": f"{mark:,.10g}"} for mark in scale.marks],
        marks=series.marks,
        unit=scale.name,
        text=f"{shown(first.first)} to {shown(last.last)}; the most people, about {most.count:,.0f}, at "
        f"{shown(most.first)}",
    )


_BLOCKS = " ▁▂▃▄▅▆▇█"
_ROWS = 8
"""Lines of a chart on a terminal."""


def text_series(series: Series, *, blocks: str = _BLOCKS) -> str:
    """Return the chart as lines of text, with the first and the last label below."""
    eighths = len(blocks) - 1
    heights = [0] * series.places
    for one in series.columns:
        heights[one.place] = max(1, round(_ROWS * eighths * series.scale.place(one.count))) if one.count > 0 else 0
    names = [f"{series.scale.high:,.0f}", *[""] * (_ROWS - 1)]
    left = max(map(len, names))
    lines = [
        f"{name:>{left}} │{''.join(blocks[min(eighths, max(0, height - eighths * row))] for height in heights)}"
        for name, row in zip(names, range(_ROWS - 1, -1, -1), strict=True)
    ]
    first, last = (shown(label, width=30) for label in (series.columns[0].first, series.columns[-1].last))
    between = max(1, series.places - len(first) - len(last))
    return "\n".join(
        [
            *(line.rstrip() for line in lines),
            f"{'0':>{left}} └{'─' * series.places}",
            f"{'':>{left}}  {first}{' ' * between}{last}",
        ]
    )


def draw_series(series: Series, axes: Any = None) -> Any:
    """Draw the chart on matplotlib axes; return the axes."""
    axes = new_axes(4) if axes is None else axes
    scale = series.scale
    places = np.array([column.place for column in series.columns], dtype=float)
    counts, low, high = (
        np.maximum([getattr(column, name) for column in series.columns], scale.low) for name in ("count", "low", "high")
    )
    if series.places <= _WIDE:
        axes.bar(places, counts - scale.low, bottom=scale.low, color=BAR_COLOUR, width=0.76)
        axes.vlines(places, low, high, color=INTERVAL_COLOUR, linewidth=1.4)
    else:
        axes.bar(places, counts - scale.low, bottom=scale.low, color=BAR_COLOUR, width=1.0)
        axes.bar(places, high - low, bottom=low, color=INTERVAL_COLOUR, alpha=0.45, width=1.0)
    if scale.logarithmic:
        axes.set_yscale("log")
    axes.set_ylim(scale.low, scale.high * (2 if scale.logarithmic else 1.05))
    axes.set_xlim(-0.6, series.places - 0.4)
    axes.set_xticks([mark.place for mark in series.marks], [mark.text for mark in series.marks])
    axes.set_yticks(scale.marks, [f"{mark:,.10g}" for mark in scale.marks])
    axes.set_ylabel(scale.name)
    plain(axes, grid="y")
    return axes


def is_condensed(rows: Sequence[Row], estimate: Estimate) -> bool:
    """Tell whether a table of these rows leaves out ordered values, so that a chart should show all of them."""
    return estimate.in_order and len(rows) < len(estimate)
