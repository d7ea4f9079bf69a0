"""Counts of hashed cells: a bin's estimate is the smallest count of its cells, less the expected noise.

The count of a cell of one of T rows is the number of people whose values fall into it, plus noise M. Collisions only
add people, so the estimate is too small only if some cell of the bin has too little noise. It is too large by more than
k + m only if in every row more than k others share the bin's cell, or the noise of the first row where they do not
exceeds its mean by more than m. On average n / s others share a cell of a row of s cells. By Markov's inequality, a row
is that crowded with probability at most n / (s (k + 1)), independently for each row (docs/proofs/comparison.md).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.estimators.base import possible_counts
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.tally import Tally
from shuffledp.noise import Binomial

_BINS_AT_ONCE = 1 << 18
"""The number of bins whose cells are looked up together, so that they stay in the cache."""

_NOT_UNIFORM = 2.0**-32
"""The amount by which a cell can be more likely than 1 / s: hashes are the upper 32 bits of a product."""


@dataclass(frozen=True, kw_only=True)
class HashRows:
    """A public `coin`'s `rows` hash functions into `width` cells each; cells are numbered row by row."""

    rows: int
    width: int
    coin: int

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.rows * self.width

    def of(self, bins: NDArray[np.integer]) -> NDArray[np.int64]:
        """The cells of every bin, one row of the array for each row."""
        multipliers, offsets = self._functions
        half, width = np.uint64(32), np.uint64(self.width)
        hashed = (multipliers[:, None] * bins.astype(np.uint64) + offsets[:, None]) >> half
        within = (hashed * width >> half).astype(np.int64)
        return within + (np.arange(self.rows) * self.width)[:, None]

    @cached_property
    def _functions(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        words = np.random.SeedSequence(self.coin).generate_state(2 * self.rows, dtype=np.uint64).astype(np.uint64)
        return words[: self.rows], words[self.rows :]


@dataclass(frozen=True, kw_only=True)
class SmallestCell:
    """The estimator for `people` in `bins` bins, with the distribution of the `noise` of one cell."""

    hashes: HashRows
    noise: Binomial
    people: int
    bins: int

    name = "smallest"
    false_positives = True

    def statistic(self, tally: Tally) -> Tally:
        """The smallest count of the cells of every bin."""
        if not tally.complete and len(tally) == self.bins:
            return tally
        if len(tally) != self.hashes.cells or not tally.complete:
            raise DataError("this protocol needs the count of every cell: tally messages, or use sample_tally")
        smallest = np.empty(self.bins, dtype=np.int64)
        for start in range(0, self.bins, _BINS_AT_ONCE):
            stop = min(start + _BINS_AT_ONCE, self.bins)
            smallest[start:stop] = tally.counts[self.hashes.of(np.arange(start, stop))].min(axis=0)
        return replace(tally, symbols=np.arange(self.bins), counts=smallest, complete=False)

    def point(self, statistic: Tally) -> NDArray[np.float64]:
        """The smallest count less the expected noise."""
        return statistic.counts.astype(np.float64) - self.noise.mean

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """The estimates less their largest errors above and below."""
        counts = self.point(statistic)
        below, above = self._reaches(beta, bins)
        return possible_counts(counts - above, counts + below, people=self.people)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The larger of both errors, for any dataset chosen independently of the coin."""
        return float(max(self._reaches(beta, bins)))

    def _reaches(self, beta: float, bins: int) -> tuple[int, int]:
        """How far estimates of these bins are below and above the truth, each with risk beta / 2."""
        cells = min(bins, self.hashes.width) * self.hashes.rows
        return self._too_little_noise(beta / 2, cells), self._too_many_others(beta / (2 * bins))

    def _too_little_noise(self, risk: float, cells: int) -> int:
        """The smallest distance below the mean that the noise of some of these cells passes with at most this risk."""
        window, mean = self.noise.window, self.noise.mean
        return bisect_left(
            range(math.floor(mean) + 1), True, key=lambda reach: cells * window.below(math.ceil(mean - reach)) <= risk
        )

    def _too_much_noise(self, risk: float) -> int:
        """The smallest distance above the mean for one cell."""
        window, mean = self.noise.window, self.noise.mean
        return bisect_left(
            range(self.noise.trials + 1), True, key=lambda reach: window.above(math.floor(mean + reach)) <= risk
        )

    def _all_crowded(self, others: int) -> float:
        """An upper bound on the probability that every row has more others in the bin's cell."""
        share = self.people * (1 / self.hashes.width + _NOT_UNIFORM)
        return float(min(1.0, share / (others + 1)) ** self.hashes.rows)

    def _too_many_others(self, risk: float) -> int:
        """The smallest k + m; k = n always holds."""
        best = self.people + self._too_much_noise(risk)
        first = bisect_left(range(self.people), True, key=lambda others: self._all_crowded(others) < risk)
        for others in range(first, self.people):
            if others >= best:
                break
            best = min(best, others + self._too_much_noise(risk - self._all_crowded(others)))
        return best
