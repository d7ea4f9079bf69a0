"""A task: one question to many people, as a public file.

Its id is the SHA-256 of its canonical bytes. The id fixes question, noise, keys and batch size, so two people with the
same id have the same task.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import inspect
from numpy.typing import NDArray

from shuffledp.accounting.bounds import GroupPrivacy, group_privacy
from shuffledp.accounting.calibration import MOST_ROUNDS
from shuffledp.accounting.curve import Guarantee
from shuffledp.collect.task.answers import (
    MOST_LISTED,
    AnswerChoices,
    AnswerEdges,
    AnswerNumbers,
    AnswerRange,
    Answers,
    AnswersElsewhere,
    AnswerText,
)
from shuffledp.collect.task.guarantee import (
    Claim,
    Named,
    Promise,
    check_promise,
    is_padded,
    people_of,
    read_protocol,
    tree_of,
)
from shuffledp.collect.task.public_file import (
    PublicFile,
    check_form,
    converted,
    is_hexadecimal,
    read_file,
    read_moment,
    strict_json,
)
from shuffledp.collect.task.servers import Place, check_asker, check_places, check_version
from shuffledp.errors import TaskError
from shuffledp.estimators.tree import Tree
from shuffledp.histogram.domain import Domain
from shuffledp.protocols.free_text import FreeText
from shuffledp.protocols.free_text import TextPlan as TextPlan
from shuffledp.protocols.ranges import Ranges, ranges_of
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.validation import MOST_USERS

SEALING_BYTES = 48
"""Bytes that HPKE adds to a text: the sender's public key, and the tag of AES-GCM."""

REPORT_HEAD_BYTES = 24
"""Bytes of a report before its messages: its id (16) and its time (8)."""

BETA = 0.05
"""Errors and intervals have 95% confidence: in the planner, the description of a task, and a release."""


LONGEST_QUESTION = 1_000
LONGEST_REPORT = 2**28
"""Bytes of the longest report that clients must be able to make, and servers to store."""


Admission = Literal["anybody", "secret", "tokens"]

SERIES_KIND = "series"
"""The kind that a series file has; a task file has none."""


class Phase(StrEnum):
    """Whether a task accepts reports."""

    BEFORE = "before"
    OPEN = "open"
    CLOSED = "closed"

    @classmethod
    def at(cls, now: float, *, opens: float, closes: float) -> Phase:
        """The phase at a time; all times are in seconds since 1970."""
        if now < opens:
            return cls.BEFORE
        return cls.OPEN if now < closes else cls.CLOSED


class SeriesRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The series that a task belongs to, by its id, and the number of its round."""

    id: str
    round: int

    def check(self) -> None:
        """Refuse a wrong id or number."""
        if not is_hexadecimal(self.id):
            raise TaskError("the id of a series must be 64 hexadecimal digits, in small letters")
        if not 1 <= self.round <= MOST_ROUNDS:
            raise TaskError(f"the round of a series must be from 1 to {MOST_ROUNDS}, got {self.round}")


class RangePlan(NamedTuple):
    """The accuracy of a release of numbers: error bounds in people, which fail with probability `beta`.

    `single` is of all single answers or intervals at once, `below` of the numbers of people up to all answers, or below
    all edges, at once. The tree has these `levels` and this `branching`.
    """

    single: float
    below: float
    beta: float
    levels: int
    branching: int


class Task(PublicFile, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A question, its possible answers, the noise, and the servers with their keys.

    `users` reports make a batch, and the privacy needs `honest_users` of them to follow the protocol. A report holds at
    most `most_messages`. Times are in UTC; the time of a report is rounded down to steps of `time_precision` seconds.
    `shufflers` are in the order of the chain. A round names its `series`. `asker`, `purpose`, `contact` and `language`
    are claims about who asks. A task with any of these five fields has version 2.
    """

    version: int
    question: str
    answers: Answers
    protocol_used: Named = msgspec.field(name="protocol")
    claim: Claim = msgspec.field(name="guarantee")
    users: int
    honest_users: int
    most_messages: int
    opening: str = msgspec.field(name="opens")
    closing: str = msgspec.field(name="closes")
    time_precision: int
    admission: Admission
    shufflers: list[Place]
    analyzer: Place
    series: SeriesRound | None = None
    asker: str | None = None
    purpose: str | None = None
    contact: str | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        check_version(self, "task")
        if self.series is not None:
            self.series.check()
        check_asker(self)
        if not self.question.strip() or len(self.question) > LONGEST_QUESTION:
            raise TaskError(f"the question must have 1 to {LONGEST_QUESTION:,} characters")
        self.answers.check()
        if not 2 <= self.users <= MOST_USERS or not 1 <= self.honest_users <= self.users:
            raise TaskError("users must be at least 2, and honest_users from 1 to users")
        if not 1 <= self.most_messages < 2**32:
            raise TaskError("most_messages must be at least 1 and below 2^32")
        if self.opens >= self.closes:
            raise TaskError(f"a task must open before it closes, got opens={self.opening} and closes={self.closing}")
        if not 1 <= self.time_precision <= 366 * 86_400:
            raise TaskError("time_precision must be from one second to 366 days, in seconds")
        check_places(self.shufflers, self.analyzer)

    @cached_property
    def opens(self) -> datetime:
        """The time from which reports are accepted."""
        return read_moment(self.opening, "opens")

    @cached_property
    def closes(self) -> datetime:
        """The time from which no report is accepted."""
        return read_moment(self.closing, "closes")

    def phase(self, now: float) -> Phase:
        """Whether the task accepts reports at a time in seconds since 1970."""
        opens, closes = self._hours
        return Phase.at(now, opens=opens, closes=closes)

    @cached_property
    def _hours(self) -> tuple[float, float]:
        """In seconds since 1970: every report is compared with them."""
        return self.opens.timestamp(), self.closes.timestamp()

    def report_times(self, now: float) -> range:
        """Return the valid times of reports: within the task, and at most one step of its precision ahead of now."""
        return range(self.first_time, min(int(self._hours[1]), int(now) + self.time_precision + 1))

    @cached_property
    def first_time(self) -> int:
        """The earliest time of a report, the step in which the task opens; it is valid as long as the task is open."""
        return self.time_step(self.opens.timestamp())

    def time_step(self, now: float) -> int:
        """Return a time in seconds since 1970, rounded down to the precision of the task."""
        return int(now) - int(now) % self.time_precision

    @cached_property
    def guarantee(self) -> Guarantee:
        """The claimed guarantee; `check` computes whether it is true."""
        return self.claim.guarantee

    @cached_property
    def protocol(self) -> ShuffledHistogram:
        """The protocol with exactly these parameters, for the people of one batch."""
        name, parameters = self.protocol_used.name, self.protocol_used.parameters
        people = people_of(
            self.answers,
            name,
            parameters,
            users=self.users,
            honest_users=self.honest_users,
            guarantee=self.guarantee,
        )
        return read_protocol(name, parameters, people)

    @cached_property
    def tree(self) -> Tree | None:
        """The tree over the intervals, for a task with numbers."""
        if not isinstance(self.answers, AnswerEdges):
            return None
        return tree_of(self.answers, self.protocol_used.parameters)

    @property
    def values_per_person(self) -> int:
        """The number of values of each person: levels of a text or a number, or choices including padding."""
        if isinstance(self.protocol, HashedHistogram):
            return self.protocol.levels
        return self.protocol.values_per_person

    def released_by(self, batches: int = 1) -> ShuffledHistogram | Ranges:
        """The protocol whose estimate is released, for several batches together: with numbers, ranges."""
        protocol = self.protocol.joined(batches)
        if self.tree is None:
            return protocol
        assert isinstance(protocol, DummyHistogram)
        return Ranges(bins=self.tree.leaves, branching=self.tree.branching, nodes=protocol)

    def ranges(self, batches: int = 1) -> Ranges | None:
        """The quantiles that a release shows; None for other answers than numbers, and where their error is unknown.

        A release of a longer range shows only the values that stand out.
        """
        shown = isinstance(self.answers, AnswerRange) and self.answers.size + 2 <= MOST_LISTED
        return ranges_of(self.released_by(batches)) if shown or self.tree is not None else None

    @cached_property
    def text_plan(self) -> TextPlan | None:
        """The texts that a release will find, for a task with texts."""
        if not isinstance(self.answers, AnswerText):
            return None
        assert isinstance(self.protocol, HashedHistogram)
        return FreeText(code=self.answers.code, protocol=self.protocol).plan(beta=BETA)

    @cached_property
    def range_plan(self) -> RangePlan | None:
        """The accuracy of a release that shows quantiles."""
        ranges = self.ranges()
        if ranges is None:
            return None
        single, below = self.released_by().error(BETA).simultaneous, ranges.range_error(BETA)
        return RangePlan(single, below, BETA, ranges.tree.levels, ranges.tree.branching)

    def privacy_of_reports(self, reports: int) -> GroupPrivacy:
        """The privacy of a person with this number of reports in one batch; in several batches it is not weaker."""
        claimed = self.guarantee
        return group_privacy(self.released_by().privacy, reports, epsilon=claimed.epsilon, delta=claimed.delta)

    @cached_property
    def answer_numbers(self) -> AnswerNumbers:
        """The bins of answers; an external list must be given with `with_answers` first."""
        return self.answers.numbers

    def with_answers(self, content: bytes) -> Task:
        """Add the external list of answers, whose SHA-256 must match; return the same task."""
        if isinstance(self.answers, AnswersElsewhere):
            self.__dict__["answer_numbers"] = AnswerNumbers(self.answers.read(content))
        return self

    @property
    def has_answers(self) -> bool:
        """Whether the answers are known: from the task itself, or given with `with_answers`."""
        return not isinstance(self.answers, AnswersElsewhere) or "answer_numbers" in self.__dict__

    @property
    def labels(self) -> Domain:
        """The labels that are known before a release: the listed answers or intervals, then (other), then (none)."""
        if isinstance(self.answers, AnswerText):
            return AnswerNumbers(()).domain
        return self.answers.domain if isinstance(self.answers, AnswerEdges) else self.answer_numbers.domain

    def bin_of(self, answer: Any) -> int:
        """Return the bin of an answer, or of one choice; every answer to a task without texts has one."""
        if isinstance(self.answers, AnswerEdges):
            return self.answers.bin_of(answer)
        return self.answer_numbers.bin_of(answer)

    def values_of(self, answer: Any, *, rng: np.random.Generator | None = None) -> int | NDArray[np.int64]:
        """Return what the protocol randomizes: the bin of an answer, or the values of a text on all levels.

        A number gives a row with the node of each level. Several choices give a row of bins, some of which `rng`
        chooses if there are too many.
        """
        if isinstance(self.answers, AnswerText):
            return self.answers.values_of(answer)
        if isinstance(self.answers, AnswerChoices):
            return self.answers.row_of(answer, rng=rng)[np.newaxis]
        if self.tree is None:
            return self.bin_of(answer)
        nodes = self.tree.paths(np.array([self.bin_of(answer)]))
        return nodes if self.tree.levels > 1 else int(nodes[0, 0])

    def is_other(self, answer: Any) -> bool:
        """Whether an answer, or one of its choices, counts as (other): not listed, no number, or cannot be cut."""
        if isinstance(self.answers, AnswerText):
            return self.answers.is_other(answer)
        if isinstance(self.answers, AnswerChoices):
            return self.answers.size in self.answers.bins_of(answer)
        return self.bin_of(answer) == self.answers.size

    @property
    def alphabet(self) -> int:
        """The number of different messages of the protocol."""
        return self.protocol.alphabet

    @cached_property
    def padded(self) -> bool:
        """Whether every report holds exactly `most_messages`, so that its length reveals nothing (see `guarantee`)."""
        return is_padded(self.protocol_used.name)

    @property
    def nothing(self) -> int:
        """The padding message, which is not counted: the number after all others."""
        return self.alphabet

    @property
    def symbols(self) -> int:
        """The number of different messages, including the padding message."""
        return self.alphabet + self.padded

    @cached_property
    def symbol_bytes(self) -> int:
        """Bytes of a message."""
        return max(1, ((self.symbols - 1).bit_length() + 7) // 8)

    def onion_length(self, position: int) -> int:
        """Bytes of an onion as the server at this position opens it.

        The first shuffler (0) opens no layer of an onion: the whole report is sealed to it.
        """
        return self.symbol_bytes + SEALING_BYTES * (len(self.shufflers) + 1 - max(1, position))

    def report_length(self, messages: float) -> float:
        """Bytes of a sealed report with this number of messages, which may be an average."""
        return SEALING_BYTES + REPORT_HEAD_BYTES + messages * self.onion_length(0)

    @property
    def expected_messages(self) -> float:
        """The average number of messages in a report."""
        expected = self.protocol.messages_per_user.expected
        return self.most_messages if self.padded else min(expected, self.most_messages)

    @cached_property
    def longest_report(self) -> int:
        """Bytes of the longest sealed report."""
        return int(self.report_length(self.most_messages))

    def check(self, at_most: tuple[float, float] | None = None) -> Promise:
        """Compute the privacy from the parameters; refuse a task that is weaker than it claims or than `at_most`."""
        return check_promise(self.protocol, most_messages=self.most_messages, at_most=at_most)


_FORM = inspect.type_info(Task)


def read_task(source: str | bytes | Path) -> Task:
    """Read a task from a file, or from its bytes."""
    return read_file(source, task_of)


def is_series(plain: Any) -> bool:
    """Whether JSON is a series of tasks, which only its kind says."""
    return isinstance(plain, dict) and plain.get("kind") == SERIES_KIND


def task_of(content: bytes) -> Task:
    """Read a task from bytes."""
    return task_of_json(strict_json(content))


def task_of_json(plain: Any) -> Task:
    """Read a task from JSON that was parsed by `strict_json`."""
    if is_series(plain):
        raise TaskError("it is a series, and here one task is needed: `shuffledp task series` and Series read it")
    check_form(plain, _FORM)
    task = converted(plain, Task)
    _ = task.id
    check_longest_report(task)
    return task


def check_longest_report(task: Task) -> None:
    """Refuse a task whose reports nobody could send."""
    if task.longest_report > LONGEST_REPORT:
        raise TaskError(
            f"a report of this task may have {task.longest_report:,} bytes, and nobody should have to send more than "
            f"{LONGEST_REPORT:,}: use another protocol, or fewer answers"
        )
