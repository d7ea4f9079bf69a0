"""Numbers and labels as a person reads them."""

from __future__ import annotations

from typing import Any


def readable(number: int) -> str:
    """A count of any size in few characters."""
    return f"{number:,}" if number.bit_length() <= 64 else f"about 2^{number.bit_length() - 1}"


MISSING = "(missing)"
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Invisible, but parts of emojis and of words in some scripts."""


def shown(label: Any, *, width: int = 40) -> str:
    """A label in one short printable line."""
    text = MISSING if label is None else str(label) if label != "" else "(empty)"
    line = "".join(mark if mark.isprintable() or mark in _JOINERS else "\N{REPLACEMENT CHARACTER}" for mark in text)
    return line if len(line) <= width else line[: width - 1] + "…"
