"""What is written once for all histogram protocols.

A new protocol derives from `ShuffledHistogram` and writes its calibration (`for_target`), its privacy curve, the
reading of its tally, its messages (`_send`), their number, and a sentence about its noise. It draws its tally from the
exact law (`_draw`) where it knows that; otherwise messages are made, shuffled and counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import Curve
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import (
    failure_probability,
    head_count,
    honest_among,
    reporting,
    target_delta,
    target_epsilon,
    whole,
)
from shuffledp.errors import ParameterError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import (
    Counts,
    check_bins,
    check_domain,
    check_messages,
    check_tally,
    check_total,
    people_in_bins,
    true_counts,
)
from shuffledp.pipeline.shuffler import concatenate, shuffle
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.cost import MessageCount, bits_to_name
from shuffledp.protocols.promise import describe_release, reached
from shuffledp.protocols.target import Target
from shuffledp.randomness import generator
from shuffledp.reading.reading import ErrorBound, Reading
from shuffledp.words import readable

_BINS_PER_MESSAGE = 4
"""Counting every bin pays while there are at most this many of them for each message."""

_FEW_MESSAGES = 1000
"""With fewer messages than this, counting a few thousand bins costs nothing."""

_MAKING = 500.0
"""Elementary steps that making, shuffling and counting a message takes, about."""


@dataclass(frozen=True, kw_only=True)
class BaseHistogram(ABC):
    """A histogram protocol of any model: `users` people hold one of `bins` values each.

    `honest_users` is how many of them surely follow the protocol; only their noise counts for privacy. `guarantee` is
    what the noise was chosen for; the curve is in `privacy` whatever it is.
    """

    users: int
    bins: int
    honest_users: int | None = None
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        users = head_count("users", self.users)
        object.__setattr__(self, "users", users)
        object.__setattr__(self, "bins", whole("bins", self.bins))
        object.__setattr__(self, "honest_users", honest_among(self.honest_users, users=users))

    @classmethod
    def calibrate(
        cls, *, users: int, bins: int, epsilon: float, delta: float, honest_users: int | None = None, **choices: Any
    ) -> Self:
        """The least noise that makes the whole release (epsilon, delta)-private, with the `choices` of `for_target`."""
        target = Target(users=users, bins=bins, epsilon=epsilon, delta=delta, honest_users=honest_users)
        return cls.for_target(target, **choices)

    @classmethod
    def published(cls, *, users: int, bins: int, epsilon: float, delta: float) -> Self:
        """The published parameters for (epsilon, delta)-privacy of the whole release."""
        return cls.published_for(Target(users=users, bins=bins, epsilon=epsilon, delta=delta))

    @classmethod
    @abstractmethod
    def for_target(cls, target: Target) -> Self:
        """The protocol with the least noise for a target."""

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """The protocol with its published parameters for a target."""
        raise ParameterError(f"{cls.__name__} has no published parameters: use calibrate")

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """One, for protocols whose noise does not need other people."""
        target_epsilon(epsilon)
        target_delta(delta)
        return 1

    @property
    @abstractmethod
    def privacy(self) -> Curve:
        """The privacy curve of the whole release, counting the honest people's noise only."""

    @property
    @abstractmethod
    def reading(self) -> Reading:
        """How a tally is read."""

    @property
    @abstractmethod
    def messages_per_user(self) -> MessageCount:
        """How many messages one person sends."""

    @property
    def bits_per_message(self) -> int:
        """Bits that name a bin."""
        return bits_to_name(self.bins)

    @property
    def draws_its_law(self) -> bool:
        """Whether `_draw` uses the law of the tally, and makes no messages."""
        return True

    @property
    def drawing_cost(self) -> float:
        """A draw takes a few steps for each bin, and none beyond."""
        return 0.0

    @property
    def honest(self) -> int:
        """How many people surely follow the protocol."""
        return self.users if self.honest_users is None else self.honest_users

    def error(self, beta: float, *, occupied_bins: int | None = None) -> ErrorBound:
        """Errors in people before any release: bounds that fail with probability at most beta on any dataset.

        `occupied_bins` is how many different values people hold, if that is known to be small.
        """
        beta, most = failure_probability(beta), min(self.bins, self.users)
        occupied = most if occupied_bins is None else min(most, whole("occupied_bins", occupied_bins))
        per_bin, simultaneous = (self.reading.error(beta=beta, bins=bins, occupied=occupied) for bins in (1, self.bins))
        return ErrorBound(beta=beta, per_bin=per_bin, simultaneous=simultaneous)

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """A tally drawn from its law given the true counts.

        An array gives the count of every bin and draws every bin. A mapping or a Tally draws the bins it lists: that
        is enough for a truncated reading, which reports 0 for all others, and is what makes huge domains possible. The
        list of drawn bins is not private; only an estimate is. With `part` the counts are those of a part of the bins:
        draws of different parts can be joined.
        """
        return self._draw(true_counts(counts, users=self.users, bins=self.bins, part=part), generator(rng))

    @abstractmethod
    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """A tally of the bins that the truth lists."""

    def estimate(
        self, tally: Tally, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Estimate:
        """The histogram with intervals that hold with probability 1 - beta.

        `reports` is how many people really reported, if fewer than `users`. `domain` gives the bins their labels.
        """
        check_tally(tally, Tally)
        check_domain(domain, bins=self.bins)
        beta = failure_probability(beta)
        ran = self.for_reports(reports)
        ran._check_number(tally)
        about = partial(ran.describe, beta=beta)
        return read(ran.reading, tally, bins=self.bins, beta=beta, promise=ran.guarantee, about=about, domain=domain)

    def _check_number(self, tally: Tally) -> None:
        """Refuses a tally of another number of messages than this number of people send."""
        if self.messages_per_user.fixed:
            check_messages(tally, people=self.users, each=int(self.messages_per_user.maximum))

    def for_reports(self, reports: int | None) -> Self:
        """This protocol as it really ran when only some of the people reported: same randomizer, less noise.

        Only the noise of min(honest_users, reports) people is then sure. If that is less than was calibrated for, the
        guarantee is the one that was reached.
        """
        if reports is None or reports == self.users:
            return self
        people = reporting(reports, users=self.users)
        honest = min(self.honest, people)
        ran = replace(self, users=people, honest_users=honest, **self._noise_of(people))
        if self.guarantee is None or honest == self.honest:
            return ran
        return replace(ran, guarantee=reached(self.guarantee, ran.privacy))

    def _noise_of(self, people: int) -> dict[str, Any]:
        """The fields that are sums over all people, for some of them."""
        return {}

    def fresh(self, rng: np.random.Generator) -> Self:
        """The protocol with new public coins: itself, as it has none."""
        return self

    @property
    @abstractmethod
    def noise_in_words(self) -> str:
        """A sentence about the noise."""

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        error = self.error(beta).simultaneous
        return describe_release(self, bins=self.bins, noise=self.noise_in_words, error=error, beta=beta, drawn=drawn)


@dataclass(frozen=True, kw_only=True)
class ShuffledHistogram(BaseHistogram):
    """A protocol in which people send messages: whole numbers below `alphabet`, unless it says otherwise."""

    kinds: ClassVar[int] = 1
    """How many kinds of messages a bin has; message bin * kinds + kind."""

    most_bins_in_messages: ClassVar[int] = 2**32
    """With more bins no messages can be made."""

    numbered_messages: ClassVar[bool] = True
    """Whether messages are single whole numbers, which some engines need."""

    @property
    def alphabet(self) -> int:
        """How many different messages there are."""
        return self.bins * self.kinds

    @property
    def total_variance(self) -> float:
        """Variance of the number of everybody's messages together."""
        return 0.0

    @property
    def draws_its_law(self) -> bool:
        """Messages are made, unless a protocol knows the law of its tally and sets this to True."""
        return False

    @property
    def drawing_cost(self) -> float:
        """Messages have to be made unless the tally has a law that is drawn."""
        return 0.0 if self.draws_its_law else _MAKING * self.users * self.messages_per_user.expected

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The messages of one person (a bin) or of many (an array of bins)."""
        people = people_in_bins(values, bins=self.bins)
        if self.bins > self.most_bins_in_messages:
            raise ParameterError(
                f"bins={readable(self.bins)} is too many to send messages: draw the tally with sample_tally"
            )
        return self._send(people, generator(rng))

    @abstractmethod
    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """The messages of people with these values."""

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """How often each message occurs in each bin; also of messages that were counted elsewhere."""
        counted = messages if isinstance(messages, Tally) else None
        symbols = concatenate(messages) if counted is None else counted.symbols  # type: ignore[arg-type]
        check_bins(symbols, bins=self.alphabet, what="message")
        every = self.reading.phantoms or self.bins <= _BINS_PER_MESSAGE * max(symbols.size, _FEW_MESSAGES)
        if counted is None:
            counted = Tally.of_bins(symbols, bins=self.alphabet) if every else Tally.of(symbols)
        else:
            counted = replace(counted.dense(bins=self.alphabet) if every else counted, messages=counted.total)
        if self.kinds == 1:
            return counted
        if not every:
            return counted.by_kind(self.kinds)
        return replace(counted, symbols=np.arange(self.bins), counts=counted.counts.reshape(self.bins, self.kinds))

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Everybody's messages, made, shuffled and counted."""
        values = np.repeat(truth.symbols, truth.counts)
        return self.tally(shuffle(self.randomize(values, rng=rng), rng=rng))

    def _check_number(self, tally: Tally) -> None:
        """Everybody sends the same number of messages, or all together send about what is expected."""
        super()._check_number(tally)
        if tally.complete and not self.messages_per_user.fixed:
            expected = self.users * self.messages_per_user.expected
            check_total(tally.total, users=self.users, bins=self.bins, expected=expected, variance=self.total_variance)


def read(
    reading: Reading,
    tally: Tally,
    *,
    bins: int,
    beta: float,
    promise: Guarantee | None,
    about: Callable[..., str],
    domain: Domain | None,
) -> Estimate:
    """The estimate that a reading makes of a tally."""
    evidence = reading.evidence(tally)
    return Estimate(
        symbols=evidence.symbols,
        counts=reading.point(evidence),
        per_bin=reading.intervals(evidence, beta=beta, bins=1),
        simultaneous=reading.intervals(evidence, beta=beta, bins=bins),
        people=reading.people,
        bins=bins,
        beta=beta,
        estimator=reading.name,
        guarantee=promise,
        about=about,
        domain=domain,
    )
