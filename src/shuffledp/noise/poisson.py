"""The Poisson distribution with a window around its mean, for the sums of many levels.

`CompoundPoisson` with clusters of one has the same distribution and a window from 0 on, which takes far longer for
large rates. Protocols and privacy curves use that one.
"""

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

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return independent, exact samples."""
        return poisson_table(Fraction(self.rate)).sample(size, rng=rng)
