"""The figure of docs/reference/benchmarks.md, error against bytes of a report: docs/figures/report-sizes.svg."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.hashed import BETA, sizes

from experiments.documents import ROOT
from shuffledp.explain.figures import saved_figure

PATH = ROOT / "docs" / "figures" / "report-sizes.svg"
USERS, ANSWERS = 10**6, (10**4, 10**6)
DUMMIES = (0.25, 0.5, 1, 2, 4, 9, 20, 50)
RIGHT, ABOVE = ((12, -4), "left"), ((0, 10), "center")
OTHERS = {
    "dummy-poisson": ("DummyHistogram", "#e08214", RIGHT),
    "private-coin": ("private coin", "#1b7837", ABOVE),
    "sparse": ("SparseHistogram", "#c51b8a", ABOVE),
}
"""Name, colour, and place of the name."""

HASHED = ("HashedHistogram", "#2166ac", RIGHT)


def main(
    path: Path = PATH, *, users: int = USERS, answers: Sequence[int] = ANSWERS, dummies: Sequence[float] = DUMMIES
) -> None:
    """Compute all points and draw them, a panel for each number of answers."""
    with saved_figure(path, 5.7 * len(answers), 4.2) as figure:
        for axes, number in zip(figure.subplots(1, len(answers), squeeze=False, sharey=True)[0], answers, strict=True):
            points = {
                size.name: (size.bytes, size.protocol.error(BETA).simultaneous)
                for size in sizes(users, number, dummies=dummies)
            }
            hashed = sorted(point for name, point in points.items() if name.startswith("hashed"))
            axes.plot(*zip(*hashed, strict=True), "o-", color=HASHED[1], markersize=4, linewidth=2.2)
            _name(axes, hashed[len(hashed) // 4], *HASHED)
            for name, look in OTHERS.items():
                if name in points:
                    axes.plot(*points[name], "o", color=look[1], markersize=9)
                    _name(axes, points[name], *look)
            axes.set(xscale="log", xlabel="bytes of a report", ylabel="people", xlim=(80, 10**5))
            axes.set_title(f"{number:,} possible values")
            axes.grid(axis="y", alpha=0.25)
        for axes in figure.axes:
            axes.set_ylim(0, None)
        figure.suptitle(
            f"Largest error over all values, 95 % of the time; {users:,} people, epsilon 1, delta 1e-6", fontsize=11
        )
    print(f"wrote {path}", file=sys.stderr)


def _name(axes: Any, point: tuple[float, float], label: str, colour: str, place: tuple[Any, str]) -> None:
    offset, side = place
    look = {"ha": side, "color": colour, "fontweight": "bold"}
    axes.annotate(label, point, xytext=offset, textcoords="offset points", **look)


if __name__ == "__main__":
    main()
