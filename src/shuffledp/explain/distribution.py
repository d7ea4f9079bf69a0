"""A distribution function with its confidence band as a chart of the report, and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shuffledp.explain.html import render
from shuffledp.explain.release import UNDETERMINED, is_determined
from shuffledp.explain.svg import Axis, Chart
from shuffledp.formatting import at_most, confidence_level, percent_at_most, shown
from shuffledp.histogram.distribution import Quantile, written
from shuffledp.histogram.ordered_estimate import OrderedEstimate

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST_POINTS = 300
"""Points of a line: it looks smooth, and the page stays small."""

_MOST_MARKS = 4
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


def axis_marks(estimate: OrderedEstimate, points: Points) -> tuple[tuple[float, str], ...] | None:
    """Return marks that are dates or labels; None if the axis has round numbers."""
    edges = estimate.edges
    if edges and not isinstance(edges[0], datetime):
        return None
    names = list(edges) if edges else estimate.distribution().labels.tolist()
    some = np.unique(np.linspace(0, len(names) - 1, min(_MOST_MARKS, len(names))).round().astype(np.int64)).tolist()
    places = [_place(names[i]) if edges else float(i + 1) for i in some]
    texts = [f"{names[i]:%Y-%m-%d}" if edges else shown(names[i], width=_LONGEST_MARK) for i in some]
    return tuple(zip(places, texts, strict=True))


def distribution_chart(estimate: OrderedEstimate, *, column: str) -> Markup | None:
    """Render the line, its band and the median; None if there is nothing to draw."""
    points = points_of(estimate)
    if len(set(points.places)) < 2:
        return None
    marks, low, high = axis_marks(estimate, points), points.places[0], points.places[-1]
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
