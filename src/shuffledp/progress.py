"""The callback by which long computations report their progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""A function of the current step and the share that is done; the share is 0 if it is unknown until the end."""


def quiet(what: str, share: float) -> None:
    """Report no progress."""
