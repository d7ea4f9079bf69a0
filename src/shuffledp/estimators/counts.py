"""Counts with known noise M in every bin: (true count) + (people) - M where M of a message per person are missing, or
(true count) + M where M are added.

Two estimators of the same counts, both post-processing, with excess = count - people = (true count) - M:

    truncated   excess + E[M] where excess > 0, else 0. An empty bin has excess <= 0, so it is never reported.
    unbiased    excess + E[M] everywhere.

For an error `a` and a bin of true count c, the truncated estimate is off by c if M >= c and by |E[M] - M| otherwise.
So a bin with c > a fails with probability at most P(M > a) + P(M < E[M] - a), one with 1 <= c <= a with at most
P(M < E[M] - a), an empty one never. At most people / (floor(a) + 1) bins can hold more than a people: that number,
not the number of bins, multiplies the risk. Where everybody holds several values, all of these count. docs/proofs/
exact-error.md has the details.

`CuratedCounts` and `ThresholdedCounts` are true counts with noise of both signs, as a curator publishes them: of every
bin, or of the bins above a threshold.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import COUNT_AGAINST_MEAN
from shuffledp.errors import DataError
from shuffledp.estimators.base import MissingNoise, any_of, every_bin, in_order, possible_counts, smallest_distance
from shuffledp.estimators.levels import ExcessRungs, Known, Ladder, noise_range
from shuffledp.histogram.estimate import Intervals
from shuffledp.histogram.tally import Tally
from shuffledp.noise import IntegerDistribution
from shuffledp.noise.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True, kw_only=True)
class TruncatedCounts:
    """The paper's reading: 0 unless the count exceeds the number of people, since `noise` messages are missing."""

    noise: IntegerDistribution
    people: int
    values_per_person: int = 1

    name = "truncated"
    false_positives = False

    @property
    def held(self) -> int:
        """How many values all people hold together."""
        return self.people * self.values_per_person

    def statistic(self, tally: Tally) -> Tally:
        """The bins with more messages than there are people."""
        possible(tally, people=self.people)
        ordered = in_order(tally)
        return ordered.pick(ordered.counts > self.people)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """Excess + E[M], as far as there are people."""
        excess = self._excess(statistic)
        return np.minimum(
            excess.astype(np.float64) + self.noise.mean, Known.of(excess, people=self.people, held=self.held).most
        )

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """Excess + the range of M; a bin that is not reported has at most the largest M."""
        excess = self._excess(statistic)
        known = Known.of(excess, people=self.people, held=self.held)
        return self._ladder.intervals(excess, excess, known, beta=beta, bins=bins)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that some bin exceeds with probability at most beta; nothing is off by more than all."""
        bound = smallest_distance(self.noise, lambda error: self.failure(error, bins=bins, occupied=occupied) <= beta)
        return min(bound, float(self.people))

    def failure(self, error: float, *, bins: int, occupied: int) -> float:
        """At most how likely some bin is off by more: large bins can be hidden or off, small ones only off."""
        most = math.floor(error + COUNT_AGAINST_MEAN)
        off = self.noise.window.below(math.ceil(self.noise.mean - error - COUNT_AGAINST_MEAN))
        off_or_hidden = off + self.noise.window.above(most)
        large = min(bins, occupied, self.held // (most + 1))
        return any_of((off_or_hidden, large), (off, min(bins, occupied) - large))

    def shown_and_hidden(self, *, beta: float, bins: int, occupied: int) -> tuple[float, int]:
        """Bounds on the error of shown bins and on the counts of hidden ones, together but for probability beta."""
        return self._ladder.before(self.noise.mean, beta=beta, bins=bins, occupied=occupied)

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """Reported where count - M > 0, as count - M + E[M]; up to float rounding, and 0 for an empty bin."""
        needed = max(1, math.ceil(at_least - self.noise.mean - COUNT_AGAINST_MEAN))
        return max(0.0, 1 - self.noise.window.above(count - needed)) if count >= needed else 0.0

    @cached_property
    def _ladder(self) -> Ladder:
        """What the excess of a bin says about its people."""
        return Ladder(
            rungs=ExcessRungs(noise=MissingNoise(distribution=self.noise), people=self.people, held=self.held)
        )

    def _excess(self, statistic: Tally) -> NDArray[np.int64]:
        """C - M of each bin."""
        return statistic.counts - self.people


@dataclass(frozen=True, kw_only=True)
class UnbiasedCounts:
    """No truncation: smaller worst error while there are few bins, but every empty bin is noisy.

    `missing` says that the noise is missing from one message per person, and not added to the true count.
    """

    noise: IntegerDistribution
    people: int
    bins: int
    missing: bool

    name = "unbiased"
    false_positives = True

    def statistic(self, tally: Tally) -> Tally:
        """Every bin."""
        if self.missing:
            possible(tally, people=self.people)
        return every_bin(tally, bins=self.bins)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The count less what everybody sends, without the expected noise."""
        if self.missing:
            return (statistic.counts - self.people).astype(np.float64) + self.noise.mean
        return statistic.counts.astype(np.float64) - self.noise.mean

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """The range that the noise of all these bins keeps to, as likely to be left on either side."""
        least, most = noise_range(MissingNoise(distribution=self.noise), beta=beta, bins=bins)
        if self.missing:
            low, high = statistic.counts - self.people + least, statistic.counts - self.people + most
        else:
            low, high = statistic.counts - most, statistic.counts - least
        return possible_counts(low, high, people=self.people)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """Every bin fails alike: exactly 1 - (1 - P(|M - E[M]| > error))^bins."""
        return smallest_distance(self.noise, lambda error: any_of((beyond(self.noise, error), bins)) <= beta)


