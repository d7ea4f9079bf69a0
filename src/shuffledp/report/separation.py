"""The picture of a separation: people needed against the size of the problem, one panel for each problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shuffledp.applications.separation import Separation
from shuffledp.report.drawing import check_figure, in_our_style, names_at_ends, new_figure, save_figure

_LOCAL, _SHUFFLED, _CENTRAL = "#b2182b", "#2166ac", "#1b7837"
_LINES = {
    "local": ("local", _LOCAL, True),
    "claim": ("paper's proof", _SHUFFLED, False),
    "paper": ("paper's noise", _SHUFFLED, False),
    "blanket": ("CSU+19", _SHUFFLED, False),
    "exact": ("shuffled", _SHUFFLED, True),
    "sparse": ("shuffled, sparse", "#c51b8a", True),
    "central": ("central", _CENTRAL, True),
}
"""Name, colour, and whether the line is strong: colours are those of the models."""

_AXES = {
    "pointer-chasing": ("Pointer chasing, k = 2", "l, the length of the permutations"),
    "pointer-jumping": ("Pointer jumping", "h, the number of levels"),
    "support": ("Support identification", "h, the number of items"),
    "bernoulli": ("Bernoulli mean", "1 / alpha"),
}


def draw_separation(results: Sequence[Separation], path: Path) -> None:
    """Saves one panel for each result, as SVG, PNG or PDF."""
    check_figure(path)
    with in_our_style():
        figure = new_figure(5.6 * len(results), 4.6)
        for axes, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results, strict=True):
            _panel(axes, result)
        guarantees = dict.fromkeys(f"epsilon {result.epsilon:g}, delta {result.delta:g}" for result in results)
        figure.suptitle(f"How many people are needed to be right 99 times in 100; {'; '.join(guarantees)}", fontsize=11)
        save_figure(figure, path)


def _panel(axes: Any, result: Separation) -> None:
    name, along = _AXES[result.problem]
    sizes = [1 / size for size in result.sizes] if result.problem == "bernoulli" else list(result.sizes)
    ends = []
    for column, cells in zip(result.columns, result.cells, strict=True):
        at = [(size, cell) for size, cell in zip(sizes, cells, strict=True) if cell.users is not None]
        if not at or (column.how == "bound" and column.model != "local"):
            continue
        places, users = [size for size, _ in at], [float(cell.users or 0) for _, cell in at]
        if column.how == "bound":
            axes.plot(places, users, ":", color=_LOCAL, linewidth=1.2)
            ends.append((places[-1], users[-1], "lower bound, no constant", _LOCAL))
            continue
        title, colour, strong = _LINES[column.name]
        look = {"linewidth": 2.2, "markersize": 5} if strong else {"linewidth": 1, "markersize": 3, "alpha": 0.5}
        axes.plot(places, users, "o-", color=colour, **look)
        ends.append((places[-1], users[-1], title, colour))
        low = [cell.too_few for _, cell in at]
        if all(number is not None for number in low):
            axes.fill_between(places, low, users, color=colour, alpha=0.2, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel=along, ylabel="people")
    axes.set_title(name)
    axes.set_xticks(sizes, [f"{size:,.0f}" if size >= 10 else f"{size:.3g}" for size in sizes])
    axes.minorticks_off()
    axes.grid(axis="y", alpha=0.25)
    names_at_ends(axes, ends)
