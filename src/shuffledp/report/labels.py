"""Labels as people read them."""

from __future__ import annotations

from typing import Any

MISSING = "(missing)"
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Invisible, but parts of emojis and of words in some scripts."""


def shown(label: Any, *, width: int = 40) -> str:
    """A label in one short printable line."""
    text = MISSING if label is None else str(label) if label != "" else "(empty)"
    line = "".join(mark if mark.isprintable() or mark in _JOINERS else "\N{REPLACEMENT CHARACTER}" for mark in text)
    return line if len(line) <= width else line[: width - 1] + "…"
