"""Labels as people read them."""

from __future__ import annotations

from typing import Any

MISSING = "(missing)"


def shown(label: Any, *, width: int = 40) -> str:
    """A label in one short printable line."""
    text = MISSING if label is None else str(label) if label != "" else "(empty)"
    line = "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text)
    return line if len(line) <= width else line[: width - 1] + "…"
