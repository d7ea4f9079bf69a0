"""Local hashing: randomized response on a random hash of the value (Wang, Blocki, Li and Jha 2017).

The hash of a person is h(j) = ((a j + b mod 2^64) >> 32) * g >> 32, with random 64-bit a and b that are part of the
report. Any two bins are hashed independently and uniformly (up to g / 2^32), which is all that the estimate needs.
Privacy does not depend on the hash.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.histogram.inputs import MOST_BINS
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle, compare_with_every_bin
from shuffledp.protocols.local.randomized_response import RandomizedResponse
from shuffledp.protocols.protocol import bits_to_name
from shuffledp.randomness import random_words
from shuffledp.validation import whole

REPORT = np.dtype([("multiplier", np.uint64), ("offset", np.uint64), ("cell", np.uint32)])


@dataclass(frozen=True, kw_only=True)
class LocalHashing(FrequencyOracle):
    """Optimised local hashing; `cells` is the range g of the hash, e^epsilon + 1 unless given."""

    cells: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        best = min(round(math.exp(self.epsilon)) + 1, MOST_BINS)
        cells = best if self.cells is None else whole("cells", self.cells, minimum=2)
        object.__setattr__(self, "cells", cells)

    @property
    def _response(self) -> RandomizedResponse:
        """The randomized response on the cell."""
        return RandomizedResponse(users=self.users, bins=self.cells or 2, epsilon=self.epsilon)

    @property
    def true_support(self) -> float:
        """The probability that a person's report supports their own bin: the cell of the bin is sent."""
        return self._response.true_support

    @property
    def false_support(self) -> float:
        """The probability that another bin has the same cell."""
        return 1 / (self.cells or 2)

    @property
    def telling(self) -> float:
        """The cell must belong to exactly one of two given bins; hashes collide with probability at least 1 / g."""
        return self._response.telling * (1 - self.false_support)

    @property
    def drawing_cost(self) -> float:
        """Every report is compared with every bin."""
        return super().drawing_cost + float(self.users) * float(self.bins)

    @property
    def bits_per_message(self) -> int:
        """Two words for the hash, and a cell."""
        return 128 + bits_to_name(self.cells or 2)

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """Send one report for each person: their hash function and a noisy cell."""
        reports = np.empty(people.size, dtype=REPORT)
        reports["multiplier"] = random_words(people.size, rng)
        reports["offset"] = random_words(people.size, rng)
        own = _hash(people.astype(np.uint64), reports["multiplier"], reports["offset"], self.cells or 2)
        reports["cell"] = self._response.randomize(own.astype(np.int64), rng=rng)
        return reports

    def supports(self, messages: NDArray[np.void]) -> NDArray[np.int64]:
        """Compare every report with every bin on all cores, and count the reports whose cell is the bin's cell."""
        reports = np.atleast_1d(messages)
        if reports.dtype != REPORT:
            raise DataError("messages must be reports of this protocol: multiplier, offset and cell")
        return compare_with_every_bin(reports, self.bins, self._in_cell)

    def _in_cell(self, reports: NDArray[np.void], bins: NDArray[np.uint64]) -> NDArray[np.int64]:
        counts, hashed = np.zeros(bins.size, dtype=np.int64), np.empty_like(bins)
        shift, cells = np.uint64(32), np.uint64(self.cells or 2)
        for multiplier, offset, cell in zip(
            reports["multiplier"], reports["offset"], reports["cell"].astype(np.uint64), strict=True
        ):
            np.multiply(bins, multiplier, out=hashed)
            np.add(hashed, offset, out=hashed)
            np.right_shift(hashed, shift, out=hashed)
            np.multiply(hashed, cells, out=hashed)
            np.right_shift(hashed, shift, out=hashed)
            counts += hashed == cell
        return counts


def _hash(
    bins: NDArray[np.uint64], multiplier: NDArray[np.uint64], offset: NDArray[np.uint64], cells: int
) -> NDArray[np.uint64]:
    """The cell of each bin under its own hash function."""
    shift = np.uint64(32)
    return ((bins * multiplier + offset) >> shift) * np.uint64(cells) >> shift
