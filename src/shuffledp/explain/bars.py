"""A histogram as bars: as text, as an HTML table, and on matplotlib axes.

The axis is linear and starts at 0; a logarithmic one, which starts at 1, is an option.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shuffledp.explain.figures import new_axes, plain
from shuffledp.explain.html import render
from shuffledp.formatting import shown
from shuffledp.histogram.estimate import Row

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST_STEPS = 5
"""Most steps between the marks of an axis, so that their numbers fit the width of a phone."""


class Reach(Protocol):
    """An estimate and the ends of its interval."""

    @property
    def count(self) -> float:
        """The estimate."""

    @property
    def low(self) -> float:
        """The lower end of the interval."""

    @property
    def high(self) -> float:
        """The upper end of the interval."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """An axis from `low` to `high`."""

    low: float
    high: float
    logarithmic: bool

    def place(self, number: float) -> float:
        """Return where a number lies, as a share of the axis; numbers outside lie at the ends."""
        if self.logarithmic:
            at = math.log(max(number, self.low) / self.low) / math.log(self.high / self.low)
        else:
            at = (number - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, at))


@dataclass(frozen=True, kw_only=True)
class Scale(Span):
    """An axis of people with a mark at every `step`, which is a factor on a logarithmic axis."""

    step: float

    @classmethod
    def of(cls, bars: Sequence[Reach], *, log: bool = False) -> Scale:
        """Return an axis for these bars, from 0; from 1 if it is logarithmic.

        An estimate can be larger than the number of people, at which intervals end: the axis then ends at a mark.
        """
        reach, most = (max([1.0, *(float(getattr(bar, name)) for bar in bars)]) for name in ("high", "count"))
        high = max(reach, most)
        if not log:
            step = max(1.0, round_step(high, steps=_MOST_STEPS))
            high = step * math.ceil(high / step) if most > reach else high
            return cls(low=0.0, high=high, step=step, logarithmic=False)
        high = max(high, 10.0)
        return cls(low=1.0, high=high, step=10.0 ** math.ceil(math.log10(high) / _MOST_STEPS), logarithmic=True)

    @property
    def marks(self) -> list[float]:
        """The numbers at the axis."""
        found, at = [], self.low
        while at <= self.high * (1 + 1e-9):
            found.append(at)
            at = at * self.step if self.logarithmic else at + self.step
        return found

    @property
    def name(self) -> str:
        """The name of the axis; it tells if the axis is logarithmic."""
        return f"people; each line is {self.step:,.0f} times the one before" if self.logarithmic else "people"


def round_step(span: float, *, steps: int) -> float:
    """Return the smallest step of 1, 2 or 5 times a power of ten that fits at most `steps` times into a span."""
    least = span / steps
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


_LONGEST_BAR = 24
"""Characters: with a label and numbers it fits a terminal of 80 columns."""


def text_bars(bars: Sequence[Row], *, column: str) -> str:
    """Return a line of text for each bar: label, estimate, interval, bar."""
    scale = Scale.of(bars)
    cells = [[shown(column, width=30), "people", "interval", ""]]
    cells += [[shown(bar.label, width=30), people(bar.count), interval(bar), _drawn(bar, scale)] for bar in bars]
    widths = [max(_width(row[at]) for row in cells) for at in range(3)]
    return "\n".join(
        f"{_padded(label, widths[0])}  {number:>{widths[1]}}  {ends:>{widths[2]}}  {drawn}".rstrip()
        for label, number, ends, drawn in cells
    )


def people(count: float) -> str:
    """Return an estimate, which can be negative, as a whole number."""
    return f"{round(count):,}"


def interval(bar: Row) -> str:
    """Return the ends of an interval as text."""
    return f"{bar.low:,} to {bar.high:,}"


def _drawn(bar: Row, scale: Scale) -> str:
    return "█" * round(_LONGEST_BAR * scale.place(bar.count))


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(
        0 if unicodedata.combining(mark) else 2 if unicodedata.east_asian_width(mark) in "WF" else 1 for mark in text
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


PERCENT_PER_DIGIT = 2.3
"""Width of a digit in per cent of an axis on a phone: 7 of 310 pixels."""

_EDGE = 10
"""Per cent at both ends of the axis where numbers are not centred at their mark."""


def html_bars(bars: Sequence[Row], *, column: str) -> Markup:
    """Render a table of all bars on one axis.

    Numbers and labels are text, so they are as large on a phone as elsewhere and can be read aloud. The bars are SVG
    with lengths in per cent, because a strict content security policy forbids style attributes.
    """
    scale = Scale.of(bars)
    return render(
        "bars.html",
        column=column,
        rows=[
            {
                "label": bar.label,
                "count": people(bar.count),
                "interval": interval(bar),
                "end": f"{scale.place(bar.count):.2%}",
                "low": f"{scale.place(bar.low):.2%}",
                "high": f"{scale.place(bar.high):.2%}",
            }
            for bar in bars
        ],
        lines=[f"{scale.place(mark):.2%}" for mark in scale.marks],
        marks=_marks(scale),
        unit=scale.name,
    )


def _marks(scale: Scale) -> list[dict[str, str]]:
    """The numbers below the axis, without those that would touch the previous one on a narrow screen."""
    found, free = [], 0.0
    for mark in scale.marks:
        text, place = f"{mark:,.10g}", 100 * scale.place(mark)
        anchor = "start" if place < _EDGE else "end" if place > 100 - _EDGE else "middle"
        width = PERCENT_PER_DIGIT * len(text)
        begin = place - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        if begin >= free:
            found.append({"x": f"{place:.2f}%", "anchor": anchor, "text": text})
            free = begin + width + PERCENT_PER_DIGIT
    return found


BAR_COLOUR, INTERVAL_COLOUR = "#5b8dc9", "#1f3a5f"
_INCHES_PER_BAR, _INCHES_BESIDE = 0.28, 0.9


def draw_bars(axes: Any, bars: Sequence[Row], *, log: bool = False) -> Any:
    """Draw bars with intervals and numbers on matplotlib axes or, if None, on new ones; the first is on top."""
    axes = new_axes(_INCHES_BESIDE + _INCHES_PER_BAR * max(len(bars), 2)) if axes is None else axes
    scale, places = Scale.of(bars, log=log), np.arange(len(bars))
    counts = np.array([max(bar.count, scale.low) for bar in bars])
    low, high = (np.maximum([getattr(bar, end) for bar in bars], scale.low) for end in ("low", "high"))
    axes.barh(places, counts - scale.low, left=scale.low, color=BAR_COLOUR, height=0.72)
    axes.hlines(places, low, high, color=INTERVAL_COLOUR, linewidth=1.6)
    for ends in (low, high):
        axes.vlines(ends, places - 0.16, places + 0.16, color=INTERVAL_COLOUR, linewidth=1.3)
    for place, bar, end in zip(places, bars, np.maximum(high, counts), strict=True):
        axes.annotate(
            people(bar.count), (end, place), xytext=(5, 0), textcoords="offset points", va="center", fontsize="small"
        )
    axes.set_yticks(places, [shown(bar.label, width=32) for bar in bars])
    axes.set_ylim(max(len(bars), 1) - 0.4, -0.6)
    if scale.logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(scale.low, scale.high * (scale.high / scale.low) ** 0.12)
    else:
        axes.set_xlim(0, scale.high * 1.12)
    axes.set_xticks(scale.marks, [f"{mark:,.10g}" for mark in scale.marks])
    axes.set_xlabel(scale.name)
    axes.tick_params(axis="y", length=0)
    plain(axes, grid="x")
    axes.spines["left"].set_visible(False)
    return axes
