"""Pictures of a distribution function with its band, for the report and for files, and the table of quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shuffledp.explain.plots import check_figure, in_our_style, new_figure, save_figure
from shuffledp.explain.svg import Axis, Chart
from shuffledp.formatting import at_most, percent_at_most, shown, surely
from shuffledp.histogram.distribution import Quantile, written
from shuffledp.histogram.ordered_estimate import OrderedEstimate

_MOST_POINTS = 300
"""Of a line: it looks smooth, and a page stays small."""

_MOST_MARKS = 4
"""Labels or dates along the axis, which are longer than numbers."""

_LONGEST_MARK = 12
"""Letters of a label along the axis."""

_THIN = 0.01
"""A band that is off by at most this share of the people is about as wide as the line."""

_LINE, _BAND = "#2f6db3", "#5b8dc9"


class Points(NamedTuple):
    """Where the distribution function is known: places along the axis, and shares of people with their bounds."""

    places: list[float]
    shares: list[float]
    low: list[float]
    high: list[float]


def points_of(estimate: OrderedEstimate) -> Points:
    """At the edges; or in steps at the labels, which are numbered from 1."""
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
    """Marks that are dates or labels; None where round numbers do."""
    edges = estimate.edges
    if edges and not isinstance(edges[0], datetime):
        return None
    names = list(edges) if edges else estimate.distribution().labels.tolist()
    some = np.unique(np.linspace(0, len(names) - 1, min(_MOST_MARKS, len(names))).round().astype(np.int64)).tolist()
    places = [_place(names[i]) if edges else float(i + 1) for i in some]
    texts = [f"{names[i]:%Y-%m-%d}" if edges else shown(names[i], width=_LONGEST_MARK) for i in some]
    return tuple(zip(places, texts, strict=True))


def distribution_chart(estimate: OrderedEstimate, *, column: str) -> str:
    """The line, its band and the median as a part of a page; empty where there is nothing to draw."""
    points = points_of(estimate)
    if len(set(points.places)) < 2:
        return ""
    marks, low, high = axis_marks(estimate, points), points.places[0], points.places[-1]
    name = shown(column, width=30)
    across = (
        Axis.of(name, low, high, logarithmic=False)
        if marks is None
        else Axis(name=name, low=low, high=high, logarithmic=False, marks=marks)
    )
    percent = tuple((part / 4, f"{25 * part} %") for part in range(5))
    middle = estimate.quantile(0.5)
    where = "below" if estimate.edges is not None else "up to"
    chart = Chart(
        key="distribution",
        title=f"The share of people {where} each value",
        text=f"It rises from {points.shares[0]:.1%} to {points.shares[-1]:.1%}; the median is about "
        f"{written(middle.value)} ({middle.interval}).",
        across=across,
        up=Axis(name=f"people {where} each value", low=0.0, high=1.0, logarithmic=False, marks=percent),
    )
    at = _middle_place(estimate, middle)
    parts = (
        chart.band(
            list(zip(points.places, points.low, strict=True)), list(zip(points.places, points.high, strict=True))
        ),
        chart.line(zip(points.places, points.shares, strict=True)),
        _median(chart, at, f"median {written(middle.value)}"),
    )
    return replace(chart, parts=parts).svg()


def _median(chart: Chart, at: float, words: str) -> str:
    """Its dot, with words on the side where the line is not: right below it, or left above it near the right end."""
    left, top = chart.point(at, 0.5)
    beside = chart.across.place(at) < _FAR
    anchor, x, y = ("start", left + 9, top + 15) if beside else ("end", left - 9, top - 8)
    return (
        f'<circle class="dot" cx="{left:.1f}" cy="{top:.1f}" r="5"/>'
        f'<text class="mark" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
    )


_FAR = 0.6
"""From here on, along the axis, words beside a dot would leave the chart."""


def _middle_place(estimate: OrderedEstimate, middle: Quantile) -> float:
    if estimate.edges is not None:
        return _place(middle.value)
    labels: list[Any] = estimate.distribution().labels.tolist()
    return 1.0 + labels.index(middle.label)


def quantile_rows(estimate: OrderedEstimate, shares: Sequence[float] | None = None) -> list[tuple[str, str, str]]:
    """The share, the estimate and its interval of some quantiles, in words."""
    return [
        (f"{100 * found.share:.6g} %", written(found.value), found.interval) for found in estimate.quantiles(shares)
    ]


def quantile_table(estimate: OrderedEstimate) -> str:
    """The quantiles as an HTML table."""
    rows = "".join(
        f'<tr><th scope="row">{share}</th><td><bdi>{escape(value)}</bdi></td>'
        f"<td><bdi>{escape(interval)}</bdi></td></tr>"
        for share, value, interval in quantile_rows(estimate)
    )
    header = (
        '<tr><th scope="col">share</th><th scope="col">have at most</th>'
        f'<th scope="col">interval, all at once with probability {surely(estimate.beta)}</th></tr>'
    )
    return f'<table class="all"><thead>{header}</thead><tbody>{rows}</tbody></table>'


def distribution_section(estimate: OrderedEstimate, *, column: str) -> str:
    """A part of the report: the chart, what it means, and the quantiles."""
    chart, off = distribution_chart(estimate, column=column), estimate.distribution().widest
    where = "edge" if estimate.edges is not None else "value"
    thin = ", hardly wider than the line here," if off < _THIN * estimate.people else ""
    among = ", of those who have a value," if estimate.some_without else ""
    return f"""<div class="pair"><figure><h2>How people are distributed</h2>{chart}
<figcaption>The line is the estimate, and the band around it{thin} holds the truth everywhere at once with probability
{surely(estimate.beta)}: no number of people up to any {where} is off by more than {at_most(off)}
({percent_at_most(off, estimate.people)} of all people).</figcaption></figure>
<figure><h2>Quantiles</h2>{quantile_table(estimate)}
<figcaption>A quantile is the smallest value that this share of the people{among}
do not exceed.</figcaption></figure></div>"""


def plot_distribution(estimate: OrderedEstimate, ax: Any = None, *, column: str = "value") -> Any:
    """The line and its band on axes of matplotlib; returns the axes."""
    if ax is None:
        ax = new_figure(8, 4.5).subplots()
    points, where = points_of(estimate), "below" if estimate.edges is not None else "up to"
    dates = estimate.edges is not None and isinstance(estimate.edges[0], datetime)
    places: list[Any] = [datetime.fromtimestamp(place) for place in points.places] if dates else points.places
    ax.fill_between(places, points.low, points.high, color=_BAND, alpha=0.4, linewidth=0)
    ax.plot(places, points.shares, color=_LINE, linewidth=2)
    marks = axis_marks(estimate, points)
    if marks is not None and not dates:
        ax.set_xticks([place for place, _ in marks], [text for _, text in marks])
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    ax.set_xlabel(shown(column), parse_math=False)
    ax.set_ylabel(f"people {where} each value")
    ax.grid(alpha=0.25)
    return ax


def draw_distribution(estimate: OrderedEstimate, path: Path, *, column: str = "value") -> None:
    """Saves the picture as SVG, PNG or PDF, by the ending of the path."""
    check_figure(path)
    with in_our_style():
        figure = new_figure(8, 4.5)
        axes = plot_distribution(estimate, figure.subplots(), column=column)
        axes.set_title(f"{estimate.people:,} people, band with probability {surely(estimate.beta)}")
        save_figure(figure, path)
