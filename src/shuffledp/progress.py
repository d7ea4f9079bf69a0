"""The callback by which long computations report their progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Is told what is being done and which share of it is done; 0 where that will not be known until the end."""


def quiet(what: str, share: float) -> None:
    """Report no progress."""
