"""The answers that a task counts: a list, a range of whole numbers, or a list kept elsewhere under its fingerprint.

Whatever somebody answers has a place: what is not in the list is (other), no answer is (none). Not reporting because of
the answer would tell the shuffler something.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from shuffledp.collection.task.addresses import check_address
from shuffledp.collection.task.exact import is_hexadecimal
from shuffledp.errors import TaskError
from shuffledp.pipeline.domain import Domain

OTHER, NONE = "(other)", "(none)"
MOST_LISTED = 100_000
"""Answers in a task file itself: more make it too long to be read by everybody, and belong in a file of their own."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,15})")
"""A whole number as text, in its one spelling, of as many digits as numbers below 2^53 have."""

MOST_ANSWERS = 2**32
"""More cannot be named in messages."""


class AnswerList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="list"):
    """The answers themselves."""

    values: list[str]

    def check(self) -> None:
        """Refuses what cannot be told apart or printed."""
        _check_answers(self.values)
        if len(self.values) > MOST_LISTED:
            raise TaskError(f"a task lists at most {MOST_LISTED:,} answers: keep more in a file (kind listed-at)")

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.values)


class AnswerRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="range"):
    """The whole numbers start .. stop - 1."""

    start: int
    stop: int

    def check(self) -> None:
        """Refuses a range that is empty or too long."""
        if not -(2**53) < self.start < self.stop < 2**53 or self.stop - self.start > MOST_ANSWERS - 2:
            raise TaskError("a range of answers needs start < stop, both below 2^53, and at most 2^32 - 2 numbers")

    @property
    def size(self) -> int:
        """How many there are."""
        return self.stop - self.start


class AnswersElsewhere(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="listed-at"):
    """A text file with one answer in each line, kept at an address, known by its SHA-256."""

    address: str
    sha256: str
    size: int

    def check(self) -> None:
        """Refuses an address or a fingerprint that is none."""
        check_address(self.address, "the list of answers")
        if not is_hexadecimal(self.sha256):
            raise TaskError("the sha256 of a list of answers must be 64 hexadecimal digits, in small letters")
        if not 0 < self.size <= MOST_ANSWERS - 2:
            raise TaskError(f"the size of a list of answers must lie between 1 and 2^32 - 2, got {self.size}")

    def read(self, content: bytes) -> list[str]:
        """The answers of a file that has the fingerprint."""
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise TaskError("the list of answers is not the one that the task names: its SHA-256 is another")
        try:
            values = content.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise TaskError("the list of answers is not UTF-8") from None
        _check_answers(values)
        if len(values) != self.size:
            raise TaskError(f"the list has {len(values):,} answers, and the task says {self.size:,}")
        return values


Answers = AnswerList | AnswerRange | AnswersElsewhere


def _check_answers(values: Sequence[str]) -> None:
    if not values:
        raise TaskError("a task needs at least one possible answer")
    if len(set(values)) != len(values):
        raise TaskError("the answers of a task must differ: one is there twice")
    if {OTHER, NONE} & set(values):
        raise TaskError(f"{OTHER} and {NONE} are answers of every task: leave them out of the list")
    for value in values:
        if not value.strip():
            raise TaskError("an answer of a task must not be empty: no answer at all is (none)")
        if any("\ud800" <= char <= "\udfff" for char in value) or "\n" in value or "\r" in value:
            raise TaskError("an answer must be text of one line, without unpaired surrogates")


class AnswerNumbers:
    """The number of every answer: the values in their order, then (other), then (none)."""

    def __init__(self, values: Sequence[str] | range) -> None:
        self._values: Sequence[Any] = values
        self._found = None if isinstance(values, range) else {value: at for at, value in enumerate(values)}
        self.size = len(values) + 2

    def bin_of(self, answer: Any) -> int:
        """The place of an answer: no answer or an empty text is (none), an unknown one (other). It never fails."""
        try:
            if answer is None or (isinstance(answer, str) and not answer):
                return self.size - 1
            return self._known(answer)
        except Exception:  # whatever an object does when it is asked for its text: not to report would tell something
            return self.size - 2

    def _known(self, answer: Any) -> int:
        other = self.size - 2
        if self._found is not None:
            return self._found.get(str(answer), other)
        number = _whole(answer)
        return other if number is None or number not in self._values else self._values.index(number)

    @property
    def domain(self) -> Domain:
        """The labels of all places."""
        return Domain.of([*self._values, OTHER, NONE], in_order=isinstance(self._values, range))


def _whole(answer: Any) -> int | None:
    """The whole number that an answer is, or that its text is."""
    if isinstance(answer, str):
        return int(answer) if _WHOLE.fullmatch(answer) else None
    number = None if isinstance(answer, bool) else int(answer)
    return number if number == answer else None
