"""Compound Poisson noise: clusters arrive at a rate, and each brings a random number of messages.

These are the distributions on 0, 1, 2, ... that split exactly over any number of users: a user's part has the same
cluster sizes and a share of the rate. Sizes that are all 1 give the Poisson distribution, logarithmic sizes the
negative binomial one.

`Clusters` samples one user's part over many bins: the number of clusters of all bins together, which is Poisson too,
then a uniform bin and a size for each. The work grows with the messages sent, not with the number of bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.noise.distribution import TAIL, WEIGHT_BITS, InversionTable, Tabulated, Tilted, Window
from shuffledp.validation import real

SIZE_GRID = 2**40
"""The grid of the probabilities of cluster sizes, 1 / SIZE_GRID; they are sampled exactly."""

LARGEST_RATE = 1e5
_LARGEST_STEP = 500.0
"""The largest rate for which e^-rate is far from underflow; larger distributions are sums of two halves."""

_LARGEST_EXPONENT = 600.0
"""The largest exponent: e^600 times any rate still fits a float."""

_POINTS_PER_SIZE = 64
"""The number of points at which a density is summed for each whole size; enough for a smooth one."""


@dataclass(frozen=True, kw_only=True)
class CompoundPoisson(Tabulated):
    """Noise of Poisson(`rate`) clusters; a cluster has i + 1 messages with probability size_weights[i] / 2^40."""

    rate: float
    size_weights: tuple[int, ...]

    def __post_init__(self) -> None:
        rate = real("rate", self.rate)
        if not 0 < rate <= LARGEST_RATE:
            raise ParameterError(f"rate must lie in (0, {LARGEST_RATE:g}], got {rate:g}")
        if sum(self.size_weights) != SIZE_GRID or min(self.size_weights) < 0 or not self.size_weights[-1]:
            raise ParameterError(f"size_weights must be whole numbers that add up to {SIZE_GRID}, the last one above 0")

    def with_rate(self, rate: float) -> CompoundPoisson:
        """The same clusters at another rate."""
        return CompoundPoisson(rate=rate, size_weights=self.size_weights)

    def share(self, people: int, *, of: int) -> CompoundPoisson:
        """The part of this noise that some of the people make."""
        return self.with_rate(self.rate * people / of)

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Probabilities of cluster sizes 1, 2, ..."""
        return np.array(self.size_weights) / SIZE_GRID

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        return np.arange(1.0, self.sizes.size + 1)

    @cached_property
    def mean(self) -> float:
        """Rate * E[size]."""
        return self.rate * float(self.sizes @ self._numbers)

    @cached_property
    def variance(self) -> float:
        """Rate * E[size^2]."""
        return self.rate * float(self.sizes @ self._numbers**2)

    def cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln E e^(t K) = rate (E[e^(t size)] - 1), for each t."""
        return self.rate * (np.expm1(np.outer(tilts, self._numbers)) @ self.sizes)

    def tilted(self, tilts: NDArray[np.float64]) -> Tilted:
        """The distribution of K - E[K] under weights e^(t K): clusters of size j have the rate rate * w_j e^(t j).

        Its third moment is the one of infinitely many rare independent clusters.
        """
        steps = np.multiply.outer(tilts, self._numbers)
        rates, numbers = self.rate * self.sizes, self._numbers
        return Tilted(
            cumulant=(np.expm1(steps) - steps) @ rates,
            mean=np.expm1(steps) @ (rates * numbers),
            variance=np.exp(steps) @ (rates * numbers**2),
            third=np.exp(steps) @ (rates * numbers**3),
        )

    @property
    def cumulants(self) -> tuple[float, ...]:
        """The cumulants of order two to five: rate * E[size^order]."""
        return tuple(self.rate * float(self.sizes @ self._numbers**order) for order in range(2, 6))

    @property
    def largest_tilt(self) -> float:
        """The largest tilt for which e^(t size) fits a float."""
        return _LARGEST_EXPONENT / self.sizes.size

    @property
    def log_concave(self) -> bool:
        """Whether all clusters have one message: f(k) / f(k - 1) = rate / k falls in k. Others need not be."""
        return len(self.size_weights) == 1

    @cached_property
    def window(self) -> Window:
        """Probabilities from 0 on by the Panjer recursion, up to a tail of 2^-100 by Chernoff's bound.

        f(0) = e^-rate and f(k) = (rate / k) sum_j j w_j f(k - j) add only positive terms, so every probability keeps a
        relative error of about k rounding steps, far into the tails.
        """
        last = self._last
        if self.rate > _LARGEST_STEP:
            half = self.with_rate(self.rate / 2).window
            whole = np.convolve(half.pmf, half.pmf)[: last + 1]
            outside = 2 * (half.mass_below + half.mass_above) + TAIL
            return Window(first=0, log_pmf=_logarithms(whole), mass_below=outside, mass_above=outside)
        reach = self.sizes.size
        steps = (self.rate * self._numbers * self.sizes)[::-1].copy()
        # zeros before the start, so that every step is one dot product
        pmf = np.zeros(reach + last + 1)
        pmf[reach] = math.exp(-self.rate)
        for k in range(1, last + 1):
            pmf[reach + k] = steps @ pmf[k : reach + k] / k
        return Window(first=0, log_pmf=_logarithms(pmf[reach:]), mass_below=0.0, mass_above=TAIL)

    @property
    def _last(self) -> int:
        """The smallest k for which some tilt t gives rate (E[e^(t size)] - 1) - t (k + 1) <= log 2^-100."""
        log_tail = math.log(TAIL)
        # with fewer than one cluster on average, the best tilt is at most the one for one cluster
        deviation = max(1.0, math.sqrt(self.variance))
        tilts = np.minimum(np.geomspace(1e-3, 30, 200) / deviation, self.largest_tilt)
        growth = self.rate * (np.exp(np.outer(tilts, self._numbers)) @ self.sizes - 1)
        return math.ceil(float(((growth - log_tail) / tilts).min()))

    @cached_property
    def _table(self) -> InversionTable:
        weights = [int(Fraction(p) * 2**WEIGHT_BITS) for p in self.window.pmf.tolist()]
        return InversionTable(first=0, weights=weights)

    @cached_property
    def _size_table(self) -> InversionTable:
        return InversionTable(first=1, weights=self.size_weights)

    def sample_sizes(self, clusters: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Sample the sizes of a number of clusters, exactly."""
        return self._size_table.sample(clusters, rng=rng)


