"""Sums of bits, and the protocol P^zsum of Balcer and Cheu (Figure 1 and Theorem 3.1).

A person with bit x sends x + z copies of the message 1, where z is 1 except with probability `missing_probability`. All
messages are equal, so the shuffler's output is their number, (true count) + users - M. M is never negative, so if
nobody holds a 1 there are at most `users` messages: the analyzer reports 0 up to this number.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting import calibration
from shuffledp.accounting.curve import PrivacyCurve, Shift
from shuffledp.accounting.theorems import theorem_probability
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.estimators.counts import TruncatedCounts, UnbiasedCounts
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.inputs import check_tally
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.noise import Binomial
from shuffledp.noise.coins import count_heads
from shuffledp.protocols.base import BaseHistogram
from shuffledp.protocols.protocol import MessageCount
from shuffledp.protocols.target import Target, computed, need_one_value
from shuffledp.randomness import generator
from shuffledp.validation import target_delta, target_epsilon, whole

_THE_ONES = Domain.of([1])


@dataclass(frozen=True, kw_only=True)
class SumOfBits(BaseHistogram):
    """A protocol for `users` people with a bit each."""

    bins: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bins != 1:
            raise ParameterError(f"a sum of bits has bins=1, got {self.bins}")

    @classmethod
    def calibrate(
        cls, *, users: int, epsilon: float, delta: float, bins: int = 1, honest_users: int | None = None, **choices: Any
    ) -> Self:
        """Return the protocol with the least noise for (epsilon, delta)-privacy, with the `choices` of `for_target`."""
        target = Target(users=users, bins=bins, epsilon=epsilon, delta=delta, honest_users=honest_users)
        return cls.for_target(target, **choices)

    @classmethod
    def published(cls, *, users: int, epsilon: float, delta: float, bins: int = 1) -> Self:
        """Return the protocol with the published parameters for (epsilon, delta)-privacy."""
        return cls.published_for(Target(users=users, bins=bins, epsilon=epsilon, delta=delta))

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
        """Count the messages that are 1."""

    def sample_tally(self, counts: Any, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """Sample a tally from its exact distribution, given the number of people who hold a 1 (`counts`)."""
        ones = whole("ones", counts, minimum=0)
        if ones > self.users:
            raise DataError(f"there are more ones than {self.users} people")
        return replace(self._draw(Tally(np.array([1]), np.array([ones])), generator(rng)), drawn=True)

    def estimate(
        self,
        tally: Tally,
        *,
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
        forged: bool = False,
    ) -> Estimate:
        """Estimate the number of ones: `estimate[1]`, or `estimate.frequency(1)` as the paper normalises it."""
        check_tally(tally, Tally)
        one_bin = replace(tally, symbols=np.array([0]), counts=np.array([tally.total]))
        domain = _THE_ONES if domain is None else domain
        return super().estimate(one_bin, beta=beta, reports=reports, domain=domain, forged=forged)


def check_bits(bits: NDArray[Any], what: str) -> None:
    """Refuse anything but zeros and ones in a flat array."""
    if bits.size and (bits.ndim != 1 or bits.dtype.kind not in "biu" or bits.min() < 0 or bits.max() > 1):
        raise DataError(f"{what} must be bits: 0 or 1")


@dataclass(frozen=True, kw_only=True)
class MissingMessages(BaseHistogram):
    """One noise message of each person in each bin, missing with `missing_probability` (gamma = 1 - p in the paper).

    `truncated` selects the paper's zero-preserving estimator, otherwise an unbiased one.
    """

    missing_probability: float
    truncated: bool = True

    theorem: ClassVar[str]
    moved: ClassVar[int]
    """The number of bins that a replaced value moves, among which the theorem divides the guarantee."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.noise  # validates the probability

    @classmethod
    @abstractmethod
    def _least(cls, target: Target) -> float | None:
        """The smallest probability that gives the guarantee; None if none does."""

    @classmethod
    def for_target(cls, target: Target, *, truncated: bool = True) -> Self:
        """Return the protocol with the least noise that makes the whole release exactly (epsilon, delta)-private."""
        values, probability = target.values_per_person, cls._least(target)
        if probability is None:
            needed = cls.minimum_users(epsilon=target.epsilon, delta=target.delta, values_per_person=values)
            raise target.too_few(needed, instead="or a larger epsilon or delta")
        return cls._made(target, computed(values), missing_probability=probability, truncated=truncated)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the paper's noise, which is (epsilon, delta)-private by its theorem."""
        target.needs_one_value(cls)
        exactly = cls.minimum_users(epsilon=target.epsilon, delta=target.delta)
        if target.epsilon > cls.moved:
            raise ParameterError(
                f"epsilon={target.epsilon:g} is above {cls.moved}, where {cls.theorem} does not hold: calibrate instead"
            )
        epsilon, delta = target.epsilon / cls.moved, target.delta / cls.moved
        try:
            probability = theorem_probability(users=target.users, epsilon=epsilon, delta=delta)
        except TooFewUsersError as error:
            raise target.too_few(
                error.minimum_users,
                how="with the theorem's constants",
                instead=f"or calibrate exactly to need only {exactly}",
            ) from None
        return cls._published(target, cls.theorem, missing_probability=probability)

    @cached_property
    def noise(self) -> Binomial:
        """The distribution of M, the number of noise messages missing from a bin; its mean is lambda."""
        return Binomial(trials=self.users, probability=self.missing_probability)

    @cached_property
    def estimator(self) -> TruncatedCounts | UnbiasedCounts:
        """The zero-preserving or the unbiased estimator."""
        if self.truncated:
            return TruncatedCounts(noise=self.noise, people=self.users, values_per_person=self.values_per_person)
        return UnbiasedCounts(noise=self.noise, people=self.users, bins=self.bins, missing=True)


