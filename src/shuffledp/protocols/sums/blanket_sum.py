"""The sum of bits of CSU+19: everybody sends their bit, which is a fair coin now and then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.checks import whole
from shuffledp.errors import DataError
from shuffledp.noise.coins import heads
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import check_tally
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.randomized_bits import RandomizedBits
from shuffledp.protocols.release import MessageCount, kept_promise
from shuffledp.randomness import generator
from shuffledp.reading.supports import only_unbiased, read_supports


@dataclass(frozen=True, kw_only=True)
class BlanketSum(RandomizedBits):
    """One message of one bit each."""

    moved_bits = 1

    @classmethod
    def calibrate(cls, *, users: int, epsilon: float, delta: float, honest_users: int | None = None) -> Self:
        """The fewest flips that are (epsilon, delta)-private by an upper bound."""
        return cls(**cls._calibration(users=users, epsilon=epsilon, delta=delta, honest_users=honest_users))

    @classmethod
    def from_paper(cls, *, users: int, epsilon: float, delta: float) -> Self:
        """The published number of coins, for (epsilon, delta)."""
        return kept_promise(cls(**cls._published(users=users, epsilon=epsilon, delta=delta)))

    @property
    def messages_per_user(self) -> MessageCount:
        """One bit."""
        return MessageCount(expected=1.0, maximum=1.0)

    @property
    def bits_per_message(self) -> int:
        """One."""
        return 1

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """One bit for each person."""
        bits = np.atleast_1d(np.asarray(values))
        _check_bits(bits, "values")
        sent = bits.astype(np.uint8)
        sent[heads(bits.size, self.flip_probability, generator(rng))] ^= 1
        return sent

    def tally(self, messages: ArrayLike) -> Tally:
        """How many ones there are."""
        bits = concatenate(messages)
        _check_bits(bits, "messages")
        return Tally(np.array([1]), np.array([np.count_nonzero(bits)]), messages=bits.size)

    def sample_tally(self, ones: int, *, rng: np.random.Generator | None = None) -> Tally:
        """A tally drawn from its exact law when `ones` people hold a 1, without making messages."""
        count = whole("ones", ones, minimum=0)
        if count > self.users:
            raise DataError(f"there are more ones than {self.users} people")
        return Tally(np.array([1]), self._draw(np.array([count]), generator(rng)))

    def estimate(
        self, tally: Tally, *, estimator: str = "unbiased", beta: float = 0.05, reports: int | None = None
    ) -> Estimate:
        """The number of ones: `estimate[1]`, or `estimate.frequency(1)` as a share."""
        check_tally(tally, Tally)
        only_unbiased(estimator)
        ran = self.for_reports(reports)
        if tally.total > ran.users:
            raise DataError(f"more ones than {ran.users} people can send; give the number who reported as reports=")
        return read_supports(
            ran,
            replace(tally, symbols=np.array([0])),
            bins=1,
            supports=(1 - self.flip_probability, self.flip_probability),
            bound=ran.error(beta),
            people=ran.users,
            domain=Domain.of([1]),
        )

    def randomizer_law(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact law of one person's message, for verification."""
        flip = Fraction(self.flip_probability)
        return {(value,): 1 - flip, (1 - value,): flip}


def _check_bits(bits: NDArray[Any], what: str) -> None:
    if bits.size and (bits.ndim != 1 or bits.dtype.kind not in "biu" or bits.min() < 0 or bits.max() > 1):
        raise DataError(f"{what} must be bits: 0 or 1")
