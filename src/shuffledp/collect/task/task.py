"""A task: one question put to many people, as a public file.

Its id is the SHA-256 of its canonical bytes: whoever pins it has pinned question, noise, keys and batch size, and
nobody can show two people different tasks under one id.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from shuffledp.accounting.curve import Guarantee
from shuffledp.collect.crypto.hpke import is_public_key
from shuffledp.collect.task import parameters
from shuffledp.collect.task import schema as exact
from shuffledp.collect.task import schema as schema_words
from shuffledp.collect.task.guarantee import Promise, check_promise
from shuffledp.collect.task.schema import (
    AnswerList,
    AnswerNumbers,
    AnswerRange,
    Answers,
    AnswersElsewhere,
    check_address,
)
from shuffledp.errors import DataError, ParameterError, TaskError
from shuffledp.histogram.domain import Domain
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.validation import MOST_USERS, target_delta, target_epsilon

VERSION = 1
SEALING_BYTES = 48
"""What HPKE adds to a text: the sender's public key, and the tag of AES-GCM."""

REPORT_HEAD_BYTES = 24
"""What a report has before its messages: its id (16) and its time (8)."""

BETA = 0.05
"""Errors and intervals hold with 95 % probability: for the planner that chooses, for a task in words, for a release."""

MOST_SHUFFLERS = 8
"""Each makes every message 48 bytes longer; trust does not grow with more."""

LONGEST_QUESTION = 1_000
LONGEST_REPORT = 2**28
"""Bytes of a report with as many messages as may be: people must be able to make it, and servers to take it."""

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_MOST_BYTES = 64 * 2**20
"""Of a task file: whoever is asked reads it whole."""

