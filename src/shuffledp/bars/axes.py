"""A histogram on axes of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shuffledp.bars.scale import Bar, Scale
from shuffledp.bars.text import people
from shuffledp.errors import MissingExtraError
from shuffledp.words import shown

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
