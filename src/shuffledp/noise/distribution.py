"""The interface of a noise distribution on the integers, and exact sampling by inversion.

`InversionTable` samples a uniform number U 64 bits at a time and compares it with cumulative probabilities held as
integers with 192 bits after the point. The first 64 bits decide unless they equal the leading bits of a threshold
(probability below 2^-64 per threshold); then 128 more bits are sampled and compared exactly. The sampled probabilities
equal the integer weights to within 2^-192, instead of the 2^-53 of floating-point inversion.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.randomness import random_words

TAIL = 2.0**-100
"""The probability that a window may leave out on either side. It is always counted on the safe side, and is far below
every allowed delta and beta.
"""


@dataclass(frozen=True, eq=False)
class Window:
    """The probabilities of a distribution on first, first + 1, ..., with bounds on the mass outside.

    `highest` is the largest value the distribution can take at all, which may lie far outside the window.
    """

    first: int
    log_pmf: NDArray[np.float64]
    mass_below: float
    mass_above: float
    highest: float = math.inf

    @classmethod
    def of_ratios(
        cls,
        log_ratios: NDArray[np.float64],
        *,
        first: int,
        mode: int,
        mass_below: float,
        mass_above: float,
        highest: float = math.inf,
    ) -> Window:
        """Return the window with these log f(k)/f(k-1), for k = first + 1, first + 2, ...

        They are added outwards from the mode, then scaled to total 1, so the relative error does not grow in the tails.
        """
        at = mode - first
        log_weights = np.zeros(log_ratios.size + 1)
        log_weights[at + 1 :] = np.cumsum(log_ratios[at:])
        log_weights[:at] = -np.cumsum(log_ratios[:at][::-1])[::-1]
        log_pmf = log_weights - math.log(np.exp(log_weights).sum())
        return cls(first=first, log_pmf=log_pmf, mass_below=mass_below, mass_above=mass_above, highest=highest)

    @property
    def last(self) -> int:
        """The largest integer inside."""
        return self.first + self.log_pmf.size - 1

    @cached_property
    def pmf(self) -> NDArray[np.float64]:
        """Probabilities inside the window."""
        return np.exp(self.log_pmf)

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        return np.cumsum(self.pmf) + self.mass_below

    @cached_property
    def _reverse_cumulative(self) -> NDArray[np.float64]:
        return np.cumsum(self.pmf[::-1])[::-1] + self.mass_above

    def below(self, k: int) -> float:
        """P(M < k), rounded up by at most the mass outside."""
        if k <= self.first:
            return self.mass_below
        return min(1.0, float(self._cumulative[min(k - 1 - self.first, self.log_pmf.size - 1)]))

    def above(self, k: int) -> float:
        """P(M > k), rounded up by at most the mass outside."""
        if k >= self.highest:
            return 0.0
        if k >= self.last:
            return self.mass_above
        return min(1.0, float(self._reverse_cumulative[max(k + 1 - self.first, 0)]))


class Tilted(NamedTuple):
    """A centred distribution under weights e^(t M), for each of many tilts t, for tail bounds of sums.

    `cumulant` is ln E e^(t (M - E[M])), `mean` and `variance` are its first two derivatives. `third` bounds the sum of
    the third absolute central moments of the independent parts of the noise.
    """

    cumulant: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    third: NDArray[np.float64]


class TiltedDistribution(Hashable, Protocol):
    """A noise distribution whose sums have tail bounds."""

    @property
    def variance(self) -> float:
        """Variance."""

    @property
    def cumulants(self) -> tuple[float, ...]:
        """The second cumulant, which is the variance, the third, and so on."""

    @property
    def largest_tilt(self) -> float:
        """Tilts must be strictly smaller than this, on either side of 0."""

    def tilted(self, tilts: NDArray[np.float64]) -> Tilted:
        """The centred distribution under weights e^(t M), for each t."""


class IntegerDistribution(Protocol):
    """A distribution of integer noise, used for both sampling and accounting."""

    @property
    def mean(self) -> float:
        """Expected value."""

    @property
    def variance(self) -> float:
        """Variance."""

    @property
    def log_concave(self) -> bool:
        """Whether P(k)^2 >= P(k - 1) P(k + 1) for every k, so that P(k) / P(k - s) falls in k for every s > 0."""

    @property
    def window(self) -> Window:
        """The probabilities, all but `TAIL` on either side."""

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return independent, exact samples."""


WEIGHT_BITS = 256
"""The bits of the integer weights of a table: tails down to 2^-100 keep more than a hundred bits."""

_LEADING_BITS = 64
"""The bits of one word, which decide all samples except those on an edge of the table."""

_MORE_BITS = 128
"""The further bits for these samples, repeated until they are decided."""


class InversionTable:
    """A table to sample `first + i` with probability weights[i] / sum(weights), for integer weights of any size."""

    def __init__(self, *, first: int, weights: Sequence[int]) -> None:
        total = sum(weights)
        cumulative = [c for c in accumulate(weights) if c < total]
        self.first = first
        self._thresholds = [(c << (_LEADING_BITS + _MORE_BITS)) // total for c in cumulative]
        self._leading = np.array([t >> _MORE_BITS for t in self._thresholds], dtype=np.uint64)

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return independent samples."""
        words = random_words(size, rng)
        if not self._thresholds:
            return np.full(size, self.first)
        index = np.searchsorted(self._leading, words, side="right")
        tied = (index > 0) & (self._leading[index - 1] == words)
        for i in np.flatnonzero(tied):
            index[i] = bisect_right(self._thresholds, self._extended(words[i], rng))
        return index + self.first

    @staticmethod
    def _extended(word: np.uint64, rng: np.random.Generator) -> int:
        """The word followed by further random bits, as one integer."""
        return int(word) << _MORE_BITS | int.from_bytes(rng.bytes(_MORE_BITS // 8), "little")


class Tabulated(ABC):
    """A distribution that is sampled by inversion, exactly except for the 2^-100 of either tail."""

    @property
    @abstractmethod
    def _table(self) -> InversionTable:
        """Its probabilities as integer weights."""

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return independent samples."""
        return self._table.sample(size, rng=rng)


@dataclass(frozen=True)
class Sum:
    """The distribution of one + other, which are independent."""

    one: IntegerDistribution
    other: IntegerDistribution

    @property
    def mean(self) -> float:
        """The sum of the means."""
        return self.one.mean + self.other.mean

    @property
    def variance(self) -> float:
        """The sum of the variances."""
        return self.one.variance + self.other.variance

    @property
    def log_concave(self) -> bool:
        """Convolution keeps log-concavity."""
        return self.one.log_concave and self.other.log_concave

    @cached_property
    def window(self) -> Window:
        """The convolution of both windows; what either leaves out may be anywhere."""
        one, other = self.one.window, self.other.window
        with np.errstate(divide="ignore"):
            log_pmf = np.log(np.convolve(one.pmf, other.pmf))
        outside = one.mass_below + one.mass_above + other.mass_below + other.mass_above
        highest = one.highest + other.highest
        return Window(
            first=one.first + other.first, log_pmf=log_pmf, mass_below=outside, mass_above=outside, highest=highest
        )

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return independent, exact samples."""
        return self.one.sample(size, rng=rng) + self.other.sample(size, rng=rng)
