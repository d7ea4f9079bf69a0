"""Small charts as SVG inside a page: all values by rank, the privacy curve, and the distribution with its quantiles.

A chart is 340 units wide and its letters are 12 units high, so that they are at least 11 pixels high on a phone. It
uses the fonts and colours of the page and needs no library and no script.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.explain.bars import Span, round_step
from shuffledp.explain.html import render
from shuffledp.explain.release import UNDETERMINED, is_determined
from shuffledp.formatting import at_most, confidence_level, percent_at_most, privacy_figure, share_at_most, shown
from shuffledp.histogram.labels import NotAValue
from shuffledp.histogram.ordered_estimate import OrderedEstimate, Quantile, written
from shuffledp.release.release import Release

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDTH, _HEIGHT = 340.0, 236.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 12.0, 26.0, 40.0
_DIGIT = 7.0
"""The width of a digit."""

_MOST_MARKS = 5
_FEWEST_MARKS = 3


@dataclass(frozen=True, kw_only=True)
class Axis(Span):
    """A named axis; `marks` are numbers with their text."""

    name: str
    marks: tuple[tuple[float, str], ...]

    @classmethod
    def of(cls, name: str, low: float, high: float, *, logarithmic: bool, powers: bool = False) -> Axis:
        """Return an axis with round marks; with `powers` they are written as powers of ten."""
        numbers = _decades(low, high) if logarithmic else _steps(low, high)
        written = _power if powers else lambda number: f"{number:,.10g}"
        marks = tuple((number, written(number)) for number in numbers)
        return cls(name=name, low=low, high=high, logarithmic=logarithmic, marks=marks)


class Line(NamedTuple):
    """A straight line on the drawing."""

    x1: float
    y1: float
    x2: float
    y2: float


class Text(NamedTuple):
    """Text on the drawing; `anchor` is which part of it is at x."""

    x: float
    y: float
    anchor: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Two axes and what is drawn between them. Screen readers read `title` and `text` instead.

    `bands` and `lines` are lists of points as SVG writes them. `levels`, `dots` and `labels` are highlighted.
    """

    key: str
    title: str
    text: str
    across: Axis
    up: Axis
    bands: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    levels: tuple[Line, ...] = ()
    dots: tuple[tuple[float, float], ...] = ()
    labels: tuple[Text, ...] = ()
    width: float = _WIDTH
    height: float = _HEIGHT

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return where a pair of numbers lies on the drawing."""
        left = _LEFT + self.across.place(x) * (_WIDTH - _LEFT - _RIGHT)
        top = _HEIGHT - _BOTTOM - self.up.place(y) * (_HEIGHT - _TOP - _BOTTOM)
        return left, top

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """Return points as the attribute `points` of SVG."""
        return " ".join(f"{left:.1f},{top:.1f}" for left, top in (self.point(*point) for point in points))

    def with_line(self, points: Iterable[tuple[float, float]]) -> Chart:
        """Add a line through points."""
        return replace(self, lines=(*self.lines, self.path(points)))

    def with_band(self, low: Sequence[tuple[float, float]], high: Sequence[tuple[float, float]]) -> Chart:
        """Add the area between two lines."""
        return replace(self, bands=(*self.bands, self.path([*high, *reversed(low)])))

    def with_level(self, y: float, text: str) -> Chart:
        """Add a dashed line across, labelled at its left end, where a falling line is far above."""
        (left, top), (right, _) = self.point(self.across.low, y), self.point(self.across.high, y)
        above = top - 6 if top - _TOP > 20 else top + 15
        label = Text(left + 4, above, "start", text)
        return replace(self, levels=(*self.levels, Line(left, top, right, top)), labels=(*self.labels, label))

    def with_dot(self, x: float, y: float, text: str, *, right: float = 9, down: float = -8) -> Chart:
        """Add a dot with a label beside it, `right` and `down` from it; the label ends there if `right` is negative."""
        left, top = self.point(x, y)
        label = Text(left + right, top + down, "end" if right < 0 else "start", text)
        return replace(self, dots=(*self.dots, (left, top)), labels=(*self.labels, label))

    @property
    def grid(self) -> list[tuple[Line, Text]]:
        """The lines of the axes with their numbers."""
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        found = []
        for number, text in self.up.marks:
            _, top = self.point(self.across.low, number)
            found.append((Line(_LEFT, top, right, top), Text(_LEFT - 6, top + 4, "end", text)))
        free = -math.inf
        for number, text in self.across.marks:
            left, _ = self.point(number, self.up.low)
            anchor, width = "end" if left > right - 14 else "middle", _DIGIT * len(text)
            begin = left - (width if anchor == "end" else width / 2)
            touches = begin <= free  # the line stays; a number that would touch the previous one is left out
            found.append((Line(left, _TOP, left, bottom), Text(left, bottom + 16, anchor, "" if touches else text)))
            free = free if touches else begin + width + _DIGIT
        return found

    @property
    def names(self) -> tuple[Text, Text]:
        """The names of the axes."""
        return Text(4, 13, "", self.up.name), Text(_WIDTH - _RIGHT, _HEIGHT - 6, "end", self.across.name)

    def svg(self) -> Markup:
        """Render the drawing."""
        return render("chart.svg", chart=self)


def _steps(low: float, high: float) -> list[float]:
    """Multiples of a round step."""
    step = round_step(high - low, steps=_MOST_MARKS - 1)
    first = math.ceil(low / step - 1e-9)
    return [step * at for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten, thinned out or with 2 and 5 between them, so that there are neither many nor few."""
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
"""Smaller values are not drawn."""


