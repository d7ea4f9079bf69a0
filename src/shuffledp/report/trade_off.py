"""The planner's picture: error against messages per person, and error against the number of values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from shuffledp.jobs.trade_off import TradeOff
from shuffledp.report.drawing import check_figure, in_our_style, names_at_ends, new_figure, save_figure

_LINES = {
    "hist": ("Histogram, the paper's", "#2166ac"),
    "hist-unbiased": ("Histogram, unbiased", "#4393c3"),
    "dummy": ("DummyHistogram", "#e08214"),
    "sparse": ("SparseHistogram, ours", "#c51b8a"),
}
"""Name and colour: those of the comparison."""


def draw_trade_off(result: TradeOff, path: Path) -> None:
    """Saves both panels as SVG, PNG or PDF, by the ending of the path."""
    check_figure(path)
    asked = result.asked
    with in_our_style():
        figure = new_figure(11.5, 4.4)
        by_messages, by_bins = figure.subplots(1, 2)
        _error_against_messages(by_messages, result)
        _error_against_bins(by_bins, result)
        guarantee = f"{asked.users:,} people, epsilon {asked.epsilon:g}, delta {asked.delta:g}"
        figure.suptitle(
            f"Largest error over all values, in people, {100 * (1 - asked.beta):.4g} % of the time; {guarantee}",
            fontsize=11,
        )
        save_figure(figure, path)


def _error_against_messages(axes: Any, result: TradeOff) -> None:
    _, colour = _LINES["sparse"]
    axes.plot(*zip(*result.sparse_budgets, strict=True), "-", color=colour, linewidth=2.2)
    most = max([point.error for point in result.choices.values()] + [point.error for point in result.sparse_budgets])
    least = min(point.messages for point in result.choices.values()) if result.choices else 1.0
    farthest = max([point.messages for point in result.choices.values()], default=10.0)
    axes.set(xscale="log", ylim=(0, 1.15 * most), xlim=(least / 2, farthest * 3))
    for name, (label, colour) in _LINES.items():
        if name in result.choices:
            messages, error = result.choices[name]
            axes.plot(messages, error, "o", color=colour, markersize=9)
            far = messages > math.sqrt(least * farthest)
            axes.annotate(
                label,
                (messages, error),
                xytext=(-10 if far else 10, 9),
                textcoords="offset points",
                ha="right" if far else "left",
                color=colour,
                fontweight="bold",
            )
    bins = result.asked.bins
    axes.set(xlabel="messages per person", ylabel="people")
    axes.set_title(f"{bins:,} possible values" if bins < 10**12 else f"2^{math.log2(bins):.0f} possible values")
    axes.grid(axis="y", alpha=0.25)


def _error_against_bins(axes: Any, result: TradeOff) -> None:
    ends = []
    for name, (label, colour) in _LINES.items():
        if name in result.errors:
            errors = result.errors[name]
            axes.plot(result.bin_powers, errors, "o-", color=colour, markersize=4, linewidth=2.2)
            ends.append((result.bin_powers[-1], errors[-1], label, colour))
    axes.set(ylim=(0, 1.15 * max((end[1] for end in ends), default=1.0)), ylabel="people")
    axes.set_xlabel("possible values, as a power of 2")
    axes.set_title("growing with the number of values, or not")
    axes.grid(axis="y", alpha=0.25)
    names_at_ends(axes, ends)
