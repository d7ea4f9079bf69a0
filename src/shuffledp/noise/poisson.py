"""The Poisson distribution with a window around its mean, which is fast also for large rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.compound_poisson import poisson_table
from shuffledp.noise.distribution import TAIL, Window


@dataclass(frozen=True, kw_only=True)
class Poisson:
    """A number of independent rare events with mean `rate`."""

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
        """Probabilities around the mean; Bernstein's inequality bounds each tail outside by 2^-100.

        The logarithms are sums of log f(k)/f(k-1), outwards from the mode, then scaled to total 1.
        """
        log = -math.log(TAIL)
        below = math.sqrt(2 * log * self.rate)
        above = log / 3 + math.sqrt((log / 3) ** 2 + 2 * log * self.rate)
        first, last = max(0, math.floor(self.rate - below)), math.ceil(self.rate + above)
        log_ratios = math.log(self.rate) - np.log(np.arange(first + 1, last + 1))
        at = math.floor(self.rate) - first
        log_weights = np.zeros(last - first + 1)
        log_weights[at + 1 :] = np.cumsum(log_ratios[at:])
        log_weights[:at] = -np.cumsum(log_ratios[:at][::-1])[::-1]
        log_pmf = log_weights - math.log(np.exp(log_weights).sum())
        return Window(first=first, log_pmf=log_pmf, mass_below=TAIL if first else 0.0, mass_above=TAIL)

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return independent, exact samples."""
        return poisson_table(Fraction(self.rate)).sample(size, rng=rng)
