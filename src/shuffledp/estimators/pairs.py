"""Pairs of counts: c + P and P + M messages of a bin, or equivalently c + P and c - M with independent noise.

A bin is reported if c - M > 0. Then the average of c - M + E[M] and c + P - E[P], with weights w and 1 - w inverse to
their variances, is off by

    D = w (E[M] - M) + (1 - w) (P - E[P]).

A bin with c <= M is reported as 0, which is off by c. docs/proofs/sparse-histogram.md has the details.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import COUNT_AGAINST_MEAN
from shuffledp.errors import DataError
from shuffledp.estimators.base import MissingNoise, in_order
from shuffledp.estimators.counts import ZeroPreserving
from shuffledp.estimators.levels import LOWER_EDGE, Known, Level, Rungs
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.tally import Tally
from shuffledp.noise import IntegerDistribution

_WHOLE = 1e-6
"""The distance to a whole number below which an estimate may have been clipped."""


@dataclass(frozen=True, kw_only=True)
class PairedCounts(ZeroPreserving):
    """The estimator from two kinds of messages, +j and -j, given the distributions of P (`pairs`) and M (`lone`)."""

    pairs: IntegerDistribution
    lone: IntegerDistribution

    def statistic(self, tally: Tally) -> Tally:
        """The bins with more messages of the first kind than of the second."""
        ordered = in_order(tally)
        return ordered.pick(ordered.counts[:, 0] > ordered.counts[:, 1])

    @cached_property
    def weight(self) -> float:
        """w, the weight of c - M + E[M]."""
        return self.pairs.variance / (self.pairs.variance + self.lone.variance)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The weighted average of both estimates, restricted to possible counts."""
        known = self._known(statistic)
        return np.asarray(np.clip(self._average(statistic), known.least, known.most), dtype=np.float64)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """The average less the range of D; c - M <= c <= c + P always holds."""
        _, excess = _plus_and_excess(statistic)
        return self._ladder.intervals(self._average(statistic), excess, self._known(statistic), beta=beta, bins=bins)

    def intervals_from_counts(self, counts: NDArray[np.float64], *, beta: float, bins: int) -> Intervals:
        """Intervals from the estimates alone, which do not determine the two counts of a bin.

        They are wider. Every reported bin counts as one with much excess, so that at least as many large bins seem
        possible, and a later level is chosen (docs/proofs/intervals.md). An estimate that was clipped is a whole
        number, and an average hardly ever is.
        """
        if (np.abs(counts - np.rint(counts)) < _WHOLE).any():
            raise DataError("these estimates may have been clipped, so their averages are unknown")
        excess, certain = (np.full(counts.shape, least, dtype=np.int64) for least in (self.people, 1))
        known = Known.of(certain, people=self.people, held=self.held)
        return self._ladder.intervals(counts, excess, known, beta=beta, bins=bins)

    def _average(self, statistic: Tally) -> NDArray[np.float64]:
        """The true counts + D."""
        plus, excess = (numbers.astype(np.float64) for numbers in _plus_and_excess(statistic))
        return self.weight * (excess + self.lone.mean) + (1 - self.weight) * (plus - self.pairs.mean)

    def _known(self, statistic: Tally) -> Known:
        """At least c - M and at most c + P people hold a bin."""
        plus, excess = _plus_and_excess(statistic)
        return Known.of(excess, people=self.people, held=self.held, most=plus)

    def deviates_above(self, bound: float) -> float:
        """P(D > bound), rounded up: a sum over the values of M of a tail of P."""
        return self._sum_over_lone(self._pair_misses(bound))

    def deviates_below(self, bound: float) -> float:
        """P(D < bound), rounded up."""
        return self._sum_over_lone(self._pair_misses(bound, below=True))

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """The probability that count - M > 0 and the estimate is at least `at_least`; 0 for an empty bin.

        It ignores rounding, and the counts of other bins.
        """
        if count < 1:
            return 0.0
        if at_least <= 0:  # reported at all
            return max(0.0, 1 - self.lone.window.above(count - 1))
        missing = at_least - count
        enough_pairs = np.maximum(self._pairs_needed(missing), missing)  # at most c + P people are possible
        too_small = self._pair_tails_below(np.ceil(enough_pairs - COUNT_AGAINST_MEAN))
        certain = self._lone_values <= -missing  # at least c - M people hold the bin
        chance = np.where(certain, 1.0, 1 - np.minimum(too_small, 1.0))
        return float(self.lone.window.pmf @ (chance * (self._lone_values < count)))

    def _pairs_needed(self, bound: float) -> NDArray[np.float64]:
        """For every value of M, the P at which D equals the bound."""
        return (bound - self._lone_deviations) / (1 - self.weight) + self._pairs_mean

    def _sum_over_lone(self, tails: NDArray[np.float64]) -> float:
        window = self.lone.window
        return min(1.0, float(window.pmf @ tails) + window.mass_above + window.mass_below)

    def failure(self, error: float, *, bins: int, occupied: int) -> float:
        """An upper bound on the probability that some bin has a larger error."""
        off = self.deviates_above(error) + self.deviates_below(-error)
        hidden = self.lone.window.above(math.floor(error + COUNT_AGAINST_MEAN))
        return self.some_fails(error, off=off, hidden=hidden, bins=bins, occupied=occupied)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest whole error that is exceeded with probability at most beta."""
        largest = self.lone.window.last + self.pairs.window.last + 2
        return self.smallest_whole_error(largest, beta=beta, bins=bins, occupied=occupied)

    @cached_property
    def noise(self) -> MissingNoise:
        """M, which decides what is reported."""
        return MissingNoise(distribution=self.lone)

    @property
    def _rungs(self) -> Rungs:
        return self

    @property
    def _offset(self) -> float:
        return 0.0

    def level(self, risk: float) -> Level:
        """Bound M above, beyond which bins are reported, and D on both sides."""
        hidden = min(self.noise.most(risk), self.people)
        above = self._reach(lambda bound: self.deviates_above(bound) <= risk * LOWER_EDGE)
        below = self._reach(lambda bound: self.deviates_below(-bound) <= risk)
        # of the values of M with which such a bin is reported, those with a P outside of the bounds
        off = self._pair_misses(above) + self._pair_misses(-below, below=True)
        reported = self._lone_values <= hidden
        window = self.lone.window
        hides = window.above(int(hidden)) if hidden < self.people else 0.0
        total = hides + float(window.pmf @ (np.minimum(off, 1.0) * reported)) + window.mass_below
        return Level(hidden=hidden, least=-above, most=below, risk=min(1.0, total))

    def small_range(self, risk: float, *, bins: int) -> tuple[float, float]:
        """Bounds on D of all reported bins, with half of the risk for each.

        A bin of c people adds P(M < c and D beyond the bound). Over all bins this is at most `held` times the largest
        ratio of that to c, and at most (occupied bins) * P(D beyond the bound).
        """
        sizes, window = self._lone_values + 1, self.lone.window
        occupied, outside = min(bins, self.held), window.mass_below + window.mass_above

        def holds(misses: NDArray[np.float64]) -> bool:
            chances = np.cumsum(window.pmf * misses) + outside
            per_person = float((chances / np.maximum(sizes, 1)).max())
            return min(self.held * per_person, occupied * float(chances[-1])) <= risk / 2

        above = self._reach(lambda bound: holds(self._pair_misses(bound)))
        below = self._reach(lambda bound: holds(self._pair_misses(-bound, below=True)))
        return -above, below

    def _reach(self, holds: Callable[[float], bool]) -> float:
        """The smallest bound in quarters of a person for which the condition holds; may be infinite."""
        options = range(4 * (self.lone.window.last + self.pairs.window.last + 1))
        at = bisect_left(options, True, key=lambda quarters: holds(quarters / 4))
        return at / 4 if at < len(options) else math.inf

    def _pair_misses(self, bound: float, *, below: bool = False) -> NDArray[np.float64]:
        """For every value of M, the probability that D is above the bound, or below it."""
        if below:
            return self._pair_tails_below(np.ceil(self._pairs_needed(bound) - COUNT_AGAINST_MEAN))
        return self._pair_tails_above(np.floor(self._pairs_needed(bound) + COUNT_AGAINST_MEAN))

    @cached_property
    def _lone_deviations(self) -> NDArray[np.float64]:
        """The part of D due to the values of M: w (E[M] - M)."""
        return self.weight * (self.lone.mean - self._lone_values.astype(np.float64))

    @cached_property
    def _pairs_mean(self) -> float:
        return self.pairs.mean

    @cached_property
    def _lone_values(self) -> NDArray[np.int64]:
        return np.arange(self.lone.window.first, self.lone.window.last + 1)

    @cached_property
    def _pair_above(self) -> NDArray[np.float64]:
        """P(P > k) for k = first - 1 .. last."""
        window = self.pairs.window
        return np.append(np.cumsum(window.pmf[::-1])[::-1], 0.0) + window.mass_above

    @cached_property
    def _pair_below(self) -> NDArray[np.float64]:
        """P(P < k) for k = first .. last + 1."""
        window = self.pairs.window
        return np.append(0.0, np.cumsum(window.pmf)) + window.mass_below

    def _pair_tails_above(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        index = np.clip(k - self.pairs.window.first + 1, 0, self._pair_above.size - 1).astype(np.int64)
        return self._pair_above[index]

    def _pair_tails_below(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        index = np.clip(k - self.pairs.window.first, 0, self._pair_below.size - 1).astype(np.int64)
        return self._pair_below[index]


def _plus_and_excess(statistic: Tally) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return c + P and c - M of each bin."""
    plus = statistic.counts[:, 0]
    return plus, plus - statistic.counts[:, 1]
