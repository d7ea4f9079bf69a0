"""The picture of a separation: people needed against the size of the problem, one panel for each problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shuffledp.applications.separation import Separation
from shuffledp.report.drawing import check_figure, new_figure, save_figure

_STYLES = {
    "local": ("#cc3311", "o"),
    "claim": ("#bbbbbb", "v"),
    "paper": ("#4477aa", "s"),
    "blanket": ("#ccbb44", "^"),
    "exact": ("#66ccee", "s"),
    "sparse": ("#aa3377", "D"),
    "central": ("#228833", "P"),
}
_AXES = {
    "pointer-chasing": ("Pointer chasing, k = 2", "l, the length of the permutations"),
    "pointer-jumping": ("Pointer jumping", "h, the number of levels"),
    "support": ("Support identification", "h, the number of items"),
    "bernoulli": ("Bernoulli mean", "1 / alpha"),
}


def draw_separation(results: Sequence[Separation], path: Path) -> None:
    """Saves one panel for each result, as SVG, PNG or PDF."""
    check_figure(path)
    figure = new_figure(6.4 * len(results), 5.2)
    for axes, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results, strict=True):
        _panel(axes, result)
    save_figure(figure, path)


def _panel(axes: Any, result: Separation) -> None:
    name, along = _AXES[result.problem]
    sizes = [1 / size for size in result.sizes] if result.problem == "bernoulli" else list(result.sizes)
    for column, cells in zip(result.columns, result.cells, strict=True):
        at = [(size, cell) for size, cell in zip(sizes, cells, strict=True) if cell.users is not None]
        if not at:
            continue
        places, users = [size for size, _ in at], [cell.users for _, cell in at]
        if column.how == "bound":
            if column.model == "local":
                colour = _STYLES["local"][0]
                label = f"local lower bound {column.title}, without its constant"
                axes.plot(places, users, ":", color=colour, linewidth=1.2, label=label)
            continue
        colour, marker = _STYLES[column.name]
        axes.plot(places, users, marker + "-", color=colour, label=column.title, markersize=6)
        low = [cell.too_few for _, cell in at]
        if all(number is not None for number in low):
            axes.fill_between(places, low, users, color=colour, alpha=0.25, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel=along, ylabel="people for success 99/100")
    axes.set_title(f"{name}; epsilon = {result.epsilon:g}, delta = {result.delta:g}", fontsize=11)
    axes.set_xticks(sizes, [f"{size:,.0f}" if size >= 10 else f"{size:.3g}" for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.42)  # room for the legend
    axes.legend(fontsize=8, loc="upper left")
