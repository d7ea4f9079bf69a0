"""True counts with noise of both signs, as a curator publishes them: of every bin, or of those above a threshold."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.pipeline.estimate import Intervals
from shuffledp.pipeline.tally import Tally
from shuffledp.reading.levels import ExcessRungs, Known, Ladder, noise_range
from shuffledp.reading.missing_noise import MissingNoise
from shuffledp.reading.noisy_counts import beyond
from shuffledp.reading.reading import every_bin, in_order, possible_counts
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
        least, most = noise_range(MissingNoise(law=self.noise), beta=beta, bins=bins)
        return possible_counts(evidence.counts - most, evidence.counts - least, people=self.people)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """Every bin fails alike: exactly 1 - (1 - P(|Z| > error))^bins."""
        return smallest_distance(self.noise, lambda error: any_of((beyond(self.noise, error), bins)) <= beta)


@dataclass(frozen=True, kw_only=True)
class ThresholdedCounts:
    """The noisy counts of occupied bins that reach the `threshold`; all others look empty.

    A bin of c people is published where c + Z >= threshold, that is where c > M for the noise M = threshold - 1 - Z:
    its excess over threshold - 1 is c - M. The law of Z is symmetric, so M is Z shifted by threshold - 1.
    """

    noise: DiscreteLaplace
    people: int
    threshold: int
    values_per_person: int = 1

    name = "truncated"
    phantoms = False

    @property
    def held(self) -> int:
        """How many values all people hold together."""
        return self.people * self.values_per_person

    def evidence(self, tally: Tally) -> Tally:
        """What was published."""
        ordered = in_order(tally)
        return ordered.pick(ordered.counts >= self.threshold)

    def point(self, evidence: Tally) -> NDArray[np.float64]:
        """The noisy counts, as far as there are people."""
        return np.minimum(evidence.counts, self._known(evidence).most).astype(np.float64)

    def intervals(self, evidence: Tally, *, beta: float, bins: int) -> Intervals:
        """The noisy count less the range of the noise; a bin that is not reported may have been below the threshold."""
        excess = evidence.counts - (self.threshold - 1)
        return self._ladder.intervals(excess, excess, self._known(evidence), beta=beta, bins=bins)

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
        noise = MissingNoise(law=self.noise, shift=self.threshold - 1)
        return Ladder(rungs=ExcessRungs(noise=noise, people=self.people, held=self.held))

    def _known(self, evidence: Tally) -> Known:
        """Somebody holds every bin that is published."""
        return Known.of(np.ones(len(evidence), dtype=np.int64), people=self.people, held=self.held)
