"""Counts with known noise M in every bin.

The count is (true count) + (people) - M if M of one message per person are missing, or (true count) + M if M are added.
There are two estimators, both post-processing, with excess = count - people = (true count) - M:

    truncated   excess + E[M] where excess > 0, else 0. An empty bin has excess <= 0, so it is never reported.
    unbiased    excess + E[M] everywhere.

`ThresholdedCounts` are true counts with two-sided noise above a threshold, as a curator publishes them. If people hold
several values, each counts as a person here. docs/proofs/exact-error.md derives the errors.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
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
from shuffledp.estimators.levels import ExcessRungs, Known, Ladder, Rungs, noise_range
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.tally import Tally
from shuffledp.noise import IntegerDistribution
from shuffledp.noise.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True, kw_only=True)
class ZeroPreserving(ABC):
    """What all estimators share that leave out every bin that could be empty."""

    people: int
    values_per_person: int = 1

    name = "truncated"
    false_positives = False

    @property
    def held(self) -> int:
        """The number of values that all people hold together."""
        return self.people * self.values_per_person

    @abstractmethod
    def failure(self, error: float, *, bins: int, occupied: int) -> float:
        """An upper bound on the probability that some bin is off by more than `error`, on the worst dataset."""

    def some_fails(self, error: float, *, off: float, hidden: float, bins: int, occupied: int) -> float:
        """The risk of some bin, if each is `off` with this probability, and one of more than `error` people `hidden`.

        A smaller hidden bin is off by at most `error`, and an empty one never. At most held / (floor(error) + 1) bins
        are larger: that number, not the number of bins, multiplies the risk.
        """
        large = min(bins, occupied, self.held // (math.floor(error + COUNT_AGAINST_MEAN) + 1))
        return any_of((off + hidden, large), (off, min(bins, occupied) - large))

    def smallest_whole_error(self, largest: int, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest whole error with a risk of at most beta; all people if that is none below `largest`."""
        options = range(min(largest, self.people))
        at = bisect_left(options, True, key=lambda error: self.failure(error, bins=bins, occupied=occupied) <= beta)
        return float(at if at < len(options) else self.people)

    def shown_and_hidden(self, *, beta: float, bins: int, occupied: int) -> tuple[float, int]:
        """Bounds on the error of shown bins and on the counts of hidden ones, together except with probability beta."""
        return self._ladder.before(self._offset, beta=beta, bins=bins, occupied=occupied)

    @property
    @abstractmethod
    def _rungs(self) -> Rungs:
        """The noise from which levels are made."""

    @property
    @abstractmethod
    def _offset(self) -> float:
        """The distance of an estimate from the value of its bin in the levels."""

    @cached_property
    def _ladder(self) -> Ladder:
        return Ladder(rungs=self._rungs)


