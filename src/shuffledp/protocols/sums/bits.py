"""What the sums of bits have in common: one number is estimated, how many people hold a 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import Curve
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import failure_probability, head_count, honest_among, reporting, whole
from shuffledp.errors import DataError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import check_messages, check_tally
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.base import read
from shuffledp.protocols.cost import MessageCount
from shuffledp.protocols.promise import describe_release, reached
from shuffledp.protocols.target import Target
from shuffledp.randomness import generator
from shuffledp.reading.reading import ErrorBound, Reading

_THE_ONES = Domain.of([1])


@dataclass(frozen=True, kw_only=True)
class SumOfBits(ABC):
    """A protocol for `users` people with a bit each, of whom `honest_users` surely follow it."""

    users: int
    honest_users: int | None = None
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        users = head_count("users", self.users)
        object.__setattr__(self, "users", users)
        object.__setattr__(self, "honest_users", honest_among(self.honest_users, users=users))

    @classmethod
    def calibrate(
        cls, *, users: int, epsilon: float, delta: float, honest_users: int | None = None, **choices: Any
    ) -> Self:
        """The least noise that makes the release (epsilon, delta)-private; `choices` are those of `for_target`."""
        target = Target(users=users, bins=1, epsilon=epsilon, delta=delta, honest_users=honest_users)
        return cls.for_target(target, **choices)

    @classmethod
    def published(cls, *, users: int, epsilon: float, delta: float) -> Self:
        """The published parameters for (epsilon, delta)-privacy."""
        return cls.published_for(Target(users=users, bins=1, epsilon=epsilon, delta=delta))

    @classmethod
    @abstractmethod
    def for_target(cls, target: Target) -> Self:
        """The protocol with the least noise for a target of one bin."""

    @classmethod
    @abstractmethod
    def published_for(cls, target: Target) -> Self:
        """The protocol with its published parameters for a target of one bin."""

    @property
    @abstractmethod
    def privacy(self) -> Curve:
        """The privacy curve, counting the honest people's noise only."""

    @property
    @abstractmethod
    def reading(self) -> Reading:
        """How the number of messages is read."""

    @property
    @abstractmethod
    def messages_per_user(self) -> MessageCount:
        """How many messages one person sends."""

    @property
    def bits_per_message(self) -> int:
        """A message is a bit."""
        return 1

    @property
    def honest(self) -> int:
        """How many people surely follow the protocol."""
        return self.users if self.honest_users is None else self.honest_users

    def error(self, beta: float) -> ErrorBound:
        """Errors in people before any release: bounds that fail with probability at most beta on any dataset."""
        beta = failure_probability(beta)
        error = self.reading.error(beta=beta, bins=1, occupied=1)
        return ErrorBound(beta=beta, per_bin=error, simultaneous=error)

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """The messages of one person (a bit) or of many (an array of bits)."""
        bits = np.atleast_1d(np.asarray(values))
        check_bits(bits, "values")
        return self._send(bits, generator(rng))

    @abstractmethod
    def _send(self, bits: NDArray[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
        """The messages of people with these bits."""

    @abstractmethod
    def tally(self, messages: ArrayLike) -> Tally:
        """How many messages are a 1."""

    def sample_tally(self, ones: int, *, rng: np.random.Generator | None = None) -> Tally:
        """A tally drawn from its exact law when `ones` people hold a 1, without making messages."""
        count = whole("ones", ones, minimum=0)
        if count > self.users:
            raise DataError(f"there are more ones than {self.users} people")
        return self._draw(count, generator(rng))

    @abstractmethod
    def _draw(self, ones: int, rng: np.random.Generator) -> Tally:
        """A tally for a number of ones."""

    def estimate(
        self, tally: Tally, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Estimate:
        """The number of ones: `estimate[1]`, or `estimate.frequency(1)` as the paper normalises it."""
        check_tally(tally, Tally)
        beta, ran = failure_probability(beta), self.for_reports(reports)
        if ran.messages_per_user.fixed:
            check_messages(tally, people=ran.users, each=int(ran.messages_per_user.maximum))
        total = Tally(np.array([0]), np.array([tally.total]))
        return read(
            ran.reading,
            total,
            bins=1,
            beta=beta,
            promise=ran.guarantee,
            about=partial(ran.describe, beta=beta),
            domain=_THE_ONES if domain is None else domain,
        )

    def for_reports(self, reports: int | None) -> Self:
        """This protocol as it really ran when only some of the people reported; see BaseHistogram.for_reports."""
        if reports is None or reports == self.users:
            return self
        people = reporting(reports, users=self.users)
        honest = min(self.honest, people)
        ran = replace(self, users=people, honest_users=honest)
        if self.guarantee is None or honest == self.honest:
            return ran
        return replace(ran, guarantee=reached(self.guarantee, ran.privacy))

    @property
    @abstractmethod
    def noise_in_words(self) -> str:
        """A sentence about the noise."""

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        error = self.error(beta).simultaneous
        return describe_release(self, bins=1, noise=self.noise_in_words, error=error, beta=beta, drawn=drawn)


def check_bits(bits: NDArray[Any], what: str) -> None:
    """Refuses anything but zeros and ones in a flat array."""
    if bits.size and (bits.ndim != 1 or bits.dtype.kind not in "biu" or bits.min() < 0 or bits.max() > 1):
        raise DataError(f"{what} must be bits: 0 or 1")
