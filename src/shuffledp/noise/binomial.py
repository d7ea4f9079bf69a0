"""The binomial distribution Bin(trials, probability): the noise of both of the paper's protocols.

`half_pmf` and `half_tail` are those of fair coins, for arrays of any numbers of trials. Both keep their relative
precision far into the tails: scipy's `binom.pmf` is off by 5e-15 sqrt(trials) like its tails, and its `binom.logpmf` by
2e-6 at 10^9 trials.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.noise.distribution import TAIL, WEIGHT_BITS, InversionTable, Tabulated, Tilted, Window
from shuffledp.validation import real, whole

GRID_BITS = 53
"""The grid of probabilities, multiples of 2^-53: each is a float, its complement too, and can be sampled exactly."""

FEW_OPERATIONS = 2.0**-50
"""Relative margin for a number from up to four operations, each off by 2^-53 at most.

All other margins are in accounting/rounding.py, which lists this one too.
"""


def round_up_to_grid(probability: float) -> float:
    """The smallest multiple of 2^-53 that is not below the given probability."""
    return math.ldexp(math.ceil(math.ldexp(probability, GRID_BITS)), -GRID_BITS)  # exact: only exponents change


def safely_up(probability: float) -> float:
    """Round up to the grid, with a margin for the rounding of the given number."""
    return round_up_to_grid(probability * (1 + FEW_OPERATIONS))


@dataclass(frozen=True, kw_only=True)
class Heads(Tabulated):
    """The number of heads of `trials` independent coins, each of which shows heads with the probability `chance`."""

    trials: int

    @property
    @abstractmethod
    def chance(self) -> Fraction:
        """The exact probability of heads."""

    @property
    def exact_mean(self) -> Fraction:
        """Trials * probability, exactly."""
        return self.trials * self.chance

    @property
    def mean(self) -> float:
        """Trials * probability: lambda in the paper's notation."""
        return float(self.exact_mean)

    @property
    @abstractmethod
    def variance(self) -> float:
        """Trials * probability * (1 - probability)."""

    @property
    def log_concave(self) -> bool:
        """True: f(k) / f(k - 1) = (trials - k + 1) / k * odds falls in k."""
        return True

    @cached_property
    def window(self) -> Window:
        """Probabilities around the mean; Bernstein's inequality bounds each tail outside by 2^-100.

        The logarithms are sums of log f(k)/f(k-1), outwards from the mode, then scaled to total 1: each ratio is a
        closed form, so the result keeps a relative error below 1e-11 for every number of trials.
        """
        first, last = self._range
        k = np.arange(first + 1, last + 1, dtype=np.float64)
        return Window.of_ratios(
            np.log((self.trials - k + 1) / k * float(self._odds)),
            first=first,
            mode=self._mode,
            mass_below=TAIL if first > 0 else 0.0,
            mass_above=TAIL if last < self.trials else 0.0,
            highest=self.trials,
        )

    @property
    def _odds(self) -> Fraction:
        return self.chance / (1 - self.chance)

    @property
    def _mode(self) -> int:
        return math.floor((self.trials + 1) * self.chance)

    @property
    def _range(self) -> tuple[int, int]:
        """First and last integer of the window, from Bernstein: P(|M - mean| >= t) <= 2 exp(-t^2 / (2 var + 2t/3))."""
        log_tail = -math.log(TAIL)
        reach = log_tail / 3 + math.sqrt(log_tail**2 / 9 + 2 * log_tail * self.variance)
        return max(0, math.floor(self.mean - reach)), min(self.trials, math.ceil(self.mean + reach))

    @cached_property
    def _table(self) -> InversionTable:
        """Weights by the same recursion in integers, rounded down at every step: relative to the mode, below 2^-230."""
        (first, last), odds, mode = self._range, self._odds, self._mode
        upward, downward = [1 << WEIGHT_BITS], [1 << WEIGHT_BITS]
        for k in range(mode + 1, last + 1):
            upward.append(upward[-1] * (self.trials - k + 1) * odds.numerator // (k * odds.denominator))
        for k in range(mode, first, -1):
            downward.append(downward[-1] * k * odds.denominator // ((self.trials - k + 1) * odds.numerator))
        return InversionTable(first=first, weights=downward[:0:-1] + upward)


@dataclass(frozen=True, kw_only=True)
class Binomial(Heads):
    """The number of heads of `trials` independent coins with `probability` (a multiple of 2^-53, at most 1/2)."""

    probability: float

    def __post_init__(self) -> None:
        whole("trials", self.trials)
        probability = real("probability", self.probability)
        if not 0 < probability <= 0.5:
            raise ParameterError(f"probability must lie in (0, 1/2], got {probability:g}")
        if probability != round_up_to_grid(probability):
            raise ParameterError(
                f"probability={probability!r} is not a multiple of 2^-{GRID_BITS}, so it could not be sampled exactly: "
                "pass it through round_up_to_grid first"
            )

    @property
    def chance(self) -> Fraction:
        """The probability as a fraction."""
        return Fraction(self.probability)

    @property
    def variance(self) -> float:
        """Trials * probability * (1 - probability)."""
        return self.mean * (1 - self.probability)

    def cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln E e^(t M) = trials ln(1 + probability (e^t - 1)), for each t."""
        return self.trials * np.log1p(self.probability * np.expm1(tilts))

    def tilted(self, tilts: NDArray[np.float64]) -> Tilted:
        """The distribution of M - E[M] under weights e^(t M): coins have probability q = p e^t / (1 + p (e^t - 1))."""
        p, grown = self.probability, self.probability * np.expm1(tilts)
        q = (p + grown) / (1 + grown)
        spread = q * (1 - q)
        return Tilted(
            cumulant=self.trials * (np.log1p(grown) - p * tilts),
            mean=self.trials * (grown * (1 - p) / (1 + grown)),
            variance=self.trials * spread,
            third=self.trials * spread * (q**2 + (1 - q) ** 2),
        )

    @property
    def cumulants(self) -> tuple[float, ...]:
        """The cumulants of order two to five."""
        spread, skew = self.probability * (1 - self.probability), 1 - 2 * self.probability
        return tuple(self.variance * part for part in (1, skew, 1 - 6 * spread, skew * (1 - 12 * spread)))

    @property
    def largest_tilt(self) -> float:
        """The largest tilt: infinite."""
        return math.inf

    def share(self, people: int, *, of: int) -> Binomial:
        """The part of this noise that some of the people make, if each person makes one trial."""
        if of != self.trials:
            raise ParameterError(f"this noise is made by {self.trials} people, not by {of}")
        return Binomial(trials=people, probability=self.probability)

    def pmf_fraction(self, k: int) -> Fraction:
        """P(M = k) as a fraction, for small numbers of trials."""
        if not 0 <= k <= self.trials:
            return Fraction(0)
        p = Fraction(self.probability)
        return math.comb(self.trials, k) * p**k * (1 - p) ** (self.trials - k)


@dataclass(frozen=True, kw_only=True)
class Matches(Heads):
    """Bin(trials, 1 / buckets): the number of random buckets that are a given one; 1 / buckets is no float.

    Unlike `Binomial`, the number of trials can be 0.
    """

    buckets: int

    def __post_init__(self) -> None:
        whole("trials", self.trials, minimum=0)
        whole("buckets", self.buckets, minimum=2)

    @property
    def chance(self) -> Fraction:
        """1 / buckets."""
        return Fraction(1, self.buckets)

    @property
    def variance(self) -> float:
        """Trials / buckets * (1 - 1 / buckets)."""
        return self.trials * (self.buckets - 1) / self.buckets**2


_SMALL = 16
_STIRLING_SMALL = np.array([0.0] + [math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
                                    for n in range(1, _SMALL)])  # fmt: skip


def log_half_pmf(trials: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithm of P(K = k) for 0 < k < trials, in Loader's form: Stirling corrections and a deviance.

    Off by less than 5e-13 for every number of trials up to 10^12.
    """
    n, half = trials.astype(np.float64), trials / 2
    corrections = _stirling(trials) - _stirling(k) - _stirling(trials - k)
    return corrections - half * _deviance((k - half) / half) + 0.5 * np.log(n / (2 * math.pi * k * (n - k)))


def half_pmf(trials: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(K = k) of fair coins."""
    inside, end = (k > 0) & (k < trials), (k == 0) | (k == trials)
    result = np.where(end, np.exp2(-trials.astype(np.float64)), 0.0)
    result[inside] = np.exp(log_half_pmf(trials[inside], k[inside]))
    return result


def half_tail(trials: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(K >= k) of fair coins, the regularized incomplete beta function I_1/2(k, trials - k + 1).

    scipy's function has a relative error below 6e-15 sqrt(trials), also far into the tails, and is ten to a hundred
    times faster than a continued fraction. Its `bdtrc`, meant for this tail, keeps nine digits at 10^6 trials and none
    at 10^8.
    """
    from scipy.special import betainc

    trials, k = np.broadcast_arrays(np.asarray(trials, dtype=np.int64), np.asarray(k, dtype=np.int64))
    result = np.where(k <= 0, 1.0, 0.0)
    inside = (k > 0) & (k <= trials)
    result[inside] = betainc(k[inside], (trials - k + 1)[inside], 0.5)
    return result


def _stirling(n: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithm of n! minus Stirling's formula."""
    x = np.maximum(n, 1).astype(np.float64)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / x**2) / x**2) / x**2) / x**2) / x
    return np.where(n < _SMALL, _STIRLING_SMALL[np.minimum(n, _SMALL - 1)], series)


def _deviance(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """The deviance (1 + u) log(1 + u) + (1 - u) log(1 - u) of a coin of probability (1 + u) / 2 from a fair one.

    Near 0 it is about u^2, where these terms of size u would lose most digits.
    """
    near = np.log1p(-u * u) + 2 * u * np.arctanh(u)
    far = (1 + u) * np.log1p(u) + (1 - u) * np.log1p(-u)
    return np.where(np.abs(u) < 0.5, near, far)
