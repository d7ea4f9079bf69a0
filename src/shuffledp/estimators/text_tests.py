"""Tests that decide which texts nobody listed are reported, and the probabilities that they err.

On every level a person's message is consistent with the prefix of their own text, and with any other prefix with
probability 1 / q. A prefix that c of n people hold therefore has

    c + Bin(n - c, 1 / q) + Poisson(dummies)

consistent messages, independently on every level since every level has its own seeds. The same people hold a text of
k < L pieces on all of the last L - k levels. Their counts add up to a count on `copies` levels,

    copies c + Bin(copies (n - c), 1 / q) + Poisson(copies dummies).

A walk through the tree of prefixes uses three tests, each a threshold on such a count:

    prefix      a prefix is continued if its count is one that a prefix nobody holds has with probability at most
                1 / (4 pieces). Every continued prefix then has at most 1/4 false continuations on average, whatever
                the data: a third more work at most. The threshold is known before the release.
    ended text  its count on its first 1, 2, 4, ... levels is one that a text nobody holds has with probability at most
                1/64.
    whole text  it is reported if its count on all its levels is one that a text nobody holds has with probability at
                most its part of the risk. All texts of k pieces are a group, and the candidates of a group share the
                part of the group. Their number is known before any count of a whole text is.

Half of the risk is for texts of L pieces, which are most of the candidates; the rest is shared equally by the other
groups, (other) and (none) among them, which are always reported. So with probability at most `risk` is any reported
text held by nobody, exactly up to the union bound.

Misses. A text with c people fails a test before the last one with probability at most a sum of exact tails. From a
limit of c on, which is known before the release, this sum is at most a tenth of beta. The last test has the other nine
tenths. Its threshold depends on earlier levels only, whose noise is independent.

Intervals. A statement about a text is its interval if it is reported, and otherwise the bound on unreported texts. Both
can fail, so they share beta. All statements hold at once if each kind has a half. For a single text, being missed and
an interval that is too low are both a count that is too low, so the larger one of their probabilities counts: with
beta / 2 for a miss and 0.95 beta for both sides of the interval, a statement fails with probability at most

    0.05 beta + max(0.45, 0.475) beta + 0.475 beta = beta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from shuffledp.estimators.base import first_high
from shuffledp.estimators.supports import Block, HashedValues, exceeds
from shuffledp.noise import IntegerDistribution
from shuffledp.noise.binomial import Matches
from shuffledp.noise.distribution import TAIL
from shuffledp.noise.poisson import Poisson
from shuffledp.noise.sum import Sum

FALSE_PER_PREFIX = 0.25
"""The expected number of false continuations of a prefix. Fewer would lose frequent texts, more would cost time."""

FALSE_ENDED = 1 / 64
"""The probability that an ended text that nobody holds is counted on one more level."""

FEWEST_CONTINUED, CONTINUED = 1000, 2
"""The number of prefixes of a level that are continued at least, if they pass their test, and at most, relative to the
expected number for the worst honest data. Without a limit, forged reports could make a search endless."""

EARLY_SHARE = 0.1
"""The part of beta for all tests before the last one, whose thresholds are lower."""

UNREPORTED = 0.5
"""The part of beta for texts that are missed although more people hold them than the bound on unreported texts."""

ALONE = 1 - EARLY_SHARE * UNREPORTED
"""The part of beta for the interval of a single text; a miss in the last test takes nothing more."""


@dataclass(frozen=True, kw_only=True)
class CopiedValues(HashedValues):
    """The estimator of the people of a value that has the same holders on `copies` levels, from the sum of counts."""

    copies: int = 1

    def estimate(self, supports: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean of the unbiased estimates of all levels."""
        others = self.messages * self.probability + self.dummies.mean
        return ((supports / self.copies - others) / (1 - self.probability)).astype(np.float64)

    def variance(self, count: int = 0) -> float:
        """The variance of the estimate of a value that `count` people hold."""
        return super().variance(count) / self.copies

    def others(self, count: int) -> IntegerDistribution:
        """The distribution of consistent messages of people who do not hold the value, and of dummies."""
        return self._distribution(count)

    def _distribution(self, count: int) -> Sum:
        people = Matches(trials=self.copies * (self.people - count), buckets=self.family.modulus)
        return Sum(people, _poisson(self.dummies.rate * self.copies))

    def _fewest_holders(self, supports: NDArray[np.int64]) -> NDArray[np.int64]:
        return -(-supports // self.copies)

    def _most_holders(self, supports: NDArray[np.int64]) -> NDArray[np.int64]:
        return supports // self.copies

    def _blocks_near(self, supports: NDArray[np.int64]) -> list[Block]:
        return [block for block in self.blocks if self._is_near(supports, block)]

    def _is_near(self, supports: NDArray[np.int64], block: Block) -> bool:
        """Whether counts of a block could have these supports; others are less likely than any beta (Bernstein)."""
        log = -math.log(TAIL)
        reach = log / 3 + math.sqrt((log / 3) ** 2 + 2 * log * block.at_fewest.variance)
        least = self.copies * block.fewest + block.at_most.mean - reach
        most = self.copies * block.most + block.at_fewest.mean + reach
        return bool(((least <= supports) & (supports <= most)).any())


@dataclass(frozen=True, kw_only=True)
class TextTests:
    """The tests for texts of up to `levels` pieces, of `pieces` possible ones; `values` estimates one level."""

    values: HashedValues
    levels: int
    pieces: int

    def copies(self, length: int) -> int:
        """The number of levels on which a text of this number of pieces is counted as a whole."""
        return max(1, self.levels - length)

    def share(self, length: int) -> float:
        """The part of a risk for the texts of this number of pieces; 0 pieces stand for (other) and (none)."""
        return 0.5 if length == self.levels else 0.5 / self.levels

    def counted(self, copies: int) -> CopiedValues:
        """The estimator of counts on several levels."""
        return _copied(self.values, copies)

    def threshold(self, copies: int, risk: float) -> int:
        """The smallest count that a value nobody holds reaches with at most this probability."""
        nobody = self.nobody(copies)
        return first_high(nobody, exceeds(nobody.window.above, risk)) + 1

    def nobody(self, copies: int) -> IntegerDistribution:
        """The distribution of the count of a value that nobody holds."""
        return _others(self.values, copies, 0)

    @cached_property
    def prefix(self) -> int:
        """The threshold for a prefix to be continued."""
        return self.threshold(1, FALSE_PER_PREFIX / self.pieces)

    def ended(self, copies: int) -> int:
        """The threshold for an ended text to be counted on one more level."""
        return self.threshold(copies, FALSE_ENDED)

    def whole(self, length: int, *, candidates: int, risk: float) -> int:
        """The threshold for a text of this number of pieces to be reported."""
        return self.threshold(self.copies(length), self.share(length) * risk / max(1, candidates))

    # misses -------------------------------------------------------------------------------------------------------

    def miss(self, count: int, *, copies: int, threshold: int) -> float:
        """The probability that a value with this number of people is below a threshold."""
        return _others(self.values, copies, count).window.below(threshold - copies * count)

    def early_miss(self, count: int, prefix: int | None = None) -> float:
        """The probability, at most, that a text with this number of people is lost before its last test.

        `prefix` is the threshold for a prefix to be continued where it was raised.
        """
        prefixes = (self.levels - 1) * self.miss(count, copies=1, threshold=max(self.prefix, prefix or 0))
        ended = (
            self.miss(count, copies=copies, threshold=self.ended(copies))
            for copies in range(1, self.levels - 1)
            if is_tested(copies)
        )
        return min(1.0, prefixes + sum(ended))

    def limit(
        self, thresholds: Mapping[int, int], beta: float, *, people: int | None = None, prefix: int | None = None
    ) -> int:
        """The detection limit for these thresholds of whole texts, by the number of pieces, and `prefix` of prefixes.

        A text with this number of people is reported with probability at least 1 - beta; with `people`, so are all such
        texts of this number of people at once.
        """
        found = self._first(partial(self.early_miss, prefix=prefix), EARLY_SHARE * beta, people, start=1)
        for length in sorted(thresholds, reverse=True):  # the longest texts have the highest limit
            chance = partial(self.miss, copies=self.copies(length), threshold=thresholds[length])
            found = self._first(chance, (1 - EARLY_SHARE) * beta, people, start=found)
        return found

    def _first(self, chance: Callable[[int], float], beta: float, people: int | None, *, start: int) -> int:
        """The smallest count from a start on that is lost with at most this probability; one more than all people if
        there is none.

        Of all people, at most people / count texts have this count. The chance falls with the count.
        """

        def fails(count: int) -> bool:
            return (1.0 if people is None else max(1.0, people / count)) * chance(count) > beta

        if start > self.values.people or not fails(start):
            return start
        low, high = start, min(2 * start + 16, self.values.people + 1)
        while high <= self.values.people and fails(high):
            low, high = high, min(2 * high, self.values.people + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fails(middle) else (low, middle)
        return high

    def planting_messages(self, thresholds: Mapping[int, int]) -> int:
        """The fewest forged messages that in about every second case make a text appear that nobody holds.

        A forger knows all thresholds, and adds to the easiest text the messages that are missing on average.
        """

        def needed(length: int) -> float:
            prefixes = min(length, self.levels - 1) * (self.prefix - self.nobody(1).mean)
            return prefixes + thresholds[length] - self.nobody(self.copies(length)).mean

        return math.ceil(min(map(needed, thresholds)))

    # before the release -------------------------------------------------------------------------------------------

    @cached_property
    def most_prefixes(self) -> float:
        """An upper bound on the expected number of continued prefixes of a level, for any data.

        A prefix with c people is continued with a probability of at most P(count of nobody >= threshold - c). The sum
        over all prefixes is at most n times the largest ratio of this to c. False ones are at most a quarter of the
        prefixes of the level before.
        """
        window = self.nobody(1).window
        counts = np.arange(1, max(2, self.prefix + 1 - window.first))  # larger ones pass for certain: the ratio falls
        chances = np.array([window.above(self.prefix - 1 - count) for count in counts.tolist()])
        held = self.values.people * float((chances / counts).max())
        return held / (1 - FALSE_PER_PREFIX)

    @cached_property
    def most_continued(self) -> int:
        """The most prefixes of a level that are continued; honest reports have fewer."""
        return max(FEWEST_CONTINUED, math.ceil(CONTINUED * self.most_prefixes))

    def over_rare(self, supports: NDArray[np.int64], share: float) -> NDArray[np.int64]:
        """Counts without the excess of each row's rare ones, which forged messages for the whole row have made."""
        usual = self.values.people * self.values.probability + self.values.dummies.mean
        rare = np.quantile(supports, share, axis=1, method="lower", keepdims=True)
        return np.asarray(supports - np.maximum(0, rare - math.ceil(usual)))

    def expected_candidates(self, length: int) -> int:
        """An upper bound on the expected number of texts of this number of pieces that are compared with a threshold.

        There are no more texts of a number of pieces than combinations of pieces.
        """
        every = float(self.pieces) ** min(length, 32)
        if length < self.levels:
            return math.ceil(min(every, self.most_prefixes))
        return math.ceil(min(every, self.most_prefixes * self.pieces))


def is_tested(copies: int) -> bool:
    """Whether an ended text is tested after this number of levels: a power of two, since more tests gain little."""
    return copies & (copies - 1) == 0


@lru_cache(maxsize=256)
def _poisson(rate: float) -> Poisson:
    return Poisson(rate=rate)


@lru_cache(maxsize=64)
def _copied(one: HashedValues, copies: int) -> CopiedValues:
    return CopiedValues(
        people=one.people,
        bins=one.bins,
        messages=one.messages,
        probability=one.probability,
        family=one.family,
        dummies=one.dummies,
        copies=copies,
    )


@lru_cache(maxsize=4096)
def _others(one: HashedValues, copies: int, count: int) -> IntegerDistribution:
    """The distribution of consistent messages that are not of the people who hold a value."""
    return _copied(one, copies).others(count)
