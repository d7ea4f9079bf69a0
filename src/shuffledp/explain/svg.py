"""The colours of every page, by what they are for: on a light screen, on a dark one, and on paper.

All letters have a contrast of at least 4.5 with what is behind them, and all marks, edges and lines that mean something
at least 3 (WCAG 2.2, 1.4.3 and 1.4.11); a test computes it for each pair that occurs.

Small charts as SVG text that stands inside a page: no library, no scripts, colours and fonts of the page.

A chart is 340 units wide and its letters are 12 units high, so that on a telephone they are at least 11 pixels high.

The two small charts of the report: all values by rank, and the privacy curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from numpy.typing import NDArray

from shuffledp.formatting import share_at_most
from shuffledp.release.release import Release

LIGHT: Mapping[str, str] = {
    "ink": "#1f2933",  # letters, and the intervals on the bars
    "soft": "#55616f",  # what is said beside
    "paper": "#ffffff",
    "card": "#f3f6f9",
    "rule": "#dde3ea",  # lines that only part one thing from another
    "edge": "#74808d",  # the outlines of fields
    "accent": "#1f5fa8",  # links, buttons, and the ring around what has the focus
    "on-accent": "#ffffff",
    "bar": "#5b8dc9",
    "line-of-chart": "#2f6db3",
    "mark": "#b03a0a",  # what a reader should look at
    "caution": "#fff4ed",
    "alarm": "#fef0f0",
    "alarm-edge": "#b91c1c",
    "good": "#17734a",
}

DARK: Mapping[str, str] = {
    "ink": "#e6eaef",
    "soft": "#a3afbd",
    "paper": "#14181d",
    "card": "#1f262e",
    "rule": "#323b46",
    "edge": "#74808d",
    "accent": "#8fbcf0",
    "on-accent": "#10161d",
    "bar": "#3f6ea8",
    "line-of-chart": "#8fbcf0",
    "mark": "#ff9a62",
    "caution": "#33241a",
    "alarm": "#3a1d1f",
    "alarm-edge": "#f87171",
    "good": "#5fcf94",
}

PAPER: Mapping[str, str] = {
    **LIGHT,
    "ink": "#000000",
    "soft": "#333333",
    "card": "#ffffff",
    "rule": "#999999",
    "line-of-chart": "#1d4f8b",
    "mark": "#8a2c06",
    "caution": "#ffffff",
    "alarm": "#ffffff",
}
"""In print, backgrounds are left out by most browsers: nothing may need one."""


def variables(colours: Mapping[str, str]) -> str:
    """As what a style calls --NAME."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


_WIDTH, _HEIGHT = 340.0, 236.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 12.0, 26.0, 40.0
_MOST_MARKS = 5
_FEWEST_MARKS = 3

