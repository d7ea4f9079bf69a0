"""Reports with a random hash of the value: local hashing, and the frequency oracle of Bassily and Smith.

The hash of a person is h(j) = ((a j + b mod 2^64) >> 32) * g >> 32, with random 64-bit a and b that are part of the
report. Any two bins are hashed independently and uniformly (up to g / 2^32), which is all that the estimate needs.
Privacy does not depend on the hash. A report supports the bins whose hash is the cell that it names.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.histogram.inputs import MOST_BINS
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle, HalfSupports
from shuffledp.protocols.local.responses import RandomizedResponse
from shuffledp.protocols.protocol import bits_to_name
from shuffledp.protocols.shuffled_histogram import on_all_cores
from shuffledp.randomness import random_words
from shuffledp.validation import whole

_BLOCK = 1 << 14
"""The number of bins that are compared with a report together, so that they stay in the cache."""

_FEWEST_REPORTS = 500
"""The number of reports per core below which starting threads takes longer than the work."""


@dataclass(frozen=True, kw_only=True)
class HashedReports(FrequencyOracle):
    """Reports of a hash function and the noisy cell of the person's value, one of g cells."""

    report: ClassVar[np.dtype[np.void]]
    """The type of a report: a, b and the cell."""

    @property
    @abstractmethod
    def _range(self) -> int:
        """The number g of cells."""

    @abstractmethod
    def _noisy(self, cells: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """The cells that are sent in place of these."""

    @property
    def drawing_cost(self) -> float:
        """Every report is compared with every bin."""
        return super().drawing_cost + float(self.users) * float(self.bins)

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        reports = np.empty(people.size, dtype=self.report)
        reports["multiplier"] = random_words(people.size, rng)
        reports["offset"] = random_words(people.size, rng)
        own = _hash(people.astype(np.uint64), reports["multiplier"], reports["offset"], self._range)
        reports[self._cell] = self._noisy(own.astype(np.int64), rng)
        return reports

    @property
    def _cell(self) -> str:
        """The name of the cell in a report."""
        return str(self.report.names[-1])  # type: ignore[index]

    def supports(self, messages: NDArray[np.void]) -> NDArray[np.int64]:
        """Compare every report with every bin on all cores, and count the reports whose cell is the bin's cell."""
        reports = np.atleast_1d(messages)
        if reports.dtype != self.report:
            raise DataError(f"messages must be reports of this protocol: multiplier, offset and {self._cell}")
        parts = np.array_split(reports, max(1, min(os.cpu_count() or 1, reports.size // _FEWEST_REPORTS)))
        return on_all_cores(self._supports, parts, bins=self.bins)

    def _supports(self, reports: NDArray[np.void]) -> NDArray[np.int64]:
        starts = range(0, self.bins, _BLOCK)
        blocks = (np.arange(first, min(first + _BLOCK, self.bins), dtype=np.uint64) for first in starts)
        return np.concatenate([self._in_cell(reports, block) for block in blocks])

    def _in_cell(self, reports: NDArray[np.void], bins: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of reports that support each of these bins."""
        counts, hashed = np.zeros(bins.size, dtype=np.int64), np.empty_like(bins)
        shift, cells = np.uint64(32), np.uint64(self._range)
        for multiplier, offset, cell in zip(
            reports["multiplier"], reports["offset"], reports[self._cell].astype(np.uint64), strict=True
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
    shift = np.uint64(32)
    return ((bins * multiplier + offset) >> shift) * np.uint64(cells) >> shift


@dataclass(frozen=True, kw_only=True)
class LocalHashing(HashedReports):
    """Optimised local hashing: randomized response on the hash (Wang, Blocki, Li and Jha 2017).

    `cells` is the range g of the hash, e^epsilon + 1 unless given.
    """

    cells: int | None = None

    report = np.dtype([("multiplier", np.uint64), ("offset", np.uint64), ("cell", np.uint32)])

    def __post_init__(self) -> None:
        super().__post_init__()
        best = min(round(math.exp(self.epsilon)) + 1, MOST_BINS)
        cells = best if self.cells is None else whole("cells", self.cells, minimum=2)
        object.__setattr__(self, "cells", cells)

    @property
    def _range(self) -> int:
        return self.cells or 2

    @property
    def _response(self) -> RandomizedResponse:
        return RandomizedResponse(users=self.users, bins=self._range, epsilon=self.epsilon)

    @property
    def true_support(self) -> float:
        """The probability that a person's report supports their own bin: the cell of the bin is sent."""
        return self._response.true_support

    @property
    def false_support(self) -> float:
        """The probability that another bin has the same cell."""
        return 1 / self._range

    @property
    def telling(self) -> float:
        """The cell must belong to exactly one of two given bins; hashes collide with probability at least 1 / g."""
        return self._response.telling * (1 - self.false_support)

    @property
    def bits_per_message(self) -> int:
        """Two words for the hash, and a cell."""
        return 128 + bits_to_name(self._range)

    def _noisy(self, cells: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return self._response.randomize(cells, rng=rng)


@dataclass(frozen=True, kw_only=True)
class BassilySmith(HalfSupports, HashedReports):
    """The frequency oracle of Bassily and Smith (2015) with one-bit messages.

    A public random matrix has a row of signs for each person: the hash with two cells, from public words. A person
    sends the sign of their value with probability e^epsilon / (e^epsilon + 1), and otherwise the opposite one.
    """

    report = np.dtype([("multiplier", np.uint64), ("offset", np.uint64), ("bit", np.bool_)])

    @property
    def _range(self) -> int:
        return 2

    @property
    def bits_per_message(self) -> int:
        """The row is public."""
        return 1

    def _noisy(self, cells: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return cells ^ (rng.random(cells.size) >= self.true_support)
