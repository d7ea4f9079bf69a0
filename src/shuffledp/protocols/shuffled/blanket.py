"""The histogram of CSU+19: their sum of bits for every bin at once.

A person has a 1 for their own bin and a 0 for every other, and flips each bit now and then. What arrives is how many
ones there are for each bin; as the number of people is known, zeros say nothing more and are not sent (the published
protocol sends all d bits).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.checks import whole
from shuffledp.errors import ParameterError
from shuffledp.noise.coins import heads
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import (
    Counts,
    check_bins,
    check_tally,
    check_total,
    counted_messages,
    people_in_bins,
    true_counts,
)
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.randomized_bits import RandomizedBits
from shuffledp.protocols.release import MessageCount, bits_to_name, expected_messages, kept_promise
from shuffledp.randomness import generator
from shuffledp.reading.supports import only_unbiased, read_supports
from shuffledp.words import readable

_MOST_BINS_IN_MESSAGES = 2**32
_FLIPS_AT_ONCE = 1 << 18


@dataclass(frozen=True, kw_only=True)
class BlanketHistogram(RandomizedBits):
    """A flipped bit for every one of `bins` bins."""

    bins: int

    moved_bits = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bins", whole("bins", self.bins))

    @classmethod
    def calibrate(cls, *, users: int, bins: int, epsilon: float, delta: float, honest_users: int | None = None) -> Self:
        """The fewest flips that make the whole release (epsilon, delta)-private by an upper bound."""
        bins = whole("bins", bins)
        fields = cls._calibration(users=users, epsilon=epsilon, delta=delta, honest_users=honest_users)
        return cls(bins=bins, **fields)

    @classmethod
    def from_paper(cls, *, users: int, bins: int, epsilon: float, delta: float) -> Self:
        """The published number of coins for (epsilon / 2, delta / 2) in each of the two bins that move."""
        fields = cls._published(users=users, epsilon=epsilon, delta=delta)
        return kept_promise(cls(bins=whole("bins", bins), **fields))

    @property
    def bin_count(self) -> int:
        """Every bin is estimated."""
        return self.bins

    @property
    def messages_per_user(self) -> MessageCount:
        """The ones."""
        flip = self.flip_probability
        expected = expected_messages(bins=self.bins, noise_per_bin=flip) - 2 * flip
        return MessageCount(expected=expected, maximum=self.bins)

    @property
    def bits_per_message(self) -> int:
        """Bits that name a bin."""
        return bits_to_name(self.bins)

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The bins whose bit is 1 after flipping, of one person (a bin) or of many (an array of bins)."""
        people = people_in_bins(values, bins=self.bins)
        if self.bins > _MOST_BINS_IN_MESSAGES:
            raise ParameterError(f"bins={readable(self.bins)} is too many for this protocol, which reports every bin")
        source, kind = generator(rng), np.min_scalar_type(self.bins - 1)
        at_once = max(1, int(_FLIPS_AT_ONCE / (self.bins * self.flip_probability + 1)))
        sent = [
            self._ones(people[start : start + at_once], source).astype(kind) for start in range(0, people.size, at_once)
        ]
        return np.concatenate(sent) if sent else np.empty(0, dtype=kind)

    def _ones(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """A person's cells are person * bins + bin; a flip removes the one cell that is set and sets any other."""
        own = np.arange(people.size) * self.bins + people
        flipped = heads(people.size * self.bins, self.flip_probability, rng)
        return np.setxor1d(own, flipped, assume_unique=True) % self.bins

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """How many ones there are for each bin; also of messages that were counted elsewhere."""
        if isinstance(messages, Tally):
            return counted_messages(messages, bins=self.bins)
        flat = concatenate(messages)
        check_bins(flat, bins=self.bins, what="message")
        return Tally.of_bins(flat, bins=self.bins)

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None) -> Tally:
        """A tally drawn from its exact law given the true counts, without making messages."""
        truth = true_counts(counts, users=self.users, bins=self.bins)
        drawn = self._draw(truth.counts, generator(rng))
        return Tally(truth.symbols, drawn, complete=len(truth) == self.bins)

    def estimate(
        self,
        tally: Tally,
        *,
        estimator: str = "unbiased",
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
    ) -> Estimate:
        """The histogram of every bin, with intervals that hold with probability 1 - beta."""
        check_tally(tally, Tally)
        only_unbiased(estimator)
        ran, flip = self.for_reports(reports), self.flip_probability
        check_total(
            tally.total,
            users=ran.users,
            bins=self.bins,
            expected=ran.users * ran.messages_per_user.expected,
            variance=ran.users * self.bins * flip * (1 - flip),
        )
        return read_supports(
            ran,
            tally,
            bins=self.bins,
            supports=(1 - flip, flip),
            bound=ran.error(beta),
            people=ran.users,
            domain=domain,
        )

    def randomizer_law(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact law of one person's messages, sorted, for verification on a few bins."""
        flip = Fraction(self.flip_probability)
        law: dict[tuple[Any, ...], Fraction] = {}
        for bits in product([0, 1], repeat=self.bins):
            wrong = sum(bit != (j == value) for j, bit in enumerate(bits))
            law[tuple(j for j, bit in enumerate(bits) if bit)] = flip**wrong * (1 - flip) ** (self.bins - wrong)
        return law
