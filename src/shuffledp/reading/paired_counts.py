"""Pairs of counts: the analyzer sees c + P and P + M messages of a bin, so c + P and c - M with independent noise.

A bin is reported where c - M > 0. There c - M + E[M] and c + P - E[P] are two independent unbiased estimates of c; the
average with weights w and 1 - w inverse to their variances is off by

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
from shuffledp.noise import IntegerLaw
from shuffledp.pipeline.estimate import Intervals
from shuffledp.pipeline.tally import Tally
from shuffledp.reading.reading import in_order
from shuffledp.reading.risk import any_of


@dataclass(frozen=True, kw_only=True)
class PairedCounts:
    """The reading of two kinds of messages, +j and -j, for given laws of P (`pairs`) and M (`lone`)."""

    pairs: IntegerLaw
    lone: IntegerLaw
    people: int

    name = "truncated"
    phantoms = False

    def evidence(self, tally: Tally) -> Tally:
        """The bins with more messages of the first kind than of the second."""
        ordered = in_order(tally)
        return ordered.pick(ordered.counts[:, 0] > ordered.counts[:, 1])

    @property
    def weight(self) -> float:
        """w, the weight of c - M + E[M]."""
        return self.pairs.variance / (self.pairs.variance + self.lone.variance)

    def point(self, evidence: Tally) -> NDArray[np.float64]:
        """The weighted average of both estimates."""
        plus, excess = _plus_and_excess(evidence)
        return self.weight * (excess + self.lone.mean) + (1 - self.weight) * (plus - self.pairs.mean)

    def intervals(self, evidence: Tally, *, beta: float, bins: int) -> Intervals:
        """Half of the risk for D of the reported bins, half for the others; c - M <= c <= c + P always holds."""
        plus, excess = _plus_and_excess(evidence)
        counts = self.point(evidence)
        low, high = self.deviation_range(beta=beta / 2, bins=bins)
        return Intervals(
            low=np.clip(np.ceil(counts - high), excess, self.people).astype(np.int64),
            high=np.clip(np.floor(counts - low), 0, np.minimum(plus, self.people)).astype(np.int64),
            unreported_high=min(self.highest_hidden(beta=beta / 2, bins=bins), self.people),
        )

    def deviates_above(self, bound: float) -> float:
        """P(D > bound), rounded up: a sum over the values of M of a tail of P."""
        return self._sum_over_lone(self._pair_tails_above(np.floor(self._pairs_needed(bound) + COUNT_AGAINST_MEAN)))

    def deviates_below(self, bound: float) -> float:
        """P(D < bound), rounded up."""
        return self._sum_over_lone(self._pair_tails_below(np.ceil(self._pairs_needed(bound) - COUNT_AGAINST_MEAN)))

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """P(count - M > 0 and count + D >= at_least), up to float rounding; 0 for an empty bin."""
        if count < 1:
            return 0.0
        if at_least <= 0:  # reported at all
            return max(0.0, 1 - self.lone.window.above(count - 1))
        reported = np.arange(self.lone.window.first, self.lone.window.last + 1) < count
        too_small = self._pair_tails_below(np.ceil(self._pairs_needed(at_least - count) - COUNT_AGAINST_MEAN))
        return float(self.lone.window.pmf @ (reported * (1 - np.minimum(too_small, 1))))

    def _pairs_needed(self, bound: float) -> NDArray[np.float64]:
        """For every value of M, the P at which D equals the bound."""
        m = np.arange(self.lone.window.first, self.lone.window.last + 1, dtype=np.float64)
        return (bound - self.weight * (self.lone.mean - m)) / (1 - self.weight) + self.pairs.mean

    def _sum_over_lone(self, tails: NDArray[np.float64]) -> float:
        window = self.lone.window
        return min(1.0, float(window.pmf @ tails) + window.mass_above + window.mass_below)

    def failure(self, error: float, *, bins: int, occupied: int) -> float:
        """At most how likely some bin is off by more than `error`, on the worst dataset."""
        most = math.floor(error + COUNT_AGAINST_MEAN)
        off = self.deviates_above(error) + self.deviates_below(-error)
        off_or_hidden = off + self.lone.window.above(most)
        large = min(bins, occupied, self.people // (most + 1))
        return any_of((off_or_hidden, large), (off, min(bins, occupied) - large))

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest whole number of people that the error exceeds with probability at most beta."""
        options = range(self.lone.window.last + self.pairs.window.last + 2)
        return bisect_left(options, True, key=lambda e: self.failure(e, bins=bins, occupied=occupied) <= beta)

    def highest_hidden(self, *, beta: float, bins: int) -> int:
        """The smallest bound that no unreported bin's true count exceeds, but for probability beta."""

        def holds(high: int) -> bool:
            return any_of((self.lone.window.above(high), min(bins, self.people // (high + 1)))) <= beta

        return bisect_left(range(self.lone.window.last + 2), True, key=holds)

    def deviation_range(self, *, beta: float, bins: int) -> tuple[float, float]:
        """Bounds on D of all reported bins at once, but for probability beta.

        Bins with few people are rarely reported, so only about people / typical of them are at risk.
        """
        at_risk = min(bins, self._bins_at_risk(beta / 2))
        reach = float(self.lone.window.last + self.pairs.window.last)
        low = _bisect(lambda bound: at_risk * self.deviates_below(-bound) <= beta / 4, reach)
        high = _bisect(lambda bound: at_risk * self.deviates_above(bound) <= beta / 4, reach)
        return -low, high

    def _bins_at_risk(self, beta: float) -> float:
        """People / t for the largest t such that all bins of fewer than t people together are reported with
        probability at most beta: the sum of P(M < c) over them is at most people times the largest P(M < c) / c.
        """
        window = self.lone.window
        sizes = np.arange(1, max(2, math.floor(self.lone.mean)))
        reported_per_person = np.maximum.accumulate(np.array([window.below(int(c)) for c in sizes]) / sizes)
        safe = int(np.searchsorted(self.people * reported_per_person, beta, side="right"))
        return self.people / (safe + 1)

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


def _bisect(holds: Callable[[float], bool], reach: float) -> float:
    """The smallest bound in quarters of a person for which the condition holds."""
    return bisect_left(range(math.ceil(4 * reach)), True, key=lambda quarters: holds(quarters / 4)) / 4


def _plus_and_excess(evidence: Tally) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """C + P and c - M of each bin."""
    plus = evidence.counts[:, 0]
    return plus, plus - evidence.counts[:, 1]
