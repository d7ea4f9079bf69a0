"""Counts with known noise M in every bin.

The count is (true count) + (people) - M if M of one message per person are missing, or (true count) + M if M are added.
There are two estimators, both post-processing, with excess = count - people = (true count) - M:

    truncated   excess + E[M] where excess > 0, else 0. An empty bin has excess <= 0, so it is never reported.
    unbiased    excess + E[M] everywhere.

For an error `a` and a bin of true count c, the truncated estimate is off by c if M >= c and by |E[M] - M| otherwise. So
a bin with c > a fails with probability at most P(M > a) + P(M < E[M] - a), one with 1 <= c <= a with at most P(M < E[M]
- a), an empty one never. At most people / (floor(a) + 1) bins can hold more than a people: that number, not the number
of bins, multiplies the risk. If people hold several values, each value counts as a person here.
docs/proofs/exact-error.md has the details.

`CuratedCounts` and `ThresholdedCounts` are true counts with two-sided noise, as a curator publishes them: of every bin,
or of the bins above a threshold.
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
from shuffledp.estimators.base import (
    NEAR_WHOLE,
    ErrorNoise,
    MissingNoise,
    any_of,
    as_whole,
    every_bin,
    in_order,
    possible_counts,
    smallest_distance,
)
from shuffledp.estimators.levels import ExcessRungs, Known, Ladder, noise_range
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.tally import Tally
from shuffledp.noise import IntegerDistribution
from shuffledp.noise.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True, kw_only=True)
class TruncatedCounts:
    """The paper's zero-preserving estimator: 0 unless the count exceeds the number of people, since `noise` is
    missing.
    """

    noise: IntegerDistribution
    people: int
    values_per_person: int = 1

    name = "truncated"
    false_positives = False

    @property
    def held(self) -> int:
        """The number of values that all people hold together."""
        return self.people * self.values_per_person

    def statistic(self, tally: Tally) -> Tally:
        """The bins with more messages than there are people."""
        possible(tally, people=self.people)
        ordered = in_order(tally)
        return ordered.pick(ordered.counts > self.people)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """Excess + E[M], at most the number of people."""
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
        """The smallest error that some bin exceeds with probability at most beta; at most the number of people."""
        bound = smallest_distance(self.noise, lambda error: self.failure(error, bins=bins, occupied=occupied) <= beta)
        return min(bound, float(self.people))

    def failure(self, error: float, *, bins: int, occupied: int) -> float:
        """An upper bound on the probability that some bin has a larger error; only large bins can be hidden."""
        most = math.floor(error + COUNT_AGAINST_MEAN)
        off = self.noise.window.below(math.ceil(self.noise.mean - error - COUNT_AGAINST_MEAN))
        off_or_hidden = off + self.noise.window.above(most)
        large = min(bins, occupied, self.held // (most + 1))
        return any_of((off_or_hidden, large), (off, min(bins, occupied) - large))

    def shown_and_hidden(self, *, beta: float, bins: int, occupied: int) -> tuple[float, int]:
        """Bounds on the error of shown bins and on the counts of hidden ones, together except with probability beta."""
        return self._ladder.before(self.noise.mean, beta=beta, bins=bins, occupied=occupied)

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """The chance that count - M > 0 and count - M + E[M] is large enough, up to rounding; 0 for an empty bin."""
        needed = max(1, math.ceil(at_least - self.noise.mean - COUNT_AGAINST_MEAN))
        return max(0.0, 1 - self.noise.window.above(count - needed)) if count >= needed else 0.0

    @property
    def error_noise(self) -> ErrorNoise:
        """A shown count is off by E[M] - M."""
        return ErrorNoise(noise=self.noise, sign=-1)

    def unclipped(self, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Estimates that are not whole: a clipped one is. None if E[M] is whole, since they cannot be told apart."""
        if abs(self.noise.mean - round(self.noise.mean)) < 2 * NEAR_WHOLE:
            return np.zeros(counts.shape, dtype=bool)
        excess = counts - self.noise.mean
        return np.asarray(np.abs(excess - np.rint(excess)) < NEAR_WHOLE, dtype=bool)

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """The intervals of these estimates, from the excess of their bins."""
        if not self.unclipped(counts).all():
            raise DataError("these estimates may have been clipped, so their messages are unknown")
        shown = Tally(np.arange(counts.size), as_whole(counts - self.noise.mean) + self.people, complete=False)
        return self.intervals(shown, beta=beta, bins=bins)

    @cached_property
    def _ladder(self) -> Ladder:
        """The levels for the excess of a bin."""
        return Ladder(
            rungs=ExcessRungs(noise=MissingNoise(distribution=self.noise), people=self.people, held=self.held)
        )

    def _excess(self, statistic: Tally) -> NDArray[np.int64]:
        """C - M of each bin."""
        return statistic.counts - self.people


