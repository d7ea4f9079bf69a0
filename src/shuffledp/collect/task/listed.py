"""Listed answers: their form, and their bins. Every answer has a bin: (other) if it is not listed, (none) for none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from shuffledp.errors import TaskError
from shuffledp.histogram.domain import Domain

OTHER, NONE = "(other)", "(none)"
MOST_LISTED = 100_000
"""Answers in the task file itself: a longer list belongs in a file of its own."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,15})")
"""A whole number as text, in its one spelling, with at most the digits of numbers below 2^53."""


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
        """Return the bin of any answer: (none) for no answer or an empty text, (other) for one that is not listed."""
        try:
            if answer is None or (isinstance(answer, str) and not answer):
                return self.size - 1
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
