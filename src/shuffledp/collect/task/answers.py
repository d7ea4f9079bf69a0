"""The kinds of answers that a task asks for, and the bins that count them (docs/reference/wire-format.md, "Answers").

Every answer is counted: one that is not listed, or cannot be cut, as (other), no answer as (none). If a person did not
report because of their answer, the shuffler would learn something about it.

Everybody has the same number of values. Padding bins, which come after all others (histogram/inputs.py), stand for
missing choices, so the number of choices stays private. A number has a node on each level of the tree of its intervals
(estimators/tree.py).
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.task.public_file import is_hexadecimal, read_decimal
from shuffledp.collect.task.servers import check_address
from shuffledp.errors import DataError, ParameterError, TaskError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.edges import Edges, read_number
from shuffledp.histogram.inputs import NONE as NO_VALUE
from shuffledp.histogram.text_code import OTHER as OTHER_SYMBOL
from shuffledp.histogram.text_code import Step, TextCode
from shuffledp.randomness import generator

OTHER, NONE = "(other)", "(none)"
MOST_ANSWERS = 2**32
"""The numbers that messages can hold."""

MOST_LISTED = 100_000
"""Answers in the task file itself: a longer list belongs in a file of its own."""

MOST_QUANTILES = 100
"""Quantiles that a release shows."""

MOST_CHOICES = 64
"""Choices of one person: the noise grows with their number, and a longer list of boxes is hardly read."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,15})")
"""A whole number as text, in its one spelling, with at most the digits of numbers below 2^53."""

_NO_TEXT = "\ud800"
"""No valid text, so its path is that of (other)."""


def check_answers(values: Sequence[str]) -> None:
    """Refuse answers that are equal or cannot be printed."""
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
    """The bins of answers: the values in their order, then (other), then (none)."""

    def __init__(self, values: Sequence[str] | range) -> None:
        self._values: Sequence[Any] = values
        self._found = None if isinstance(values, range) else {value: at for at, value in enumerate(values)}
        self.size = len(values) + 2

    def bin_of(self, answer: Any) -> int:
        """Return the bin of any answer: (none) for no answer or an empty text, (other) for one that is not listed.

        A collection is no text, whatever it contains.
        """
        try:
            if answer is None or (isinstance(answer, str) and not answer):
                return self.size - 1
            if isinstance(answer, Iterable) and not isinstance(answer, str):
                return self.size - 2
            return self._known(answer)
        except Exception:  # an object may fail to give its text; not reporting would reveal something
            return self.size - 2

    def _known(self, answer: Any) -> int:
        other = self.size - 2
        if self._found is not None:
            return self._found.get(str(answer), other)
        number = _whole(answer)
        return other if number is None or number not in self._values else self._values.index(number)

    @property
    def domain(self) -> Domain:
        """The labels of all bins."""
        return Domain.of([*self._values, OTHER, NONE], in_order=isinstance(self._values, range))


def _whole(answer: Any) -> int | None:
    """The whole number that an answer, or its text, is."""
    if isinstance(answer, str):
        return int(answer) if _WHOLE.fullmatch(answer) else None
    number = None if isinstance(answer, bool) else int(answer)
    return number if number == answer else None


class _Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", dict=True):
    """A kind of answers or of pieces, which the field `kind` names."""


class _Listed(_Kind, frozen=True):
    values: list[str]

    @property
    def size(self) -> int:
        """The number of answers."""
        return len(self.values)

    @cached_property
    def numbers(self) -> AnswerNumbers:
        """The bins of single answers."""
        return AnswerNumbers(self.values)


class AnswerList(_Listed, frozen=True, tag="list"):
    """The answers themselves."""

    def check(self) -> None:
        """Refuse answers that are equal or cannot be printed, and too many."""
        check_answers(self.values)
        if len(self.values) > MOST_LISTED:
            raise TaskError(f"a task lists at most {MOST_LISTED:,} answers: keep more in a file (kind listed-at)")


