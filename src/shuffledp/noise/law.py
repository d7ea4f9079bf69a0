"""What the rest of the project needs to know about a noise law on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

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
