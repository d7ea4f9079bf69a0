"""How one person makes their part of compound Poisson noise over very many bins.

Clusters over all bins together are Poisson too, so a person draws their number first, then a uniform bin and a size for
each. The work follows the messages sent, not the number of bins, and the parts of all people add up exactly to the law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.compound_poisson import CompoundPoisson, poisson_table
from shuffledp.noise.inversion import InversionTable

_LARGEST_POISSON = 100
"""Mean up to which a Poisson number is drawn from one table, which then stays short."""


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """The split of `law`, the noise of every one of `bins` bins, over `users` people."""

    law: CompoundPoisson
    users: int
    bins: int

    @cached_property
    def _rate(self) -> Fraction:
        """Clusters of one person over all bins, on average, exactly."""
        return Fraction(self.law.rate) * self.bins / self.users

    @cached_property
    def _parts(self) -> int:
        """A large Poisson number is drawn as a sum of this many small ones."""
        return max(1, math.ceil(self._rate / _LARGEST_POISSON))

    @cached_property
    def _table(self) -> InversionTable:
        return poisson_table(self._rate / self._parts)

    def draw_bins(self, people: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """The bin of every noise message of a number of people."""
        number = int(self._table.sample(people * self._parts, rng=rng).sum())
        return np.repeat(rng.integers(0, self.bins, size=number), self.law.sample_sizes(number, rng=rng))
