"""Exact divergence of two finite distributions: the ratio e^epsilon for a given delta, and the reverse.

Distributions are tables from outcomes to whole weights over one common total, so nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple, Protocol, runtime_checkable

from shuffledp.accounting.rounding import FEW_OPERATIONS, LARGE_LOGARITHMS
from shuffledp.errors import ParameterError
from shuffledp.validation import real


def exact_fraction(name: str, value: Any) -> Fraction:
    """Return a finite number as a fraction; a float is the binary fraction that it represents."""
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(real(name, value))


def allowed_delta(value: Any) -> Fraction:
    """Return a delta in [0, 1)."""
    delta = exact_fraction("delta", value)
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must lie in [0, 1), got {float(delta):g}")
    return delta


def exact_ratio(value: Any) -> Fraction:
    """Return a positive ratio = e^epsilon."""
    ratio = exact_fraction("ratio", value)
    if ratio <= 0:
        raise ParameterError(f"ratio = e^epsilon must be above 0, got {float(ratio):g}")
    return ratio


Messages = tuple[Any, ...]
"""A multiset of messages, as a sorted tuple."""

Distribution = Mapping[Any, Fraction]
"""A map from outcomes to probabilities."""


@runtime_checkable
@runtime_checkable
class EnumerableProtocol(Protocol):
    """A protocol with the exact distribution of one person's messages."""

    def randomizer_distribution(self, value: int) -> Distribution:
        """Return a map from sorted messages to probabilities."""


Weights = Mapping[Any, int]


@dataclass(frozen=True, kw_only=True)
class ExactPrivacy:
    """The smallest e^epsilon for a delta, over all neighbouring datasets, and a witness that it is the smallest.

    `ratio` is e^epsilon, or None if no finite one suffices. `outcome` is the most telling output for the pair
    `dataset`, `neighbour`: with delta = 0 it is `ratio` times as likely on the first as on the second.
    """

    ratio: Fraction | None
    delta: Fraction
    dataset: tuple[Any, ...]
    neighbour: tuple[Any, ...]
    outcome: tuple[Any, ...]

    @property
    def epsilon(self) -> float:
        """The value ln(ratio), rounded up; infinite if no ratio suffices."""
        return math.inf if self.ratio is None else logarithm_above(self.ratio)


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """The largest delta over all neighbouring datasets, and a pair that attains it."""

    delta: Fraction
    dataset: tuple[Any, ...]
    neighbour: tuple[Any, ...]


class Needed(NamedTuple):
    """The smallest ratio for one pair of distributions, and the outcome with the largest likelihood ratio."""

    ratio: Fraction | None
    outcome: Any


def logarithm_above(ratio: Fraction) -> float:
    """ln(ratio) for a ratio of at least 1, rounded up, with full relative precision also near 1."""
    if ratio == 1:
        return 0.0
    try:
        return math.log1p(float(ratio - 1)) * (1 + FEW_OPERATIONS)
    except OverflowError:  # a difference of large logarithms, which loses some digits
        return (math.log(ratio.numerator) - math.log(ratio.denominator)) * (1 + LARGE_LOGARITHMS)


def excess(first: Weights, second: Weights, *, ratio: Fraction) -> int:
    """Sum over outcomes of [denominator(ratio) * P(o) - numerator(ratio) * Q(o)]_+, in weights."""
    top, bottom = ratio.numerator, ratio.denominator
    total = 0
    for outcome, weight in first.items():
        over = bottom * weight - top * second.get(outcome, 0)
        if over > 0:
            total += over
    return total


def delta_of_ratio(first: Weights, second: Weights, *, ratio: Fraction, total: int) -> Fraction:
    """Sum over outcomes of [P(o) - ratio * Q(o)]_+."""
    return Fraction(excess(first, second, ratio=ratio), ratio.denominator * total)


def needed_ratio(first: Weights, second: Weights, *, delta: Fraction, total: int) -> Needed:
    """The smallest ratio r >= 1 with sum [P(o) - r Q(o)]_+ <= delta: a linear equation between two breakpoints.

    Outcomes are added in order of their likelihood ratio. With the first k of them the sum is P_k - r Q_k, which
    reaches delta at r = (P_k - delta) / Q_k. The true sum is the largest of these lines, so the result is the largest
    such r.
    """
    order = sorted(first, key=lambda outcome: _odds(first[outcome], second.get(outcome, 0)), reverse=True)
    allowed = delta * total
    seen = other = 0
    best = Fraction(1)
    for outcome in order:
        seen += first[outcome]
        other += second.get(outcome, 0)
        if not other:
            if seen > allowed:
                return Needed(None, order[0])
            continue
        best = max(best, (seen - allowed) / other)
    return Needed(best, order[0])


def _odds(weight: int, other: int) -> tuple[bool, Fraction]:
    """A sort key for weight / other; outcomes that are impossible under the other distribution have the largest
    ratio.
    """
    return (True, Fraction(0)) if not other else (False, Fraction(weight, other))
