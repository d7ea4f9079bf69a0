"""The picture of R^gap: its exact epsilon against the number of people, and the best that its probabilities can do.

python -m shuffledp.report.gap docs/figures/gap.png
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.errors import MissingExtraError
from shuffledp.verification.exact.gap import Gap, best_gap
from shuffledp.verification.exact.pure import removal_cost, response

_HOLES = {Fraction(1, 20): "#66ccee", Fraction(3, 8): "#4477aa", Fraction(3, 4): "#aa3377"}
_USERS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
_SEED = 0


def draw_gap(path: Path) -> None:
    """Saves both panels: R^gap, and the lemma of CSU+19 beside the truth."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _gap(left)
    _removal(right)
    figure.savefig(path, dpi=130)


def _gap(axes: Any) -> None:
    uniform = [Gap.uniform().privacy(users=users).epsilon for users in _USERS]
    axes.plot(_USERS, uniform, "k--o", markersize=4, label="hole 3/8, uniform over vectors")
    for hole, colour in _HOLES.items():
        best = [
            best_gap(users=n, hole=hole, rng=np.random.default_rng(_SEED), restarts=6).privacy(users=n) for n in _USERS
        ]
        axes.plot(
            _USERS,
            [exact.epsilon for exact in best],
            "-o",
            color=colour,
            markersize=5,
            label=f"hole {hole}, best found",
        )
    axes.set(xscale="log", yscale="log", ylim=(5e-3, 20), xlabel="people", ylabel="exact pure epsilon, shuffled")
    axes.set_xticks(_USERS, [str(n) for n in _USERS])
    axes.minorticks_off()
    axes.set_title("R^gap: infinite for one person, finite from two on")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right")


def _removal(axes: Any) -> None:
    users, delta = (1, 2, 3, 5, 8, 12, 20, 30, 40), Fraction(1, 1000)
    costs = [removal_cost(response(epsilon=1.0), users=n, delta=delta) for n in users]
    axes.plot(users, [cost.promised for cost in costs], "-s", color="#aa3377", label="local, promised: epsilon + ln n")
    axes.plot(users, [cost.local.epsilon for cost in costs], "-", color="#ccbb44", linewidth=3, label="local, exact")
    axes.plot(users, [cost.shuffled.epsilon for cost in costs], "-o", color="#4477aa", label="shuffled, exact")
    axes.set(xscale="log", ylim=(0, None), xlabel="people", ylabel="epsilon at delta = 0.001")
    axes.set_xticks(users, [str(n) for n in users])
    axes.minorticks_off()
    axes.set_title("Randomized response, epsilon 1: removing the shuffler")
    axes.grid(alpha=0.3)
    axes.legend()


if __name__ == "__main__":
    draw_gap(Path(sys.argv[1]))
