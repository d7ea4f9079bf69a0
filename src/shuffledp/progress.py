"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Is told what is being done and which share of it is done; 0 where that will not be known until the end."""


def quiet(what: str, share: float) -> None:
    """Progress for nobody."""
