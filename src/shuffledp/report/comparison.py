"""The picture of a comparison: measured error against the number of values, or of people; a panel for each model.

All panels have the same axes, so that models can be compared at a glance. The lines that matter are strong and bear
their names; the others are faint, and the table names them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from shuffledp.jobs.compare import Measurement
from shuffledp.report.drawing import in_our_style, names_at_ends, new_figure, save_figure
from shuffledp.words import readable

_PANELS = {
    "local": ("local: nobody is trusted", "#b2182b", 1.0),
    "shuffled": ("shuffled: a shuffler is trusted", "#2166ac", 1.6),
    "central": ("central: one party holds all data", "#1b7837", 1.0),
}
"""Title, colour and width of the panel of each model."""

_NAMES = {
    "hist": "Histogram, the paper's",
    "sparse": "SparseHistogram, ours",
    "dummy": "DummyHistogram",
    "shuffled-response": "one message each",
    "hist-published": "the theorem's constants",
    "unary": "unary encoding",
    "stability": "stability-based",
    "laplace": "Laplace",
}
"""The lines that matter, as they are called at their ends."""

_SHADES = {"sparse": "#c51b8a", "dummy": "#e08214", "shuffled-response": "#6a51a3", "laplace": "#7fbf7b"}
"""Of strong lines that would else look like another one of their model."""

_FEW = 5
"""Up to this number of protocols, every line is strong."""

_ROOM_ABOVE = 3.0
"""Of the largest error of a named line: a line that goes higher leaves the picture, which says so."""


def draw_comparison(results: list[Measurement], path: Path, *, epsilon: float, delta: float) -> None:
    """Saves a figure as SVG, PNG or PDF, by the ending of the path; published parameters are dotted."""
    by_users = len({result.users for result in results}) > 1
    places = sorted({result.users if by_users else result.bins for result in results})
    measured = [result for result in results if not result.problem]
    models = [model for model in _PANELS if any(result.model == model for result in measured)]
    strong = _strong(measured)
    with in_our_style():
        figure = new_figure(3.4 * sum(_PANELS[model][2] for model in models) + 0.6, 4.8)
        widths = [_PANELS[model][2] for model in models] or [1.0]
        panels = figure.subplots(1, max(len(models), 1), sharey=True, width_ratios=widths, squeeze=False)[0]
        panels[0].set(yscale="log", ylabel="largest error over all values, in people")
        _limit(panels[0], measured, strong)
        for axes, model in zip(panels, models, strict=False):
            lines = [result for result in measured if result.model == model]
            _draw_lines(axes, lines, places, strong, by_users=by_users)
            axes.set_title(_PANELS[model][0], color=_PANELS[model][1])
            axes.set_xlabel("people" if by_users else "possible values")
        fixed = f"{readable(results[0].bins)} values" if by_users else f"{results[0].users:,} people"
        faint = "; faint: further protocols" if len(strong) < len({result.name for result in measured}) else ""
        figure.suptitle(f"Measured error, {fixed}, epsilon {epsilon:g}, delta {delta:g}{faint}", fontsize=11)
        save_figure(figure, path)


def _strong(measured: Iterable[Measurement]) -> dict[str, str]:
    """The names of the lines that are drawn strongly."""
    titles = {result.name: result.title for result in measured}
    chosen = titles if len(titles) <= _FEW else {name: title for name, title in titles.items() if name in _NAMES}
    return {name: _NAMES.get(name, title) for name, title in chosen.items()}


def _draw_lines(
    axes: Any, results: Sequence[Measurement], places: list[int], strong: dict[str, str], *, by_users: bool
) -> None:
    ends = []
    for name in dict.fromkeys(result.name for result in results):
        points = [result for result in results if result.name == name]
        at = [places.index(point.users if by_users else point.bins) for point in points]
        errors = [point.mean for point in points]
        colour = _SHADES.get(name, _PANELS[points[0].model][1])
        dotted = ":" if "published" in name else "-"
        if name in strong:
            axes.plot(at, errors, dotted, marker="o", markersize=4, linewidth=2.2, color=colour, zorder=3)
            ends.append((at[-1], errors[-1], strong[name], colour))
        else:
            axes.plot(at, errors, dotted, marker="o", markersize=2, linewidth=0.9, color=colour, alpha=0.35)
            _note_leaving(axes, at, errors, points[0].title, colour)
    axes.set_xticks(range(len(places)), [_short(place) for place in places], fontsize=9)
    axes.set_xlim(-0.4, len(places) - 0.6)
    axes.grid(axis="y", alpha=0.25)
    names_at_ends(axes, ends)


def _note_leaving(axes: Any, at: list[int], errors: list[float], title: str, colour: str) -> None:
    """Says which line goes beyond the upper end of the axis, and how far."""
    top = axes.get_ylim()[1]
    beyond = [place for place, error in zip(at, errors, strict=True) if error > top]
    if beyond:
        words = f"{title}: up to {max(errors):,.0f}"
        axes.annotate(words, (0.02, 0.995), xycoords="axes fraction", va="top", fontsize=8, color=colour, alpha=0.8)


def _limit(axes: Any, measured: Sequence[Measurement], strong: dict[str, str]) -> None:
    """Keeps a line that goes far beyond the named ones from pressing them together."""
    errors = [result.mean for result in measured if result.name in strong and result.mean > 0]
    if errors:
        axes.set_ylim(min(errors) / 1.6, max(errors) * _ROOM_ABOVE)


def _short(number: int) -> str:
    """A number in few letters: powers as powers."""
    for base in (10, 2):
        power = round(math.log2(number) / math.log2(base))
        if number >= 100 and base**power == number:
            return f"${base}^{{{power}}}$"
    return readable(number).removeprefix("about ")