@dataclass(frozen=True, kw_only=True)
class BinarySum(SumOfBits, MissingMessages):  # in this order, the sum's default of bins counts
    """The two-message sum of bits."""

    theorem = "Theorem 3.1"
    moved = 1

    @classmethod
    def _least(cls, target: Target) -> float | None:
        target.needs_one_value(cls)
        return calibration.smallest_probability(
            _curve, users=target.honest, epsilon=target.epsilon, delta=target.delta, shifts=1
        )

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible."""
        need_one_value(cls, values=values_per_person)
        return calibration.fewest_users(_curve, epsilon=target_epsilon(epsilon), delta=target_delta(delta), shifts=1)

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The exact privacy curve, counting the honest people's noise only."""
        return _curve(self.honest, self.missing_probability)

    @property
    def messages_per_user(self) -> MessageCount:
        """The number of messages of a person who holds a 1."""
        return MessageCount(expected=2 - self.missing_probability, maximum=2)

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.OMITTED_MESSAGE, {"probability": self.missing_probability, "mean": self.noise.mean})

    def _send(self, bits: NDArray[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
        missing = count_heads(bits.size, self.missing_probability, rng)
        return np.ones(int(np.count_nonzero(bits)) + bits.size - missing, dtype=np.uint8)

    def tally(self, messages: ArrayLike) -> Tally:
        """Count all messages."""
        ones = concatenate(messages)
        if ones.size and not (ones == 1).all():
            raise DataError("every message of this protocol is a 1; something else was received")
        return Tally(np.array([1]), np.array([ones.size]), messages=ones.size)

    def _fewest_reports(self, tally: Tally) -> int:
        """Half of the number of messages: if everyone holds a 1, most people send two."""
        return max(1, -(-(tally.messages or 0) // 2))

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        return Tally(truth.symbols, truth.counts + self.users - self.noise.sample(1, rng=rng))

    def randomizer_distribution(self, value: int) -> dict[tuple[Any, ...], Fraction]:
        """The exact distribution of one person's messages, for verification."""
        missing = Fraction(self.missing_probability)
        return {(1,) * value: missing, (1,) * (value + 1): 1 - missing}


def _curve(honest_users: int, missing_probability: float) -> PrivacyCurve:
    """A replaced bit moves the number of messages by one."""
    return PrivacyCurve.of_shifts(
        Shift(distribution=Binomial(trials=honest_users, probability=missing_probability), by=1)
    )
