"""Format numbers, labels and records for people: bounds are rounded so that they stay true, and reprs are one line.

`ShortRepr` gives a record a repr without whole arrays and without integers of thousands of digits, which Python refuses
to print. Every class that derives from it, dataclass or not, has a short repr too.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np


def readable(number: int) -> str:
    """Format a count of any size in few characters."""
    return f"{number:,}" if number.bit_length() <= 64 else f"about 2^{number.bit_length() - 1}"


class LargeInteger(int):
    """A whole number of more than 64 bits, which prints in few characters; Python prints at most 4,300 digits."""

    def __str__(self) -> str:
        return readable(int(self))

    __repr__ = __str__

    def __format__(self, specification: str) -> str:
        return format(str(self), specification.replace(",", ""))


def printable(number: int) -> int:
    """Return a number that can be printed, whatever its size."""
    return number if number.bit_length() <= 64 else LargeInteger(number)


def at_most(bound: float) -> str:
    """Format an upper bound on a number of people, rounded up so that it still holds."""
    return f"{math.ceil(bound):,}" if math.isfinite(bound) else "any number of"


def people_at_most(bound: float) -> str:
    """Format an upper bound on a number of people, with its noun."""
    return f"{at_most(bound)} {'person' if math.ceil(min(bound, 2)) == 1 else 'people'}"


def share_at_most(bound: float, *, digits: int = 2) -> str:
    """Format an upper bound on a share, an epsilon, a delta or a factor, rounded up to a number of digits."""
    return _rounded(bound, digits, ROUND_CEILING)


def share_at_least(bound: float, *, digits: int = 2) -> str:
    """Format a lower bound, rounded down to a number of digits."""
    return _rounded(bound, digits, ROUND_FLOOR)


def _rounded(bound: float, digits: int, direction: str) -> str:
    if not math.isfinite(bound):
        return f"{bound:g}"
    # a number that its digits represent exactly, such as 0.1, is not rounded to the next one
    number = Context(prec=digits, rounding=direction).create_decimal(Decimal(repr(float(bound))))
    return short_exponent(f"{float(number):.{digits}g}")


_REQUESTED_DIGITS = 9
"""A figure with at most this many digits was requested by a person and is printed unchanged."""

_COMPUTED_DIGITS = 6
"""A computed figure is rounded up so that the printed bound holds."""


def privacy_figure(figure: float) -> str:
    """Format an epsilon or a delta: unchanged if it was requested, rounded up if it was computed."""
    requested = f"{figure:.{_REQUESTED_DIGITS}g}"
    return short_exponent(requested) if float(requested) == figure else share_at_most(figure, digits=_COMPUTED_DIGITS)


def epsilon_delta(epsilon: float, delta: float) -> str:
    """Format a guarantee as "epsilon 1, delta 1e-6"."""
    return f"epsilon {privacy_figure(epsilon)}, delta {privacy_figure(delta)}"


def short_exponent(number: str) -> str:
    """Drop the leading zero of an exponent: 1e-06 becomes 1e-6."""
    return number.replace("e-0", "e-")


def percent_at_most(part: float, whole: float, *, digits: int = 2) -> str:
    """Format an upper bound as a percentage of a whole, rounded up."""
    if not math.isfinite(part):
        return "any share"
    up = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{_plain(up.divide(100 * Decimal(repr(float(part))), Decimal(repr(float(whole)))))}%"


def confidence_level(beta: float) -> str:
    """Format the confidence level 1 - beta as a probability, rounded down: 0.95."""
    return _plain(1 - _rounded_up(beta))


def confidence_percent(beta: float) -> str:
    """Format the confidence level in per cent without the sign: 95."""
    return _plain(100 * (1 - _rounded_up(beta)))


def confidence(beta: float) -> str:
    """Format the confidence level in per cent: 95%."""
    return f"{confidence_percent(beta)}%"


def _rounded_up(beta: float) -> Decimal:
    return Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(repr(float(beta))))


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def magnitude(number: float, *, infinite: str = "no limit") -> str:
    """Format a number that may be huge or infinite in few characters."""
    if number == math.inf:
        return infinite
    if number >= _LARGEST_POWER:
        return readable(int(number))
    if number >= 1e7:
        return f"{float(number):.1e}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


_LARGEST_POWER = 10**300
"""The smallest whole number that may not fit a float."""


_PLURALS = {"person": "people", "batch": "batches", "entry": "entries"}


def counted(number: int, thing: str, *, things: str | None = None) -> str:
    """Format a number of things, with the noun in the right form: 1 value, 2 values."""
    return f"{readable(number)} {thing if number == 1 else things or _PLURALS.get(thing, thing + 's')}"


def length_of_time(seconds: int) -> str:
    """Format a length of time in its largest unit, rounded: 2 days."""
    for unit, length in (("year", 365 * 86_400), ("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return counted(round(seconds / length), unit)
    return counted(seconds, "second")


def moment(time: datetime) -> str:
    """Format a time in UTC, to the minute."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def sentence(text: str) -> str:
    """Capitalize the first letter of a text."""
    return text[:1].upper() + text[1:]


MISSING = "(missing)"
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Invisible characters that are parts of emojis and of words in some scripts."""


_TIMES = " \N{MULTIPLICATION SIGN} "
"""The separator of the parts of a label of several columns, and of the names of those columns."""


def _whole(label: Any) -> str:
    return MISSING if label is None else str(label) if label != "" else "(empty)"


def shown(label: Any, *, width: int = 40) -> str:
    """Format a label as one short printable line."""
    text = _TIMES.join(map(_whole, label)) if isinstance(label, tuple) else _whole(label)
    line = "".join(mark if mark.isprintable() or mark in _JOINERS else "\N{REPLACEMENT CHARACTER}" for mark in text)
    return line if len(line) <= width else line[: width - 1] + "…"


_MOST_PARTS = 4

_MOST_MARKS = 60


def shown_address(address: str, *, width: int = 80) -> str:
    """Format an address as one short printable line, without the user name and the password in it."""
    return shown(re.sub(r"^(\w+://)?.*@", r"\1...@", address, flags=re.DOTALL), width=width)


class ShortRepr:
    """A dataclass whose repr is one short line."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # else the dataclass would write its own

    def __repr__(self) -> str:
        return _record(self)


def short_repr(value: Any) -> str:
    """Format a value, or a record with its fields, in few characters."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= 64 else readable(value)
    if isinstance(value, np.ndarray):
        return f"<{counted(value.size, 'number' if value.dtype.kind in 'iufb' else 'value')}>"
    if isinstance(value, Mapping):
        return f"<{counted(len(value), 'entry', things='entries')}>"
    if isinstance(value, list | tuple | AbstractSet):
        if len(value) > _MOST_PARTS:
            return f"<{counted(len(value), 'part')}>"
        return f"({', '.join(map(short_repr, value))})"
    if isinstance(value, ShortRepr):
        return repr(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    text = value.__name__ if isinstance(value, type) else repr(value)
    return text if len(text) <= _MOST_MARKS else f"{text[: _MOST_MARKS - 1]}…"


def _record(record: Any) -> str:
    shown = (
        f"{each.name}={short_repr(getattr(record, each.name))}" for each in dataclasses.fields(record) if each.repr
    )
    return f"{type(record).__name__}({', '.join(shown)})"
