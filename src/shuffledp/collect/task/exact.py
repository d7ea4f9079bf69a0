"""Numbers in a task file, which are exact: a float is written as the fraction m / 2^k that it is, such as 5161/2^13."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from shuffledp.errors import TaskError

_WRITTEN = re.compile(r"(0|[1-9][0-9]{0,15})(?:/2\^([1-9][0-9]{0,3}))?")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,30})?(e-[1-9][0-9]{0,2})?")


def exact_text(number: float) -> str:
    """Write a number that is not negative as numerator/2^k in lowest terms, or as a whole number."""
    exact = Fraction(number)
    power = exact.denominator.bit_length() - 1
    return str(exact.numerator) if power == 0 else f"{exact.numerator}/2^{power}"


def read_exact(text: str, *, name: str) -> float:
    """Read the number that `exact_text` wrote; any other spelling is refused, since the task's id depends on it."""
    found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise TaskError(f"{name} must be a whole number or a fraction such as 5161/2^13, as text; got {text!r:.60}")
    number = math.ldexp(int(found[1]), -int(found[2] or 0))
    if exact_text(number) != text:
        raise TaskError(f"{name}={text!r} must be in lowest terms and have at most 53 binary digits")
    return number


def read_decimal(text: str, *, name: str) -> float:
    """Read a decimal number such as 0.5 or 1e-6; its text is part of the task, and the nearest float is used."""
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise TaskError(f"{name} must be a decimal number as text, such as 0.5 or 1e-6; got {text!r:.60}")
    return float(text)


def decimal_text(number: float) -> str:
    """Return the shortest decimal text of a number."""
    text = repr(float(number)).replace("e-0", "e-")
    return text.removesuffix(".0")