class AnswerRange(_Kind, frozen=True, tag="range"):
    """The whole numbers start .. stop - 1."""

    start: int
    stop: int

    def check(self) -> None:
        """Refuse a range that is empty or too long."""
        if not -(2**53) < self.start < self.stop < 2**53 or self.stop - self.start > MOST_ANSWERS - 2:
            raise TaskError("a range of answers needs start < stop, both below 2^53, and at most 2^32 - 2 numbers")

    @property
    def size(self) -> int:
        """The number of answers."""
        return self.stop - self.start

    @property
    def numbers(self) -> AnswerNumbers:
        """The bins of the answers."""
        return AnswerNumbers(range(self.start, self.stop))


class AnswersElsewhere(_Kind, frozen=True, tag="listed-at"):
    """A text file with one answer in each line, at an address, identified by its SHA-256."""

    address: str
    sha256: str
    size: int

    def check(self) -> None:
        """Refuse a wrong address, SHA-256 or size."""
        check_address(self.address, "the list of answers")
        if not is_hexadecimal(self.sha256):
            raise TaskError("the sha256 of a list of answers must be 64 hexadecimal digits, in small letters")
        if not 0 < self.size <= MOST_ANSWERS - 2:
            raise TaskError(f"the size of a list of answers must be between 1 and 2^32 - 2, got {self.size}")

    @property
    def numbers(self) -> AnswerNumbers:
        """Not known before the list is fetched."""
        raise DataError(f"the list of answers of this task is at {self.address}: fetch it first")

    def read(self, content: bytes) -> list[str]:
        """Return the answers in a file, whose SHA-256 must match."""
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise TaskError("the list of answers is not the one that the task names: its SHA-256 is another")
        try:
            values = content.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise TaskError("the list of answers is not UTF-8") from None
        check_answers(values)
        if len(values) != self.size:
            raise TaskError(f"the list has {len(values):,} answers, and the task says {self.size:,}")
        return values


