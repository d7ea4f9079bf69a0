"""Hadamard response: a random element of the value's set (Acharya, Sun and Zhang 2019).

With K a power of two above d, the set of bin j is H_j = {y in [K] : j + 1 and y share an even number of one bits}. It
has half of [K], and shares half of its elements with every other set. The analyzer needs one fast Walsh-Hadamard
transform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.histogram.inputs import check_bins
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.noise.binomial import safely_up
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle

_FEW = 4


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(FrequencyOracle):
    """One of K symbols, in the value's set with probability e^epsilon / (e^epsilon + 1)."""

    @property
    def symbols(self) -> int:
        """K, the number of different messages."""
        return 1 << self.bins.bit_length()

    @property
    def true_support(self) -> float:
        """How often the symbol lies in the value's own set; its complement is rounded up, the private side."""
        return 1 - safely_up(1 / (1 + math.exp(self.epsilon)))

    @property
    def false_support(self) -> float:
        """The probability of any other set, which has half of each."""
        return 0.5

    @property
    def telling(self) -> float:
        """The share of symbols that are in exactly one of two given sets."""
        return 0.5

    @property
    def bits_per_message(self) -> int:
        """Bits that name a symbol."""
        return self.symbols.bit_length() - 1

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Send one symbol for each person: uniform, then moved into or out of the value's set by flipping one bit."""
        vectors = people + 1
        drawn = rng.integers(0, self.symbols, size=people.size)
        outside = rng.random(people.size) >= self.true_support
        odd = np.bitwise_count(drawn & vectors) & 1
        lowest = vectors & -vectors
        return np.where(odd == outside, drawn, drawn ^ lowest)

    def supports(self, messages: ArrayLike) -> NDArray[np.int64]:
        """The number of symbols in each bin's set."""
        flat = concatenate(messages)
        check_bins(flat, bins=self.symbols, what="message")
        return self.supports_of(Tally.of_bins(flat, bins=self.symbols).counts)

    def supports_of(self, sent: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of symbols in each bin's set, from the number of times that each symbol was sent."""
        return (int(sent.sum()) + walsh_hadamard(sent)[1 : self.bins + 1]) // 2

    def report_distribution(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each symbol for a person whose value has the given probabilities, up to rounding."""
        placed = np.zeros(self.symbols)
        placed[1 : self.bins + 1] = shares
        held, symbols = np.flatnonzero(placed), np.arange(self.symbols)
        if held.size <= _FEW:  # adding a few rows is faster than the transform
            signs = sum(placed[j] * (1.0 - 2.0 * (np.bitwise_count(symbols & j) & 1)) for j in held)
        else:
            signs = walsh_hadamard(placed)
        distribution: NDArray[np.float64] = (1 + (2 * self.true_support - 1) * signs) / self.symbols
        return distribution

    def randomizer_distribution(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact distribution of one person's message, for verification."""
        inside = Fraction(self.true_support)
        odd = [((value + 1) & symbol).bit_count() & 1 for symbol in range(self.symbols)]
        return {(y,): (1 - inside if odd[y] else inside) * 2 / self.symbols for y in range(self.symbols)}


Number = TypeVar("Number", np.int64, np.float64)


def walsh_hadamard(values: NDArray[Number]) -> NDArray[Number]:
    """For every j, the sum of values[y] * (-1)^(ones that j and y share), by the fast transform."""
    result, half = values.copy(), 1
    while half < result.size:
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return result
