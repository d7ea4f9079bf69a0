"""Two distributions of the same outcomes, listed side by side, and their divergence by definition.

These are the sums that a privacy curve computes, without its loss distributions, grids, blocks or margins. Binomial
noise of a few users is summed in whole numbers; other distributions in floats, with an error far below `ROUNDED`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from shuffledp.paper.divergence import delta_of_ratio

ROUNDED = 1e-9
"""The relative error of a delta that is summed here in floats: sums of up to 10^6 positive terms lose at most 1e-10,
and the probabilities, from logarithms of factorials, 1e-11.
"""

_TERMS = 40
"""The number of terms of the exponential series: the rest is far below the precision of a float."""


NEVER = 1e-40
"""A negligible probability."""


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
        """A distribution on 0, 1, ... (or from any number on) against the same distribution moved up or down by 1."""
        still, moved = np.append(distribution, 0.0), np.append(0.0, distribution)
        return cls(still, moved) if by > 0 else cls(moved, still)

    @property
    def reversed(self) -> Pair:
        """The pair with the neighbour first."""
        return Pair(self.other, self.one)

    def beside(self, other: Pair) -> Pair:
        """The pair of both outcomes together, independent of each other."""
        return Pair(np.outer(self.one, other.one).ravel(), np.outer(self.other, other.other).ravel())

    def delta(self, ratio: float) -> float:
        """Sum over outcomes of [P(o) - ratio Q(o)]_+."""
        return math.fsum(np.maximum(self.one - ratio * self.other, 0.0).tolist())

    def delta_beside(self, other: Pair, ratio: float) -> float:
        """The same for two independent pairs, without listing all outcomes: the second pair is sorted by likelihood
        ratio.
        """
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

    The larger one of both directions, in whole numbers. For the dyadic probabilities that can be sampled nothing is
    rounded.
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
    """The probabilities of 0 .. most for clusters of 1, 2, ... with these chances, summed over the number of clusters.

    `most` must be large enough that the mass beyond is negligible.
    """
    size = np.append(0.0, sizes)
    distribution, power, weight = np.zeros(most + 1), np.zeros(most + 1), math.exp(-rate)
    power[0] = 1.0
    for clusters in range(most + 1):
        distribution += weight * power
        power = np.convolve(power, size)[: most + 1]
        weight *= rate / (clusters + 1)
    return distribution
