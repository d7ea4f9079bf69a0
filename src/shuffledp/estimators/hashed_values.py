"""Estimates of the number of people of a value from the messages that are consistent with it.

A person's message is consistent with their own value, and with any other with probability 1 / q for q buckets. A dummy
is consistent with every value with probability 1 / q. Of N messages of people, c of them for the value, and a Poisson
number of dummies, the number of consistent messages is

    c + Bin(N - c, 1 / q) + Poisson(dummies),

exactly, since every message has a seed of its own. As in `ChanceSupports`, less its mean for c = 0 and divided by
1 - 1 / q, it is an unbiased estimate of c.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.estimators.supports import ChanceSupports
from shuffledp.formatting import readable
from shuffledp.histogram.hash_family import HashFamily
from shuffledp.histogram.tally import Tally
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.sum import Sum

MOST_VALUES = 1 << 26
"""The most values that are counted at once, with a counter of eight bytes each."""


@dataclass(frozen=True, kw_only=True)
class HashedValues(ChanceSupports):
    """The estimator for `messages` of people's values among `dummies`, the distribution of dummies of one value."""

    family: HashFamily
    dummies: CompoundPoisson

    def statistic(self, tally: Tally) -> Tally:
        """The number of messages consistent with every value."""
        if self.bins > MOST_VALUES:
            raise DataError(f"{readable(self.bins)} values are too many to count all of them: look up some of them")
        supports = self.family.supports(messages_in(tally), np.arange(self.family.parents)).ravel()[: self.bins]
        return replace(tally, symbols=np.arange(self.bins), counts=supports)

    def statistic_of(self, tally: Tally, values: NDArray[np.int64]) -> Tally:
        """The number of messages consistent with some values."""
        return replace(tally, symbols=values, counts=self.family.count(messages_in(tally), values), complete=False)

    def estimate(self, supports: NDArray[np.int64]) -> NDArray[np.float64]:
        """(supports - N / q - E[dummies]) / (1 - 1 / q)."""
        return super().estimate(supports) - self.dummies.mean / (1 - self.probability)

    def variance(self, count: int = 0) -> float:
        """The variance of the estimate of a value that `count` people hold."""
        return super().variance(count) + self.dummies.variance / (1 - self.probability) ** 2

    def _distribution(self, count: int) -> Sum:
        others = Binomial(trials=max(1, self.messages - count), probability=self.probability)
        return Sum(others, self.dummies)


def messages_in(tally: Tally) -> NDArray[np.int64]:
    """The messages that were counted, each as often as it was sent."""
    symbols = tally.symbols.astype(np.int64)
    return np.repeat(symbols, tally.counts) if len(tally) and tally.counts.max() > 1 else symbols
