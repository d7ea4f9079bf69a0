"""The sum of bits of CSU+19: everyone sends their bit, sometimes replaced by a fair coin.

From Cheu, Smith, Ullman, Zeber and Zhilyaev, "Distributed differential privacy via shuffling". With probability l / n a
bit is replaced by a fair coin, so it is flipped with probability f = l / (2 n). If c of n people hold a 1, the number
of ones is Bin(c, 1 - f) + Bin(n - c, f).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

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
from shuffledp.protocols.guarantee import require_guarantee
from shuffledp.protocols.protocol import MessageCount
from shuffledp.protocols.sums.binary_sum import SumOfBits, check_bits
from shuffledp.protocols.target import Target
from shuffledp.validation import real

_NO_TRUTH = 1e-9
"""If the published number of coins leaves the true bits of fewer people than this, it is refused."""


def check_flip(flip_probability: float) -> None:
    """Refuse a probability that cannot be sampled exactly or is at least 1/2."""
    flip = real("flip_probability", flip_probability)
    if not 0 < flip < 0.5 or flip != round_up_to_grid(flip):
        raise ParameterError(f"flip_probability must be a multiple of 2^-53 strictly between 0 and 1/2, got {flip!r}")


def blanket_curve(users: int, flip_probability: float, *, moved_bits: int) -> BlanketCurve:
    """An upper bound on the privacy curve, together with a lower bound, if a replaced value changes some bits."""
    return BlanketCurve(users=users, flip_probability=flip_probability, shifts=moved_bits)


def fewest_flips(target: Target, *, moved_bits: int) -> float:
    """The smallest flip probability for which the upper bound reaches the target."""
    # with this flip probability each message is private by itself
    alone = safely_up(1 / (1 + math.exp(target.epsilon / moved_bits)))
    found = _allowed_flips(target.honest, target.epsilon, target.delta, moved_bits)
    return alone if found is None else min(found, alone)


@lru_cache(maxsize=64)
def _allowed_flips(users: int, epsilon: float, delta: float, moved_bits: int) -> float | None:
    """Cached: it takes up to seconds, and a comparison needs it for every number of values."""
    return calibration.smallest_probability(
        lambda people, flip: blanket_curve(people, flip, moved_bits=moved_bits),
        users=users,
        epsilon=epsilon,
        delta=delta,
        shifts=moved_bits,
    )


def published_flips(target: Target, *, moved_bits: int) -> float:
    """The published flip probability, for a guarantee that is divided among the bits that move."""
    coins = published_coins(users=target.users, epsilon=target.epsilon / moved_bits, delta=target.delta / moved_bits)
    return safely_up(coins / (2 * target.users))


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
class BlanketSum(SumOfBits):
    """One message of one bit each, flipped with `flip_probability`, a multiple of 2^-53."""

    flip_probability: float

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
            flip_probability=fewest_flips(target, moved_bits=1),
            honest_users=target.honest,
            guarantee=target.guarantee("computed as an upper bound"),
        )

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the protocol with the published number of coins."""
        target.needs_one_value(cls)
        flip = published_flips(target, moved_bits=1)
        return require_guarantee(
            cls(
                users=target.users,
                bins=target.bins,
                flip_probability=flip,
                guarantee=target.guarantee("published parameters"),
            )
        )

    @cached_property
    def privacy(self) -> BlanketCurve:
        """An upper bound on the privacy curve, counting the honest people's coins only."""
        return blanket_curve(self.honest, self.flip_probability, moved_bits=1)

    @cached_property
    def estimator(self) -> FlippedBits:
        """The estimator of the count from the number of ones."""
        flip = self.flip_probability
        return FlippedBits(people=self.users, bins=1, true_support=1 - flip, false_support=flip)

    @property
    def messages_per_user(self) -> MessageCount:
        """The bit."""
        return MessageCount(expected=1.0, maximum=1.0)

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.FLIPPED_BIT, {"probability": self.flip_probability})

    def _send(self, bits: NDArray[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
        """Send one bit for each person."""
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
