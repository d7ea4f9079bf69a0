"""Figures of results: the curve of a ledger, a comparison, a separation, and the trade-off of the planner.

In a comparison, all panels have the same axes. Important lines are strong and named at their ends; the others are
faint.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.explain.figures import names_at_ends, saved_figure
from shuffledp.formatting import counted, epsilon_delta, privacy_figure, readable, share_at_most, shown
from shuffledp.ledger import Standing
from shuffledp.paper.separation import Separation
from shuffledp.release.compare import Measurement, TradeOff

_POINTS = 201
_SMALLEST = 1e-30
_CURVE, _LIMIT, _SUM = "#2166ac", "#c51b8a", "#8792a2"


def draw_budget(standing: Standing, path: Path) -> None:
    """Save the curve of all releases of a ledger together, and its limit."""
    budget = standing.budget
    naive = standing.sum_of_epsilons, standing.sum_of_deltas
    with_naive = bool(standing.entries) and naive[0] < 4 * budget.epsilon and naive[1] > 0
    right = max(1.5 * budget.epsilon, 1.08 * naive[0] if with_naive else 0.0)
    epsilons = np.linspace(0, right, _POINTS)
    deltas = np.array([standing.total.delta(float(epsilon)) for epsilon in epsilons])
    lowest = max(_SMALLEST, budget.delta * 1e-4)
    with saved_figure(path, 7.6, 4.6) as figure:
        axes = figure.subplots()
        number = counted(len(standing.entries), "release")
        if standing.entries:
            axes.plot(
                epsilons, np.maximum(deltas, lowest / 10), color=_CURVE, linewidth=2.2, label=f"{number} together"
            )
        axes.plot(budget.epsilon, budget.delta, "o", color=_LIMIT, markersize=9, label="limit", zorder=3)
        axes.plot([budget.epsilon, budget.epsilon], [lowest, budget.delta], ":", color=_LIMIT, linewidth=1)
        axes.plot([0, budget.epsilon], [budget.delta, budget.delta], ":", color=_LIMIT, linewidth=1)
        if with_naive:
            sums = f"sum of epsilons, {share_at_most(naive[0], digits=3)}, and of deltas"
            axes.plot(*naive, "s", color=_SUM, markersize=7, label=sums)
        axes.set(yscale="log", ylim=(lowest, 1.5), xlim=(0, right))
        axes.set(xlabel="privacy loss: epsilon", ylabel="chance of a larger loss: delta")
        axes.set_title(
            f"{shown(budget.population)}: limit {privacy_figure(budget.epsilon)}, {privacy_figure(budget.delta)}",
            parse_math=False,
        )
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, loc="upper right")


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
"""The strong lines and their names."""

_SHADES = {"sparse": "#c51b8a", "dummy": "#e08214", "shuffled-response": "#6a51a3", "laplace": "#7fbf7b"}
"""Colours of strong lines that differ from the colour of their model."""

_FEW = 5
"""Up to this number of protocols, every line is strong."""

_ROOM_ABOVE = 3.0
"""The axis ends at this multiple of the largest error of a named line; a note names lines that go higher."""


def draw_comparison(results: list[Measurement], path: Path, *, epsilon: float, delta: float) -> None:
    """Save measured errors against the number of values or people; published parameters are dotted."""
    by_users = len({result.users for result in results}) > 1
    places = sorted({result.users if by_users else result.bins for result in results})
    measured = [result for result in results if not result.problem]
    models = [model for model in _PANELS if any(result.model == model for result in measured)]
    strong = _strong(measured)
    with saved_figure(path, 3.4 * sum(_PANELS[model][2] for model in models) + 0.6, 4.8) as figure:
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
        figure.suptitle(
            f"Measured error, {fixed}, {epsilon_delta(epsilon, delta)}{faint}",
            fontsize=11,
        )


def _strong(measured: Iterable[Measurement]) -> dict[str, str]:
    """The names of the strong lines."""
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
    """Note which line goes beyond the upper end of the axis, and how far."""
    top = axes.get_ylim()[1]
    beyond = [place for place, error in zip(at, errors, strict=True) if error > top]
    if beyond:
        words = f"{title}: up to {max(errors):,.0f}"
        axes.annotate(words, (0.02, 0.995), xycoords="axes fraction", va="top", fontsize=8, color=colour, alpha=0.8)


def _limit(axes: Any, measured: Sequence[Measurement], strong: dict[str, str]) -> None:
    """Limit the axis to the named lines, so that a much higher line does not compress them."""
    errors = [result.mean for result in measured if result.name in strong and result.mean > 0]
    if errors:
        axes.set_ylim(min(errors) / 1.6, max(errors) * _ROOM_ABOVE)


def _short(number: int) -> str:
    """A number as a short text; a power of 10 or 2 as a power."""
    for base in (10, 2):
        power = round(math.log2(number) / math.log2(base))
        if number >= 100 and base**power == number:
            return f"${base}^{{{power}}}$"
    return readable(number).removeprefix("about ")


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
"""Name, colour (that of the model), and whether the line is strong."""

_AXES = {
    "pointer-chasing": ("Pointer chasing, k = 2", "l, the length of the permutations"),
    "pointer-jumping": ("Pointer jumping", "h, the number of levels"),
    "support": ("Support identification", "h, the number of items"),
    "bernoulli": ("Bernoulli mean", "1 / alpha"),
}


def draw_separation(results: Sequence[Separation], path: Path) -> None:
    """Save the number of people needed against the size of the problem, a panel per problem."""
    with saved_figure(path, 5.6 * len(results), 4.6) as figure:
        for axes, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results, strict=True):
            _panel(axes, result)
        guarantees = dict.fromkeys(f"{epsilon_delta(result.epsilon, result.delta)}" for result in results)
        figure.suptitle(f"People needed for a success probability of 99/100; {'; '.join(guarantees)}", fontsize=11)


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


_TRADE_OFF_LINES = {
    "hist": ("Histogram, the paper's", "#2166ac"),
    "hist-unbiased": ("Histogram, unbiased", "#4393c3"),
    "dummy": ("DummyHistogram", "#e08214"),
    "sparse": ("SparseHistogram, ours", "#c51b8a"),
}
"""Name and colour, as in the comparison."""


def draw_trade_off(result: TradeOff, path: Path) -> None:
    """Save the error against messages per person, and against the number of values."""
    asked = result.asked
    with saved_figure(path, 11.5, 4.4) as figure:
        by_messages, by_bins = figure.subplots(1, 2)
        _error_against_messages(by_messages, result)
        _error_against_bins(by_bins, result)
        guarantee = f"{asked.users:,} people, {epsilon_delta(asked.epsilon, asked.delta)}"
        figure.suptitle(
            f"Largest error over all values, in people, {100 * (1 - asked.beta):.4g}% of the time; {guarantee}",
            fontsize=11,
        )


def _error_against_messages(axes: Any, result: TradeOff) -> None:
    _, colour = _TRADE_OFF_LINES["sparse"]
    axes.plot(*zip(*result.sparse_budgets, strict=True), "-", color=colour, linewidth=2.2)
    most = max([point.error for point in result.choices.values()] + [point.error for point in result.sparse_budgets])
    least = min(point.messages for point in result.choices.values()) if result.choices else 1.0
    farthest = max([point.messages for point in result.choices.values()], default=10.0)
    axes.set(xscale="log", ylim=(0, 1.15 * most), xlim=(least / 2, farthest * 3))
    for name, (label, colour) in _TRADE_OFF_LINES.items():
        if name in result.choices:
            messages, error = result.choices[name]
            axes.plot(messages, error, "o", color=colour, markersize=9)
            far = messages > math.sqrt(least * farthest)
            axes.annotate(
                label,
                (messages, error),
                xytext=(-10 if far else 10, 9),
                textcoords="offset points",
                ha="right" if far else "left",
                color=colour,
                fontweight="bold",
            )
    bins = result.asked.bins
    axes.set(xlabel="messages per person", ylabel="people")
    axes.set_title(f"{bins:,} possible values" if bins < 10**12 else f"2^{math.log2(bins):.0f} possible values")
    axes.grid(axis="y", alpha=0.25)


def _error_against_bins(axes: Any, result: TradeOff) -> None:
    ends = []
    for name, (label, colour) in _TRADE_OFF_LINES.items():
        if name in result.errors:
            errors = result.errors[name]
            axes.plot(result.bin_powers, errors, "o-", color=colour, markersize=4, linewidth=2.2)
            ends.append((result.bin_powers[-1], errors[-1], label, colour))
    axes.set(ylim=(0, 1.15 * max((end[1] for end in ends), default=1.0)), ylabel="people")
    axes.set_xlabel("possible values, as a power of 2")
    axes.set_title("growing with the number of values, or not")
    axes.grid(axis="y", alpha=0.25)
    names_at_ends(axes, ends)
