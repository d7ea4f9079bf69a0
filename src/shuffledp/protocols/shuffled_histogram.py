"""What is written once for all protocols in which people send messages.

A new protocol derives from `ShuffledHistogram` and writes its calibration (`for_target`), its privacy curve, the
reading of its tally, its messages (`_send`), their number, and a sentence about its noise. It draws its tally from the
exact law (`_draw`) where it knows that; otherwise messages are made, shuffled and counted.

How many messages a report may hold, where people draw their number: who draws more draws again.

Let A be the event that nobody of n people draws more than `most` messages, and eta >= n P(more) bound the chance that
it fails. The number of messages has the same law whatever somebody holds, so P(A) is the same for neighbours, and for
every set S of outcomes

    P_x(S | A) = P_x(S and A) / P(A) <= (e^epsilon P_x'(S and A) + delta) / P(A) = e^epsilon P_x'(S | A) + delta / P(A).

Drawing again therefore costs a factor 1 / (1 - eta) in delta, for every epsilon, alone and in any composition.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting import participation as participation
from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import readable
from shuffledp.histogram.facts import ProtocolFacts
from shuffledp.histogram.inputs import check_bins, filled_up, people_in_bins
from shuffledp.histogram.shuffle import concatenate, shuffle
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.base import BaseHistogram
from shuffledp.randomness import generator
from shuffledp.validation import whole

_BINS_PER_MESSAGE = 4
"""Counting every bin pays while there are at most this many of them for each message."""

_FEW_MESSAGES = 1000
"""With fewer messages than this, counting a few thousand bins costs nothing."""

_MAKING = 500.0
"""Elementary steps that making, shuffling and counting a message takes, about."""


@dataclass(frozen=True, kw_only=True)
class ShuffledHistogram(BaseHistogram):
    """A protocol in which people send messages: the numbers bin * kinds + kind, unless it says otherwise.

    `batch` is the protocol of each of the batches that were `joined`, and None of a single one.
    """

    batch: ShuffledHistogram | None = field(default=None, repr=False)

    most_bins_in_messages: ClassVar[int] = 2**32
    """With more bins no messages can be made."""

    numbered_messages: ClassVar[bool] = True
    """Whether messages are single whole numbers, which some engines need."""

    joins: ClassVar[bool] = False
    """Whether the noise of several batches adds up to that of one with as many people."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch is not None and not self._joins(self.batch):
            raise ParameterError("batch must be the protocol of batches that were joined to this one: use joined")

    def _joins(self, batch: ShuffledHistogram) -> bool:
        """Whether this is what several batches of a protocol make together."""
        if type(batch) is not type(self) or batch.batch is not None or self.users % batch.users:
            return False
        added = {"honest_users": batch.honest, **batch._noise_of(self.users)}
        same = (each.name for each in fields(self) if each.name not in ("users", "guarantee", "batch"))
        return all(getattr(self, name) == added.get(name, getattr(batch, name)) for name in same)

    @property
    def batches(self) -> int:
        """How many batches were joined."""
        return 1 if self.batch is None else self.users // self.batch.users

    @property
    def alphabet(self) -> int:
        """How many different messages there are."""
        return self.bins * self.kinds

    def participation_statistic(self, tally: Tally) -> float:
        """A number that grows with the people who reported, whatever their values: how many messages there are."""
        return tally.total

    def participation_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln E e^(t S) of one person's part S of that number (accounting/participation.py)."""
        return np.where(tilts > 0, np.inf, 0.0)

    def messages_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln E e^(t N) of the number N of messages of one person, which has the same law whatever they hold."""
        return self.participation_cumulant(tilts)

    @property
    def samples_exactly(self) -> bool:
        """Messages are made, unless a protocol knows the law of its tally and sets this to True."""
        return False

    @property
    def drawing_cost(self) -> float:
        """Messages have to be made unless the tally has a law that is drawn."""
        return 0.0 if self.samples_exactly else _MAKING * self.users * self.messages_per_user.expected

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The messages of one person (a bin) or of many (an array of bins).

        Where people hold several values, or can hold none, an array with a row for each person: different bins, and
        -1 where there is none. It is filled up here, so that the number of messages does not tell how many they hold.
        """
        if self.values_per_person > 1 or self.padding_bins:
            people = filled_up(values, bins=self.bins, each=self.values_per_person, padding_bins=self.padding_bins)
        else:
            people = people_in_bins(values, bins=self.bins)
        if self.bins > self.most_bins_in_messages:
            raise ParameterError(
                f"bins={readable(self.bins)} is too many to send messages: draw the tally with sample_tally"
            )
        return self._send(people, generator(rng))

    @abstractmethod
    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """The messages of people with these bins: one each, or a row of several."""

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """How often each message occurs in each bin; also of messages that were counted elsewhere."""
        counted = messages if isinstance(messages, Tally) else None
        symbols = concatenate(messages) if counted is None else counted.symbols  # type: ignore[arg-type]
        check_bins(symbols, bins=self.alphabet, what="message")
        every = self.estimator.false_positives or self.bins <= _BINS_PER_MESSAGE * max(symbols.size, _FEW_MESSAGES)
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
        """Everybody sends the same number of messages, or all together send a number that is likely for them."""
        super()._check_number(tally)
        if not tally.complete or self.messages_per_user.fixed:
            return
        statistic = self.participation_statistic(tally)
        if (
            not participation.fewest_people(statistic, self.participation_cumulant)
            <= self.users
            <= participation.most_people(statistic, self.participation_cumulant)
        ):
            raise DataError(
                f"{tally.total} messages do not fit {self.users} people in {readable(self.bins)} bins, who send about "
                f"{self.users * self.messages_per_user.expected:.0f}; give the number who reported as reports="
            )

    def _check_participation(self, tally: Tally) -> None:
        """A tally that somebody made by hand, or a part of one, does not say how many people reported."""
        if tally.messages is None or not tally.complete:
            raise DataError(
                "this tally does not say how many messages were counted, and so not how many people reported: give "
                "their number as reports="
            )
        super()._check_participation(tally)

    def _fewest_reports(self, tally: Tally) -> int:
        """As the number of messages says."""
        if self.messages_per_user.fixed:
            return self.users
        return participation.fewest_people(self.participation_statistic(tally), self.participation_cumulant)

    def fewest_reports(self, tally: Tally) -> int:
        """The fewest people who send so many messages, but for `turnout.RISK`, whatever the messages are."""
        if self.messages_per_user.fixed:
            return math.ceil(_number(tally) / self.messages_per_user.maximum)
        return participation.fewest_people(_number(tally), self.messages_cumulant)

    def most_reports(self, tally: Tally) -> float:
        """The most people who send so few messages, but for `turnout.RISK`; it can be infinite.

        Messages that somebody adds never make it smaller.
        """
        if self.messages_per_user.fixed:
            return math.floor(_number(tally) / self.messages_per_user.maximum)
        return participation.most_people(_number(tally), self.messages_cumulant)

    def _with_forged(self, tally: Tally) -> Tally:
        """Noise must not be missing: honest people send as many messages as they do, whatever others add."""
        honest = self.honest * self.batches
        if not tally.complete or self.most_reports(tally) < honest:
            raise DataError(
                f"{_number(tally)} messages are too few for {honest} honest people, who send about "
                f"{honest * self.messages_per_user.expected:.0f}: noise is missing, and the guarantee was not reached"
            )
        return replace(tally, counts=self._possible(tally.counts))

    def _possible(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nearest counts that this number of people can make, so that what is forged cannot stop a release."""
        return counts

    def joined(self, batches: int) -> ShuffledHistogram:
        """This protocol for the people of several batches of `users` each, whose tallies are added: same randomizer.

        Everybody is in one batch, and every batch is mixed and counted by itself. A replaced value changes the law of
        the tally of its batch only, which is private by the curve of this protocol; the other tallies are independent
        of it and have the same law for both neighbours. So all tallies together, whatever is released of them, have the
        curve of one batch (parallel composition), and the guarantee stays the same: `honest_users` are those of one
        batch, since the noise of other batches is in other tallies.
        """
        if not self.joins:
            raise ParameterError(f"batches of {type(self).__name__} cannot be joined: its noise does not add up")
        number = whole("batches", batches)
        if number == 1:
            return self
        if self.batch is not None:
            return self.batch.joined(number * self.batches)
        people = number * self.users
        return replace(self, users=people, honest_users=self.honest, batch=self, **self._noise_of(people))

    def for_reports(self, reports: int | None) -> Self:
        """As of any protocol; batches that are joined are whole, since nobody knows whose batch the missing are in."""
        if self.batches > 1 and reports not in (None, self.users):
            raise ParameterError(f"batches are joined when they are whole: reports must be users={self.users}")
        return super().for_reports(reports)

    def facts(self, *, drawn: bool = False) -> ProtocolFacts:
        """The facts that a reader of a release must know, of each of the joined batches."""
        return replace(super().facts(drawn=drawn), users=self.users // self.batches, batches=self.batches)


def _number(tally: Tally) -> int:
    """How many messages were counted."""
    return tally.total if tally.messages is None else tally.messages


SHARE_OF_DELTA = 1e-3
"""The chance that anybody draws again is at most this share of delta."""

SELDOM = 2.0**-44
"""And at most this, far below the margins that every delta has for rounding (accounting/rounding.py): a curve that
does not know of the limit, as in a ledger, is then still on the safe side. It makes the limit a few messages larger."""

_TILTS = np.geomspace(1e-9, 50.0, 400)
"""Tilts of Chernoff's bound that are tried; each gives a bound that holds, and it is flat around the best."""


def most_messages(protocol: ShuffledHistogram, *, delta: float) -> int:
    """The smallest limit that nobody of all people exceeds, but for a negligible chance; at most what anybody sends."""
    limit = seldom_enough(delta)
    with np.errstate(over="ignore"):
        growth = protocol.messages_cumulant(_TILTS) * (1 + SEVERAL_OPERATIONS) + math.log(protocol.users / limit)
    needed = float(np.nanmin(np.where(np.isfinite(growth), growth, np.inf) / _TILTS))
    least = min(needed - 1, protocol.messages_per_user.maximum)  # more than `most` is at least most + 1
    if not math.isfinite(least):
        raise ParameterError(f"{type(protocol).__name__} has no largest number of messages that is known")
    return max(protocol.values_per_person, math.ceil(least))


def seldom_enough(delta: float) -> float:
    """The chance that anybody draws again which a delta allows."""
    return min(SHARE_OF_DELTA * delta, SELDOM)


def chance_of_more(protocol: ShuffledHistogram, most: int) -> float:
    """At most how likely anybody of all people draws more than `most` messages."""
    if most >= protocol.messages_per_user.maximum:
        return 0.0
    with np.errstate(over="ignore"):
        exponents = protocol.messages_cumulant(_TILTS) * (1 + SEVERAL_OPERATIONS) - _TILTS * (most + 1)
    return min(1.0, protocol.users * math.exp(min(0.0, float(np.nanmin(exponents)))))
