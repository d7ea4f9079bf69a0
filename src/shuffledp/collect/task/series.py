"""A series: one question that is asked again in every period, as a public file.

Every round is a task with the same question, noise and guarantee, and new noise for each person. All tasks follow from
the series: each holds the id of the series, and the series holds the keys of all rounds. Pinning the id of a series
therefore pins the tasks of all rounds, and nobody can show two people different ones.

One person may answer all rounds, so `total` is the guarantee of all rounds together: the composition of the curves of
all rounds (accounting/composition.py), with the cost of sampling again (protocols/message_limit.py). A later answer may
depend on earlier releases; the noise does not, since the file fixes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import inspect

from shuffledp.accounting.calibration import FEWEST_ROUNDS, MOST_ROUNDS
from shuffledp.accounting.composition import Composition, composed
from shuffledp.accounting.curve import Guarantee
from shuffledp.accounting.rounding import PROMISED_DELTA
from shuffledp.collect.task.answers import Answers
from shuffledp.collect.task.asker import ASKER_FIELDS, asker_fields
from shuffledp.collect.task.guarantee import Promise, check_promise, in_message
from shuffledp.collect.task.public_file import (
    PublicFile,
    check_form,
    converted,
    moment_in_text,
    read_file,
    read_moment,
    strict_json,
)
from shuffledp.collect.task.servers import Servers, check_places
from shuffledp.collect.task.task import (
    SECOND_VERSION,
    Admission,
    Claim,
    Named,
    Phase,
    SeriesRound,
    Task,
    check_longest_report,
    is_series,
    task_of_json,
)
from shuffledp.errors import BrokenPromiseError, ParameterError, TaskError
from shuffledp.protocols.message_limit import LimitCost
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.validation import target_delta, target_epsilon, whole

SERIES_VERSION = 1
SECOND_SERIES_VERSION = 2
"""The version of a series with a field about who asks: version 1 has none of them."""

LONGEST_PERIOD = 3660 * 86_400
"""Seconds of the longest period: ten years."""


@dataclass(frozen=True, kw_only=True)
class SeriesPromise:
    """The verified guarantees of one round, and of all rounds together."""

    round: Promise
    total: Promise


class Series(PublicFile, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A question that is asked in `rounds` rounds, each `period` seconds long, from `opens` on without a gap.

    The fields that a task has too mean the same. `total` is the guarantee of all rounds together. `servers` has one
    entry for all rounds, or one for each. A series with a field about who asks has version 2.
    """

    kind: Literal["series"]
    version: int
    question: str
    answers: Answers
    protocol_used: Named = msgspec.field(name="protocol")
    claim: Claim = msgspec.field(name="guarantee")
    total_claim: Claim = msgspec.field(name="total")
    users: int
    honest_users: int
    most_messages: int
    opening: str = msgspec.field(name="opens")
    period: int
    rounds: int
    time_precision: int
    admission: Admission
    servers: list[Servers]
    asker: str | None = None
    purpose: str | None = None
    contact: str | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        self._check_version()
        if not FEWEST_ROUNDS <= self.rounds <= MOST_ROUNDS:
            raise TaskError(f"rounds must be from {FEWEST_ROUNDS} to {MOST_ROUNDS}, got {self.rounds}")
        if not 1 <= self.period <= LONGEST_PERIOD:
            raise TaskError(f"period must be from one second to ten years, in seconds, got {self.period}")
        if self.time_precision > self.period:
            raise TaskError("time_precision must be at most the period: the time of a report lies in its round")
        if len(self.servers) not in (1, self.rounds):
            raise TaskError(
                f"servers must have one entry for all rounds or one for each of {self.rounds}, got {len(self.servers)}"
            )
        for at, servers in enumerate(self.servers):
            try:
                check_places(servers.shufflers, servers.analyzer)
            except TaskError as error:
                raise TaskError(f"servers[{at}]: {error}") from None
        try:
            _ = self.closes
        except OverflowError:
            raise TaskError("the last round must end before the year 10000") from None
        _ = self.total, self.task(1)  # every other round differs in checked fields only

    def _check_version(self) -> None:
        if self.version not in (SERIES_VERSION, SECOND_SERIES_VERSION):
            raise TaskError(
                f"version must be {SERIES_VERSION} or {SECOND_SERIES_VERSION}, got a series of version {self.version}"
            )
        added = list(asker_fields(self))
        if self.version == SERIES_VERSION and added:
            raise TaskError(f"a series of version 1 has no field `{added[0]}`: a series with it has version 2")
        if self.version == SECOND_SERIES_VERSION and not added:
            raise TaskError(
                f"a series of version 2 must have one of the fields {', '.join(ASKER_FIELDS)}; without any it has "
                "version 1"
            )

    @cached_property
    def opens(self) -> datetime:
        """The time at which the first round opens."""
        return read_moment(self.opening, "opens")

    @property
    def closes(self) -> datetime:
        """The time at which the last round closes."""
        return self.opens_at(self.rounds + 1)

    def opens_at(self, number: int) -> datetime:
        """Return the time at which a round opens, and the round before it closes."""
        return self.opens + timedelta(seconds=(number - 1) * self.period)

    def closes_at(self, number: int) -> datetime:
        """Return the time at which a round closes."""
        return self.opens_at(number + 1)

    def phase(self, now: float) -> Phase:
        """Whether some round accepts reports at a time in seconds since 1970."""
        return Phase.at(now, opens=self.opens.timestamp(), closes=self.closes.timestamp())

    def round_at(self, now: float) -> int | None:
        """Return the number of the round that is open at a time in seconds since 1970; None if none is."""
        if self.phase(now) is not Phase.OPEN:
            return None
        return int((now - self.opens.timestamp()) // self.period) + 1

    def nearest_round(self, now: float) -> int:
        """Return the number of the open round; before the series opens the first, and after it closes the last."""
        return self.round_at(now) or (1 if now < self.opens.timestamp() else self.rounds)

    def servers_of(self, number: int) -> Servers:
        """Return the servers of a round."""
        return self.servers[0 if len(self.servers) == 1 else number - 1]

    def task(self, number: int) -> Task:
        """Return the task of a round, from 1 on; the same object every time.

        All rounds share one protocol, so its tables are computed once.
        """
        number = whole("round", number)
        if number > self.rounds:
            raise ParameterError(f"round must be from 1 to {self.rounds}, got {number}")
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def _make(self, number: int) -> Task:
        servers = self.servers_of(number)
        task = Task(
            version=SECOND_VERSION,
            question=self.question,
            answers=self.answers,
            protocol_used=self.protocol_used,
            claim=self.claim,
            users=self.users,
            honest_users=self.honest_users,
            most_messages=self.most_messages,
            opening=moment_in_text(self.opens_at(number)),
            closing=moment_in_text(self.closes_at(number)),
            time_precision=self.time_precision,
            admission=self.admission,
            shufflers=servers.shufflers,
            analyzer=servers.analyzer,
            series=SeriesRound(self.name, number),
            **asker_fields(self),
        )
        if number > 1:
            task.__dict__["protocol"] = self.protocol
        return task

    @cached_property
    def _made(self) -> dict[int, Task]:
        return {}

    @property
    def tasks(self) -> list[Task]:
        """The tasks of all rounds, in order."""
        return [self.task(number) for number in range(1, self.rounds + 1)]

    @property
    def protocol(self) -> ShuffledHistogram:
        """The protocol of every round."""
        return self.task(1).protocol

    @property
    def guarantee(self) -> Guarantee:
        """The claimed guarantee of one round; `check` computes whether it is true."""
        return self.claim.guarantee

    @cached_property
    def total(self) -> Guarantee:
        """The claimed guarantee of all rounds together; `check` computes whether it is true."""
        return self.total_claim.guarantee

    def privacy_of(self, rounds: int) -> Composition:
        """The curve of this number of rounds together, without the cost of sampling again."""
        return composed([self.protocol.privacy] * whole("rounds", rounds))

    def delta_of(self, rounds: int, epsilon: float) -> float:
        """Return the delta of a person who answers this number of rounds, at an epsilon; rounded up."""
        cost = LimitCost.of(self.protocol, self.most_messages).times(rounds)
        try:
            return cost.delta(self.privacy_of(rounds).delta, epsilon)
        except ParameterError as error:  # the noise of the honest people is 0 in floating point
            raise BrokenPromiseError(f"the privacy of its parameters cannot be computed: {error}") from None

    def check(self, at_most: tuple[float, float] | None = None) -> SeriesPromise:
        """Compute the privacy of one round and of all; refuse a series that is weaker than it claims.

        `at_most` is the (epsilon, delta) that a person allows for all rounds together.
        """
        one = check_promise(self.protocol, most_messages=self.most_messages)
        claimed = self.total
        reached = self.delta_of(self.rounds, claimed.epsilon)
        if reached > claimed.delta * (1 + PROMISED_DELTA):
            raise BrokenPromiseError(
                f"the series claims delta={claimed.delta:g} at epsilon={claimed.epsilon:g} for all {self.rounds} "
                f"rounds together, but its parameters give {in_message(reached)}, which is weaker"
            )
        if at_most is not None:
            epsilon, delta = target_epsilon(at_most[0]), target_delta(at_most[1])
            allowed = self.delta_of(self.rounds, epsilon)
            if allowed > delta * (1 + PROMISED_DELTA):
                raise BrokenPromiseError(
                    f"all {self.rounds} rounds together give delta={in_message(allowed)} at epsilon={epsilon:g}, which "
                    f"is more than the {delta:g} that is allowed here"
                )
        total = Promise(epsilon=claimed.epsilon, delta=claimed.delta, reached=reached, exact=False)
        return SeriesPromise(round=one, total=total)


_FORM = inspect.type_info(Series)


def read_series(source: str | bytes | Path) -> Series:
    """Read a series from a file, or from its bytes."""
    asked = read_task_or_series(source)
    if isinstance(asked, Task):
        file = "it" if isinstance(source, bytes) else str(source)
        raise TaskError(f"{file} is one task, and here a series is needed")
    return asked


def series_of(content: bytes) -> Series:
    """Read a series from bytes."""
    plain = strict_json(content)
    check_form(plain, _FORM, of="a series")
    series = converted(plain, Series)
    check_longest_report(series.task(1))
    return series


def read_task_or_series(source: str | bytes | Path) -> Task | Series:
    """Read a task or a series from a file, or from its bytes."""
    return read_file(source, task_or_series_of)


def task_or_series_of(content: bytes) -> Task | Series:
    """Read a task or a series from bytes: only a series has a kind."""
    plain = strict_json(content)
    return series_of(content) if is_series(plain) else task_of_json(plain)


def tasks_of(asked: Task | Series) -> list[Task]:
    """Return the task itself, or the tasks of all rounds of a series."""
    return asked.tasks if isinstance(asked, Series) else [asked]