def all_values(release: Release) -> Markup:
    """Draw all reported values by rank, with the band of their intervals and the detection limit.

    Bins of people with fewer or more values are not values.
    """
    estimate = release.estimate
    order = np.argsort(-estimate.counts, kind="stable")
    if estimate.padding_bins:
        order = order[[not isinstance(label, NotAValue) for label in estimate.labels[order].tolist()]]
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
    chart = chart.with_band(list(zip(ranks, low, strict=True)), list(zip(ranks, high, strict=True)))
    chart = chart.with_line(zip(ranks, counts, strict=True))
    return chart.with_level(release.detection_limit, f"detection limit: {release.detection_limit:,} people").svg()


def privacy_curve(release: Release) -> Markup:
    """Draw the curve delta(epsilon) of the whole release, and the guarantee that was asked for."""
    promised = release.estimate.guarantee
    assert promised is not None
    points = list(_curve(release, 2 * promised.epsilon))
    lowest = max(_SMALLEST_DELTA, promised.delta * 1e-4, min(points[-1][1], promised.delta / 100))
    chart = Chart(
        key="promise",
        title="The privacy curve",
        text=f"The chance delta falls from {share_at_most(points[0][1])} at epsilon 0 to "
        f"{share_at_most(points[-1][1])} at epsilon {points[-1][0]:g}; promised is "
        f"{share_at_most(promised.delta)} at {privacy_figure(promised.epsilon)}.",
        across=Axis.of("privacy loss: epsilon", 0, 2 * promised.epsilon, logarithmic=False),
        up=Axis.of("chance of a larger loss: delta", lowest, 1.0, logarithmic=True, powers=True),
    )
    drawn = [point for point in points if point[1] >= lowest] or points[:1]
    text = f"promised: {share_at_most(promised.epsilon, digits=4)}, {share_at_most(promised.delta, digits=4)}"
    return chart.with_line(drawn).with_dot(promised.epsilon, promised.delta, text).svg()


def _curve(release: Release, most: float) -> Iterator[tuple[float, float]]:
    for epsilon in np.linspace(0, most, _CURVE_POINTS).tolist():
        yield epsilon, release.privacy.delta(epsilon)


def _readable_ranks(number: int) -> NDArray[np.int64]:
    """Ranks to draw: even in the logarithm, at most 300, so that the page of a large release stays small."""
    return np.unique(np.geomspace(1, number, min(number, 300)).round().astype(np.int64)) - 1


_MOST_POINTS = 300
"""Points of a line: it looks smooth, and the page stays small."""

_MOST_LABELS = 4
"""Marks of an axis whose marks are labels or dates, which are longer than numbers."""

_LONGEST_MARK = 12
"""Characters of a label along the axis."""

_THIN = 0.01
"""Share of the people: a narrower band is about as wide as the line."""


class Points(NamedTuple):
    """Places along the axis, and the share of people up to each with its bounds."""

    places: list[float]
    shares: list[float]
    low: list[float]
    high: list[float]


