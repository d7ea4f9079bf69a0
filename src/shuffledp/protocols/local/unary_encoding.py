"""Unary encoding: one bit per bin, each flipped independently (Wang, Blocki, Li and Jha 2017; basic RAPPOR)."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.errors import DataError
from shuffledp.histogram.tally import Tally
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.coins import packed_flips
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.protocols.shuffled_histogram import on_all_cores
from shuffledp.randomness import child

_CELLS_AT_ONCE = 1 << 22
"""The number of bits made or counted together, so that they stay in the cache."""


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(FrequencyOracle):
    """One bit per bin.

    The `optimised` form keeps the true bit with probability 1/2 and rarely sets others, which gives a smaller error.
    The symmetric form flips every bit with the same probability.
    """

    optimised: bool = True

    samples_exactly = True

    @property
    def true_support(self) -> float:
        """The probability that the bit of a person's own bin is set."""
        return 0.5 if self.optimised else 1 - self.false_support

    @property
    def false_support(self) -> float:
        """The probability that the bit of another bin is set, rounded up to the grid, which is the private side."""
        return safely_up(1 / (1 + math.exp(self.epsilon if self.optimised else self.epsilon / 2)))

    @property
    def telling(self) -> float:
        """The probability that exactly one of the bits of two given bins is set."""
        p, q = self.true_support, self.false_support
        return min(1.0, (p * (1 - q) + (1 - p) * q) * (1 + SEVERAL_OPERATIONS))

    @property
    def bits_per_message(self) -> int:
        """One for every bin."""
        return self.bins

    @property
    def _report(self) -> np.dtype[np.void]:
        return np.dtype((np.void, (self.bins + 7) // 8))

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        parts = [people[start : start + self._at_once] for start in range(0, people.size, self._at_once)]
        if len(parts) <= 1:
            return self._rows(people, rng)
        with ThreadPoolExecutor() as pool:
            return np.concatenate(list(pool.map(self._rows, parts, [child(rng) for _ in parts])))

    @property
    def _at_once(self) -> int:
        return max(1, _CELLS_AT_ONCE // self.bins)

    def _rows(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        width = self._report.itemsize
        rows = packed_flips(people.size * width, self.false_support, rng).reshape(people.size, width)
        rows[:, -1] &= 0xFF << -self.bins % 8 & 0xFF  # no bits beyond the last bin
        own = (128 >> (people & 7)).astype(np.uint8)
        kept = rng.random(people.size) < self.true_support
        at = np.arange(people.size), people >> 3
        rows[at] = rows[at] & ~own | own * kept
        return rows.view(self._report).ravel()

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        return Tally(truth.symbols, self.estimator.draw(truth.counts, rng=rng), complete=len(truth) == self.bins)

    def supports(self, messages: NDArray[np.void]) -> NDArray[np.int64]:
        """The number of reports in which the bit of each bin is set."""
        reports = np.atleast_1d(np.asarray(messages))
        if reports.dtype != self._report or reports.ndim != 1:
            raise DataError(
                f"messages must be reports of this protocol: {self._report.itemsize} bytes of packed bits each"
            )
        rows = reports.view(np.uint8).reshape(reports.size, self._report.itemsize)
        parts = [rows[start : start + self._at_once] for start in range(0, rows.shape[0], self._at_once)]
        return on_all_cores(self._count, parts, bins=self.bins)

    def _count(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Count the rows in which each bit is set; up to 255 rows are added in bytes."""
        bits = np.unpackbits(rows, axis=1, count=self.bins)
        starts = range(0, rows.shape[0], 255)
        parts = [np.add.reduce(bits[start : start + 255], axis=0, dtype=np.uint8) for start in starts]
        counts: NDArray[np.int64] = np.sum(parts, axis=0, dtype=np.int64)
        return counts

    def randomizer_distribution(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact distribution of one person's report (its bytes), for verification on a few bins."""
        chances = [Fraction(self.true_support if j == value else self.false_support) for j in range(self.bins)]
        distribution: dict[tuple[Any, ...], Fraction] = {}
        for bits in product((False, True), repeat=self.bins):
            weights = (p if bit else 1 - p for p, bit in zip(chances, bits, strict=True))
            distribution[np.packbits(bits).tobytes(),] = math.prod(weights, start=Fraction(1))
        return distribution
