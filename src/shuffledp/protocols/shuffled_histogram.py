"""The base class of protocols in which people send messages, and the limit on the messages of a report.

A new protocol derives from `ShuffledHistogram` and defines its calibration (`for_target`), its privacy curve, its
estimator, its messages (`_send`) and their number, and facts about its noise. It samples its tally from the exact
distribution (`_draw`) if it knows that; otherwise messages are made, shuffled and counted.

A report has a limit on its messages where people sample their number: a client that exceeds it samples again. The cost
in delta is in protocols/message_limit.py.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting import participation as participation
from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import readable
from shuffledp.histogram.facts import ProtocolFacts
from shuffledp.histogram.inputs import check_bins
from shuffledp.histogram.shuffle import concatenate, shuffle
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.base import BaseHistogram
from shuffledp.randomness import generator
from shuffledp.validation import whole

_BINS_PER_MESSAGE = 4
"""The most bins per message for which counting every bin is worthwhile."""

_FEW_MESSAGES = 1000
"""The number of messages up to which counting a few thousand bins costs nothing."""

_MAKING = 500.0
"""The approximate number of elementary steps to make, shuffle and count a message."""


@dataclass(frozen=True, kw_only=True)
class ShuffledHistogram(BaseHistogram):
    """A protocol in which people send messages: by default the numbers bin * kinds + kind.

    `batch` is the protocol of each of the batches that were `joined`; None for a single batch.
    """

    batch: ShuffledHistogram | None = field(default=None, repr=False)

    most_bins_in_messages: ClassVar[int] = 2**32
    """The most bins for which messages can be made."""

    numbered_messages: ClassVar[bool] = True
    """Whether messages are single whole numbers, which some engines need."""

    joins: ClassVar[bool] = False
    """Whether the noise of several batches adds up to the noise of one batch with all people."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch is not None and not self._joins(self.batch):
            raise ParameterError("batch must be the protocol of batches that were joined to this one: use joined")

    def _joins(self, batch: ShuffledHistogram) -> bool:
        if type(batch) is not type(self) or batch.batch is not None or self.users % batch.users:
            return False
        added = {"honest_users": batch.honest, **batch._noise_of(self.users)}
        same = (each.name for each in fields(self) if each.name not in ("users", "guarantee", "batch"))
        return all(getattr(self, name) == added.get(name, getattr(batch, name)) for name in same)

    @property
    def batches(self) -> int:
        """The number of joined batches."""
        return 1 if self.batch is None else self.users // self.batch.users

    @property
    def alphabet(self) -> int:
        """The number of different messages."""
        return self.bins * self.kinds

    @property
    def reach(self) -> float:
        """The most people by which one message moves an estimate."""
        return 1.0

    def participation_statistic(self, tally: Tally) -> float:
        """The number of messages, which grows with the number of people who reported, for any values."""
        return tally.total

    def participation_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln E e^(t S) for the part S of one person in that number (accounting/participation.py)."""
        return np.where(tilts > 0, np.inf, 0.0)

    def messages_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln E e^(t N) for the number N of messages of one person, whose distribution is the same for every value."""
        return self.participation_cumulant(tilts)

    @property
    def tally_implies_lengths(self) -> bool:
        """Whether, given the tally, the numbers of messages of all people do not depend on their values."""
        return False

    @property
    def samples_exactly(self) -> bool:
        """Whether the tally is sampled from its exact distribution; by default messages are made."""
        return False

    @property
    def drawing_cost(self) -> float:
        """The steps of making messages; 0 if the tally is sampled."""
        return 0.0 if self.samples_exactly else _MAKING * self.users * self.messages_per_user.expected

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The messages of one person (a bin) or of many (an array of bins).

        If people hold several values, or can hold none, `values` has a row for each person: different bins, and -1 for
        a missing value. Rows are padded here, so that the number of messages does not reveal the number of values.
        """
        people = self._held(values)
        if self.bins > self.most_bins_in_messages:
            raise ParameterError(
                f"bins={readable(self.bins)} is too many to send messages: sample the tally with sample_tally"
            )
        return self._send(people, generator(rng))

    @abstractmethod
    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """The messages of people with these bins: one each, or a row of several."""

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """Count each message of each bin; also accepts messages that were counted elsewhere."""
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
        values = np.repeat(truth.symbols, truth.counts)
        return self.tally(shuffle(self.randomize(values, rng=rng), rng=rng))

    def _check_number(self, tally: Tally) -> None:
        """Check the number of messages: fixed per person, or likely for all people together."""
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
                f"{_number(tally)} messages do not fit {self.users} people in {readable(self.bins)} bins, who send "
                f"about {self.users * self.messages_per_user.expected:.0f}; give the number who reported as reports="
            )

    def _check_participation(self, tally: Tally) -> None:
        """Refuse a tally without a number of messages, which does not tell how many people reported."""
        if tally.messages is None or not tally.complete:
            raise DataError(
                "this tally has no number of messages, so the number of reports is unknown: give it as reports="
            )
        super()._check_participation(tally)

    def _fewest_reports(self, tally: Tally) -> int:
        if self.messages_per_user.fixed:
            return self.users
        return participation.fewest_people(self.participation_statistic(tally), self.participation_cumulant)

    def fewest_reports(self, tally: Tally) -> int:
        """The fewest people who send this number of messages, except with probability `participation.RISK`."""
        if self.messages_per_user.fixed:
            return math.ceil(_number(tally) / self.messages_per_user.maximum)
        return participation.fewest_people(_number(tally), self.messages_cumulant)

    def most_reports(self, tally: Tally) -> float:
        """The most people who send only this number of messages, except with probability `participation.RISK`.

        It can be infinite. Added messages never make it smaller.
        """
        if self.messages_per_user.fixed:
            return math.floor(_number(tally) / self.messages_per_user.maximum)
        return participation.most_people(_number(tally), self.messages_cumulant)

    def _with_forged(self, tally: Tally) -> Tally:
        """Refuse a tally with incomplete noise: honest people send their messages, whatever others add."""
        honest = self.honest * self.batches
        if not tally.complete or self.most_reports(tally) < honest:
            raise DataError(
                f"{_number(tally)} messages are too few for {honest} honest people, who send about "
                f"{honest * self.messages_per_user.expected:.0f}: noise is missing, and the guarantee was not reached"
            )
        return replace(tally, counts=self._possible(tally.counts))

    def _possible(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nearest counts that this number of people can make, so that forged messages cannot stop a release."""
        return counts

    def joined(self, batches: int) -> ShuffledHistogram:
        """Return this protocol for several batches of `users` people each, whose tallies are added.

        Each person is in one batch, and each batch is mixed and counted separately. A replaced value changes the
        distribution of the tally of its batch only; the others are independent of it. All tallies together therefore
        have the curve of one batch (parallel composition), and the guarantee is unchanged: `honest_users` are those of
        one batch, since the noise of other batches is in other tallies.
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
        """As for any protocol; joined batches must be complete, since missing people could be in any batch."""
        if self.batches > 1 and reports not in (None, self.users):
            raise ParameterError(f"batches are joined only if they are complete: reports must be users={self.users}")
        return super().for_reports(reports)

    def facts(self, *, drawn: bool = False) -> ProtocolFacts:
        """The facts that a reader of a release must know, of each of the joined batches."""
        return replace(super().facts(drawn=drawn), users=self.users // self.batches, batches=self.batches)


def _number(tally: Tally) -> int:
    return tally.total if tally.messages is None else tally.messages


def on_all_cores(count: Callable[[Any], NDArray[np.int64]], parts: Sequence[Any], *, bins: int) -> NDArray[np.int64]:
    """Sum the counts of all parts, each computed on one core."""
    cores = min(os.cpu_count() or 1, len(parts))
    if cores <= 1:
        return sum_counts(map(count, parts), bins=bins)
    with ThreadPoolExecutor(cores) as pool:
        shares = [parts[core::cores] for core in range(cores)]
        return sum_counts(pool.map(lambda share: sum_counts(map(count, share), bins=bins), shares), bins=bins)


def sum_counts(parts: Iterator[NDArray[np.int64]], *, bins: int) -> NDArray[np.int64]:
    """Sum many arrays without holding them all."""
    total = np.zeros(bins, dtype=np.int64)
    for part in parts:
        total += part
    return total


SHARE_OF_DELTA = 1e-3
"""The probability that any person samples again is at most this share of delta."""

SELDOM = 2.0**-44
"""It is also at most this, far below the rounding margin of every delta (accounting/rounding.py): a curve without the
limit, as in a ledger, is then still an upper bound. It makes the limit a few messages larger."""

NEGLIGIBLE_SHARE = 1e-10
"""In a new task, the term e^epsilon q of the limit (protocols/message_limit.py) is at most this share of delta. That is
below the rounding margin, so noise is calibrated without it."""

_TILTS = np.geomspace(1e-9, 50.0, 400)
"""Tilts of Chernoff's bound to try; each gives a valid bound, which is flat around the best."""


