"""Estimates from the messages that support a bin, c surely and every other one by chance: c + Bin(N - c, t).

    (supports - N t) / (1 - t)

is unbiased for c, off by (B - E[B]) / (1 - t) with B ~ Bin(N - c, t). The law of B depends on c, a little: true counts
are taken in blocks, and within a block B lies between the laws at its ends, so that every bound holds for every c.
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
from shuffledp.noise import Binomial
from shuffledp.pipeline.estimate import Intervals
from shuffledp.pipeline.tally import Tally
from shuffledp.reading.reading import every_bin
from shuffledp.reading.risk import first_high, last_low

_SLIP = 0.05
"""How far apart the means at the ends of a block may be, in standard deviations."""

_MOST_BLOCKS = 200
"""More blocks take longer than their sharper bounds are worth."""

_TOLERANCE = 1e-6
"""Relative precision of an error bound, which is rounded up."""


@dataclass(frozen=True)
class Block:
    """True counts from `fewest` to `most`, and the chance supports at either end."""

    fewest: int
    most: int
    at_fewest: Binomial
    at_most: Binomial


@dataclass(frozen=True, kw_only=True)
class ChanceSupports:
    """All `messages` of `people`, each of which supports a bin that is not its own with `probability`."""

    people: int
    bins: int
    messages: int
    probability: float

    name = "unbiased"
    phantoms = True

    def evidence(self, tally: Tally) -> Tally:
        """Every bin."""
        return every_bin(tally, bins=self.bins)

    def point(self, evidence: Tally) -> NDArray[np.float64]:
        """The unbiased estimates."""
        return self.estimate(evidence.counts)

    def intervals(self, evidence: Tally, *, beta: float, bins: int) -> Intervals:
        """The true counts that do not make the supports too unlikely, with the same risk for each bin."""
        return Intervals(*self.interval(evidence.counts, beta=beta / bins), unreported_high=0)

    def variance(self, count: int = 0) -> float:
        """Variance of the estimate of a bin that `count` people hold."""
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
        return [Block(low, high, self._law(low), self._law(high)) for low, high in pairwise(edges)]

    def _law(self, count: int) -> Binomial:
        return Binomial(trials=self.messages - count, probability=self.probability)

    def failure(self, error: float) -> float:
        """At most how likely the estimate of a bin is off by more than `error`, whatever its true count."""
        reach = error * (1 - self.probability) - SUPPORTS_AGAINST_MEAN
        return max(
            block.at_fewest.window.above(math.floor(block.at_most.mean + reach))
            + block.at_most.window.below(math.ceil(block.at_fewest.mean - reach))
            for block in self.blocks
        )

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that is exceeded with probability at most beta, added up over the bins."""
        low, high, risk = 0.0, 1.0, beta / bins
        while self.failure(high) > risk:
            low, high = high, 2 * high
        while high - low > _TOLERANCE * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.failure(middle) > risk else (low, middle)
        return high

    def interval(self, supports: NDArray[np.int64], *, beta: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The true counts that do not make these supports too unlikely: too few or too many with beta / 2 each."""
        # where no count fits at all, the nearest one
        nearest = np.clip(np.rint(self.estimate(supports)), 0, self.people).astype(np.int64)
        low, high = np.full(supports.shape, self.people + 1), np.full(supports.shape, -1)
        for block in self.blocks:
            most_others = first_high(block.at_fewest, _exceeds(block.at_fewest.window.above, beta / 2))
            fewest_others = last_low(block.at_most, _exceeds(block.at_most.window.below, beta / 2))
            first = np.maximum(supports - most_others, block.fewest)
            last = np.minimum(supports - fewest_others, block.most)
            possible = first <= last
            low = np.where(possible, np.minimum(low, first), low)
            high = np.where(possible, np.maximum(high, last), high)
        return np.where(high < 0, nearest, low), np.where(high < 0, nearest, high)


def _exceeds(tail: Callable[[int], float], risk: float) -> Callable[[int], bool]:
    return lambda bound: tail(bound) > risk
