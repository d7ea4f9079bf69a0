"""Estimates of the number of people of a value from the messages that are consistent with it.

A person's message is consistent with their own value, and with any other with probability 1 / q for q buckets. A dummy
is consistent with every value with probability 1 / q. Of N messages of people, c of them for the value, and a Poisson
number of dummies, the number of consistent messages is

    c + Bin(N - c, 1 / q) + Poisson(dummies),

exactly, since every message has a seed of its own. As in `ChanceSupports`, less its mean for c = 0 and divided by
1 - 1 / q, it is an unbiased estimate of c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.estimators.base import as_whole
from shuffledp.estimators.supports import ChanceSupports
from shuffledp.formatting import readable
from shuffledp.histogram.hash_family import HashFamily
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.tally import Tally
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.binomial import Matches
from shuffledp.noise.distribution import Sum

MOST_VALUES = 1 << 26
"""The most values that are counted at once, with a counter of eight bytes each."""


@dataclass(frozen=True, eq=False)
class DecodedTally(Tally):
    """The number of messages consistent with each value, in place of the messages themselves.

    It is as small as the domain, and decoded parts of the messages add up.
    """

    def __add__(self, other: Tally) -> Tally:
        """Add the counts of other messages, which are decoded too."""
        if not isinstance(other, DecodedTally):
            raise DataError("a decoded tally and messages cannot be added: decode the messages first")
        added = super().__add__(other)
        return DecodedTally(added.symbols, added.counts, complete=added.complete, messages=added.messages)


@dataclass(frozen=True, kw_only=True)
class HashedValues(ChanceSupports):
    """The estimator for `messages` of people's values among `dummies`, the distribution of dummies of one value."""

    family: HashFamily
    dummies: CompoundPoisson

    def statistic(self, tally: Tally) -> Tally:
        """The number of messages consistent with every value."""
        if isinstance(tally, DecodedTally):
            return tally
        if self.bins > MOST_VALUES:
            raise DataError(
                f"a domain of {readable(self.bins)} values is too large to count all of them, at most "
                f"{MOST_VALUES:,}: look up some of them"
            )
        messages, parents = messages_in(tally), np.arange(self.family.parents)
        supports = self.family.supports(messages, parents).ravel()[: self.bins]
        return DecodedTally(np.arange(self.bins), supports, messages=messages.size, drawn=tally.drawn)

    def statistic_of(self, tally: Tally, values: NDArray[np.int64]) -> Tally:
        """The number of messages consistent with some values."""
        if isinstance(tally, DecodedTally):
            return tally.pick(values)
        messages = messages_in(tally)
        counts = self.family.count(messages, values)
        return DecodedTally(values, counts, complete=False, messages=messages.size, drawn=tally.drawn)

    def supports_of(self, estimates: NDArray[np.float64]) -> NDArray[np.int64]:
        """The numbers of consistent messages that give these estimates; the inverse of `estimate`."""
        shift = -self.estimate(np.zeros(1, dtype=np.int64))[0]
        supports = (estimates + shift) * (1 - self.probability)
        return as_whole(supports)

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """The intervals of these estimates, from the messages consistent with their values."""
        decoded = DecodedTally(np.arange(counts.size), self.supports_of(counts), complete=False)
        return self.intervals(decoded, beta=beta, bins=bins)

    def estimate(self, supports: NDArray[np.int64]) -> NDArray[np.float64]:
        """(supports - N / q - E[dummies]) / (1 - 1 / q)."""
        return super().estimate(supports) - self.dummies.mean / (1 - self.probability)

    def variance(self, count: int = 0) -> float:
        """The variance of the estimate of a value that `count` people hold."""
        return super().variance(count) + self.dummies.variance / (1 - self.probability) ** 2

    def _distribution(self, count: int) -> Sum:
        return Sum(Matches(trials=self.messages - count, buckets=self.family.modulus), self.dummies)


def messages_in(tally: Tally) -> NDArray[np.int64]:
    """The messages that were counted, each as often as it was sent."""
    symbols = tally.symbols.astype(np.int64)
    return np.repeat(symbols, tally.counts) if len(tally) and tally.counts.max() > 1 else symbols
