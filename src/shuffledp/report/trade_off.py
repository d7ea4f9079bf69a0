"""The planner's picture: error against messages per person, and error against the number of bins."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from shuffledp.errors import ParameterError
from shuffledp.jobs.plan import Plan, plan
from shuffledp.protocols import SparseHistogram
from shuffledp.report.drawing import check_figure, new_figure, save_figure

_STYLES = {
    "hist": ("Histogram, truncated (paper)", "#4477aa", "o"),
    "hist-unbiased": ("Histogram, unbiased", "#66ccee", "s"),
    "dummy": ("DummyHistogram", "#ccbb44", "^"),
    "sparse": ("SparseHistogram", "#aa3377", "D"),
}
_BUDGETS = [1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 2.5]
_BIN_POWERS = [3.32, 6.64, 10, 13.3, 16.6, 20, 28, 36, 44, 52, 60, 64]


def draw_trade_off(asked: Plan, path: Path) -> None:
    """Saves both panels as SVG, PNG or PDF, by the ending of the path."""
    check_figure(path)
    figure = new_figure(11, 4.6)
    by_messages, by_bins = figure.subplots(1, 2)
    _error_against_messages(by_messages, asked)
    _error_against_bins(by_bins, asked)
    guarantee = f"epsilon = {asked.epsilon:g}, delta = {asked.delta:g}, {asked.users:,} people"
    figure.suptitle(f"Largest error over all bins, {1 - asked.beta:.0%} of the time; {guarantee}")
    save_figure(figure, path)


def _error_against_messages(axes: Any, asked: Plan) -> None:
    for name in ("hist", "hist-unbiased", "dummy"):
        row = asked.row(name)
        if not row.problem:
            label, colour, marker = _STYLES[name]
            axes.plot(row.messages, row.simultaneous, marker, color=colour, markersize=9, label=label)
    label, colour, _ = _STYLES["sparse"]
    best = asked.row("sparse-best")
    points = [(best.messages, best.simultaneous)]
    knee = asked.row("sparse").messages
    for factor in _BUDGETS:
        try:
            protocol = SparseHistogram.calibrate(
                users=asked.users,
                bins=asked.bins,
                epsilon=asked.epsilon,
                delta=asked.delta,
                honest_users=asked.honest_users,
                messages=1 + 0.95 * factor * (knee - 1),
            )
        except ParameterError:
            continue
        points.append((protocol.messages_per_user.expected, float(protocol.error(asked.beta).simultaneous)))
    points.sort()
    axes.plot(*zip(*points, strict=True), "-", color=colour, label=label)
    axes.plot(knee, asked.row("sparse").simultaneous, "D", color=colour, markersize=9)
    axes.set(xscale="log", ylim=(0, None), xlabel="messages per person", ylabel="people")
    axes.set_title(f"d = {asked.bins:,} bins" if asked.bins < 10**12 else f"d = 2^{math.log2(asked.bins):.0f} bins")
    axes.grid(alpha=0.3)
    axes.legend()


def _error_against_bins(axes: Any, asked: Plan) -> None:
    plans = [
        plan(
            users=asked.users,
            bins=round(2**power),
            epsilon=asked.epsilon,
            delta=asked.delta,
            beta=asked.beta,
            honest_users=asked.honest_users,
        )
        for power in _BIN_POWERS
    ]
    for name, (label, colour, marker) in _STYLES.items():
        errors = [p.row(name).simultaneous for p in plans]
        if name != "dummy" and all(map(math.isfinite, errors)):  # as large as that of the unbiased Histogram
            axes.plot(_BIN_POWERS, errors, marker + "-", color=colour, label=label, markersize=5)
    axes.set(ylim=(0, None), xlabel="bins, as a power of 2", ylabel="people")
    axes.set_title("growing with the number of bins, or not")
    axes.grid(alpha=0.3)
    axes.legend()
