"""The planner's picture: error against messages per person, and error against the number of bins."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from shuffledp.jobs.trade_off import TradeOff
from shuffledp.report.drawing import check_figure, new_figure, save_figure

_STYLES = {
    "hist": ("Histogram, truncated (paper)", "#4477aa", "o"),
    "hist-unbiased": ("Histogram, unbiased", "#66ccee", "s"),
    "dummy": ("DummyHistogram", "#ccbb44", "^"),
    "sparse": ("SparseHistogram", "#aa3377", "D"),
}


def draw_trade_off(result: TradeOff, path: Path) -> None:
    """Saves both panels as SVG, PNG or PDF, by the ending of the path."""
    check_figure(path)
    figure, asked = new_figure(11, 4.6), result.asked
    by_messages, by_bins = figure.subplots(1, 2)
    _error_against_messages(by_messages, result)
    _error_against_bins(by_bins, result)
    guarantee = f"epsilon = {asked.epsilon:g}, delta = {asked.delta:g}, {asked.users:,} people"
    figure.suptitle(f"Largest error over all bins, {1 - asked.beta:.0%} of the time; {guarantee}")
    save_figure(figure, path)


def _error_against_messages(axes: Any, result: TradeOff) -> None:
    for name, (label, colour, marker) in _STYLES.items():
        if name in result.choices:
            axes.plot(
                *result.choices[name], marker, color=colour, markersize=9, label=None if name == "sparse" else label
            )
    label, colour, _ = _STYLES["sparse"]
    axes.plot(*zip(*result.sparse_budgets, strict=True), "-", color=colour, label=label)
    bins = result.asked.bins
    axes.set(xscale="log", ylim=(0, None), xlabel="messages per person", ylabel="people")
    axes.set_title(f"d = {bins:,} bins" if bins < 10**12 else f"d = 2^{math.log2(bins):.0f} bins")
    axes.grid(alpha=0.3)
    axes.legend()


def _error_against_bins(axes: Any, result: TradeOff) -> None:
    for name, (label, colour, marker) in _STYLES.items():
        if name in result.errors:
            axes.plot(result.bin_powers, result.errors[name], marker + "-", color=colour, label=label, markersize=5)
    axes.set(ylim=(0, None), xlabel="bins, as a power of 2", ylabel="people")
    axes.set_title("growing with the number of bins, or not")
    axes.grid(alpha=0.3)
    axes.legend()
