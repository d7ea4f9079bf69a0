"""The pictures of a release, as SVG text that can stand inside a page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from shuffledp.errors import MissingExtraError
from shuffledp.jobs.release import Release
from shuffledp.words import shown

MOST_BARS = 25  # as many as fit a page
_FEW = 20  # up to this number, values are read off better on linear axes
_BAR, _INTERVAL, _MARK, _TEXT, _FAINT = "#5b8dc9", "#1f3a5f", "#c2410c", "#1f2933", "#8792a2"
STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: small, and any script is shown with the reader's fonts
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _TEXT,
    "axes.labelcolor": _TEXT,
    "axes.edgecolor": _FAINT,
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "xtick.labelcolor": _TEXT,
    "ytick.labelcolor": _TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def largest_bins(release: Release) -> str:
    """The largest bins as bars, with simultaneous intervals."""
    return _svg(partial(draw_largest_bins, release=release), height=largest_bins_height(release))


def largest_bins_height(release: Release) -> float:
    """Inches for the axis, and for each bar."""
    return 0.9 + 0.29 * max(min(MOST_BARS, len(release.estimate)), 1)


def draw_largest_bins(axes: Any, *, release: Release) -> None:
    """Bars and intervals on axes of matplotlib."""
    rows = release.estimate.top(MOST_BARS)
    places = np.arange(len(rows))
    counts = np.array([max(row.count, 0.0) for row in rows])
    low, high = (np.array([getattr(row, end) for row in rows], dtype=float) for end in ("low", "high"))
    axes.barh(places, counts, color=_BAR, height=0.72)
    axes.hlines(places, low, high, color=_INTERVAL, linewidth=2)
    for ends in (low, high):
        axes.vlines(ends, places - 0.18, places + 0.18, color=_INTERVAL, linewidth=1.4)
    axes.set_yticks(places, [shown(row.label, width=32) for row in rows])
    for text in axes.get_yticklabels():
        text.set_parse_math(False)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlim(0, max(1.0, float(high.max(initial=0.0))) * 1.02)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    axes.set_xlabel("people")


def all_bins(release: Release) -> str:
    """Every reported bin, sorted, with the band of its intervals, and the smallest count that is surely seen."""
    estimate = release.estimate
    order = np.argsort(-estimate.counts, kind="stable")
    counts, low, high = (
        np.maximum(values[order].astype(float), 0.5)
        for values in (estimate.counts, estimate.simultaneous.low, estimate.simultaneous.high)
    )
    at = _readable_ranks(counts.size)

    def draw(axes: Any) -> None:
        axes.fill_between(at + 1, low[at], high[at], color=_BAR, alpha=0.35, linewidth=0, label="interval")
        axes.plot(at + 1, counts[at], color=_INTERVAL, linewidth=1.5, label="estimate")
        axes.axhline(release.surely_seen, color=_MARK, linewidth=1, linestyle=(0, (4, 3)), label="surely seen above")
        scale = "log" if counts.size > _FEW else "linear"
        axes.set(xscale=scale, yscale=scale, xlabel="rank of the value", ylabel="people")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.0f}")
            axis.set_minor_formatter("")
        if scale == "linear":
            axes.set_ylim(0, None)
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=9)

    return _svg(draw, width=4.6, height=3.2)


def privacy_curve(release: Release) -> str:
    """delta(epsilon) of the whole release, and the promised point."""
    promised = release.estimate.guarantee
    assert promised is not None
    epsilons = np.linspace(0, 2 * promised.epsilon, 81)
    deltas = np.array([release.protocol.privacy.delta(float(epsilon)) for epsilon in epsilons])

    def draw(axes: Any) -> None:
        axes.plot(epsilons, np.maximum(deltas, 1e-300), color=_INTERVAL, linewidth=1.8)
        axes.plot(promised.epsilon, promised.delta, "o", color=_MARK, markersize=7)
        axes.annotate(
            f"promised: ({promised.epsilon:g}, {promised.delta:g})",
            (promised.epsilon, promised.delta),
            xytext=(8, 8),
            textcoords="offset points",
            color=_MARK,
        )
        axes.set(yscale="log", xlabel="epsilon", ylabel="delta", xlim=(0, None))
        axes.set_ylim(max(promised.delta * 1e-6, float(deltas[-1]) / 10, 1e-30), 1)
        axes.grid(alpha=0.25)

    return _svg(draw, width=4.6, height=3.2)


def _svg(draw: Callable[[Any], None], *, width: float = 9.4, height: float) -> str:
    """What `draw` puts on the axes, in the report's style, as SVG text."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # measured with a font that lacks some scripts, shown with the reader's fonts
        warnings.filterwarnings("ignore", message="Glyph")
        figure, file = Figure(figsize=(width, height), layout="constrained"), io.StringIO()
        draw(figure.subplots())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    # only the drawing: no XML declaration, no fixed size in points
    drawing = file.getvalue()[file.getvalue().index("<svg") :]
    return re.sub(r'<svg ([^>]*?)width="[^"]*" ?([^>]*?)height="[^"]*"', r"<svg \1\2", drawing, count=1)


def _readable_ranks(number: int) -> np.ndarray:
    """Ranks to draw: all of the first thousand, then evenly in the logarithm, so that large releases stay small."""
    if number <= 1000:
        return np.arange(number)
    return np.unique(np.concatenate([np.arange(1000), np.geomspace(1000, number - 1, 1000).round().astype(np.int64)]))
