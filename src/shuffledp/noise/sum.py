"""The sum of two independent noises."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.distribution import IntegerDistribution, Window


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