Admission = Literal["anybody", "secret", "tokens"]


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server: its address, and its public key for this task as 64 hexadecimal digits."""

    address: str
    key: str

    @property
    def public_bytes(self) -> bytes:
        """The public key."""
        return bytes.fromhex(self.key)

    def check(self, name: str) -> None:
        """Refuses an address or a key that cannot be one."""
        check_address(self.address, name)
        if not exact.is_hexadecimal(self.key):
            raise TaskError(f"the key of {name} must be 64 hexadecimal digits, in small letters")
        if not is_public_key(self.public_bytes):
            raise TaskError(f"the key of {name} is no public key: `shuffledp keys new` makes one")


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A protocol by its name in the catalogue, and its exact parameters."""

    name: str
    parameters: dict[str, Any]


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The guarantee that a task claims, as people state it: decimal numbers in text."""

    epsilon: str
    delta: str


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """A question, who may answer what, the noise, and the servers with their keys.

    `users` reports make a batch, `honest_users` of whom are counted on; a report holds at most `most_messages`. Times
    are in UTC; a report says its own only in steps of `time_precision` seconds. `shufflers` are in order.
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

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise TaskError(f"this is a task of version {self.version}; this program knows version {VERSION}")
        if not self.question.strip() or len(self.question) > LONGEST_QUESTION:
            raise TaskError(f"the question must have 1 to {LONGEST_QUESTION:,} characters")
        self.answers.check()
        if not 2 <= self.users <= MOST_USERS or not 1 <= self.honest_users <= self.users:
            raise TaskError("users must be at least 2, and honest_users from 1 to users")
        if not 1 <= self.most_messages < 2**32:
            raise TaskError("most_messages must be at least 1 and below 2^32")
        if self.opens >= self.closes:
            raise TaskError("a task must open before it closes")
        if not 1 <= self.time_precision <= 366 * 86_400:
            raise TaskError("time_precision must be from one second to 366 days, in seconds")
        self._check_places()

    def _check_places(self) -> None:
        if not 1 <= len(self.shufflers) <= MOST_SHUFFLERS:
            raise TaskError(f"a task needs 1 to {MOST_SHUFFLERS} shufflers, got {len(self.shufflers)}")
        for at, place in enumerate(self.shufflers):
            place.check(f"shuffler {at + 1}")
        self.analyzer.check("the analyzer")
        keys = [place.key for place in (*self.shufflers, self.analyzer)]
        if len(set(keys)) != len(keys):
            raise TaskError("two servers of the task have the same key: whoever holds it could undo the mixing")

    @cached_property
    def canonical(self) -> bytes:
        """The one spelling of this task: sorted names, no spaces, UTF-8."""
        return _canonical(msgspec.to_builtins(self))

    @cached_property
    def id(self) -> bytes:
        """The SHA-256 of the canonical bytes."""
        return hashlib.sha256(self.canonical).digest()

    @property
    def name(self) -> str:
        """The id in hexadecimal digits."""
        return self.id.hex()

    @cached_property
    def opens(self) -> datetime:
        """From when on reports are taken."""
        return _moment(self.opening, "opens")

    @cached_property
    def closes(self) -> datetime:
        """From when on no report is taken."""
        return _moment(self.closing, "closes")

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is claimed; `check` computes whether it is true."""
        try:
            return Guarantee(
                epsilon=target_epsilon(exact.decimal(self.claim.epsilon, name="epsilon")),
                delta=target_delta(exact.decimal(self.claim.delta, name="delta")),
                basis="computed from the parameters of the task",
            )
        except ParameterError as error:
            raise TaskError(f"the guarantee of the task cannot be one: {error}") from None

    @cached_property
    def protocol(self) -> ShuffledHistogram:
        """The protocol with exactly these parameters, for the people of one batch."""
        people = parameters.People(self.users, self.honest_users, self.answers.size + 2, self.guarantee)
        return parameters.read(self.protocol_used.name, self.protocol_used.parameters, people)

    @cached_property
    def answer_numbers(self) -> AnswerNumbers:
        """Where each answer is counted; a list that is kept elsewhere must be given with `with_answers` first."""
        if isinstance(self.answers, AnswersElsewhere):
            raise DataError(f"the list of answers of this task is at {self.answers.address}: fetch it first")
        if isinstance(self.answers, AnswerRange):
            return AnswerNumbers(range(self.answers.start, self.answers.stop))
        return AnswerNumbers(self.answers.values)

    def with_answers(self, content: bytes) -> Task:
        """The same task, with the file that its list of answers is kept in, if it has the right fingerprint."""
        if isinstance(self.answers, AnswersElsewhere):
            self.__dict__["answer_numbers"] = AnswerNumbers(self.answers.read(content))
        return self

    @property
    def has_answers(self) -> bool:
        """Whether the list of answers is here: in the task itself, or given with `with_answers`."""
        return not isinstance(self.answers, AnswersElsewhere) or "answer_numbers" in self.__dict__

    @property
    def labels(self) -> Domain:
        """The labels of all that is counted: the answers, then (other), then (none)."""
        return self.answer_numbers.domain

    def bin_of(self, answer: Any) -> int:
        """Where an answer is counted; every answer has a place."""
        return self.answer_numbers.bin_of(answer)

    @property
    def alphabet(self) -> int:
        """How many different messages there are."""
        return self.protocol.alphabet

    @property
    def padded(self) -> bool:
        """Whether every report holds exactly `most_messages`, so that its length tells nothing (task/parameters.py)."""
        return parameters.is_padded(self.protocol_used.name)

    @property
    def nothing(self) -> int:
        """The number of a message that counts for nothing, in padded reports: the one after all others."""
        return self.alphabet

    @property
    def symbols(self) -> int:
        """How many different numbers messages can be, the one that counts for nothing included where there is one."""
        return self.alphabet + self.padded

    @cached_property
    def symbol_bytes(self) -> int:
        """The width of a message."""
        return max(1, ((self.symbols - 1).bit_length() + 7) // 8)

    def onion_length(self, position: int) -> int:
        """Bytes of an onion as the hop at this position opens it; at 0 as the first shuffler finds it in a report.

        The first shuffler has no layer of an onion to open: the whole report is sealed to it.
        """
        return self.symbol_bytes + SEALING_BYTES * (len(self.shufflers) + 1 - max(1, position))

    def report_length(self, messages: float) -> float:
        """Bytes of a sealed report with so many messages, which may be an average."""
        return SEALING_BYTES + REPORT_HEAD_BYTES + messages * self.onion_length(0)

    @property
    def longest_report(self) -> int:
        """Bytes of the longest sealed report."""
        return int(self.report_length(self.most_messages))

    def check(self, at_most: tuple[float, float] | None = None) -> Promise:
        """Computes the privacy from the parameters; refuses a task that gives less than it claims, or than allowed."""
        return check_promise(self.protocol, most_messages=self.most_messages, at_most=at_most)

    def to_json(self) -> str:
        """The task as a file that people can read; the same task, whatever its spaces."""
        return json.dumps(msgspec.to_builtins(self), ensure_ascii=False, indent=2) + "\n"


def read_task(source: str | bytes | Path) -> Task:
    """The task of a file, or of its bytes."""
    if isinstance(source, bytes):
        return task_of(source)
    path = Path(source)
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a ValueError where the name is none
        raise TaskError(f"the task {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        return task_of(content)
    except TaskError as error:
        raise TaskError(f"{path} is no task that can be used: {error}") from None


def task_of(content: bytes) -> Task:
    """The task that some bytes hold."""
    if len(content) > _MOST_BYTES:
        raise TaskError(f"it is longer than {_MOST_BYTES:,} bytes")
    if not content.strip():
        raise TaskError("it is empty")
    try:
        plain = json.loads(
            content.decode(), object_pairs_hook=_without_repeats, parse_float=_no_float, parse_constant=_no_float
        )
        task = msgspec.convert(plain, Task)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, TaskError):
            raise error.__cause__ from None
        raise TaskError(schema_words.in_words(str(error))) from None
    except TaskError:
        raise
    except (ValueError, RecursionError) as error:  # also what is not UTF-8, and numbers of thousands of digits
        raise TaskError(f"it is not JSON in UTF-8 ({str(error)[:80]})") from None
    _ = task.canonical
    if task.longest_report > LONGEST_REPORT:
        raise TaskError(
            f"a report of this task may have {task.longest_report:,} bytes, and nobody should have to send more than "
            f"{LONGEST_REPORT:,}: use another protocol, or fewer answers"
        )
    return task


def _canonical(plain: Any) -> bytes:
    try:
        return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        raise TaskError("a text of the task is not valid Unicode: it has an unpaired surrogate") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TaskError("a name is there twice in one object, so readers could disagree about it")
    return found


def _no_float(text: str) -> Any:
    raise TaskError(f"numbers in a task are whole, and fractions are text such as 5161/2^13; got {text[:40]}")


def _moment(text: str, name: str) -> datetime:
    try:
        moment = datetime.strptime(text, _TIME)
        if moment.strftime(_TIME) == text:
            return moment.replace(tzinfo=UTC)
    except ValueError:
        pass
    raise TaskError(f"{name} must be a time in UTC such as 2027-01-31T12:00:00Z; got {text!r:.60}")


def moment_in_text(moment: datetime) -> str:
    """A time as task files have it."""
    return moment.astimezone(UTC).strftime(_TIME)


__all__ = [
    "Admission",
    "AnswerList",
    "AnswerRange",
    "AnswersElsewhere",
    "Claim",
    "Named",
    "Place",
    "Task",
    "moment_in_text",
    "read_task",
    "task_of",
]
