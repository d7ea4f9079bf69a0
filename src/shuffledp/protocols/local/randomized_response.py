"""Randomized response: the true value or a uniform one (Warner 1965; Kairouz, Bonawitz and Ramage 2016)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.histogram.inputs import check_bins
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.noise.binomial import safely_up
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(FrequencyOracle):
    """d-ary randomized response; with two bins, Warner's."""

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
        """Send one bin for each person."""
        lies = rng.random(people.size) >= self.truth_probability
        messages = people.copy()
        messages[lies] = rng.integers(0, self.bins, size=int(lies.sum()))
        return messages

    def supports(self, messages: ArrayLike) -> NDArray[np.int64]:
        """The number of times that each bin was sent."""
        flat = concatenate(messages)
        check_bins(flat, bins=self.bins, what="message")
        return self.supports_of(Tally.of_bins(flat, bins=self.bins).counts)

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
