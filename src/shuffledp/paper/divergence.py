"""Divergence of two listed distributions by definition: the sums that a privacy curve computes without its grids.

Tables have whole weights over one common total, so nothing is rounded. A `Pair` of arrays is summed in floats, with an
error far below `ROUNDED`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from numbers import Rational
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import FEW_OPERATIONS, LARGE_LOGARITHMS
from shuffledp.errors import ParameterError
from shuffledp.validation import real


def exact_fraction(name: str, value: Any) -> Fraction:
    """Return a finite number as a fraction; a float is the binary fraction that it represents."""
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(real(name, value))


def allowed_delta(value: Any) -> Fraction:
    """Return a delta from 0 to below 1."""
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
"""A multiset, as a sorted tuple."""

Distribution = Mapping[Any, Fraction]


@runtime_checkable
class EnumerableProtocol(Protocol):
    """A protocol with the exact distribution of one person's messages."""

    def randomizer_distribution(self, value: int) -> Distribution:
        """From sorted messages to probabilities."""


Weights = Mapping[Any, int]


@dataclass(frozen=True, kw_only=True)
class ExactPrivacy:
    """The smallest e^epsilon = `ratio` for a delta over all neighbouring datasets, or None if no finite one suffices.

    It is attained by the pair `dataset`, `neighbour`, and `outcome` is their most telling output: with delta = 0 it is
    `ratio` times as likely on the first.
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
    """The smallest ratio for one pair, and the outcome with the largest likelihood ratio."""

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
    return sum(max(0, bottom * weight - top * second.get(outcome, 0)) for outcome, weight in first.items())


def delta_of_ratio(first: Weights, second: Weights, *, ratio: Fraction, total: int) -> Fraction:
    """Sum over outcomes of [P(o) - ratio * Q(o)]_+."""
    return Fraction(excess(first, second, ratio=ratio), ratio.denominator * total)


def needed_ratio(first: Weights, second: Weights, *, delta: Fraction, total: int) -> Needed:
    """The smallest ratio r >= 1 with sum [P(o) - r Q(o)]_+ <= delta.

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
    """A sort key for weight / other; impossible outcomes under the other distribution are the largest."""
    return (True, Fraction(0)) if not other else (False, Fraction(weight, other))


ROUNDED = 1e-9
"""The relative error of a delta that is summed here in floats: sums of up to 10^6 positive terms lose at most 1e-10,
and the probabilities, from logarithms of factorials, 1e-11.
"""

_TERMS = 40
"""Of the exponential series: the rest is far below the precision of a float."""

NEVER = 1e-40


def exponential_below(number: float) -> Fraction:
    """A fraction just below e^number, number > 0: the first terms of the series."""
    return sum((Fraction(number) ** k / math.factorial(k) for k in range(_TERMS)), Fraction(0))


def exponential_above(number: float) -> Fraction:
    """A fraction just above e^number, for 0 < number <= 10: the rest of the series is below twice its first term."""
    return exponential_below(number) + 2 * Fraction(number) ** _TERMS / math.factorial(_TERMS)


@dataclass(frozen=True, eq=False)
class Pair:
    """The probabilities of the same outcomes on a dataset and on its neighbour."""

    one: NDArray[np.float64]
    other: NDArray[np.float64]

    @classmethod
    def shifted(cls, distribution: NDArray[np.float64], by: int) -> Pair:
        """A distribution from some number on against the same distribution moved up or down by 1."""
        still, moved = np.append(distribution, 0.0), np.append(0.0, distribution)
        return cls(still, moved) if by > 0 else cls(moved, still)

    @property
    def reversed(self) -> Pair:
        """With the neighbour first."""
        return Pair(self.other, self.one)

    def beside(self, other: Pair) -> Pair:
        """The pair of both outcomes together, which are independent."""
        return Pair(np.outer(self.one, other.one).ravel(), np.outer(self.other, other.other).ravel())

    def delta(self, ratio: float) -> float:
        """Sum over outcomes of [P(o) - ratio Q(o)]_+."""
        return math.fsum(np.maximum(self.one - ratio * self.other, 0.0).tolist())

    def delta_beside(self, other: Pair, ratio: float) -> float:
        """The same for two independent pairs, the second sorted by likelihood ratio, without listing all outcomes."""
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-(other.one / other.other))
            odds = (other.one / other.other)[order]
            needed = ratio * self.other / self.one
        gained, lost = (np.append(0.0, np.cumsum(distribution[order])) for distribution in (other.one, other.other))
        telling = np.searchsorted(-odds, -needed, side="left")
        each = self.one * gained[telling] - ratio * self.other * lost[telling]
        return math.fsum(np.maximum(each[self.one > 0], 0.0).tolist())


def worse_way(pairs: list[Pair], ratio: float) -> float:
    """The delta of independent pairs, in the worse of both directions."""
    half = len(pairs) // 2
    worst = 0.0
    for way in (pairs, [pair.reversed for pair in pairs]):
        rest = reduce(Pair.beside, way[half:])
        worst = max(worst, reduce(Pair.beside, way[:half]).delta_beside(rest, ratio) if half else rest.delta(ratio))
    return worst


def binomial_shift_delta(*, people: int, probability: float, moved: int, ratio: Fraction) -> Fraction:
    """The delta of one or two coordinates with noise Bin(people, probability) that move by one in opposite directions.

    For the dyadic probabilities that can be sampled nothing is rounded.
    """
    chance = Fraction(probability)
    heads, tails = chance.numerator, chance.denominator - chance.numerator
    weights = [math.comb(people, k) * heads**k * tails ** (people - k) for k in range(people + 1)]
    if moved == 1:
        still, up = dict(enumerate(weights)), dict(enumerate(weights, start=1))
    else:
        cells = [(j, k, weights[j] * weights[k]) for j in range(people + 1) for k in range(people + 1)]
        still, up = {(j, k + 1): w for j, k, w in cells}, {(j + 1, k): w for j, k, w in cells}  # type: ignore[misc]
    total = chance.denominator ** (people * moved)
    return max(delta_of_ratio(*way, ratio=ratio, total=total) for way in ((still, up), (up, still)))


def binomial(trials: int, probability: float) -> NDArray[np.float64]:
    """The probabilities of 0 .. trials, from logarithms of factorials."""
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(trials + 1)
    log = gammaln(trials + 1) - gammaln(k + 1) - gammaln(trials - k + 1) + xlogy(k, probability)
    distribution: NDArray[np.float64] = np.exp(log + xlog1py(trials - k, -probability))
    return distribution


def near_the_mean(trials: int, probability: float) -> NDArray[np.float64]:
    """The same without negligible tails, as a distribution from some number on."""
    distribution = binomial(trials, probability)
    likely = np.flatnonzero(distribution > NEVER)
    return distribution[likely[0] : likely[-1] + 1]


def compound_poisson(rate: float, sizes: NDArray[np.float64], *, most: int) -> NDArray[np.float64]:
    """The probabilities of 0 .. most, beyond which the mass must be negligible, for clusters of 1, 2, ... people."""
    size = np.append(0.0, sizes)
    distribution, power, weight = np.zeros(most + 1), np.zeros(most + 1), math.exp(-rate)
    power[0] = 1.0
    for clusters in range(most + 1):
        distribution += weight * power
        power = np.convolve(power, size)[: most + 1]
        weight *= rate / (clusters + 1)
    return distribution
