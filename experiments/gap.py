"""The figure of docs/explanation/pure-privacy.md.

The exact epsilon of R^gap against the number of people, and the best that its probabilities can do; beside it the lemma
of CSU+19 on removing the shuffler, and the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from experiments.documents import ROOT
from shuffledp.report.drawing import new_figure, save_figure
from shuffledp.verification.exact.gap import Gap, best_gap
from shuffledp.verification.exact.pure import removal_cost, response

PATH = ROOT / "docs" / "figures" / "gap.png"
GAP_USERS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
REMOVAL_USERS = (1, 2, 3, 5, 8, 12, 20, 30, 40)
REMOVAL_DELTA = Fraction(1, 1000)
RESTARTS = 6  # of the search, after which no better probabilities were found
_SEED = 0
_HOLES = {Fraction(1, 20): "#66ccee", Fraction(3, 8): "#4477aa", Fraction(3, 4): "#aa3377"}


def main(
    path: Path = PATH,
    *,
    gap_users: Sequence[int] = GAP_USERS,
    removal_users: Sequence[int] = REMOVAL_USERS,
    restarts: int = RESTARTS,
) -> None:
    """Computes and draws both panels."""
    figure = new_figure(11, 4.6)
    left, right = figure.subplots(1, 2)
    _draw_gap(left, gap_users, restarts)
    _draw_removal(right, removal_users)
    save_figure(figure, path)
    print(f"wrote {path}", file=sys.stderr)


def _draw_gap(axes: Any, users: Sequence[int], restarts: int) -> None:
    uniform = [Gap.uniform().privacy(users=n).epsilon for n in users]
    axes.plot(users, uniform, "k--o", markersize=4, label="hole 3/8, uniform over vectors")
    for hole, colour in _HOLES.items():
        best = [
            best_gap(users=n, hole=hole, rng=np.random.default_rng(_SEED), restarts=restarts).privacy(users=n).epsilon
            for n in users
        ]
        axes.plot(users, best, "-o", color=colour, markersize=5, label=f"hole {hole}, best found")
    axes.set(xscale="log", yscale="log", ylim=(5e-3, 20), xlabel="people", ylabel="exact pure epsilon, shuffled")
    axes.set_title("R^gap: infinite for one person, finite from two on")
    _finish(axes, users, legend_at="upper right")


def _draw_removal(axes: Any, users: Sequence[int]) -> None:
    costs = [removal_cost(response(epsilon=1.0), users=n, delta=REMOVAL_DELTA) for n in users]
    axes.plot(users, [cost.promised for cost in costs], "-s", color="#aa3377", label="local, promised: epsilon + ln n")
    axes.plot(users, [cost.local.epsilon for cost in costs], "-", color="#ccbb44", linewidth=3, label="local, exact")
    axes.plot(users, [cost.shuffled.epsilon for cost in costs], "-o", color="#4477aa", label="shuffled, exact")
    axes.set(xscale="log", ylim=(0, None), xlabel="people", ylabel=f"epsilon at delta = {float(REMOVAL_DELTA):g}")
    axes.set_title("Randomized response, epsilon 1: removing the shuffler")
    _finish(axes, users, legend_at="best")


def _finish(axes: Any, users: Sequence[int], *, legend_at: str) -> None:
    axes.set_xticks(users, [str(n) for n in users])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(loc=legend_at)


if __name__ == "__main__":
    main()
