"""What pictures that are saved to a file have in common."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.report.whole_file import check_folder, write_whole

_ENDINGS = (".svg", ".png", ".pdf")
_DOTS_PER_INCH = 130  # a picture of eleven inches is as wide as a page on most screens


def check_figure(path: Path) -> None:
    """Refuses a picture that could not be saved, before any work is done for it."""
    if path.suffix not in _ENDINGS:
        raise ParameterError(f"a figure must end in .svg, .png or .pdf, got {path.name!r}")
    check_folder(path)


def new_figure(width: float, height: float) -> Any:
    """An empty picture, its size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: Path) -> None:
    """Saves as SVG, PNG or PDF, by the ending of the path."""
    check_figure(path)
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.removeprefix("."), dpi=_DOTS_PER_INCH)
    write_whole(path, content.getvalue())
