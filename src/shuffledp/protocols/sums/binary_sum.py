"""P^zsum: how many people hold a 1, with at most two messages each (Balcer and Cheu, Figure 1 and Theorem 3.1).

A person with bit x sends x + z copies of the message 1, where z is 1 except with probability `missing_probability`.
All messages are equal, so the shuffler's output is no more than their number, (true count) + users - M. As M is never
negative, nobody holding a 1 gives at most `users` messages: the analyzer reports 0 up to there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import PrivacyCurve, Shift
from shuffledp.checks import whole
from shuffledp.errors import DataError
from shuffledp.noise import Binomial
from shuffledp.noise.coins import count_heads
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import check_tally
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.missing_noise import MissingNoise
from shuffledp.protocols.release import MessageCount
from shuffledp.randomness import generator


@dataclass(frozen=True, kw_only=True)
class BinarySum(MissingNoise):
    """The two-message protocol for a sum of bits."""

    @classmethod
    def calibrate(cls, *, users: int, epsilon: float, delta: float, honest_users: int | None = None) -> Self:
        """The smallest noise that makes the release (epsilon, delta)-private, exactly."""
        return cls(**cls._calibration(users=users, epsilon=epsilon, delta=delta, honest_users=honest_users))

    @classmethod
    def from_theorem(cls, *, users: int, epsilon: float, delta: float) -> Self:
        """The paper's noise: (epsilon, delta)-private by Theorem 3.1 i."""
        return cls(**cls._theorem(users=users, epsilon=epsilon, delta=delta, name="Theorem 3.1", factor=1))

    @staticmethod
    def curve(honest_users: int, missing_probability: float) -> PrivacyCurve:
        """A replaced bit moves the number of messages by one."""
        return PrivacyCurve.of_shifts(Shift(law=Binomial(trials=honest_users, probability=missing_probability), by=1))

    @property
    def bin_count(self) -> int:
        """One sum."""
        return 1

    @property
    def messages_per_user(self) -> MessageCount:
        """Of a person who holds a 1."""
        return MessageCount(expected=2 - self.missing_probability, maximum=2)

    @property
    def bits_per_message(self) -> int:
        """Theorem 3.1 iv."""
        return 1

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """The messages of one person (a bit) or of many (an array of bits): that many ones."""
        bits = np.atleast_1d(np.asarray(values))
        if bits.size and (bits.ndim != 1 or bits.dtype.kind not in "biu" or bits.min() < 0 or bits.max() > 1):
            raise DataError("values must be bits: 0 or 1")
        missing = count_heads(bits.size, self.missing_probability, generator(rng))
        return np.ones(int(np.count_nonzero(bits)) + bits.size - missing, dtype=np.uint8)

    def tally(self, messages: ArrayLike) -> Tally:
        """How many messages there are."""
        ones = concatenate(messages)
        if ones.size and not (ones == 1).all():
            raise DataError("every message of this protocol is a 1; something else was received")
        return Tally(np.array([1]), np.array([ones.size]))

    def sample_tally(self, ones: int, *, rng: np.random.Generator | None = None) -> Tally:
        """A tally drawn from its exact law when `ones` people hold a 1, without making messages."""
        count = whole("ones", ones, minimum=0)
        if count > self.users:
            raise DataError(f"{count} ones among {self.users} people")
        return Tally(np.array([1]), count + self.users - self.noise.sample(1, rng=generator(rng)))

    def estimate(
        self, tally: Tally, *, estimator: str = "truncated", beta: float = 0.05, reports: int | None = None
    ) -> Estimate:
        """The number of ones: `estimate[1]`, or `estimate.frequency(1)` as the paper normalises it."""
        check_tally(tally, Tally)
        number = np.array([tally.total])
        ran = self.for_reports(reports)
        return ran._read(np.array([0]), number, estimator=estimator, beta=beta, domain=Domain.of([1]))

    def randomizer_law(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact law of one person's messages, for verification."""
        missing = Fraction(self.missing_probability)
        return {(1,) * value: missing, (1,) * (value + 1): 1 - missing}