def poisson(rate: float) -> CompoundPoisson:
    """Noise messages that come one at a time."""
    return CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))


def _logarithms(pmf: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(pmf)


def poisson_table(rate: Fraction) -> InversionTable:
    """A table to sample Poisson(rate) exactly: integer weights rate^k / k!, until they vanish at 256 bits."""
    weights = [1 << WEIGHT_BITS]
    while weights[-1] or len(weights) <= rate:
        weights.append(weights[-1] * rate.numerator // (rate.denominator * len(weights)))
    return InversionTable(first=0, weights=weights)


def gamma_sizes(*, mean: float, shape: float) -> tuple[int, ...]:
    """Size weights of a gamma density of about this mean, rounded to whole sizes from 1 and to the grid."""
    largest = math.ceil(mean * (1 + 8 / math.sqrt(shape))) + 1
    points = (np.arange(largest * _POINTS_PER_SIZE) + 0.5) / _POINTS_PER_SIZE
    log_density = (shape - 1) * np.log(points) - points * shape / mean
    nearest = np.maximum(np.rint(points), 1).astype(np.int64)
    mass = np.bincount(nearest - 1, weights=np.exp(log_density - log_density.max()))
    weights = np.floor(mass / mass.sum() * SIZE_GRID).astype(np.int64)
    kept = weights[: int(np.flatnonzero(weights)[-1]) + 1]
    kept[int(np.argmax(kept))] += SIZE_GRID - int(kept.sum())
    return tuple(kept.tolist())


_LARGEST_POISSON = 100
"""The largest mean of a Poisson number that is sampled from one table, so that the table stays short."""


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """The split of `distribution`, the noise of each of `bins` bins, over `users` people."""

    distribution: CompoundPoisson
    users: int
    bins: int

    @cached_property
    def _rate(self) -> Fraction:
        """The exact mean number of clusters of one person over all bins."""
        return Fraction(self.distribution.rate) * self.bins / self.users

    @cached_property
    def _parts(self) -> int:
        """The number of small Poisson numbers whose sum replaces a large one."""
        return max(1, math.ceil(self._rate / _LARGEST_POISSON))

    @cached_property
    def _table(self) -> InversionTable:
        return poisson_table(self._rate / self._parts)

    def draw_number(self, people: int, *, rng: np.random.Generator) -> int:
        """Sample the number of clusters of a number of people."""
        return int(self._table.sample(people * self._parts, rng=rng).sum())

    def draw_bins(self, people: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Sample the bins of all noise messages of a number of people."""
        number = self.draw_number(people, rng=rng)
        return np.repeat(rng.integers(0, self.bins, size=number), self.distribution.sample_sizes(number, rng=rng))


@dataclass(frozen=True, kw_only=True)
class Poisson(Tabulated):
    """Poisson(`rate`) with a window around its mean, for the sums of many levels.

    `CompoundPoisson` with clusters of one has the same distribution and a window from 0 on, which takes far longer for
    large rates. Protocols and privacy curves use that one.
    """

    rate: float

    @property
    def mean(self) -> float:
        """The rate."""
        return self.rate

    @property
    def variance(self) -> float:
        """The rate."""
        return self.rate

    @property
    def log_concave(self) -> bool:
        """True: f(k) / f(k - 1) = rate / k falls in k."""
        return True

    @cached_property
    def window(self) -> Window:
        """Probabilities around the mean, by f(k)/f(k-1) = rate/k; Bernstein bounds each tail outside by 2^-100."""
        log = -math.log(TAIL)
        below = math.sqrt(2 * log * self.rate)
        above = log / 3 + math.sqrt((log / 3) ** 2 + 2 * log * self.rate)
        first, last = max(0, math.floor(self.rate - below)), math.ceil(self.rate + above)
        log_ratios = math.log(self.rate) - np.log(np.arange(first + 1, last + 1))
        return Window.of_ratios(
            log_ratios,
            first=first,
            mode=math.floor(self.rate),
            mass_below=TAIL if first else 0.0,
            mass_above=TAIL,
        )

    @property
    def _table(self) -> InversionTable:
        return poisson_table(Fraction(self.rate))
