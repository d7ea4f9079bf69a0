"""P^hist: how many people hold each value (Balcer and Cheu, Figure 2 and Theorem 3.2).

One binary sum per bin, in one round of shuffling: a person sends the number of their own bin once, and the number of
every bin (their own included) once more except with probability `missing_probability`. A bin that nobody holds gets at
most `users` messages, so it is never reported, however many bins there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import PrivacyCurve, Shift
from shuffledp.checks import whole
from shuffledp.errors import DataError, ParameterError
from shuffledp.noise import Binomial
from shuffledp.noise.coins import heads
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import (
    Counts,
    check_bins,
    check_domain,
    check_tally,
    check_total,
    counted_messages,
    true_counts,
)
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.missing_noise import MissingNoise
from shuffledp.protocols.release import MessageCount, bits_to_name, expected_messages
from shuffledp.randomness import generator
from shuffledp.words import readable

_MOST_BINS_IN_MESSAGES = 2**32
_CELLS_AT_ONCE = 1 << 18
"""Noise messages made at a time: they stay in the cache."""


@dataclass(frozen=True, kw_only=True)
class Histogram(MissingNoise):
    """The paper's histogram protocol. `bins` is d, of any size; bins are numbered from 0."""

    bins: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bins", whole("bins", self.bins))

    @classmethod
    def calibrate(cls, *, users: int, bins: int, epsilon: float, delta: float, honest_users: int | None = None) -> Self:
        """The smallest noise that makes the whole release (epsilon, delta)-private, exactly."""
        bins = whole("bins", bins)
        fields = cls._calibration(users=users, epsilon=epsilon, delta=delta, honest_users=honest_users)
        return cls(bins=bins, **fields)

    @classmethod
    def from_theorem(cls, *, users: int, bins: int, epsilon: float, delta: float) -> Self:
        """The paper's noise: (2 epsilon, 2 delta)-private by Theorem 3.2 i."""
        bins = whole("bins", bins)
        fields = cls._theorem(users=users, epsilon=epsilon, delta=delta, name="Theorem 3.2", factor=2)
        return cls(bins=bins, **fields)

    @staticmethod
    def curve(honest_users: int, missing_probability: float) -> PrivacyCurve:
        """A replaced value moves two bins by one, in opposite directions, with independent noise."""
        noise = Binomial(trials=honest_users, probability=missing_probability)
        return PrivacyCurve.of_shifts(Shift(law=noise, by=1), Shift(law=noise, by=-1))

    @property
    def bin_count(self) -> int:
        """Every bin is estimated."""
        return self.bins

    @property
    def messages_per_user(self) -> MessageCount:
        """One for the value and nearly one for every bin."""
        expected = expected_messages(bins=self.bins, noise_per_bin=1 - self.missing_probability)
        return MessageCount(expected=expected, maximum=1 + self.bins)

    @property
    def bits_per_message(self) -> int:
        """Bits that name a bin."""
        return bits_to_name(self.bins)

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The messages of one person (a bin) or of many (an array of bins), person after person."""
        people = np.atleast_1d(np.asarray(values))
        check_bins(people, bins=self.bins, what="value")
        if self.bins > _MOST_BINS_IN_MESSAGES:
            raise ParameterError(
                f"bins={readable(self.bins)} is too many to send a message for each: draw the tally with sample_tally"
            )
        source = generator(rng)
        kind = np.min_scalar_type(self.bins - 1)
        at_once = max(1, _CELLS_AT_ONCE // self.bins)
        # one row per person: every bin, then their own
        everything = np.empty((min(at_once, people.size), self.bins + 1), dtype=kind)
        everything[:, : self.bins] = np.arange(self.bins, dtype=kind)
        sent = []
        for start in range(0, people.size, at_once):
            block = people[start : start + at_once]
            rows = everything[: block.size]
            rows[:, self.bins] = block
            missing = heads(block.size * self.bins, self.missing_probability, source)
            sent.append(np.delete(rows.ravel(), missing + missing // self.bins))
        return np.concatenate(sent) if sent else np.empty(0, dtype=kind)

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """How many messages name each bin; also of messages that were counted elsewhere."""
        if isinstance(messages, Tally):
            return counted_messages(messages, bins=self.bins)
        flat = concatenate(messages)
        check_bins(flat, bins=self.bins, what="message")
        if self.bins > _MOST_BINS_IN_MESSAGES:
            return Tally.of(flat)
        return Tally.of_bins(flat, bins=self.bins)

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """A tally drawn from its exact law given the true counts, without making messages.

        An array gives the count of every bin and draws every bin. A mapping or a Tally draws the bins it lists: that
        is enough for the truncated estimator, which reports 0 for all others, and is what makes huge domains possible.
        The list of drawn bins is not private; only an estimate is. With `part` the counts are those of a part of the
        bins: draws of different parts can be joined.
        """
        truth = true_counts(counts, users=self.users, bins=self.bins, part=part)
        missing = self.noise.sample(len(truth), rng=generator(rng))
        return Tally(truth.symbols, truth.counts + self.users - missing, complete=len(truth) == self.bins)

    def visible(self, tally: Tally) -> NDArray[np.int64]:
        """Which entries the truncated estimator reports; without the others the estimate is the same."""
        return np.flatnonzero(tally.counts > self.users)

    def estimate(
        self,
        tally: Tally,
        *,
        estimator: str = "truncated",
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
    ) -> Estimate:
        """The histogram with intervals that hold with probability 1 - beta.

        `reports` is how many people really reported, if fewer than `users`. `domain` gives the bins their labels.
        """
        check_tally(tally, Tally)
        check_domain(domain, bins=self.bins)
        ran = self.for_reports(reports)
        if len(tally) == self.bins:
            check_total(
                tally.total,
                users=ran.users,
                bins=self.bins,
                expected=ran.users + self.bins * (ran.users - ran.noise.mean),
                variance=self.bins * ran.noise.variance,
            )
        elif estimator == "unbiased":
            raise DataError(
                "the unbiased estimator needs the count of every bin: tally messages, or give sample_tally an array "
                "with all true counts"
            )
        return ran._read(tally.symbols, tally.counts, estimator=estimator, beta=beta, domain=domain)

    def randomizer_law(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact law of one person's messages, sorted, for verification on a few bins."""
        missing = Fraction(self.missing_probability)
        law: dict[tuple[Any, ...], Fraction] = {}
        for present in product([False, True], repeat=self.bins):
            noise = [j for j, sent in enumerate(present) if sent]
            weight = missing ** (self.bins - len(noise)) * (1 - missing) ** len(noise)
            law[tuple(sorted([*noise, value]))] = weight
        return law
