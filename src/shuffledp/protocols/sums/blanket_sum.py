"""The sum of bits of CSU+19: everybody sends their bit, which is a fair coin now and then (protocols/flips.py)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.noise.coins import heads
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.cost import MessageCount
from shuffledp.protocols.flips import blanket_curve, check_flip, fewest_flips, published_flips
from shuffledp.protocols.promise import kept_promise
from shuffledp.protocols.sums.bits import SumOfBits, check_bits
from shuffledp.protocols.target import Target
from shuffledp.reading.supports import FlippedBits


@dataclass(frozen=True, kw_only=True)
class BlanketSum(SumOfBits):
    """One message of one bit each, flipped with `flip_probability`, a multiple of 2^-53."""

    flip_probability: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flip(self.flip_probability)

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """The fewest flips that are (epsilon, delta)-private by an upper bound."""
        target.needs_one_value(cls)
        return cls(
            users=target.users,
            bins=target.bins,
            flip_probability=fewest_flips(target, moved_bits=1),
            honest_users=target.honest,
            guarantee=target.promise("computed as an upper bound"),
        )

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """The published number of coins, for (epsilon, delta)."""
        target.needs_one_value(cls)
        flip = published_flips(target, moved_bits=1)
        return kept_promise(
            cls(
                users=target.users,
                bins=target.bins,
                flip_probability=flip,
                guarantee=target.promise("published parameters"),
            )
        )

    @cached_property
    def privacy(self) -> BlanketCurve:
        """The upper bound of the curve, counting the honest people's coins only."""
        return blanket_curve(self.honest, self.flip_probability, moved_bits=1)

    @cached_property
    def reading(self) -> FlippedBits:
        """How many ones arrive."""
        flip = self.flip_probability
        return FlippedBits(people=self.users, bins=1, true_support=1 - flip, false_support=flip)

    @property
    def messages_per_user(self) -> MessageCount:
        """The bit."""
        return MessageCount(expected=1.0, maximum=1.0)

    @property
    def noise_in_words(self) -> str:
        """How often bits are flipped."""
        return f"Each person sends the opposite of their bit with probability {self.flip_probability:.4g}."

    def _send(self, bits: NDArray[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
        """One bit for each person."""
        sent = bits.astype(np.uint8)
        sent[heads(bits.size, self.flip_probability, rng)] ^= 1
        return sent

    def tally(self, messages: ArrayLike) -> Tally:
        """How many ones there are."""
        bits = concatenate(messages)
        check_bits(bits, "messages")
        return Tally(np.array([1]), np.array([np.count_nonzero(bits)]), messages=bits.size)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        return Tally(truth.symbols, self.reading.draw(truth.counts, rng=rng))

    def randomizer_law(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact law of one person's message, for verification."""
        flip = Fraction(self.flip_probability)
        return {(value,): 1 - flip, (1 - value,): flip}
