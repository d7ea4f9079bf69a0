"""Unary encoding: a bit for every bin, each flipped by itself (Wang, Blocki, Li and Jha 2017; RAPPOR's basic form)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import DataError
from shuffledp.noise.binomial import GRID_BITS, safely_up
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.randomness import generator

_HAIR = 1e-12
"""Allowance for rounding."""
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(FrequencyOracle):
    """One bit per bin. `optimised` keeps the true bit half of the time and raises others rarely, which is better; the
    symmetric form flips every bit alike.
    """

    optimised: bool = True

    @property
    def true_support(self) -> float:
        """How often the bit of a person's own bin is set."""
        return 0.5 if self.optimised else 1 - self.false_support

    @property
    def false_support(self) -> float:
        """How often the bit of another bin is set: on the grid, rounded up, which is the private side."""
        return safely_up(1 / (1 + math.exp(self.epsilon if self.optimised else self.epsilon / 2)))

    @property
    def telling(self) -> float:
        """How often exactly one of the bits of two given bins is set."""
        p, q = self.true_support, self.false_support
        return min(1.0, (p * (1 - q) + (1 - p) * q) * (1 + _HAIR))

    @property
    def bits_per_message(self) -> int:
        """One for every bin."""
        return self.bins

    @property
    def _report(self) -> np.dtype[np.void]:
        """Packed bits as one item, so that reports form a flat array."""
        return np.dtype((np.void, (self.bins + 7) // 8))

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.void]:
        """One item of packed bits for each person."""
        people, source = self._people(values), generator(rng)
        at_once = max(1, _CELLS_AT_ONCE // self.bins)
        rows = [self._rows(people[start : start + at_once], source) for start in range(0, people.size, at_once)]
        return np.concatenate(rows) if rows else np.empty(0, dtype=self._report)

    def _rows(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        bits = coin_flips((people.size, self.bins), self.false_support, rng)
        bits[np.arange(people.size), people] = rng.random(people.size) < self.true_support
        return np.packbits(bits, axis=1).view(self._report).ravel()

    def supports(self, messages: NDArray[np.void]) -> NDArray[np.int64]:
        """How many set the bit of each bin."""
        reports = np.atleast_1d(np.asarray(messages))
        if reports.dtype != self._report or reports.ndim != 1:
            raise DataError(
                f"messages must be reports of this protocol: {self._report.itemsize} bytes of packed bits each"
            )
        rows = reports.view(np.uint8).reshape(reports.size, self._report.itemsize)
        counts = np.zeros(self.bins, dtype=np.int64)
        at_once = max(1, _CELLS_AT_ONCE // self.bins)
        for start in range(0, rows.shape[0], at_once):
            bits = np.unpackbits(rows[start : start + at_once], axis=1, count=self.bins)
            counts += bits.sum(axis=0, dtype=np.int32)
        return counts


def coin_flips(shape: tuple[int, int], probability: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Independent coins with a probability on the grid, exactly: one random byte each, more where that leaves a tie."""
    first, rest = divmod(int(probability * 2**GRID_BITS), 2 ** (GRID_BITS - 8))
    words = rng.integers(0, 256, size=shape, dtype=np.uint8)
    coins: NDArray[np.bool_] = words < first
    ties = np.flatnonzero(words.ravel() == first)
    coins.ravel()[ties] = rng.integers(0, 2 ** (GRID_BITS - 8), size=ties.size) < rest
    return coins
