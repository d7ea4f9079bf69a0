"""The axis of the bars: linear, or logarithmic where a linear one would hide most of them.

A histogram as a small table of text.

A histogram as an HTML table with bars: real text, no scripts, readable on any background and in any width.

Numbers and labels are text of the page, so that they are as large on a telephone as anywhere else and can be read
aloud; only the lengths of the bars are drawn, as SVG whose attributes are shares of the width: a style attribute is
what a strict content security policy forbids. Colours follow those of the text around.

A histogram on axes of matplotlib.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

import numpy as np

from shuffledp.errors import MissingExtraError
from shuffledp.formatting import shown

_SLIVER = 1 / 20
"""Of the longest bar: shorter ones cannot be told apart on a telephone."""

_MOST_SLIVERS = 1 / 4
"""Of the bars of values that somebody surely holds; with more of them the axis is logarithmic."""

_MOST_STEPS = 5
"""Between the marks of an axis, so that their numbers fit the width of a telephone."""


class Bar(Protocol):
    """What is drawn of a value: its label, the estimate, and the ends of the interval."""

    @property
    def label(self) -> Any:
        """Whatever people hold."""

    @property
    def count(self) -> float:
        """The estimate."""

    @property
    def low(self) -> int:
        """The lower end of the interval."""

    @property
    def high(self) -> int:
        """The upper end of the interval."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Numbers of people from `low` to `high` on an axis, with a mark at every `step`: a sum, or a factor."""

    low: float
    high: float
    step: float
    logarithmic: bool

    @classmethod
    def of(cls, bars: Sequence[Bar]) -> Scale:
        """The axis on which these bars can be seen."""
        counts = [bar.count for bar in bars if bar.count > 0]
        high = max([1.0, *(float(bar.high) for bar in bars), *counts])
        longest = max(counts, default=1.0)
        held = [bar.count for bar in bars if bar.low > 0]  # noise around 0 says nothing on any axis
        slivers = sum(count < _SLIVER * longest for count in held)
        if slivers <= _MOST_SLIVERS * len(held):
            return cls(low=0.0, high=high, step=float(round_step(high, steps=_MOST_STEPS)), logarithmic=False)
        # the shortest bar is a third of a decade long, but for bars of one or two people
        first = max(0, math.floor(math.log10(max(min(counts), 1.0) / 2)))
        decades = math.log10(high) - first
        return cls(low=10.0**first, high=high, step=10.0 ** math.ceil(decades / _MOST_STEPS), logarithmic=True)

    def place(self, people: float) -> float:
        """Where a number of people lies, as a share of the axis; the ends for what lies beyond."""
        if self.logarithmic:
            at = math.log(max(people, self.low) / self.low) / math.log(self.high / self.low)
        else:
            at = (people - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, at))

    @property
    def marks(self) -> list[float]:
        """The numbers that stand at the axis."""
        found, at = [], self.low
        while at <= self.high * (1 + 1e-9):
            found.append(at)
            at = at * self.step if self.logarithmic else at + self.step
        return found

    @property
    def name(self) -> str:
        """What the axis shows; that it is logarithmic is said."""
        return f"people; each line is {self.step:,.0f} times the one before" if self.logarithmic else "people"


