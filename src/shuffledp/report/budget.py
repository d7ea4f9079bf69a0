"""The picture of a ledger: the curve of all its releases together, and the limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shuffledp.ledger import Standing
from shuffledp.report.drawing import check_figure, in_our_style, new_figure, save_figure
from shuffledp.words import counted, share_at_most, shown

_POINTS = 201
_SMALLEST = 1e-30
_CURVE, _LIMIT, _SUM = "#2166ac", "#c51b8a", "#8792a2"


def draw_budget(standing: Standing, path: Path) -> None:
    """Saves the picture as SVG, PNG or PDF, by the ending of the path."""
    check_figure(path)
    budget = standing.budget
    naive = standing.sum_of_epsilons, standing.sum_of_deltas
    with_naive = bool(standing.entries) and naive[0] < 4 * budget.epsilon and naive[1] > 0
    right = max(1.5 * budget.epsilon, 1.08 * naive[0] if with_naive else 0.0)
    epsilons = np.linspace(0, right, _POINTS)
    deltas = np.array([standing.total.delta(float(epsilon)) for epsilon in epsilons])
    lowest = max(_SMALLEST, budget.delta * 1e-4)
    with in_our_style():
        figure = new_figure(7.6, 4.6)
        axes = figure.subplots()
        number = counted(len(standing.entries), "release")
        if standing.entries:
            axes.plot(
                epsilons, np.maximum(deltas, lowest / 10), color=_CURVE, linewidth=2.2, label=f"{number} together"
            )
        axes.plot(budget.epsilon, budget.delta, "o", color=_LIMIT, markersize=9, label="limit", zorder=3)
        axes.plot([budget.epsilon, budget.epsilon], [lowest, budget.delta], ":", color=_LIMIT, linewidth=1)
        axes.plot([0, budget.epsilon], [budget.delta, budget.delta], ":", color=_LIMIT, linewidth=1)
        if with_naive:
            sums = f"sum of epsilons, {share_at_most(naive[0], digits=3)}, and of deltas"
            axes.plot(*naive, "s", color=_SUM, markersize=7, label=sums)
        axes.set(yscale="log", ylim=(lowest, 1.5), xlim=(0, right))
        axes.set(xlabel="privacy loss: epsilon", ylabel="chance of a larger loss: delta")
        axes.set_title(f"{shown(budget.population)}: limit {budget.epsilon:g}, {budget.delta:g}", parse_math=False)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, loc="upper right")
        save_figure(figure, path)
