"""The picture of a comparison: measured error against the number of bins, or against the number of people."""

from __future__ import annotations

import math
from pathlib import Path

from shuffledp.comparison import CONTENDERS, Measurement
from shuffledp.report.drawing import new_figure, save_figure

_COLOURS = {"local": "#cc6677", "central": "#117733", "shuffled": "#4477aa"}
_OURS = "#aa3377"
_MARKERS = "osD^v<>PX*hd"


def draw_comparison(results: list[Measurement], path: Path, *, epsilon: float, delta: float) -> None:
    """Saves a figure as SVG, PNG or PDF, by the ending of the path."""
    by_users = len({result.users for result in results}) > 1
    figure = new_figure(10.5, 6.2)
    axes = figure.subplots()
    for at, (name, contender) in enumerate(CONTENDERS.items()):
        points = [result for result in results if result.name == name and not result.problem]
        if not points:
            continue
        across = [float(point.users) if by_users else math.log10(point.bins) for point in points]
        means = [point.mean for point in points]
        reaches = [[p.mean - p.low for p in points], [p.high - p.mean for p in points]]
        ours = name.startswith("sparse")
        axes.errorbar(
            across,
            means,
            yerr=reaches,
            marker=_MARKERS[at % len(_MARKERS)],
            markersize=5,
            linestyle=":" if "published" in name else "-",
            color=_OURS if ours else _COLOURS[contender.model],
            label=f"{contender.model}: {contender.title}",
        )
    axes.set(yscale="log", ylabel="largest error over all values, in people")
    if by_users:
        axes.set(xscale="log", xlabel="people")
    else:
        axes.set(xlabel="number of possible values, as a power of 10")
    users, bins = results[0].users, results[0].bins
    fixed = f"{bins:,} values" if by_users else f"{users:,} people"
    figure.suptitle(f"Measured error for the same total guarantee: epsilon {epsilon:g}, delta {delta:g}; {fixed}")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    save_figure(figure, path)
