"""The figure of the planner, error against messages: docs/figures/trade-off.png."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.documents import ROOT
from shuffledp import plan
from shuffledp.explain.plots import draw_trade_off
from shuffledp.release.compare import trade_off

PATH = ROOT / "docs" / "figures" / "trade-off.png"


def main(
    path: Path = PATH, *, users: int = 10**6, bins: int = 10**5, epsilon: float = 0.2, delta: float = 1e-6
) -> None:
    """Plan and draw; a small epsilon shows the differences between protocols best."""
    draw_trade_off(trade_off(plan(users=users, bins=bins, epsilon=epsilon, delta=delta)), path)
    print(f"wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
