"""The interface of an estimator, and what all estimators share.

An estimator maps the counts of shuffled messages to estimates, intervals and error bounds. It knows the distribution of
the counts and the number of users, and nothing about privacy or about how messages are made.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.histogram.inputs import check_bins
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.tally import Tally, sorted_order
from shuffledp.noise import IntegerDistribution

_MOST_LISTED = 2**32
"""The most bins for which a tally is completed with zeros, so that a count for each fits in memory."""


@dataclass(frozen=True, kw_only=True)
class ErrorBound:
    """Errors in people that are exceeded with probability at most beta, on the worst dataset.

    `per_bin` is for any single bin, `simultaneous` for the largest error over all bins, where a bin that is not
    reported counts as an estimate of 0. With probability at least 1 - beta, no reported bin is off by more than
    `shown`, and every bin that more than `hidden` people hold is reported. After a release, they correspond to the
    widths of its intervals and to `unreported_high`, which are usually smaller.
    """

    beta: float
    per_bin: float
    simultaneous: float
    shown: float
    hidden: int


class Estimator(Protocol):
    """An estimator of the true counts from a tally."""

    @property
    def name(self) -> str:
        """`truncated` (no false positives), `unbiased` or `smallest`."""

    @property
    def people(self) -> int:
        """The number of people who sent the messages."""

    @property
    def false_positives(self) -> bool:
        """Whether every bin is reported, so that an empty one can look occupied."""

    def statistic(self, tally: Tally) -> Tally:
        """The reported entries in an order independent of the data; sufficient for the estimate, and idempotent."""

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The estimate of each reported bin, in people."""

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """Bounds on true counts that hold for this number of bins at once, except with probability beta."""

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that these bins, of which `occupied` can be held, exceed with risk beta."""


@runtime_checkable
class Truncating(Protocol):
    """A zero-preserving estimator, which leaves out every bin that could be empty."""

    def shown_and_hidden(self, *, beta: float, bins: int, occupied: int) -> tuple[float, int]:
        """Bounds on the error of reported bins and on the counts of unreported ones, together except with risk beta."""

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """The probability that a bin of `count` people is reported with at least `at_least`; 0 for an empty bin."""


@dataclass(frozen=True, kw_only=True)
class ErrorNoise:
    """The error of an estimate: `sign` times the distance of the bin's `noise` from its mean."""

    noise: IntegerDistribution
    sign: int


