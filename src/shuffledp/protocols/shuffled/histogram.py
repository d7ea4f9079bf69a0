"""P^hist, the histogram protocol of Balcer and Cheu (Figure 2 and Theorem 3.2).

It runs one binary sum per bin, in one round of shuffling. A person sends the number of their own bin once. They also
send the number of every bin (including their own), each except with probability `missing_probability` (gamma = 1 - p in
the paper). A bin's count is therefore (true count) + users - M with M ~ Bin(users, missing_probability). A bin that
nobody holds gets at most `users` messages, so it is never reported, for any number of bins.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import calibration
from shuffledp.accounting.curve import PrivacyCurve, moved_bins
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.tally import Tally
from shuffledp.noise import Binomial
from shuffledp.noise.coins import heads
from shuffledp.protocols.protocol import MessageCount, expected_messages
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.sums.binary_sum import MissingMessages
from shuffledp.protocols.target import Target
from shuffledp.validation import target_delta, target_epsilon, values_each

_CELLS_AT_ONCE = 1 << 18
"""The number of noise messages made together, so that they stay in the cache."""


@dataclass(frozen=True, kw_only=True)
class Histogram(MissingMessages, ShuffledHistogram):
    """The paper's histogram protocol; Theorem 3.2 gives each of two moved bins half of epsilon and half of delta."""

    theorem = "Theorem 3.2"
    moved = 2

    samples_exactly = True
    takes_sets = True
    joins = True

    @classmethod
    def _least(cls, target: Target) -> float | None:
        return calibration.moved_bins_probability(
            users=target.honest, epsilon=target.epsilon, delta=target.delta, values=target.values_per_person
        )

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible for the whole release."""
        return calibration.moved_bins_fewest_users(
            epsilon=target_epsilon(epsilon), delta=target_delta(delta), values=values_each(values_per_person)
        )

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The exact privacy curve of the whole release, counting the honest people's noise only."""
        if self.batch is not None:
            return cast("PrivacyCurve", self.batch.privacy)
        honest = Binomial(trials=self.honest, probability=self.missing_probability)
        return moved_bins(honest, values=self.values_per_person)

    @property
    def messages_per_user(self) -> MessageCount:
        """One for each value and nearly one for every bin."""
        expected = expected_messages(
            bins=self.bins, noise_per_bin=1 - self.missing_probability, values=self.values_per_person
        )
        return MessageCount(expected=expected, maximum=self.values_per_person + self.bins)

    def participation_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cumulant of the values and of the noise messages that are not missing."""
        return self.values_per_person * tilts + self.bins * (tilts + self.noise.cumulant(-tilts) / self.users)

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(
            NoiseKind.OMITTED_MESSAGES, {"probability": self.missing_probability, "mean": self.noise.mean}
        )

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Send, person by person, every bin except the missing ones, then their own."""
        kind = np.min_scalar_type(self.bins - 1)
        at_once, values = max(1, _CELLS_AT_ONCE // self.bins), self.values_per_person
        number = people.shape[0]
        # one row per person: every bin, then their own
        everything = np.empty((min(at_once, number), self.bins + values), dtype=kind)
        everything[:, : self.bins] = np.arange(self.bins, dtype=kind)
        sent = []
        for start in range(0, number, at_once):
            block = people[start : start + at_once]
            rows = everything[: block.shape[0]]
            rows[:, self.bins :] = block.reshape(-1, values)
            missing = heads(block.shape[0] * self.bins, self.missing_probability, rng)
            sent.append(np.delete(rows.ravel(), missing + values * (missing // self.bins)))
        return np.concatenate(sent) if sent else np.empty(0, dtype=kind)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        missing = self.noise.sample(len(truth), rng=rng)
        return Tally(truth.symbols, truth.counts + self.users - missing, complete=len(truth) == self.bins)

    def _possible(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """A bin has at most one message of each person who holds it, and one noise message of each person."""
        return np.minimum(counts, 2 * self.users)

    def randomizer_distribution(self, *values: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact distribution of one person's sorted messages, for verification on a few bins."""
        missing = Fraction(self.missing_probability)
        distribution: dict[tuple[Any, ...], Fraction] = {}
        for present in product([False, True], repeat=self.bins):
            noise = [j for j, sent in enumerate(present) if sent]
            weight = missing ** (self.bins - len(noise)) * (1 - missing) ** len(noise)
            distribution[tuple(sorted([*noise, *values]))] = weight
        return distribution
