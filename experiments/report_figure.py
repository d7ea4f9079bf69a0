"""The top of the HTML report of `shuffledp demo` as an image for README.md and docs: docs/figures/report.png.

It is drawn with the functions of the report, without a browser.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

from experiments.documents import ROOT
from shuffledp import Release, private_histogram
from shuffledp.cli.data import population
from shuffledp.explain.bars import draw_bars
from shuffledp.explain.figures import saved_figure
from shuffledp.explain.page import headline
from shuffledp.formatting import epsilon_delta

PATH = ROOT / "docs" / "figures" / "report.png"
_WIDTH, _TOP = 9.4, 2.3  # inches: width of the page, and height of the part above the bars
_BARS = 12  # small enough for the top of a page
_INK, _SOFT, _CARD = "#1f2933", "#5f6c7b", "#f5f7fa"  # the colours of the page


def main(path: Path = PATH, *, people: int = 200_000, epsilon: float = 1.0, delta: float = 1e-6) -> None:
    """Release the surnames of the demo with fresh noise and draw the report."""
    import pyarrow

    table = pyarrow.table({"surname": population(people)})
    draw_report(private_histogram(table, column="surname", epsilon=epsilon, delta=delta), path)
    print(f"wrote {path}", file=sys.stderr)


def draw_report(release: Release, path: Path) -> None:
    """Draw the title, the key numbers and the largest values."""
    rows = release.estimate.top(_BARS)
    bars = 0.7 + 0.27 * len(rows)
    with saved_figure(path, _WIDTH, _TOP + bars) as figure:
        top, below = figure.subfigures(2, 1, height_ratios=[_TOP, bars])
        _draw_top(top.add_axes((0.02, 0, 0.96, 1)), release, len(rows))
        draw_bars(below.subplots(), rows)


def _draw_top(axes: Any, release: Release, bars: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    estimate = release.estimate
    axes.set(xlim=(0, _WIDTH), ylim=(0, _TOP))
    axes.set_axis_off()
    axes.text(0, 2.2, f"{release.column}: how many people hold each value", size=17, weight="bold", va="top")
    guarantee = estimate.guarantee
    assert guarantee is not None
    under = f"A private histogram of {estimate.people:,} people: {epsilon_delta(guarantee.epsilon, guarantee.delta)}."
    axes.text(0, 1.83, under, size=10, color=_SOFT, va="top")
    cards = headline(release)
    width = _WIDTH / len(cards)
    for place, (number, words) in enumerate(cards):
        left = place * width
        box = FancyBboxPatch(
            (left + 0.05, 0.5), width - 0.25, 0.97, boxstyle="round,pad=0.05", facecolor=_CARD, edgecolor="none"
        )
        axes.add_patch(box)
        axes.text(left + 0.12, 1.42, number, size=14, weight="bold", color=_INK, va="top")
        axes.text(left + 0.12, 1.1, textwrap.fill(words, 29), size=8.5, color=_SOFT, va="top", linespacing=1.35)
    title = f"The {bars:,} most frequent of {len(estimate):,} values that are shown"
    axes.text(0, 0.17, title, size=12, weight="bold", va="center")


if __name__ == "__main__":
    main()
