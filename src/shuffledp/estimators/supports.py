"""Estimates from the number of messages that support a bin, and their errors.

A message of a person with value x supports bin x with probability p, and every other bin with probability q. The number
of messages that support bin j is Bin(c_j, p) + Bin(n - c_j, q), so (supports - n q) / (p - q) is an unbiased estimate
of the true count c_j. Nothing is clipped or rescaled: a projection would be biased.

`ChanceSupports` is for messages of which c support the bin with certainty and every other one by chance. The count is
then c + Bin(N - c, t), and

    (supports - N t) / (1 - t)

is unbiased for c, off by (B - E[B]) / (1 - t) with B ~ Bin(N - c, t), which depends slightly on c. True counts are
therefore grouped in blocks; within a block B is between the distributions at its ends, so every bound holds for every
c.

`HashedValues` are chance supports of hashed messages in q buckets, t = 1 / q, among dummies: a bin has c + Bin(N - c, 1
/ q) + Poisson(dummies) consistent messages, exactly, since every message has a seed of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import SUPPORTS_AGAINST_MEAN
from shuffledp.accounting.search import first_safe
from shuffledp.errors import DataError
from shuffledp.estimators.base import as_whole, every_bin, first_high, last_low, possible_counts
from shuffledp.formatting import readable
from shuffledp.histogram.hash_family import HashFamily
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.tally import Tally
from shuffledp.noise import Binomial, CompoundPoisson, IntegerDistribution
from shuffledp.noise.binomial import Matches
from shuffledp.noise.coins import count_heads
from shuffledp.noise.distribution import Sum

_TOLERANCE, _LEAST_TOLERANCE = 1e-9, 1e-12
"""The precision of a share of flipped bits, relative to their probability, and its lower limit."""

_MANY_DRAWS, _MANY_TRIALS = 8, 1 << 22
"""The number of samples of one distribution, or trials of one sample, from which a table for inversion is faster."""


@dataclass(frozen=True, kw_only=True)
class Supports:
    """Supports with probability p = `true_support` and q = `false_support`."""

    people: int
    bins: int
    true_support: float
    false_support: float

    name = "unbiased"
    false_positives = True

    def statistic(self, tally: Tally) -> Tally:
        """Every bin."""
        return every_bin(tally, bins=self.bins)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The unbiased estimates."""
        p, q = self.true_support, self.false_support
        return ((statistic.counts - self.people * q) / (p - q)).astype(np.float64)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """Intervals from the error bound."""
        counts, error = self.point(statistic), self.error(beta=beta, bins=bins, occupied=bins)
        return possible_counts(counts - error, counts + error, people=self.people)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """Bernstein's bound on |s_j - E s_j| / (p - q): each of n reports moves it by at most 1 / (p - q)."""
        spread = max(self.variance(0), self.variance(self.people))
        reach, log = 1 / (self.true_support - self.false_support), math.log(2 / (beta / bins))
        return reach * log / 3 + math.sqrt((reach * log / 3) ** 2 + 2 * spread * log)

    def variance(self, count: int = 0) -> float:
        """The variance of the estimate of a bin that `count` people hold."""
        p, q = self.true_support, self.false_support
        return (count * p * (1 - p) + (self.people - count) * q * (1 - q)) / (p - q) ** 2

    def draw(self, counts: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Sample Bin(c, p) + Bin(n - c, q) for each true count c, exactly for p and q on the grid."""
        drawn = np.empty_like(counts)
        order = np.argsort(counts, kind="stable")
        values, starts = np.unique(counts[order], return_index=True)
        for value, where in zip(values.tolist(), np.split(order, starts[1:]), strict=True):
            own = _binomial(value, self.true_support, where.size, rng)
            others = _binomial(self.people - value, self.false_support, where.size, rng)
            drawn[where] = own + others
        return drawn


@dataclass(frozen=True, kw_only=True)
class FlippedBits(Supports):
    """Supports of bits that are all flipped with probability q = 1 - p, with a sharper error bound."""

    def statistic(self, tally: Tally) -> Tally:
        """Every bin, with at most one support from each person."""
        if len(tally) and tally.counts.max() > self.people:
            raise DataError(f"more ones than {self.people} people can send; give the number who reported as reports=")
        return super().statistic(tally)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The error by Chernoff's bound on either side."""
        reach = flipped_reach(self.people, self.false_support, beta / (2 * bins))
        return reach / (1 - 2 * self.false_support)


def flipped_reach(users: int, flip: float, risk: float) -> float:
    """The distance of a sum of flipped bits above its mean that is exceeded with at most the `risk`.

    Chernoff's bound for Bin(users, flip), which has the heaviest tail: every flip of a 0 has a larger moment generating
    function than one of a 1 (docs/proofs/comparison.md).
    """
    needed = math.log(1 / risk) / users

    def excess(share: float) -> float:
        return needed - _divergence(share, flip)

    if excess(1.0) > 0:
        return users * (1 - flip)
    return users * (first_safe(excess, flip, 1.0, tolerance=_LEAST_TOLERANCE + _TOLERANCE * flip) - flip)


def _binomial(trials: int, probability: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Exact samples, one by one or by inversion, whichever is faster."""
    if not trials:
        return np.zeros(size, dtype=np.int64)
    if probability > 0.5:
        return trials - _binomial(trials, 1 - probability, size, rng)
    if size < _MANY_DRAWS and trials < _MANY_TRIALS:
        return np.array([count_heads(trials, probability, rng) for _ in range(size)], dtype=np.int64)
    return Binomial(trials=trials, probability=probability).sample(size, rng=rng)


def _divergence(share: float, flip: float) -> float:
    """Kullback-Leibler divergence between coins of these probabilities."""
    heads = share * math.log(share / flip)
    return heads + (1 - share) * math.log((1 - share) / (1 - flip)) if share < 1 else heads


_SLIP = 0.05
"""The largest distance of the means at the ends of a block, in standard deviations."""

_MOST_BLOCKS = 200
"""The most blocks; sharper bounds are not worth more time."""

_CHANCE_TOLERANCE = 1e-6
"""The relative precision of an error bound, which is rounded up."""


@dataclass(frozen=True)
class Block:
    """True counts from `fewest` to `most`, and the chance supports at either end."""

    fewest: int
    most: int
    at_fewest: IntegerDistribution
    at_most: IntegerDistribution


@dataclass(frozen=True, kw_only=True)
class ChanceSupports:
    """The estimator for `messages` of which each supports a bin that is not its own with `probability`."""

    people: int
    bins: int
    messages: int
    probability: float

    name = "unbiased"
    false_positives = True

    def statistic(self, tally: Tally) -> Tally:
        """Every bin."""
        return every_bin(tally, bins=self.bins)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The unbiased estimates."""
        return self.estimate(statistic.counts)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """The true counts under which the supports are likely enough."""
        return Intervals(*self.interval(statistic.counts, beta=beta / bins), unreported_high=0)

    def variance(self, count: int = 0) -> float:
        """The variance of the estimate of a bin that `count` people hold."""
        t = self.probability
        return (self.messages - count) * t / (1 - t)

    def estimate(self, supports: NDArray[np.int64]) -> NDArray[np.float64]:
        """(supports - N t) / (1 - t)."""
        others = self.messages * self.probability
        return ((supports - others) / (1 - self.probability)).astype(np.float64)

    @cached_property
    def blocks(self) -> list[Block]:
        """Blocks of true counts 0 .. people."""
        reach = self.people * self.probability
        wanted = math.ceil(reach / (_SLIP * math.sqrt(self.messages * self.probability)))
        number = max(1, min(wanted, _MOST_BLOCKS, self.people))
        edges = [self.people * k // number for k in range(number + 1)]
        return [Block(low, high, self._distribution(low), self._distribution(high)) for low, high in pairwise(edges)]

    def _distribution(self, count: int) -> IntegerDistribution:
        return Binomial(trials=self.messages - count, probability=self.probability)

    def failure(self, error: float) -> float:
        """An upper bound on the probability of a larger error in a bin, for any true count."""
        reach = error * (1 - self.probability) - SUPPORTS_AGAINST_MEAN
        return max(
            block.at_fewest.window.above(math.floor(block.at_most.mean + reach))
            + block.at_most.window.below(math.ceil(block.at_fewest.mean - reach))
            for block in self.blocks
        )

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that is exceeded with probability at most beta, as a sum over the bins."""
        low, high, risk = 0.0, 1.0, beta / bins
        while self.failure(high) > risk:
            low, high = high, 2 * high
        while high - low > _CHANCE_TOLERANCE * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.failure(middle) > risk else (low, middle)
        return high

    def interval(self, supports: NDArray[np.int64], *, beta: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The true counts under which these supports are too few or too many with beta / 2 each."""
        # if no count fits, the nearest one
        nearest = np.clip(np.rint(self.estimate(supports)), 0, self.people).astype(np.int64)
        low, high = np.full(supports.shape, self.people + 1), np.full(supports.shape, -1)
        for block in self._blocks_near(supports):
            most_others = first_high(block.at_fewest, exceeds(block.at_fewest.window.above, beta / 2))
            fewest_others = last_low(block.at_most, exceeds(block.at_most.window.below, beta / 2))
            first = np.maximum(self._fewest_holders(supports - most_others), block.fewest)
            last = np.minimum(self._most_holders(supports - fewest_others), block.most)
            possible = first <= last
            low = np.where(possible, np.minimum(low, first), low)
            high = np.where(possible, np.maximum(high, last), high)
        return np.where(high < 0, nearest, low), np.where(high < 0, nearest, high)

    def _blocks_near(self, supports: NDArray[np.int64]) -> list[Block]:
        """The blocks of counts that these supports may have."""
        return self.blocks

    def _fewest_holders(self, supports: NDArray[np.int64]) -> NDArray[np.int64]:
        """The fewest people who make at least these supports."""
        return supports

    def _most_holders(self, supports: NDArray[np.int64]) -> NDArray[np.int64]:
        """The most people who make at most these supports."""
        return supports


def exceeds(tail: Callable[[int], float], risk: float) -> Callable[[int], bool]:
    """Tell whether a tail has more than this risk."""
    return lambda bound: tail(bound) > risk


MOST_VALUES = 1 << 26
"""The most values that are counted at once, with a counter of eight bytes each."""


@dataclass(frozen=True, eq=False)
class DecodedTally(Tally):
    """The number of messages consistent with each value, in place of the messages themselves.

    It is as small as the domain, and adds up over parts of the messages.
    """

    def __add__(self, other: Tally) -> Tally:
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
        """The numbers of consistent messages that give these estimates."""
        shift = -self.estimate(np.zeros(1, dtype=np.int64))[0]
        supports = (estimates + shift) * (1 - self.probability)
        return as_whole(supports)

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """The intervals of these estimates."""
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