def points_of(estimate: OrderedEstimate) -> Points:
    """Return the points at the edges, or in steps at the labels, which are numbered from 1."""
    distribution = estimate.distribution()
    number = len(distribution) - (0 if distribution.edges is None else 1)
    at = np.unique(np.linspace(0, max(0, number - 1), min(_MOST_POINTS, max(1, number))).round().astype(np.int64))
    if distribution.edges is not None:
        places = [_place(distribution.edges[i]) for i in at.tolist()]
        return Points(places, *(part[at].tolist() for part in distribution.shares))
    steps = (np.column_stack([np.append(0.0, part[at])[:-1], part[at]]).ravel() for part in distribution.shares)
    return Points(np.repeat(at + 1.0, 2).tolist(), *(part.tolist() for part in steps))


def _place(edge: Any) -> float:
    return edge.timestamp() if isinstance(edge, datetime) else float(edge)


def _axis_marks(estimate: OrderedEstimate) -> tuple[tuple[float, str], ...] | None:
    """Marks that are dates or labels; None if the axis has round numbers."""
    edges = estimate.edges
    if edges and not isinstance(edges[0], datetime):
        return None
    names = list(edges) if edges else estimate.distribution().labels.tolist()
    some = np.unique(np.linspace(0, len(names) - 1, min(_MOST_LABELS, len(names))).round().astype(np.int64)).tolist()
    places = [_place(names[i]) if edges else float(i + 1) for i in some]
    texts = [f"{names[i]:%Y-%m-%d}" if edges else shown(names[i], width=_LONGEST_MARK) for i in some]
    return tuple(zip(places, texts, strict=True))


def distribution_chart(estimate: OrderedEstimate, *, column: str) -> Markup | None:
    """Render the line, its band and the median; None if there is nothing to draw."""
    points = points_of(estimate)
    if len(set(points.places)) < 2:
        return None
    marks, low, high = _axis_marks(estimate), points.places[0], points.places[-1]
    name = shown(column, width=30)
    across = (
        Axis.of(name, low, high, logarithmic=False)
        if marks is None
        else Axis(name=name, low=low, high=high, logarithmic=False, marks=marks)
    )
    percent = tuple((part / 4, f"{25 * part}%") for part in range(5))
    middle = estimate.quantile(0.5)
    known = is_determined(middle, estimate.distribution())
    median = f"the median is about {written(middle.value)} ({middle.interval})" if known else UNDETERMINED
    where = "below" if estimate.edges is not None else "up to"
    chart = Chart(
        key="distribution",
        title=f"The share of people {where} each value",
        text=f"It rises from {points.shares[0]:.1%} to {points.shares[-1]:.1%}; {median}.",
        across=across,
        up=Axis(name=f"people {where} each value", low=0.0, high=1.0, logarithmic=False, marks=percent),
    )
    chart = chart.with_band(
        list(zip(points.places, points.low, strict=True)), list(zip(points.places, points.high, strict=True))
    ).with_line(zip(points.places, points.shares, strict=True))
    if not known:
        return chart.svg()
    at = _middle_place(estimate, middle)
    # the label is where the line is not: right below the dot, or left above it near the right end
    right, down = (9, 15) if chart.across.place(at) < _FAR else (-9, -8)
    return chart.with_dot(at, 0.5, f"median {written(middle.value)}", right=right, down=down).svg()


_FAR = 0.6
"""Share of the axis from which a label to the right of a dot would leave the chart."""


def _middle_place(estimate: OrderedEstimate, middle: Quantile) -> float:
    if estimate.edges is not None:
        return _place(middle.value)
    labels: list[Any] = estimate.distribution().labels.tolist()
    return 1.0 + labels.index(middle.label)


def quantile_rows(estimate: OrderedEstimate, shares: Sequence[float] | None = None) -> list[tuple[str, str, str]]:
    """Return the share, the estimate and the interval of some quantiles as text."""
    distribution = estimate.distribution()
    return [
        (
            f"{100 * found.share:.6g}%{' (median)' if found.share == 0.5 else ''}",
            written(found.value) if is_determined(found, distribution) else "not determined",
            found.interval,
        )
        for found in estimate.quantiles(shares)
    ]


def distribution_section(estimate: OrderedEstimate, *, column: str) -> Markup:
    """Render a part of the report: the chart, its meaning, and the quantiles."""
    off = estimate.distribution().widest
    return render(
        "distribution.html",
        chart=distribution_chart(estimate, column=column),
        quantiles=quantile_rows(estimate),
        confidence=confidence_level(estimate.beta),
        off=at_most(off),
        share=percent_at_most(off, estimate.people) if off < estimate.people else None,
        thin=off < _THIN * estimate.people,
        edges=estimate.edges is not None,
        some_without=estimate.some_without,
    )
