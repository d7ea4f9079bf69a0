"""What pictures that are saved to a file have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from shuffledp.errors import DataError, MissingExtraError, ParameterError

_ENDINGS = (".svg", ".png", ".pdf")


def check_figure(path: Path) -> None:
    """Refuses a picture that could not be saved, before any work is done for it."""
    if path.suffix not in _ENDINGS:
        raise ParameterError(f"a figure must end in .svg, .png or .pdf, got {path.name!r}")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"cannot write {path}: no folder that can be written to")


def new_figure(width: float, height: float) -> Any:
    """An empty picture of so many inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: Path) -> None:
    """Saves as SVG, PNG or PDF, by the ending of the path."""
    check_figure(path)
    try:
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None