@dataclass(frozen=True, kw_only=True)
class UnbiasedCounts:
    """The unbiased estimator: a smaller worst error for few bins, but every empty bin is noisy.

    `missing` means that the noise is missing from one message per person, instead of added to the true count.
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
        """The count less one message per person if noise is missing, without the expected noise."""
        if self.missing:
            return (statistic.counts - self.people).astype(np.float64) + self.noise.mean
        return statistic.counts.astype(np.float64) - self.noise.mean

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """The range of the noise of all these bins, with equal risk on both sides."""
        least, most = noise_range(MissingNoise(distribution=self.noise), beta=beta, bins=bins)
        if self.missing:
            low, high = statistic.counts - self.people + least, statistic.counts - self.people + most
        else:
            low, high = statistic.counts - most, statistic.counts - least
        return possible_counts(low, high, people=self.people)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The error bound; all bins have the same noise: exactly 1 - (1 - P(|M - E[M]| > error))^bins."""
        return smallest_distance(self.noise, lambda error: any_of((beyond(self.noise, error), bins)) <= beta)

    @property
    def error_noise(self) -> ErrorNoise:
        """Off by E[M] - M if noise is missing, otherwise by M - E[M]."""
        return ErrorNoise(noise=self.noise, sign=-1 if self.missing else 1)

    def unclipped(self, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """All: nothing is clipped."""
        return np.ones(counts.shape, dtype=bool)

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """The intervals of these estimates, from the messages of their bins."""
        messages = counts - self.noise.mean + self.people if self.missing else counts + self.noise.mean
        return self.intervals(Tally(np.arange(counts.size), as_whole(messages)), beta=beta, bins=bins)


def beyond(noise: IntegerDistribution, error: float) -> float:
    """P(|M - E[M]| > error), rounded up."""
    low = math.ceil(noise.mean - error - COUNT_AGAINST_MEAN)
    high = math.floor(noise.mean + error + COUNT_AGAINST_MEAN)
    return noise.window.below(low) + noise.window.above(high)


def possible(tally: Tally, *, people: int) -> None:
    """Refuse a bin with more than two messages for each person: one value and one noise message."""
    if len(tally) and tally.counts.max() > 2 * people:
        raise DataError(
            f"a bin has more messages than {people} people can send; give the number who reported as reports="
        )


@dataclass(frozen=True, kw_only=True)
class CuratedCounts:
    """The noisy count of every bin, unchanged."""

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
        """The range of the noise of this number of bins, symmetric around the estimates."""
        least, most = noise_range(MissingNoise(distribution=self.noise), beta=beta, bins=bins)
        return possible_counts(statistic.counts - most, statistic.counts - least, people=self.people)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The error bound; all bins have the same noise: exactly 1 - (1 - P(|Z| > error))^bins."""
        return smallest_distance(self.noise, lambda error: any_of((beyond(self.noise, error), bins)) <= beta)

    @property
    def error_noise(self) -> ErrorNoise:
        """Off by the noise."""
        return ErrorNoise(noise=self.noise, sign=1)

    def unclipped(self, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """All: nothing is clipped."""
        return np.ones(counts.shape, dtype=bool)

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """The intervals of these noisy counts."""
        return self.intervals(Tally(np.arange(counts.size), as_whole(counts)), beta=beta, bins=bins)


@dataclass(frozen=True, kw_only=True)
class ThresholdedCounts:
    """The noisy counts of occupied bins that reach the `threshold`; all others look empty.

    A bin of c people is published if c + Z >= threshold, that is c > M for the noise M = threshold - 1 - Z: its excess
    over threshold - 1 is c - M. The distribution of Z is symmetric, so M is Z shifted by threshold - 1.
    """

    noise: DiscreteLaplace
    people: int
    threshold: int
    values_per_person: int = 1

    name = "truncated"
    false_positives = False

    @property
    def held(self) -> int:
        """The number of values that all people hold together."""
        return self.people * self.values_per_person

    def statistic(self, tally: Tally) -> Tally:
        """The published bins."""
        ordered = in_order(tally)
        return ordered.pick(ordered.counts >= self.threshold)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The noisy counts, at most the number of people."""
        return np.minimum(statistic.counts, self._known(statistic).most).astype(np.float64)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """The noisy count less the range of the noise; a bin that is not reported may have been below the threshold."""
        excess = statistic.counts - (self.threshold - 1)
        return self._ladder.intervals(excess, excess, self._known(statistic), beta=beta, bins=bins)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that some bin exceeds with probability at most beta, on the worst dataset."""
        options = range(min(self.threshold + self.noise.window.last + 1, self.people))
        # beyond all of them, the error is at most the number of people
        at = bisect_left(options, True, key=lambda e: self.failure(e, bins=bins, occupied=occupied) <= beta)
        return float(at if at < len(options) else self.people)

    def shown_and_hidden(self, *, beta: float, bins: int, occupied: int) -> tuple[float, int]:
        """Bounds on the error of shown bins and on the counts of hidden ones, together except with probability beta."""
        return self._ladder.before(self.threshold - 1, beta=beta, bins=bins, occupied=occupied)

    def failure(self, error: int, *, bins: int, occupied: int) -> float:
        """An upper bound on the probability that some bin has a larger error; a bin of more than `error` people can be
        hidden.
        """
        off = 2 * self.noise.window.above(error)
        hidden = self.noise.window.below(self.threshold - error - 1)
        large = min(bins, occupied, self.held // (error + 1))
        return any_of((min(1.0, off + hidden), large), (off, min(bins, occupied) - large))

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """The probability that a bin of `count` people is published with a noisy count of at least `at_least`."""
        needed = max(self.threshold, math.ceil(at_least))
        return max(0.0, 1 - self.noise.window.below(needed - count)) if count else 0.0

    @property
    def error_noise(self) -> ErrorNoise:
        """A published count is off by the noise."""
        return ErrorNoise(noise=self.noise, sign=1)

    def unclipped(self, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Counts below the largest that is possible, given the other published bins."""
        most = self._known(Tally(np.arange(counts.size), np.zeros(counts.size, dtype=np.int64))).most
        return np.asarray(counts < most, dtype=bool)

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """The intervals of these noisy counts."""
        if not self.unclipped(counts).all():
            raise DataError("these estimates may have been clipped, so the noisy counts are unknown")
        return self.intervals(Tally(np.arange(counts.size), as_whole(counts), complete=False), beta=beta, bins=bins)

    @cached_property
    def _ladder(self) -> Ladder:
        """The levels for the excess of a bin."""
        noise = MissingNoise(distribution=self.noise, shift=self.threshold - 1)
        return Ladder(rungs=ExcessRungs(noise=noise, people=self.people, held=self.held))

    def _known(self, statistic: Tally) -> Known:
        """False: every published bin is occupied."""
        return Known.of(np.ones(len(statistic), dtype=np.int64), people=self.people, held=self.held)