CHART_STYLE = """
svg.chart { width: 100%; max-width: 440px; height: auto; display: block; color: inherit; overflow: visible; }
svg.chart text { font-size: 12px; fill: currentColor; }
svg.chart .grid { stroke: currentColor; stroke-opacity: .16; stroke-width: 1; }
svg.chart .line { fill: none; stroke: var(--line-of-chart, #2f6db3); stroke-width: 2; stroke-linejoin: round; }
svg.chart .band { fill: var(--bar, #5b8dc9); fill-opacity: .4; stroke: none; }
svg.chart .mark { stroke: var(--mark, #c2410c); stroke-width: 1.4; stroke-dasharray: 5 4; }
svg.chart .dot { fill: var(--mark, #c2410c); }
svg.chart text.mark { fill: var(--mark, #c2410c); stroke: var(--paper, none); stroke-width: 4px; paint-order: stroke;
  stroke-dasharray: none; }
"""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Numbers from `low` to `high` with some marks, which are texts at numbers."""

    name: str
    low: float
    high: float
    logarithmic: bool
    marks: tuple[tuple[float, str], ...]

    @classmethod
    def of(cls, name: str, low: float, high: float, *, logarithmic: bool, powers: bool = False) -> Axis:
        """An axis with round marks; with `powers` they are written as powers of ten."""
        numbers = _decades(low, high) if logarithmic else _steps(low, high)
        written = _power if powers else lambda number: f"{number:,.10g}"
        marks = tuple((number, written(number)) for number in numbers)
        return cls(name=name, low=low, high=high, logarithmic=logarithmic, marks=marks)

    def place(self, number: float) -> float:
        """Where a number lies, from 0 to 1; the ends for what lies beyond."""
        if self.logarithmic:
            at = math.log(max(number, self.low) / self.low) / math.log(self.high / self.low)
        else:
            at = (number - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, at))


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Two axes, and what is drawn between them; `title` and `text` are read aloud instead of it."""

    key: str
    title: str
    text: str
    across: Axis
    up: Axis
    parts: tuple[str, ...] = ()

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Where a pair of numbers lies on the paper."""
        left = _LEFT + self.across.place(x) * (_WIDTH - _LEFT - _RIGHT)
        top = _HEIGHT - _BOTTOM - self.up.place(y) * (_HEIGHT - _TOP - _BOTTOM)
        return left, top

    def line(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points."""
        return f'<polyline class="line" points="{self._path(points)}"/>'

    def band(self, low: Sequence[tuple[float, float]], high: Sequence[tuple[float, float]]) -> str:
        """The area between two lines."""
        return f'<polygon class="band" points="{self._path([*high, *reversed(low)])}"/>'

    def level(self, y: float, words: str) -> str:
        """A broken line across, with what it means at its left end, where a falling line is far above."""
        (left, top), (right, _) = self.point(self.across.low, y), self.point(self.across.high, y)
        above = top - 6 if top - _TOP > 20 else top + 15
        return (
            f'<line class="mark" x1="{left:.1f}" y1="{top:.1f}" x2="{right:.1f}" y2="{top:.1f}"/>'
            f'<text class="mark" x="{left + 4:.1f}" y="{above:.1f}">{escape(words)}</text>'
        )

    def dot(self, x: float, y: float, words: str) -> str:
        """A point with what it means, beside it where there is room."""
        left, top = self.point(x, y)
        return (
            f'<circle class="dot" cx="{left:.1f}" cy="{top:.1f}" r="5"/>'
            f'<text class="mark" x="{left + 9:.1f}" y="{top - 8:.1f}">{escape(words)}</text>'
        )

    def svg(self) -> str:
        """The whole drawing."""
        name, about = f"{self.key}-title", f"{self.key}-text"
        return (
            f'<svg class="chart" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-labelledby="{name} {about}">'
            f'<title id="{name}">{escape(self.title)}</title><desc id="{about}">{escape(self.text)}</desc>'
            f"{''.join(self._frame())}{''.join(self.parts)}</svg>"
        )

    def _path(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{left:.1f},{top:.1f}" for left, top in (self.point(*point) for point in points))

    def _frame(self) -> Iterable[str]:
        """Lines and texts of the axes."""
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        for number, text in self.up.marks:
            _, top = self.point(self.across.low, number)
            yield f'<line class="grid" x1="{_LEFT:.0f}" y1="{top:.1f}" x2="{right:.0f}" y2="{top:.1f}"/>'
            yield f'<text x="{_LEFT - 6:.0f}" y="{top + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        for number, text in self.across.marks:
            left, _ = self.point(number, self.up.low)
            anchor = "end" if left > right - 14 else "middle"
            yield f'<line class="grid" x1="{left:.1f}" y1="{_TOP:.0f}" x2="{left:.1f}" y2="{bottom:.0f}"/>'
            yield f'<text x="{left:.1f}" y="{bottom + 16:.0f}" text-anchor="{anchor}">{escape(text)}</text>'
        yield f'<text x="4" y="13">{escape(self.up.name)}</text>'
        yield f'<text x="{right:.0f}" y="{_HEIGHT - 6:.0f}" text-anchor="end">{escape(self.across.name)}</text>'


def _steps(low: float, high: float) -> list[float]:
    """Multiples of a round step."""
    least = (high - low) / (_MOST_MARKS - 1)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [step * at for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten, some of them or with 2 and 5 between them, so that there are neither many nor few."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first + 1 >= _FEWEST_MARKS:
        every = math.ceil((last - first + 1) / _MOST_MARKS)
        return [10.0**power for power in range(first, last + 1) if power % every == 0]
    between = (factor * 10.0**power for power in range(first - 1, last + 1) for factor in (1, 2, 5))
    found = [number for number in between if low * (1 - 1e-9) <= number <= high * (1 + 1e-9)]
    return found if len(found) > 1 else [low, high]


def _power(number: float) -> str:
    exponent = round(math.log10(number))
    return "1" if exponent == 0 else "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


_CURVE_POINTS = 61
"""Enough for a line that looks smooth."""

_SMALLEST_DELTA = 1e-30
"""Nobody needs to see smaller ones."""


def all_values(release: Release) -> str:
    """Every reported value, sorted, with the band of its intervals, and the smallest number that is surely seen."""
    estimate = release.estimate
    order = np.argsort(-estimate.counts, kind="stable")
    at = _readable_ranks(order.size)
    ranks = (at + 1).tolist()
    counts, low, high = (
        values[order][at].astype(float).tolist()
        for values in (estimate.counts, estimate.simultaneous.low, estimate.simultaneous.high)
    )
    positive = [count for count in counts if count >= 1]
    least = min([float(release.detection_limit), *positive, max(high)]) / 2
    chart = Chart(
        key="ranks",
        title="All reported values, the most frequent first",
        text=f"The first has about {counts[0]:,.0f} people, the last of {order.size:,} about {counts[-1]:,.0f}.",
        across=Axis.of("rank of the value", 1, order.size, logarithmic=True),
        up=Axis.of("people", max(least, 1.0), max(*high, *counts, 2.0) * 1.1, logarithmic=True),
    )
    lines = (
        chart.band(list(zip(ranks, low, strict=True)), list(zip(ranks, high, strict=True))),
        chart.line(zip(ranks, counts, strict=True)),
        chart.level(release.detection_limit, f"surely seen from {release.detection_limit:,} people on"),
    )
    return replace(chart, parts=lines).svg()


def privacy_curve(release: Release) -> str:
    """delta(epsilon) of the whole release, and the promised point."""
    promised = release.estimate.guarantee
    assert promised is not None
    points = list(_curve(release, 2 * promised.epsilon))
    lowest = max(_SMALLEST_DELTA, promised.delta * 1e-4, min(points[-1][1], promised.delta / 100))
    chart = Chart(
        key="promise",
        title="What is promised to each person",
        text=f"The chance delta falls from {share_at_most(points[0][1])} at epsilon 0 to "
        f"{share_at_most(points[-1][1])} at epsilon {points[-1][0]:g}; promised is "
        f"{share_at_most(promised.delta)} at {promised.epsilon:g}.",
        across=Axis.of("privacy loss: epsilon", 0, 2 * promised.epsilon, logarithmic=False),
        up=Axis.of("chance of a larger loss: delta", lowest, 1.0, logarithmic=True, powers=True),
    )
    drawn = [point for point in points if point[1] >= lowest] or points[:1]
    words = f"promised: {share_at_most(promised.epsilon, digits=4)}, {share_at_most(promised.delta, digits=4)}"
    return replace(chart, parts=(chart.line(drawn), chart.dot(promised.epsilon, promised.delta, words))).svg()


def _curve(release: Release, most: float) -> Iterator[tuple[float, float]]:
    for epsilon in np.linspace(0, most, _CURVE_POINTS).tolist():
        yield epsilon, release.privacy.delta(epsilon)


def _readable_ranks(number: int) -> NDArray[np.int64]:
    """Ranks to draw: evenly in the logarithm, so that large releases stay small."""
    return np.unique(np.geomspace(1, number, min(number, 300)).round().astype(np.int64)) - 1
