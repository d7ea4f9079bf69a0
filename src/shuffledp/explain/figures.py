"""Figures in files: their style, their formats, and names at the ends of lines."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffledp.atomic_file import check_folder, write_whole
from shuffledp.errors import MissingExtraError, ParameterError

_ENDINGS = (".svg", ".png", ".pdf")
_DOTS_PER_INCH = 130  # a figure of eleven inches is as wide as a page on most screens

_SHARE_OF_AXES = 0.75
"""Approximate share of the axes in the height of a figure; titles and labels take the rest."""

_LETTERS = 9.5
"""Points: the height of the names of lines."""

_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": "#8792a2",
    "xtick.color": "#8792a2",
    "ytick.color": "#8792a2",
    "xtick.labelcolor": "#1f2933",
    "ytick.labelcolor": "#1f2933",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.minor.visible": False,
    "ytick.minor.visible": False,
    "svg.hashsalt": "shuffledp",  # the same figure gives the same file
}


def check_figure(path: Path) -> None:
    """Refuse a path that a figure cannot be saved to, before any work is done."""
    if path.suffix not in _ENDINGS:
        raise ParameterError(f"a figure must end in .svg, .png or .pdf, got {path.name!r}")
    check_folder(path)


def new_axes(height: float) -> Any:
    """Return axes of a new figure of this height in inches, which a notebook shows."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    return pyplot.subplots(figsize=(8, height), layout="constrained")[1]


def plain(axes: Any, *, grid: str) -> None:
    """Show labels as they are, and only the lines that help: a grid of the axis of people, and few edges."""
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        text.set_parse_math(False)  # a label such as $5 is not a formula
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, alpha=0.25)
    axes.set_axisbelow(True)


@contextmanager
def saved_figure(path: Path, width: float, height: float) -> Iterator[Any]:
    """Begin a figure of this size in inches, in our style; at the end save it by the ending of the path."""
    check_figure(path)
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    content, kind = io.BytesIO(), path.suffix.removeprefix(".")
    # no date, so that drawing the same data again changes nothing
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        figure.savefig(content, format=kind, dpi=_DOTS_PER_INCH, metadata=undated)
    write_whole(path, content.getvalue())


def names_at_ends(axes: Any, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write the name of each line beside its end, given as (x, y, name, colour).

    Names at the same x are moved apart so that they do not overlap, and a thin line connects each end with its name.
    The name of a line that ends before others is a little below it, where they do not cross it. Scale and limits of
    the axes must be final.
    """
    apart, last = 1.25 * _LETTERS, max((end[0] for end in ends), default=0.0)
    for x in sorted({end[0] for end in ends}):
        group = sorted((end for end in ends if end[0] == x), key=lambda end: end[1])
        wanted = [_height(axes, y) for _, y, _, _ in group]
        for (_, y, name, colour), place in zip(group, spread(wanted, apart), strict=True):
            moved = place - _height(axes, y) - (0 if x == last else _LETTERS)
            axes.annotate(
                name,
                (x, y),
                xytext=(10, moved),
                textcoords="offset points",
                va="center",
                color=colour,
                fontsize=_LETTERS,
                fontweight="bold",
                annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 3},
            )


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Return places at least `apart` from each other and close to the wanted ones, which are in increasing order."""
    groups: list[tuple[float, int]] = []  # the middle and the number of neighbours that touch
    for place in wanted:
        groups.append((place, 1))
        while len(groups) > 1:
            (below, few), (above, more) = groups[-2:]
            if above - below >= apart * (few + more) / 2:
                break
            groups[-2:] = [((below * few + above * more) / (few + more), few + more)]
    return [middle + apart * (at - (number - 1) / 2) for middle, number in groups for at in range(number)]


def _height(axes: Any, y: float) -> float:
    """The place of a number, in points from the bottom of the axes."""
    low, high = axes.get_ylim()
    inches = axes.figure.get_size_inches()[1] * _SHARE_OF_AXES
    scale = math.log if axes.get_yscale() == "log" else float
    return 72 * float(inches) * (scale(y) - scale(low)) / (scale(high) - scale(low))