@runtime_checkable
class AdditiveNoise(Protocol):
    """An estimator whose errors have a known distribution, the same in every bin and for any data."""

    @property
    def error_noise(self) -> ErrorNoise:
        """The distribution of the errors."""

    def unclipped(self, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which published estimates certainly were not moved to possible counts."""


@runtime_checkable
class KnownVariance(Protocol):
    """An estimator with a known variance, but not a known distribution of its errors."""

    def variance(self, count: int = 0) -> float:
        """The variance of the estimate of a value that `count` people hold."""


@runtime_checkable
class IntervalsFromCounts(Protocol):
    """An estimator whose intervals follow from its published estimates, at any confidence."""

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """The intervals of these estimates; a DataError if they were adjusted, rounded or clipped."""


NEAR_WHOLE = 1e-3
"""The largest distance of a number of messages, computed from an estimate, to a whole number."""


def as_whole(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The whole numbers of messages that estimates were made from."""
    nearest = np.rint(numbers)
    if not np.all(np.abs(numbers - nearest) < NEAR_WHOLE):
        raise DataError("these estimates were adjusted or rounded, so the numbers of messages are unknown")
    return np.asarray(nearest, dtype=np.int64)


def possible_counts(low: NDArray[Any], high: NDArray[Any], *, people: int) -> Intervals:
    """Intervals of an estimator that reports every bin, restricted to possible counts."""
    least, most = (np.clip(end, 0, people).astype(np.int64) for end in (np.floor(low), np.ceil(high)))
    return Intervals(least, most, unreported_high=0)


def around_estimates(
    counts: NDArray[np.float64], *, per_bin: Intervals, simultaneous: Intervals
) -> tuple[Intervals, Intervals]:
    """Intervals widened to contain their estimates, and the joint ones the single ones; wider ones keep their coverage.

    An unbiased estimate may be negative, or larger than the number of people: an interval then reaches from the
    possible counts to it.
    """
    if (counts < per_bin.low).any() or (counts > per_bin.high).any():
        low = np.minimum(per_bin.low, np.floor(counts).astype(np.int64))
        high = np.maximum(per_bin.high, np.ceil(counts).astype(np.int64))
        per_bin = Intervals(low, high, unreported_high=per_bin.unreported_high)
    return per_bin, Intervals(
        np.minimum(simultaneous.low, per_bin.low),
        np.maximum(simultaneous.high, per_bin.high),
        unreported_high=max(simultaneous.unreported_high, per_bin.unreported_high),
    )


def in_order(tally: Tally) -> Tally:
    """The same tally with its entries in an order independent of the data."""
    order = sorted_order(tally.symbols)
    if isinstance(order, slice):
        return tally
    return replace(tally, symbols=tally.symbols[order], counts=tally.counts[order])


def every_bin(tally: Tally, *, bins: int) -> Tally:
    """The tally in order, with an entry for every bin; refused if some were not sampled."""
    if len(tally) == bins:
        return in_order(tally)
    if not tally.complete or bins > _MOST_LISTED:
        raise DataError(
            "every bin is estimated, which needs the count of every bin: tally messages, or give sample_tally an array "
            "with all true counts"
        )
    check_bins(tally.symbols, bins=bins, what="symbol")
    return tally.dense(bins=bins)


_MOST_EVENTS = 10**300
"""The most events; more cannot be distinguished in floats."""


def any_of(*risks: tuple[float, int]) -> float:
    """The probability of at least one of independent events, given as probabilities and numbers of events."""
    at_risk = [(probability, min(count, _MOST_EVENTS)) for probability, count in risks if count]
    if any(probability >= 1 for probability, _ in at_risk):
        return 1.0
    none = sum(count * math.log1p(-probability) for probability, count in at_risk)
    return -math.expm1(none)


def last_low(noise: IntegerDistribution, fails: Callable[[int], bool]) -> int:
    """The largest bound below the mean of a distribution on 0, 1, ... that does not fail."""
    return bisect_left(range(1, math.floor(noise.mean) + 1), True, key=fails)


def first_high(noise: IntegerDistribution, fails: Callable[[int], bool]) -> int:
    """The smallest bound above the mean that does not fail, or the largest possible value."""
    options = range(math.floor(noise.mean), noise.window.last + 2)
    at = bisect_left(options, True, key=lambda high: not fails(high))
    return options[at] if at < len(options) else int(noise.window.highest)


def smallest_distance(noise: IntegerDistribution, holds: Callable[[float], bool]) -> float:
    """The smallest error that holds, if errors are whole counts or distances of the noise from its mean."""
    largest = math.ceil(max(noise.mean, min(noise.window.highest, 2 * noise.window.last))) + 1
    whole = bisect_left(range(largest), True, key=holds)
    if whole == largest:  # the tails outside of the window are too heavy for this risk: only the farthest value holds
        return max(noise.mean, noise.window.highest - noise.mean)
    # two of the distances from the mean are in the last unit
    below = noise.mean - math.floor(noise.mean - whole + 1)
    above = math.ceil(noise.mean + whole - 1) - noise.mean
    between = sorted(error for error in (below, above) if max(0, whole - 1) < error < whole)
    return next((error for error in between if holds(error)), float(whole))


@dataclass(frozen=True, kw_only=True)
class MissingNoise:
    """Noise M = Z + `shift` that hides users: a bin of c users shows c - M, and is reported if that is positive."""

    distribution: IntegerDistribution
    shift: int = 0

    @cached_property
    def mean(self) -> float:
        """E[M]."""
        return self.distribution.mean + self.shift

    @property
    def first(self) -> int:
        """The smallest value inside the window."""
        return self.distribution.window.first + self.shift

    @property
    def last(self) -> int:
        """The largest value inside the window."""
        return self.distribution.window.last + self.shift

    def above(self, k: int) -> float:
        """P(M > k), rounded up."""
        return self.distribution.window.above(k - self.shift)

    def below(self, k: int) -> float:
        """P(M < k), rounded up."""
        return self.distribution.window.below(k - self.shift)

    def most(self, risk: float) -> float:
        """The smallest bound at or above the mean that M exceeds with at most this risk; may be infinite."""
        options = range(math.ceil(self.mean), max(math.ceil(self.mean), self.last) + 1)
        at = bisect_left(options, True, key=lambda k: self.above(k) <= risk)
        return options[at] if at < len(options) else math.inf

    def least(self, risk: float) -> float:
        """The largest bound at or below the mean that M falls below with at most this risk; may be -infinite."""
        options = range(math.floor(self.mean), min(math.floor(self.mean), self.first) - 1, -1)
        at = bisect_left(options, True, key=lambda k: self.below(k) <= risk)
        return options[at] if at < len(options) else -math.inf

    def least_of_small(self, risk: float, *, held: int, bins: int) -> float:
        """The largest bound that M is below in some *reported* bin with at most this risk, for any data.

        A bin of c people is reported if M < c, so it counts with P(M < min(bound, c)). Over all bins this adds up to at
        most held * max over c of P(M < min(bound, c)) / c, and to at most (occupied bins) * P(M < bound). `held` is the
        number of values that all people hold.
        """
        single = self.least(risk / min(held, bins))
        largest = max(1, math.floor(self.mean))
        # sizes up to the window all have the same P(M < c), so one person counts most and the others need not be tried
        start = min(max(1, self.first), largest)
        sizes = np.arange(start, largest + 1)
        below = self._cumulative[np.clip(sizes - self.first, 0, self._cumulative.size - 1)]
        shares = below / sizes
        shares[0] = self.below(1)
        per_person = np.maximum.accumulate(shares)
        small = int(np.searchsorted(held * per_person, risk, side="right"))  # how many of these have at most the risk
        return max(single, start - 1 + small) if small else single

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        """P(M < k) for k from `first` on, rounded up."""
        window = self.distribution.window
        return np.minimum(np.append(0.0, np.cumsum(window.pmf)) + window.mass_below, 1.0)
