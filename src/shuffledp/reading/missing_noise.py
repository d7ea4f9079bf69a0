"""Noise M that hides people: a bin of c people shows an excess of c - M, and is reported where that is positive."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise import IntegerLaw


@dataclass(frozen=True, kw_only=True)
class MissingNoise:
    """M = Z + `shift`, for Z with the given `law`; noise of both signs that must reach a threshold has a shift."""

    law: IntegerLaw
    shift: int = 0

    @cached_property
    def mean(self) -> float:
        """E[M]."""
        return self.law.mean + self.shift

    @property
    def first(self) -> int:
        """The smallest value inside the window."""
        return self.law.window.first + self.shift

    @property
    def last(self) -> int:
        """The largest value inside the window."""
        return self.law.window.last + self.shift

    def above(self, k: int) -> float:
        """P(M > k), rounded up."""
        return self.law.window.above(k - self.shift)

    def below(self, k: int) -> float:
        """P(M < k), rounded up."""
        return self.law.window.below(k - self.shift)

    def most(self, risk: float) -> float:
        """The smallest bound from the mean on that M exceeds with at most this risk; infinite if there is none."""
        options = range(math.ceil(self.mean), max(math.ceil(self.mean), self.last) + 1)
        at = bisect_left(options, True, key=lambda k: self.above(k) <= risk)
        return options[at] if at < len(options) else math.inf

    def least(self, risk: float) -> float:
        """The largest bound up to the mean that M falls below with at most this risk; -infinite if there is none."""
        options = range(math.floor(self.mean), min(math.floor(self.mean), self.first) - 1, -1)
        at = bisect_left(options, True, key=lambda k: self.below(k) <= risk)
        return options[at] if at < len(options) else -math.inf

    def least_of_small(self, risk: float, *, held: int, bins: int) -> float:
        """The largest bound that M stays under in some *reported* bin with at most this risk, whatever the data.

        A bin of c people is reported where M < c, so it counts with P(M < min(bound, c)); over all bins this adds up
        to at most held * max over c of P(M < min(bound, c)) / c, and to at most (occupied bins) * P(M < bound), where
        `held` is the number of values that all people hold together.
        """
        single = self.least(risk / min(held, bins))
        largest = max(1, math.floor(self.mean))
        # sizes up to the window all have the same P(M < c): of them one person counts most, so they need not be tried
        start = min(max(1, self.first), largest)
        sizes = np.arange(start, largest + 1)
        shares = self._below_each(sizes) / sizes
        shares[0] = self.below(1)
        per_person = np.maximum.accumulate(shares)
        small = int(np.searchsorted(held * per_person, risk, side="right"))  # how many of these keep to the risk
        return max(single, start - 1 + small) if small else single

    def _below_each(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(M < k) for every k of an array, rounded up."""
        return self._cumulative[np.clip(k - self.first, 0, self._cumulative.size - 1)]

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        window = self.law.window
        return np.minimum(np.append(0.0, np.cumsum(window.pmf)) + window.mass_below, 1.0)
