"""The figure of docs/explanation/pure-privacy.md.

Left: the exact epsilon of R^gap against the number of people, for uniform and for the best probabilities. Right: the
bound of the CSU+19 lemma on removing the shuffler, and the exact epsilon.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from experiments.documents import ROOT
from shuffledp.explain.figures import names_at_ends, saved_figure
from shuffledp.paper.gap import Gap, best_gap
from shuffledp.paper.pure_privacy import removal_cost, response

PATH = ROOT / "docs" / "figures" / "gap.png"
GAP_USERS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)
REMOVAL_USERS = (1, 2, 3, 5, 8, 12, 20, 30, 40)
REMOVAL_DELTA = Fraction(1, 1000)
RESTARTS = 6  # more restarts of the search found no better probabilities
_SEED = 0
_HOLES = {Fraction(1, 20): "#92c5de", Fraction(3, 8): "#2166ac", Fraction(3, 4): "#c51b8a"}


def main(
    path: Path = PATH,
    *,
    gap_users: Sequence[int] = GAP_USERS,
    removal_users: Sequence[int] = REMOVAL_USERS,
    restarts: int = RESTARTS,
) -> None:
    """Compute and draw both panels."""
    with saved_figure(path, 11.5, 4.4) as figure:
        left, right = figure.subplots(1, 2)
        _draw_gap(left, gap_users, restarts)
        _draw_removal(right, removal_users)
    print(f"wrote {path}", file=sys.stderr)


def _draw_gap(axes: Any, users: Sequence[int], restarts: int) -> None:
    lines = [("uniform over vectors", "#555555", "--", [Gap.uniform().privacy(users=n).epsilon for n in users])]
    for hole, colour in _HOLES.items():
        best = [
            best_gap(users=n, hole=hole, rng=np.random.default_rng(_SEED), restarts=restarts).privacy(users=n).epsilon
            for n in users
        ]
        lines.append((f"best, hole {hole}", colour, "-", best))
    axes.set(xscale="log", yscale="log", ylim=(5e-3, 5), xlabel="people", ylabel="exact pure epsilon, shuffled")
    axes.set_title("R^gap: infinite for one person, finite from two on")
    _draw(axes, users, lines)


def _draw_removal(axes: Any, users: Sequence[int]) -> None:
    costs = [removal_cost(response(epsilon=1.0), users=n, delta=REMOVAL_DELTA) for n in users]
    lines = [
        ("local, bound:\nepsilon + ln n", "#b2182b", ":", [float(cost.promised) for cost in costs]),
        ("local, exact", "#b2182b", "-", [float(cost.local.epsilon) for cost in costs]),
        ("shuffled, exact", "#2166ac", "-", [float(cost.shuffled.epsilon) for cost in costs]),
    ]
    axes.set(xscale="log", xlabel="people", ylabel=f"epsilon at delta {float(REMOVAL_DELTA):g}")
    axes.set_ylim(0, 1.1 * max(lines[0][3]))
    axes.set_title("Randomized response, epsilon 1: removing the shuffler")
    _draw(axes, users, lines)


def _draw(axes: Any, users: Sequence[int], lines: Sequence[tuple[str, str, str, Sequence[float]]]) -> None:
    """Draw lines with their names at their ends."""
    for _, colour, style, values in lines:
        axes.plot(users, values, style, marker="o", color=colour, markersize=4, linewidth=2)
    axes.set_xticks(users, [str(n) for n in users])
    axes.minorticks_off()
    axes.grid(axis="y", alpha=0.25)
    names_at_ends(axes, [(users[-1], values[-1], name, colour) for name, colour, _, values in lines])


if __name__ == "__main__":
    main()
