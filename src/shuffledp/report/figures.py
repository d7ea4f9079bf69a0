"""The two small charts of the report: all values by rank, and the privacy curve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.jobs.release import Release
from shuffledp.report.chart import Axis, Chart
from shuffledp.words import share_at_most

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
    least = min([float(release.surely_seen), *positive, max(high)]) / 2
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
        chart.level(release.surely_seen, f"surely seen from {release.surely_seen:,} people on"),
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
