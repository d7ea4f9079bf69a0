"""What the rest of the project needs to know about a noise law on the integers."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

TAIL = 2.0**-100
"""Probability that a window may leave out on either side: it is counted against us everywhere, and is far below
every delta and beta one can ask for."""


@dataclass(frozen=True, eq=False)
class Window:
    """The probabilities of a law on first, first + 1, ..., with bounds on the mass outside.

    `highest` is the largest value the law can take at all, which may lie far outside the window.
    """

    first: int
    log_pmf: NDArray[np.float64]
    mass_below: float
    mass_above: float
    highest: float = math.inf

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
    """A centred law under weights e^(t M), for each of many tilts t: what bounds on tails of sums are made of.

    `cumulant` is ln E e^(t (M - E[M])), `mean` and `variance` are its first two derivatives, and `third` bounds the sum
    of the third absolute central moments of the independent parts that the noise is made of.
    """

    cumulant: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    third: NDArray[np.float64]


class TiltedLaw(Hashable, Protocol):
    """A law of noise whose sums have bounds on their tails."""

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
        """The centred law under weights e^(t M), for each t."""


class IntegerLaw(Protocol):
    """A law of integer noise: one object both samples it and accounts for it."""

    @property
    def mean(self) -> float:
        """Expected value."""

    @property
    def variance(self) -> float:
        """Variance."""

    @property
    def window(self) -> Window:
        """Its probabilities, all but `TAIL` on either side."""

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent draws, exactly from the law."""
