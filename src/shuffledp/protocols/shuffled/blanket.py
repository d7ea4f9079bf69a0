"""The histogram of CSU+19: their sum of bits, for every bin at once.

A person has a 1 for their own bin and a 0 for every other bin, and flips each bit with a small probability
(protocols/sums/blanket_sum.py). Only ones are sent: the number of people is known, so zeros add no information. The
published protocol sends all d bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.estimators.supports import FlippedBits
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.tally import Tally
from shuffledp.noise.coins import heads
from shuffledp.protocols.guarantee import require_guarantee
from shuffledp.protocols.protocol import MessageCount, expected_messages
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.sums.blanket_sum import blanket_curve, check_flip, fewest_flips, published_flips
from shuffledp.protocols.target import Target

_FLIPS_AT_ONCE = 1 << 18
"""The number of flips made together, so that they stay in the cache."""

_MOVED_BITS = 2
"""A replaced value changes the bits of two bins."""


@dataclass(frozen=True, kw_only=True)
class BlanketHistogram(ShuffledHistogram):
    """A bit for every bin, flipped with `flip_probability`, a multiple of 2^-53."""

    flip_probability: float

    samples_exactly = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flip(self.flip_probability)

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """Return the protocol with the fewest flips for which an upper bound gives (epsilon, delta)-privacy."""
        target.needs_one_value(cls)
        return cls(
            users=target.users,
            bins=target.bins,
            flip_probability=fewest_flips(target, moved_bits=_MOVED_BITS),
            honest_users=target.honest,
            guarantee=target.guarantee("computed as an upper bound"),
        )

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the protocol with the published number of coins for (epsilon / 2, delta / 2) in each of the two moved
        bins.
        """
        target.needs_one_value(cls)
        return require_guarantee(
            cls(
                users=target.users,
                bins=target.bins,
                flip_probability=published_flips(target, moved_bits=_MOVED_BITS),
                guarantee=target.guarantee("published parameters"),
            )
        )

    @cached_property
    def privacy(self) -> BlanketCurve:
        """An upper bound on the privacy curve, counting the honest people's coins only."""
        return blanket_curve(self.honest, self.flip_probability, moved_bits=_MOVED_BITS)

    @cached_property
    def estimator(self) -> FlippedBits:
        """The estimator of counts from the number of ones of each bin."""
        flip = self.flip_probability
        return FlippedBits(people=self.users, bins=self.bins, true_support=1 - flip, false_support=flip)

    @property
    def messages_per_user(self) -> MessageCount:
        """The ones of a person."""
        flip = self.flip_probability
        expected = expected_messages(bins=self.bins, noise_per_bin=flip) - 2 * flip
        return MessageCount(expected=expected, maximum=self.bins)

    def participation_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The person's one unless it is flipped, and the flipped zeros of all other bins."""
        own, other = (np.log1p(self.flip_probability * np.expm1(tilt)) for tilt in (-tilts, tilts))
        total: NDArray[np.float64] = tilts + own + (self.bins - 1) * other
        return total

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.FLIPPED_BITS, {"probability": self.flip_probability})

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Send the bins whose bit is 1 after flipping."""
        kind = np.min_scalar_type(self.bins - 1)
        at_once = max(1, int(_FLIPS_AT_ONCE / (self.bins * self.flip_probability + 1)))
        sent = [
            self._ones(people[start : start + at_once], rng).astype(kind) for start in range(0, people.size, at_once)
        ]
        return np.concatenate(sent) if sent else np.empty(0, dtype=kind)

    def _ones(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Cell person * bins + bin is a bit of a person; a flip clears the person's own cell or sets another one."""
        own = np.arange(people.size) * self.bins + people
        flipped = heads(people.size * self.bins, self.flip_probability, rng)
        return np.setxor1d(own, flipped, assume_unique=True) % self.bins

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Sample each bin independently."""
        return Tally(truth.symbols, self.estimator.draw(truth.counts, rng=rng), complete=len(truth) == self.bins)

    def randomizer_distribution(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact distribution of one person's messages, sorted, for verification on a few bins."""
        flip = Fraction(self.flip_probability)
        distribution: dict[tuple[Any, ...], Fraction] = {}
        for bits in product([0, 1], repeat=self.bins):
            wrong = sum(bit != (j == value) for j, bit in enumerate(bits))
            distribution[tuple(j for j, bit in enumerate(bits) if bit)] = flip**wrong * (1 - flip) ** (
                self.bins - wrong
            )
        return distribution
