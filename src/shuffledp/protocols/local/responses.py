"""Reports of one symbol: randomized response, and Hadamard response.

In Hadamard response, with K a power of two above d, the set of bin j is H_j = {y in [K] : j + 1 and y share an even
number of one bits}. It has half of [K], and shares half of its elements with every other set. The analyzer needs one
fast Walsh-Hadamard transform.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.histogram.inputs import check_bins
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.noise.binomial import safely_up
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle, HalfSupports

_FEW = 4
"""The number of bins up to which adding their rows is faster than the transform."""


@dataclass(frozen=True, kw_only=True)
class SymbolOracle(FrequencyOracle):
    """A randomizer whose report is one of `symbols` numbers."""

    @property
    @abstractmethod
    def symbols(self) -> int:
        """The number of different messages."""

    @abstractmethod
    def supports_of(self, sent: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of reports that support each bin, from the number of times that each symbol was sent."""

    @abstractmethod
    def report_distribution(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each symbol for a person whose value has the given probabilities, up to rounding."""

    def supports(self, messages: ArrayLike) -> NDArray[np.int64]:
        """Count the symbols, and the bins that they support."""
        flat = concatenate(messages)
        check_bins(flat, bins=self.symbols, what="message")
        return self.supports_of(Tally.of_bins(flat, bins=self.symbols).counts)


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(SymbolOracle):
    """The true value or a uniform one (Warner 1965; Kairouz, Bonawitz and Ramage 2016)."""

    @property
    def truth_probability(self) -> float:
        """The probability that the value itself is sent; otherwise a uniform bin is sent, possibly the same one.

        Its complement is rounded up to the grid of probabilities that can be sampled. The likelihood ratio 1 + d t / (1
        - t) is therefore at most e^epsilon.
        """
        return 1 - safely_up(self.bins / (math.expm1(self.epsilon) + self.bins))

    @property
    def true_support(self) -> float:
        """P(report x | value x)."""
        return self.truth_probability + self.false_support

    @property
    def false_support(self) -> float:
        """P(report j | value x) for every other j."""
        return (1 - self.truth_probability) / self.bins

    @property
    def telling(self) -> float:
        """The probability that a person who holds one of two given bins sends one of them."""
        return min(1.0, (self.true_support + self.false_support) * (1 + SEVERAL_OPERATIONS))

    @property
    def covered(self) -> float:
        """A third bin is sent at least as often by a person who holds neither."""
        return 1.0

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        lies = rng.random(people.size) >= self.truth_probability
        messages = people.copy()
        messages[lies] = rng.integers(0, self.bins, size=int(lies.sum()))
        return messages

    @property
    def symbols(self) -> int:
        """The messages are bins."""
        return self.bins

    def supports_of(self, sent: NDArray[np.int64]) -> NDArray[np.int64]:
        """A message supports the bin that it names."""
        return sent

    def report_distribution(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each message for a person whose value has the given probabilities, up to rounding."""
        return self.truth_probability * shares + self.false_support

    def randomizer_distribution(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact distribution of one person's message, for verification."""
        truth = Fraction(self.truth_probability)
        return {(j,): (1 - truth) / self.bins + (truth if j == value else 0) for j in range(self.bins)}


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(HalfSupports, SymbolOracle):
    """One of K symbols, in the value's set with probability e^epsilon / (e^epsilon + 1).

    After Acharya, Sun and Zhang (2019).
    """

    @property
    def symbols(self) -> int:
        """K, the number of different messages."""
        return 1 << self.bins.bit_length()

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

    def supports_of(self, sent: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of symbols in each bin's set, from the number of times that each symbol was sent."""
        return (int(sent.sum()) + walsh_hadamard(sent)[1 : self.bins + 1]) // 2

    def report_distribution(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each symbol for a person whose value has the given probabilities, up to rounding."""
        placed = np.zeros(self.symbols)
        placed[1 : self.bins + 1] = shares
        held, symbols = np.flatnonzero(placed), np.arange(self.symbols)
        if held.size <= _FEW:
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
