"""A series: one question that is asked again in every period, as a public file.

Every round is a task with the same question, noise and guarantee, and new noise for each person. Each task holds the id
of the series, and the series holds the keys of all rounds. Pinning the id of a series therefore pins the tasks of all
rounds, and nobody can show two people different ones.

One person may answer all rounds, so `total` is the guarantee of all rounds together. A later answer may depend on
earlier releases; the noise does not, since the file fixes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import inspect

from shuffledp.accounting.calibration import FEWEST_ROUNDS, MOST_ROUNDS
from shuffledp.accounting.composition import Composition, composed
from shuffledp.accounting.curve import Guarantee
from shuffledp.collect.task.answers import Answers
from shuffledp.collect.task.guarantee import Claim, Named, Promise, check_promise, reached_delta
from shuffledp.collect.task.public_file import (
    PublicFile,
    check_form,
    converted,
    moment_in_text,
    read_file,
    read_moment,
    strict_json,
)
from shuffledp.collect.task.servers import SECOND_VERSION, Servers, asker_fields, check_places, check_version
from shuffledp.collect.task.task import (
    Admission,
    Phase,
    SeriesRound,
    Task,
    check_longest_report,
    is_series,
    task_of_json,
)
from shuffledp.errors import ParameterError, TaskError
from shuffledp.protocols.message_limit import LimitCost
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.validation import whole

_COMMON = (
    "question",
    "answers",
    "protocol_used",
    "claim",
    "users",
    "honest_users",
    "most_messages",
    "time_precision",
    "admission",
)
"""The fields that mean the same in a task and in its series, beside those about who asks."""

LONGEST_PERIOD = 3660 * 86_400
"""Seconds of the longest period: ten years."""


@dataclass(frozen=True, kw_only=True)
class SeriesPromise:
    """The verified guarantees of one round, and of all rounds together."""

    round: Promise
    total: Promise


def common_fields(asked: Task | Series) -> dict[str, Any]:
    """Return the fields that a series shares with the tasks of its rounds, by name."""
    return {name: getattr(asked, name) for name in _COMMON} | asker_fields(asked)


class Series(PublicFile, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A question that is asked in `rounds` rounds, each `period` seconds long, from `opens` on without a gap.

    `total` is the guarantee of all rounds together. `servers` has one entry for all rounds, or one for each. Other
    fields are as in a task.
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
        check_version(self, "series")
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
            opening=moment_in_text(self.opens_at(number)),
            closing=moment_in_text(self.closes_at(number)),
            shufflers=servers.shufflers,
            analyzer=servers.analyzer,
            series=SeriesRound(self.name, number),
            **common_fields(self),
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
        return cost.delta(self.privacy_of(rounds).delta, epsilon)

    def check(self, at_most: tuple[float, float] | None = None) -> SeriesPromise:
        """Compute the privacy of one round and of all; refuse a series that is weaker than it claims.

        `at_most` is the (epsilon, delta) that a person allows for all rounds together.
        """
        one, claimed = check_promise(self.protocol, most_messages=self.most_messages), self.total
        reached = reached_delta(partial(self.delta_of, self.rounds), claimed, at_most, rounds=self.rounds)
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