def most_messages(protocol: ShuffledHistogram, *, delta: float, epsilon: float | None = None) -> int:
    """The smallest limit that no person exceeds, except with negligible probability.

    With `epsilon`, the cost of the limit is also negligible in an (epsilon, delta) guarantee, as new tasks need it.
    """
    limit = seldom_enough(delta)
    if epsilon is not None and not protocol.tally_implies_lengths:
        limit = min(limit, NEGLIGIBLE_SHARE * delta) * math.exp(-epsilon)
    with np.errstate(over="ignore"):
        growth = protocol.messages_cumulant(_TILTS) * (1 + SEVERAL_OPERATIONS) + math.log(protocol.users / limit)
    needed = float(np.nanmin(np.where(np.isfinite(growth), growth, np.inf) / _TILTS))
    least = min(needed - 1, protocol.messages_per_user.maximum)  # more than `most` is at least most + 1
    if not math.isfinite(least):
        raise ParameterError(f"{type(protocol).__name__} has no known largest number of messages")
    return max(protocol.values_per_person, math.ceil(least))


def seldom_enough(delta: float) -> float:
    """The probability of sampling again that a delta allows."""
    return min(SHARE_OF_DELTA * delta, SELDOM)


def chance_of_more(protocol: ShuffledHistogram, most: int) -> float:
    """An upper bound on the probability that any person samples more than `most` messages."""
    if most >= protocol.messages_per_user.maximum:
        return 0.0
    with np.errstate(over="ignore"):
        exponents = protocol.messages_cumulant(_TILTS) * (1 + SEVERAL_OPERATIONS) - _TILTS * (most + 1)
    return min(1.0, protocol.users * math.exp(min(0.0, float(np.nanmin(exponents)))))
