"""Numbers and labels as a person reads them."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any


def readable(number: int) -> str:
    """A count of any size in few characters."""
    return f"{number:,}" if number.bit_length() <= 64 else f"about 2^{number.bit_length() - 1}"


def at_most(bound: float) -> str:
    """An upper bound on a number of people, rounded up, so that what is printed holds too."""
    return f"{math.ceil(bound):,}" if math.isfinite(bound) else "any number of"


def share_at_most(bound: float, *, digits: int = 2) -> str:
    """An upper bound on a share, an epsilon, a delta or a factor, rounded up to a number of digits."""
    if not math.isfinite(bound):
        return f"{bound:g}"
    # a number that its digits write exactly, such as 0.1, is not rounded to the next one
    return (
        f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(repr(float(bound))))):.{digits}g}"
    )


def counted(number: int, thing: str, *, things: str | None = None) -> str:
    """A number of things, with the noun in the right form: 1 value, 2 values."""
    return f"{readable(number)} {thing if number == 1 else things or thing + 's'}"


MISSING = "(missing)"
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Invisible, but parts of emojis and of words in some scripts."""


def shown(label: Any, *, width: int = 40) -> str:
    """A label in one short printable line."""
    text = MISSING if label is None else str(label) if label != "" else "(empty)"
    line = "".join(mark if mark.isprintable() or mark in _JOINERS else "\N{REPLACEMENT CHARACTER}" for mark in text)
    return line if len(line) <= width else line[: width - 1] + "…"
