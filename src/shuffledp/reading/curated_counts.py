"""True counts with noise of both signs, as a curator publishes them: of every bin, or of those above a threshold."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.pipeline.estimate import Intervals
from shuffledp.pipeline.tally import Tally
from shuffledp.reading.noisy_counts import beyond
from shuffledp.reading.reading import every_bin, in_order
from shuffledp.reading.risk import any_of, smallest_distance


@dataclass(frozen=True, kw_only=True)
class CuratedCounts:
    """The noisy count of every bin, as it is."""

    noise: DiscreteLaplace
    people: int
    bins: int

    name = "unbiased"
    phantoms = True

    def evidence(self, tally: Tally) -> Tally:
        """Every bin."""
        return every_bin(tally, bins=self.bins)

    def point(self, evidence: Tally) -> NDArray[np.float64]:
        """The noisy counts."""
        return evidence.counts.astype(np.float64)

    def intervals(self, evidence: Tally, *, beta: float, bins: int) -> Intervals:
        """As wide on either side as the noise of this number of bins goes."""
        window, reach = self.noise.window, 0
        while any_of((2 * window.above(reach), bins)) > beta:
            reach += 1
        return around(evidence, reach, people=self.people, hidden=0)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """Every bin fails alike: exactly 1 - (1 - P(|Z| > error))^bins."""
        return smallest_distance(self.noise, lambda error: any_of((beyond(self.noise, error), bins)) <= beta)


@dataclass(frozen=True, kw_only=True)
class ThresholdedCounts:
    """The noisy counts of occupied bins that reach the `threshold`; all others look empty."""

    noise: DiscreteLaplace
    people: int
    threshold: int

    name = "truncated"
    phantoms = False

    def evidence(self, tally: Tally) -> Tally:
        """What was published."""
        ordered = in_order(tally)
        return ordered.pick(ordered.counts >= self.threshold)

    def point(self, evidence: Tally) -> NDArray[np.float64]:
        """The noisy counts."""
        return evidence.counts.astype(np.float64)

    def intervals(self, evidence: Tally, *, beta: float, bins: int) -> Intervals:
        """Half of the risk for the noise of occupied bins, half for large bins that stay below the threshold."""
        window, most = self.noise.window, min(bins, self.people)
        reach = bisect_left(range(window.last + 1), True, key=lambda t: any_of((2 * window.above(t), most)) <= beta / 2)

        def hides(count: int) -> bool:
            risk = window.below(self.threshold - count - 1)
            return any_of((risk, min(bins, self.people // (count + 1)))) <= beta / 2

        hidden = bisect_left(range(self.threshold + window.last + 1), True, key=hides)
        return around(evidence, reach, people=self.people, hidden=hidden)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error that some bin exceeds with probability at most beta, on the worst dataset."""
        options = range(self.threshold + self.noise.window.last + 1)
        return bisect_left(options, True, key=lambda e: self.failure(e, bins=bins, occupied=occupied) <= beta)

    def failure(self, error: int, *, bins: int, occupied: int) -> float:
        """At most how likely some bin is off by more: a bin of more than `error` people can also be hidden."""
        off = 2 * self.noise.window.above(error)
        hidden = self.noise.window.below(self.threshold - error - 1)
        large = min(bins, occupied, self.people // (error + 1))
        return any_of((min(1.0, off + hidden), large), (off, min(bins, occupied) - large))

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """How likely a bin of `count` people is published with a noisy count of `at_least` people."""
        needed = max(self.threshold, math.ceil(at_least))
        return max(0.0, 1 - self.noise.window.below(needed - count)) if count else 0.0


def around(evidence: Tally, reach: int, *, people: int, hidden: int) -> Intervals:
    """Intervals of equal reach around noisy counts."""
    return Intervals(
        low=np.clip(evidence.counts - reach, 0, people),
        high=np.clip(evidence.counts + reach, 0, people),
        unreported_high=min(hidden, people),
    )