@dataclass(frozen=True, kw_only=True)
class TruncatedCounts(ZeroPreserving):
    """The paper's zero-preserving estimator: 0 unless the count exceeds the number of people."""

    noise: IntegerDistribution

    def statistic(self, tally: Tally) -> Tally:
        """The bins with more messages than there are people."""
        possible(tally, people=self.people)
        ordered = in_order(tally)
        return ordered.pick(ordered.counts > self.people)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """Excess + E[M], at most the number of people."""
        excess = self._excess(statistic)
        return np.minimum(excess.astype(np.float64) + self.noise.mean, self._known(excess).most)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """Excess + the range of M."""
        excess = self._excess(statistic)
        return self._ladder.intervals(excess, excess, self._known(excess), beta=beta, bins=bins)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that some bin exceeds with probability at most beta."""
        bound = smallest_distance(self.noise, lambda error: self.failure(error, bins=bins, occupied=occupied) <= beta)
        return min(bound, float(self.people))

    def failure(self, error: float, *, bins: int, occupied: int) -> float:
        """An upper bound on the probability that some bin has a larger error."""
        off = self.noise.window.below(math.ceil(self.noise.mean - error - COUNT_AGAINST_MEAN))
        hidden = self.noise.window.above(math.floor(error + COUNT_AGAINST_MEAN))
        return self.some_fails(error, off=off, hidden=hidden, bins=bins, occupied=occupied)

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

    @property
    def _rungs(self) -> Rungs:
        return ExcessRungs(noise=MissingNoise(distribution=self.noise), people=self.people, held=self.held)

    @property
    def _offset(self) -> float:
        return self.noise.mean

    def _excess(self, statistic: Tally) -> NDArray[np.int64]:
        return statistic.counts - self.people

    def _known(self, excess: NDArray[np.int64]) -> Known:
        return Known.of(excess, people=self.people, held=self.held)


@dataclass(frozen=True, kw_only=True)
class UnbiasedCounts:
    """The unbiased estimator: a smaller worst error for few bins, but every empty bin is noisy.

    The noise is `missing` from one message per person, or added to the true count.
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
        """The count, less one message per person if noise is missing, without the expected noise."""
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
        """The error bound: exactly 1 - (1 - P(|M - E[M]| > error))^bins."""
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
class ThresholdedCounts(ZeroPreserving):
    """The noisy counts of occupied bins that reach the `threshold`; all others look empty.

    A bin of c people is published if c + Z >= threshold, that is c > M for the noise M = threshold - 1 - Z: its excess
    over threshold - 1 is c - M. The distribution of Z is symmetric, so M is Z shifted by threshold - 1.
    """

    noise: DiscreteLaplace
    threshold: int

    def statistic(self, tally: Tally) -> Tally:
        """The published bins."""
        ordered = in_order(tally)
        return ordered.pick(ordered.counts >= self.threshold)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The noisy counts, at most the number of people."""
        return np.minimum(statistic.counts, self._known(len(statistic)).most).astype(np.float64)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """The noisy count less the range of the noise."""
        excess = statistic.counts - (self.threshold - 1)
        return self._ladder.intervals(excess, excess, self._known(len(statistic)), beta=beta, bins=bins)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that some bin exceeds with probability at most beta."""
        largest = self.threshold + self.noise.window.last + 1
        return self.smallest_whole_error(largest, beta=beta, bins=bins, occupied=occupied)

    def failure(self, error: float, *, bins: int, occupied: int) -> float:
        """An upper bound on the probability that some bin has a larger error."""
        whole = math.floor(error)
        off, hidden = 2 * self.noise.window.above(whole), self.noise.window.below(self.threshold - whole - 1)
        return self.some_fails(whole, off=off, hidden=hidden, bins=bins, occupied=occupied)

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """The probability that a bin is published with a noisy count of at least `at_least`."""
        needed = max(self.threshold, math.ceil(at_least))
        return max(0.0, 1 - self.noise.window.below(needed - count)) if count else 0.0

    @property
    def error_noise(self) -> ErrorNoise:
        """A published count is off by the noise."""
        return ErrorNoise(noise=self.noise, sign=1)

    def unclipped(self, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Counts below the largest that is possible, given the other published bins."""
        return np.asarray(counts < self._known(counts.size).most, dtype=bool)

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """The intervals of these noisy counts."""
        if not self.unclipped(counts).all():
            raise DataError("these estimates may have been clipped, so the noisy counts are unknown")
        return self.intervals(Tally(np.arange(counts.size), as_whole(counts), complete=False), beta=beta, bins=bins)

    @property
    def _rungs(self) -> Rungs:
        noise = MissingNoise(distribution=self.noise, shift=self.threshold - 1)
        return ExcessRungs(noise=noise, people=self.people, held=self.held)

    @property
    def _offset(self) -> float:
        return self.threshold - 1

    def _known(self, published: int) -> Known:
        """At least one person holds each published bin."""
        return Known.of(np.ones(published, dtype=np.int64), people=self.people, held=self.held)