class AnswerChoices(_Listed, frozen=True, tag="choices"):
    """Listed values of which a person chooses at most `most`."""

    most: int

    def check(self) -> None:
        """Refuse values that are equal or cannot be printed, and a wrong number of choices."""
        check_answers(self.values)
        if len(self.values) > MOST_LISTED:
            raise TaskError(f"a task lists at most {MOST_LISTED:,} answers, got {len(self.values):,}")
        if not 2 <= self.most <= min(MOST_CHOICES, len(self.values)):
            raise TaskError(
                f"most must be at least 2, at most {MOST_CHOICES}, and at most the number of answers "
                f"{len(self.values)}, got {self.most}"
            )

    def bins_of(self, answer: Any) -> list[int]:
        """Return the different bins of all choices in an answer, in increasing order.

        Anything but a collection is one choice. Empty choices count as none, and an answer without any other choice is
        the choice (none). All choices that are not listed are the one choice (other).
        """
        none = self.numbers.size - 1
        try:
            several = isinstance(answer, Iterable) and not isinstance(answer, str | bytes | Mapping)
            choices = answer if several else [answer]
            found = {self.numbers.bin_of(choice) for choice in choices}
        except Exception:  # an object may fail to give its choices; not reporting would reveal something
            found = {none - 1}
        return sorted(found - {none}) or [none]

    def row_of(self, answer: Any, *, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Return the bins that are reported, at most `most`, with NO_VALUE for missing ones.

        Of more choices than `most`, a random subset of that size is reported; every subset is equally likely.
        """
        chosen = np.array(self.bins_of(answer), dtype=np.int64)
        if chosen.size > self.most:
            return np.sort(generator(rng).choice(chosen, size=self.most, replace=False))
        return np.append(chosen, np.full(self.most - chosen.size, NO_VALUE))


class AnswerEdges(_Kind, frozen=True, tag="numbers"):
    """Numbers in the intervals between edges; a release shows the quantiles of these shares of the people."""

    edges: str
    quantiles: list[str]

    def check(self) -> None:
        """Refuse edges that are none or in another spelling, and shares that are none or out of order."""
        if str(self.intervals) != self.edges:
            raise TaskError(f"edges must have their one spelling {str(self.intervals)!r:.60}, got {self.edges!r:.60}")
        if self.size > MOST_LISTED:
            raise TaskError(f"a task has at most {MOST_LISTED:,} intervals of numbers, got {self.size:,}")
        if len(self.quantiles) > MOST_QUANTILES:
            raise TaskError(f"quantiles must be at most {MOST_QUANTILES}, got {len(self.quantiles)}")
        if not all(0 < share < 1 for share in self.shares) or any(b <= a for a, b in pairwise(self.shares)):
            raise TaskError("quantiles must be above 0 and below 1, and increase from each to the next")

    @cached_property
    def intervals(self) -> Edges:
        """The edges."""
        try:
            return Edges(self.edges)
        except ParameterError as error:
            raise TaskError(f"the edges of the answers cannot be used: {error}") from None

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The shares of the quantiles."""
        return tuple(read_decimal(text, name="quantiles") for text in self.quantiles)

    @property
    def size(self) -> int:
        """The number of intervals, two of which are open at one end."""
        return len(self.intervals.edges) + 1

    @property
    def numbers(self) -> AnswerNumbers:
        """Intervals are not listed."""
        raise DataError("the answers of this task are numbers in intervals, which are not listed")

    @property
    def domain(self) -> Domain:
        """The labels of the intervals in order, then (other), then (none)."""
        labels = self.intervals.domain.decode(np.arange(self.size)).tolist()
        return Domain.of([*labels, OTHER, NONE], in_order=True)

    def bin_of(self, answer: Any) -> int:
        """Return the interval of a number, or of a text that is one; (other) for anything else, (none) for nothing."""
        try:
            if answer is None or (isinstance(answer, str) and not answer):
                return self.size + 1
            number = read_number(str(answer))
        except Exception:  # an object may fail to give its text; not reporting would reveal something
            number = None
        return self.size if number is None else bisect_right(self.intervals.edges, number)


class PieceAlphabet(_Kind, frozen=True, tag="alphabet"):
    """All texts of 1 to `width` of these characters."""

    characters: str
    width: int


class PieceList(_Kind, frozen=True, tag="list"):
    """The pieces themselves."""

    values: list[str]


class AnswerText(_Kind, frozen=True, tag="text"):
    """Any text of at most `longest` bytes, cut into at most `levels` pieces after its normalisation."""

    longest: int
    levels: int
    pieces: PieceAlphabet | PieceList
    normalisation: list[Step]

    @classmethod
    def of(cls, code: TextCode) -> AnswerText:
        """Return the answers with this code."""
        return cls(
            longest=code.longest,
            levels=code.levels,
            pieces=PieceList(list(code.pieces)) if code.pieces else PieceAlphabet(code.alphabet, code.width),
            normalisation=list(code.normalisation),
        )

    def check(self) -> None:
        """Refuse a code that cannot be used."""
        _ = self.code

    @property
    def size(self) -> int:
        """The number of listed answers: none."""
        return 0

    @property
    def numbers(self) -> AnswerNumbers:
        """Texts have no bins."""
        raise DataError("the answers of this task are texts, which have no bins")

    @cached_property
    def code(self) -> TextCode:
        """The code that gives every text its values."""
        if isinstance(self.pieces, PieceAlphabet):
            pieces: dict[str, Any] = {"alphabet": self.pieces.characters, "width": self.pieces.width}
        else:
            pieces = {"pieces": tuple(self.pieces.values)}
        try:
            return TextCode(levels=self.levels, longest=self.longest, normalisation=tuple(self.normalisation), **pieces)
        except ParameterError as error:
            raise TaskError(f"the code of the answers cannot be used: {error}") from None

    def path(self, answer: Any) -> tuple[int, ...]:
        """The symbols of an answer on all levels."""
        try:
            return self.code.path(answer)
        except Exception:  # an object may fail to give its text; not reporting would reveal something
            return self.code.path(_NO_TEXT)

    def is_other(self, answer: Any) -> bool:
        """Whether an answer is too long or cannot be cut into pieces, and so counts as (other)."""
        return self.path(answer)[0] == OTHER_SYMBOL

    def values_of(self, answer: Any) -> NDArray[np.int64]:
        """The values of an answer on all levels; every answer has them."""
        return self.code.values_at(self.path(answer))


Answers = AnswerList | AnswerRange | AnswersElsewhere | AnswerText | AnswerEdges | AnswerChoices


def kind_of(answers: Answers) -> str:
    """The kind of answers, as a task file names it."""
    return str(type(answers).__struct_config__.tag)