def beyond(noise: IntegerDistribution, error: float) -> float:
    """P(|M - E[M]| > error), rounded up."""
    low = math.ceil(noise.mean - error - COUNT_AGAINST_MEAN)
    high = math.floor(noise.mean + error + COUNT_AGAINST_MEAN)
    return noise.window.below(low) + noise.window.above(high)


def possible(tally: Tally, *, people: int) -> None:
    """Refuses a bin with more than two messages for each person: one if they hold it and one of the noise."""
    if len(tally) and tally.counts.max() > 2 * people:
        raise DataError(
            f"a bin has more messages than {people} people can send; give the number who reported as reports="
        )


@dataclass(frozen=True, kw_only=True)
class CuratedCounts:
    """The noisy count of every bin, as it is."""

    noise: DiscreteLaplace
    people: int
    bins: int

    name = "unbiased"
    false_positives = True

    def statistic(self, tally: Tally) -> Tally:
        """Every bin."""
        return every_bin(tally, bins=self.bins)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The noisy counts."""
        return statistic.counts.astype(np.float64)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """As wide on either side as the noise of this number of bins goes."""
        least, most = noise_range(MissingNoise(distribution=self.noise), beta=beta, bins=bins)
        return possible_counts(statistic.counts - most, statistic.counts - least, people=self.people)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """Every bin fails alike: exactly 1 - (1 - P(|Z| > error))^bins."""
        return smallest_distance(self.noise, lambda error: any_of((beyond(self.noise, error), bins)) <= beta)


@dataclass(frozen=True, kw_only=True)
class ThresholdedCounts:
    """The noisy counts of occupied bins that reach the `threshold`; all others look empty.

    A bin of c people is published where c + Z >= threshold, that is where c > M for the noise M = threshold - 1 - Z:
    its excess over threshold - 1 is c - M. The distribution of Z is symmetric, so M is Z shifted by threshold - 1.
    """

    noise: DiscreteLaplace
    people: int
    threshold: int
    values_per_person: int = 1

    name = "truncated"
    false_positives = False

    @property
    def held(self) -> int:
        """How many values all people hold together."""
        return self.people * self.values_per_person

    def statistic(self, tally: Tally) -> Tally:
        """What was published."""
        ordered = in_order(tally)
        return ordered.pick(ordered.counts >= self.threshold)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The noisy counts, as far as there are people."""
        return np.minimum(statistic.counts, self._known(statistic).most).astype(np.float64)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """The noisy count less the range of the noise; a bin that is not reported may have been below the threshold."""
        excess = statistic.counts - (self.threshold - 1)
        return self._ladder.intervals(excess, excess, self._known(statistic), beta=beta, bins=bins)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that some bin exceeds with probability at most beta, on the worst dataset."""
        options = range(min(self.threshold + self.noise.window.last + 1, self.people))
        # beyond them all, nothing is off by more than the number of people
        at = bisect_left(options, True, key=lambda e: self.failure(e, bins=bins, occupied=occupied) <= beta)
        return float(at if at < len(options) else self.people)

    def shown_and_hidden(self, *, beta: float, bins: int, occupied: int) -> tuple[float, int]:
        """Bounds on the error of shown bins and on the counts of hidden ones, together but for probability beta."""
        return self._ladder.before(self.threshold - 1, beta=beta, bins=bins, occupied=occupied)

    def failure(self, error: int, *, bins: int, occupied: int) -> float:
        """At most how likely some bin is off by more: a bin of more than `error` people can also be hidden."""
        off = 2 * self.noise.window.above(error)
        hidden = self.noise.window.below(self.threshold - error - 1)
        large = min(bins, occupied, self.held // (error + 1))
        return any_of((min(1.0, off + hidden), large), (off, min(bins, occupied) - large))

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """How likely a bin of `count` people is published with a noisy count of `at_least` people."""
        needed = max(self.threshold, math.ceil(at_least))
        return max(0.0, 1 - self.noise.window.below(needed - count)) if count else 0.0

    @cached_property
    def _ladder(self) -> Ladder:
        """What the excess of a bin says about its people."""
        noise = MissingNoise(distribution=self.noise, shift=self.threshold - 1)
        return Ladder(rungs=ExcessRungs(noise=noise, people=self.people, held=self.held))

    def _known(self, statistic: Tally) -> Known:
        """False: every published bin is occupied."""
        return Known.of(np.ones(len(statistic), dtype=np.int64), people=self.people, held=self.held)
