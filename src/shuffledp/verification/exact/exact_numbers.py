"""Validation of numbers that have to stay exact."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational
from typing import Any

from shuffledp.checks import real
from shuffledp.errors import ParameterError


def exact_fraction(name: str, value: Any) -> Fraction:
    """A finite number as a fraction; a float stands for the binary fraction that it is."""
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(real(name, value))


def allowed_delta(value: Any) -> Fraction:
    """A delta in [0, 1)."""
    delta = exact_fraction("delta", value)
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must lie in [0, 1), got {float(delta):g}")
    return delta


def exact_ratio(value: Any) -> Fraction:
    """A ratio = e^epsilon above 0."""
    ratio = exact_fraction("ratio", value)
    if ratio <= 0:
        raise ParameterError(f"ratio = e^epsilon must be above 0, got {float(ratio):g}")
    return ratio
