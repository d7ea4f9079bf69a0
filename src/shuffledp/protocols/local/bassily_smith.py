"""The frequency oracle of Bassily and Smith (2015) with one-bit messages.

A public random matrix has a row of signs for each person. A person with value x looks up the sign of x in their row.
They send it with probability e^epsilon / (e^epsilon + 1), and otherwise the opposite sign: one bit. A report supports
the bins that have the sent sign in its row.

Rows come from public words: the sign of bin j is the top bit of a j + b mod 2^64. The signs of any two bins are
therefore independent fair coins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.noise.binomial import safely_up
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle, compare_with_every_bin
from shuffledp.randomness import random_words

REPORT = np.dtype([("multiplier", np.uint64), ("offset", np.uint64), ("bit", np.bool_)])
_TOP = np.uint64(63)


@dataclass(frozen=True, kw_only=True)
class BassilySmith(FrequencyOracle):
    """One bit per person, and a row of public coins."""

    @property
    def true_support(self) -> float:
        """The probability of the true sign; its complement is rounded up, which is the private side."""
        return 1 - safely_up(1 / (1 + math.exp(self.epsilon)))

    @property
    def false_support(self) -> float:
        """The sign of another bin is a fair coin."""
        return 0.5

    @property
    def telling(self) -> float:
        """Any two bins have different signs half of the time."""
        return 0.5

    @property
    def drawing_cost(self) -> float:
        """Every report is compared with every bin."""
        return super().drawing_cost + float(self.users) * float(self.bins)

    @property
    def bits_per_message(self) -> int:
        """The row is public."""
        return 1

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """One bit for each person, beside the public words of their row."""
        reports = np.empty(people.size, dtype=REPORT)
        reports["multiplier"] = random_words(people.size, rng)
        reports["offset"] = random_words(people.size, rng)
        sign = (people.astype(np.uint64) * reports["multiplier"] + reports["offset"]) >> _TOP
        reports["bit"] = sign.astype(bool) ^ (rng.random(people.size) >= self.true_support)
        return reports

    def supports(self, messages: NDArray[np.void]) -> NDArray[np.int64]:
        """The number of bits that agree with the sign of each bin, computed on all cores."""
        reports = np.atleast_1d(messages)
        if reports.dtype != REPORT:
            raise DataError("messages must be reports of this protocol: multiplier, offset and bit")
        return compare_with_every_bin(reports, self.bins, _agreeing)


def _agreeing(reports: NDArray[np.void], bins: NDArray[np.uint64]) -> NDArray[np.int64]:
    counts, signs = np.zeros(bins.size, dtype=np.int64), np.empty_like(bins)
    for multiplier, offset, bit in zip(
        reports["multiplier"], reports["offset"], reports["bit"].astype(np.uint64), strict=True
    ):
        np.multiply(bins, multiplier, out=signs)
        np.add(signs, offset, out=signs)
        np.right_shift(signs, _TOP, out=signs)
        counts += signs == bit
    return counts
