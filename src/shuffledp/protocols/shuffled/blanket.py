"""The protocols of CSU+19: everyone sends their bits, each sometimes replaced by a fair coin.

From Cheu, Smith, Ullman, Zeber and Zhilyaev, "Distributed differential privacy via shuffling". With probability l / n a
bit is replaced by a fair coin, so it is flipped with probability f = l / (2 n). The histogram is the sum of bits for
every bin at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting import calibration
from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.estimators.supports import FlippedBits
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.noise.binomial import round_up_to_grid, safely_up
from shuffledp.noise.coins import heads
from shuffledp.protocols.base import BaseHistogram
from shuffledp.protocols.protocol import MessageCount, expected_messages
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.sums.binary_sum import SumOfBits, check_bits
from shuffledp.protocols.target import Target, require_guarantee
from shuffledp.validation import real

_FLIPS_AT_ONCE = 1 << 18
"""The number of flips made together, so that they stay in the cache."""

_NO_TRUTH = 1e-9
"""If the published number of coins leaves the true bits of fewer people than this, it is refused."""


@dataclass(frozen=True, kw_only=True)
class FlippedProtocol(BaseHistogram):
    """Bits that are flipped with `flip_probability`, a multiple of 2^-53; a replaced value changes `moved_bits`."""

    flip_probability: float

    moved_bits: ClassVar[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        flip = real("flip_probability", self.flip_probability)
        if not 0 < flip < 0.5 or flip != round_up_to_grid(flip):
            raise ParameterError(
                f"flip_probability must be a multiple of 2^-53 strictly between 0 and 1/2, got {flip!r}"
            )

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """Return the protocol with the fewest flips for which an upper bound gives (epsilon, delta)-privacy."""
        target.needs_one_value(cls)
        # with this flip probability each message is private by itself
        alone = safely_up(1 / (1 + math.exp(target.epsilon / cls.moved_bits)))
        found = _allowed_flips(target.honest, target.epsilon, target.delta, cls.moved_bits)
        flip = alone if found is None else min(found, alone)
        return cls._made(target, "computed as an upper bound", flip_probability=flip)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the protocol with the published number of coins, with an equal share of the guarantee for each bit."""
        target.needs_one_value(cls)
        share = {"epsilon": target.epsilon / cls.moved_bits, "delta": target.delta / cls.moved_bits}
        flip = safely_up(published_coins(users=target.users, **share) / (2 * target.users))
        return require_guarantee(cls._published(target, flip_probability=flip))

    @cached_property
    def privacy(self) -> BlanketCurve:
        """An upper bound on the privacy curve, counting the honest people's coins only."""
        return BlanketCurve(users=self.honest, flip_probability=self.flip_probability, shifts=self.moved_bits)

    @cached_property
    def estimator(self) -> FlippedBits:
        """The estimator of counts from the number of ones of each bin."""
        flip = self.flip_probability
        return FlippedBits(people=self.users, bins=self.bins, true_support=1 - flip, false_support=flip)


@lru_cache(maxsize=64)
def _allowed_flips(users: int, epsilon: float, delta: float, moved_bits: int) -> float | None:
    """Cached: it takes up to seconds, and a comparison needs it for every number of values."""
    return calibration.smallest_probability(
        lambda people, flip: BlanketCurve(users=people, flip_probability=flip, shifts=moved_bits),
        users=users,
        epsilon=epsilon,
        delta=delta,
        shifts=moved_bits,
    )


def published_coins(*, users: int, epsilon: float, delta: float) -> float:
    """The number l of CSU+19 for one sum: 64 ln(4/delta) / epsilon^2 if this is at most n / 3, otherwise larger."""
    log = math.log(4 / delta)
    if epsilon >= math.sqrt(192 * log / users):
        return 64 * log / epsilon**2
    coins: float = users - epsilon * users**1.5 / math.sqrt(432 * log)
    if 2 * users * (1 - coins / users) ** 2 < _NO_TRUTH:
        raise TooFewUsersError(
            f"users={users} is too few for epsilon={epsilon:g}, delta={delta:g} with the published parameters",
            minimum_users=math.ceil(192 * log / epsilon**2),
        )
    return coins


@dataclass(frozen=True, kw_only=True)
class BlanketSum(SumOfBits, FlippedProtocol):  # in this order, the sum's default of bins counts
    """One message of one bit each.

    If c of n people hold a 1, the number of ones is Bin(c, 1 - f) + Bin(n - c, f).
    """

    moved_bits = 1

    @property
    def messages_per_user(self) -> MessageCount:
        """The bit."""
        return MessageCount(expected=1.0, maximum=1.0)

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.FLIPPED_BIT, {"probability": self.flip_probability})

    def _send(self, bits: NDArray[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
        sent = bits.astype(np.uint8)
        sent[heads(bits.size, self.flip_probability, rng)] ^= 1
        return sent

    def tally(self, messages: ArrayLike) -> Tally:
        """Count the ones."""
        bits = concatenate(messages)
        check_bits(bits, "messages")
        return Tally(np.array([1]), np.array([np.count_nonzero(bits)]), messages=bits.size)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        return Tally(truth.symbols, self.estimator.draw(truth.counts, rng=rng))

    def randomizer_distribution(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact distribution of one person's message, for verification."""
        flip = Fraction(self.flip_probability)
        return {(value,): 1 - flip, (1 - value,): flip}


@dataclass(frozen=True, kw_only=True)
class BlanketHistogram(FlippedProtocol, ShuffledHistogram):
    """A bit for every bin: a 1 for a person's own bin and a 0 for every other one.

    Only ones are sent: the number of people is known, so zeros add no information. The published protocol sends all d
    bits.
    """

    moved_bits = 2
    samples_exactly = True

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
