"""Small charts as SVG text that stands inside a page: no library, no scripts, colours and fonts of the page.

A chart is 340 units wide and its letters are 12 units high, so that on a telephone they are at least 11 pixels high.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

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