def round_step(span: float, *, steps: int) -> int:
    """A whole step of the form 1, 2 or 5 times a power of ten, at most `steps` of which fit a span."""
    least = max(span / steps, 1.0)
    power = 10 ** math.floor(math.log10(least))
    return next(int(factor * power) for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


_LONGEST_BAR = 24
"""In characters: with a label and the numbers it fits a terminal of 80."""


def text_bars(bars: Sequence[Bar], *, column: str) -> str:
    """A line for each bar: label, estimate, interval, and the bar; the scale is said if it is not linear."""
    scale = Scale.of(bars)
    cells = [[shown(column, width=30), "people", "interval", "logarithmic scale" if scale.logarithmic else ""]]
    cells += [[shown(bar.label, width=30), people(bar.count), interval(bar), _drawn(bar, scale)] for bar in bars]
    widths = [max(_width(row[at]) for row in cells) for at in range(3)]
    return "\n".join(
        f"{_padded(label, widths[0])}  {number:>{widths[1]}}  {ends:>{widths[2]}}  {drawn}".rstrip()
        for label, number, ends, drawn in cells
    )


def people(count: float) -> str:
    """An estimate, which can be below zero, as a whole number."""
    return f"{round(count):,}"


def interval(bar: Bar) -> str:
    """The ends of an interval."""
    return f"{bar.low:,} to {bar.high:,}"


def _drawn(bar: Bar, scale: Scale) -> str:
    return "█" * round(_LONGEST_BAR * scale.place(bar.count))


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(mark) else 2 if unicodedata.east_asian_width(mark) in "WF" else 1 for mark in text
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


_PERCENT_PER_DIGIT = 2.3
"""Of the width of an axis on a telephone: 7 of 310 pixels."""

_EDGE = 10
"""Per cent at either end of the axis, where numbers are not centred at their mark."""

BAR_STYLE = """
.shuffledp table.bars { border-collapse: collapse; width: 100%; max-width: 60em; margin: .4em 0; font-size: .95em;
  font-variant-numeric: tabular-nums; border: 0; table-layout: auto; }
.shuffledp table.bars tr { background: none; border: 0; }
.shuffledp table.bars th, .shuffledp table.bars td { padding: .14em .5em .14em 0; border: 0; text-align: right;
  font-weight: normal; white-space: nowrap; vertical-align: middle; background: none; }
.shuffledp table.bars th:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere;
  max-width: 18em; overflow: clip; overflow-clip-margin: .3em; }
.shuffledp table.bars td.drawn, .shuffledp table.bars th.drawn { width: 55%; min-width: 6em; padding-right: .9em; }
.shuffledp table.bars thead th { opacity: .72; font-size: .85em; }
.shuffledp table.bars td.ends { opacity: .8; font-size: .88em; }
.shuffledp svg.track, .shuffledp svg.scale { display: block; width: 100%; max-width: none; overflow: visible; }
.shuffledp svg.track { height: 1.15em; }
.shuffledp .track .bar { fill: var(--bar, #5b8dc9); }
.shuffledp .track .reach { stroke: currentColor; stroke-width: 1.5px; }
.shuffledp .track .line { stroke: currentColor; stroke-width: 1px; opacity: .14; }
.shuffledp svg.scale { height: 1.4em; font-size: .84em; opacity: .8; }
.shuffledp .scale text { fill: currentColor; }
.shuffledp .unit { font-size: .84em; opacity: .8; text-align: left; white-space: normal; line-height: 1.15; }
@media (max-width: 600px) {
  .shuffledp table.bars, .shuffledp table.bars tbody, .shuffledp table.bars tfoot { display: block; }
  .shuffledp table.bars thead { position: absolute; clip-path: inset(50%); height: 1px; width: 1px; overflow: hidden; }
  .shuffledp table.bars tr { display: flex; flex-wrap: wrap; justify-content: flex-end; column-gap: .6em;
    margin-bottom: .45em; align-items: baseline; }
  .shuffledp table.bars th:first-child { flex: 1 1 6em; max-width: none; }
  .shuffledp table.bars th, .shuffledp table.bars td { padding: 0; }
  .shuffledp table.bars td.drawn { order: 1; flex: 1 0 100%; width: auto; padding: 0; }
  .shuffledp table.bars tfoot th, .shuffledp table.bars tfoot td:empty { display: none; }
}
"""
"""What a page or a notebook needs once, inside an element of the class shuffledp."""


def html_bars(bars: Sequence[Bar], *, column: str, width: int = 60) -> str:
    """A table of all bars on one axis; labels longer than `width` are shortened."""
    scale = Scale.of(bars)
    lines = "".join(_upright(scale.place(mark), "line", top=-30) for mark in scale.marks)
    rows = "".join(
        f'<tr role="row"><th scope="row" role="rowheader"><bdi>{escape(shown(bar.label, width=width))}</bdi></th>'
        f'<td class="drawn" role="presentation"><svg class="track" aria-hidden="true">{lines}'
        f'{_drawn_html(bar, scale)}</svg></td><td role="cell">{people(bar.count)}</td>'
        f'<td class="ends" role="cell">{interval(bar)}</td></tr>\n'
        for bar in bars
    )
    # roles are said, since some browsers forget them where a narrow screen shows the rows as lines
    return (
        '<table class="bars" role="table">\n<thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">'
        f'<bdi>{escape(shown(column))}</bdi></th><td class="drawn" role="presentation"></td>'
        '<th scope="col" role="columnheader">people</th><th scope="col" role="columnheader">interval</th></tr>'
        f'</thead>\n<tbody role="rowgroup">\n{rows}</tbody>\n<tfoot aria-hidden="true"><tr><th></th><td class="drawn">'
        f'<svg class="scale" aria-hidden="true">{_marks(scale)}</svg><div class="unit">{scale.name}</div></td><td></td>'
        "<td></td></tr></tfoot>\n</table>"
    )


def _marks(scale: Scale) -> str:
    """The numbers below the axis, without those that would touch the one before on a narrow screen."""
    found, free = [], 0.0
    for mark in scale.marks:
        text, place = f"{mark:,.10g}", 100 * scale.place(mark)
        anchor = "start" if place < _EDGE else "end" if place > 100 - _EDGE else "middle"
        width = _PERCENT_PER_DIGIT * len(text)
        begin = place - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        if begin >= free:
            found.append(f'<text x="{place:.2f}%" y="1em" text-anchor="{anchor}">{text}</text>')
            free = begin + width + _PERCENT_PER_DIGIT
    return "".join(found)


def _drawn_html(bar: Bar, scale: Scale) -> str:
    """The estimate as a bar, and the interval as a line with ends."""
    end, low, high = (scale.place(people) for people in (bar.count, bar.low, bar.high))
    across = f'<line class="reach" x1="{low:.2%}" y1="50%" x2="{high:.2%}" y2="50%"/>'
    bar_itself = f'<rect class="bar" x="0" y="9%" width="{end:.2%}" height="82%" rx="1.5"/>'
    return bar_itself + across + _upright(low, "reach", top=26) + _upright(high, "reach", top=26)


def _upright(place: float, kind: str, *, top: int) -> str:
    """A line from `top` to as far from the bottom, in per cent of the height, at a place from 0 to 1."""
    return f'<line class="{kind}" x1="{place:.2%}" y1="{top}%" x2="{place:.2%}" y2="{100 - top}%"/>'


_BAR, _INTERVAL = "#5b8dc9", "#1f3a5f"
_INCHES_PER_BAR, _INCHES_BESIDE = 0.28, 0.9


def new_axes(bars: int) -> Any:
    """Axes of a new figure that is high enough for this number of bars."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    height = _INCHES_BESIDE + _INCHES_PER_BAR * max(bars, 2)
    return pyplot.subplots(figsize=(8, height), layout="constrained")[1]


def draw_bars(axes: Any, bars: Sequence[Bar]) -> Any:
    """Bars with intervals and numbers, the first on top."""
    scale, places = Scale.of(bars), np.arange(len(bars))
    counts = np.array([max(bar.count, scale.low) for bar in bars])
    low, high = (np.maximum([getattr(bar, end) for bar in bars], scale.low) for end in ("low", "high"))
    axes.barh(places, counts - scale.low, left=scale.low, color=_BAR, height=0.72)
    axes.hlines(places, low, high, color=_INTERVAL, linewidth=1.6)
    for ends in (low, high):
        axes.vlines(ends, places - 0.16, places + 0.16, color=_INTERVAL, linewidth=1.3)
    for place, bar, end in zip(places, bars, np.maximum(high, counts), strict=True):
        axes.annotate(
            people(bar.count), (end, place), xytext=(5, 0), textcoords="offset points", va="center", fontsize="small"
        )
    axes.set_yticks(places, [shown(bar.label, width=32) for bar in bars])
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # a label such as $5 is not a formula
    axes.set_ylim(max(len(bars), 1) - 0.4, -0.6)
    if scale.logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(scale.low, scale.high * (scale.high / scale.low) ** 0.12)
    else:
        axes.set_xlim(0, scale.high * 1.12)
    axes.set_xticks(scale.marks, [f"{mark:,.10g}" for mark in scale.marks])
    axes.minorticks_off()
    axes.set_xlabel(scale.name)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    return axes
