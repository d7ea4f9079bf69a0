"""The picture of a comparison: measured error against the number of bins, or against the number of people."""

from __future__ import annotations

from pathlib import Path

from shuffledp.jobs.compare import Measurement
from shuffledp.report.drawing import new_figure, save_figure
from shuffledp.words import readable

_PALETTES = {
    "central": ["#117733", "#44aa66"],
    "local": ["#661100", "#882255", "#cc6677", "#dd8855", "#aa4466", "#ee99aa"],
    "shuffled": ["#888888", "#999933", "#bbbb66", "#ddaa33", "#332288", "#6666bb", "#009988", "#44bbbb", "#774411"],
}
_STRONG = {"hist": "#0077bb", "sparse": "#cc00aa", "stability": "#117733"}
_MARKERS = "osD^v<>P"


def draw_comparison(results: list[Measurement], path: Path, *, epsilon: float, delta: float) -> None:
    """Saves a figure as SVG, PNG or PDF, by the ending of the path; published parameters are dotted."""
    by_users = len({result.users for result in results}) > 1
    places = sorted({result.users if by_users else result.bins for result in results})
    figure = new_figure(11.5, 6.2)
    axes = figure.subplots()
    drawn = dict.fromkeys(_PALETTES, 0)
    for name in dict.fromkeys(result.name for result in results if not result.problem):
        points = [result for result in results if result.name == name and not result.problem]
        model, title = points[0].model, points[0].title
        drawn[model] += 1
        palette, at = _PALETTES[model], drawn[model]
        axes.plot(
            [places.index(point.users if by_users else point.bins) for point in points],
            [point.mean for point in points],
            marker=_MARKERS[at % len(_MARKERS)],
            markersize=7 if name in _STRONG else 4.5,
            linewidth=2.6 if name in _STRONG else 1.3,
            linestyle=":" if "published" in name else "-",
            color=_STRONG.get(name, palette[at % len(palette)]),
            label=f"{model}: {title}",
        )
    axes.set(yscale="log", ylabel="largest error over all values, in people")
    axes.set_xticks(range(len(places)), [readable(place).removeprefix("about ") for place in places])
    axes.set_xlabel("people" if by_users else "possible values")
    fixed = f"{results[0].bins:,} values" if by_users else f"{results[0].users:,} people"
    axes.set_title(f"Measured error, {fixed}, epsilon {epsilon:g}, delta {delta:g} in total", fontsize=11)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    save_figure(figure, path)
