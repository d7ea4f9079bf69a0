"""Answers of which one person has several values: a number, with one interval on each level of a tree, and choices.

- Numbers fall into the intervals between public edges, which are open at both ends. The tree of estimators/tree.py
  makes the intervals wider from level to level, and a person's values are the nodes that contain their number.
- A person chooses at most a public number of listed values. Every person has exactly this number of values: missing
  ones are padding bins, which come after all others (histogram/inputs.py). The number of choices stays private.

Every answer is counted, as for other kinds of answers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.task.exact import read_decimal
from shuffledp.collect.task.listed import MOST_LISTED, NONE, OTHER, AnswerNumbers, check_answers
from shuffledp.errors import ParameterError, TaskError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.edges import Edges, read_number
from shuffledp.histogram.inputs import NONE as NO_VALUE
from shuffledp.randomness import generator

MOST_QUANTILES = 100
"""Quantiles that a release shows."""

MOST_CHOICES = 64
"""Choices of one person: the noise grows with their number, and a longer list of boxes is hardly read."""


class RangePlan(NamedTuple):
    """The accuracy of a release of numbers: error bounds in people, which fail with probability `beta`.

    `single` is of all single intervals at once, `below` of the numbers of people below all edges at once. The tree has
    these `levels` and this `branching`.
    """

    single: float
    below: float
    beta: float
    levels: int
    branching: int


class AnswerEdges(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="numbers", dict=True):
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


class AnswerChoices(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="choices", dict=True
):
    """Listed values of which a person chooses at most `most`."""

    values: list[str]
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

    @property
    def size(self) -> int:
        """The number of listed values."""
        return len(self.values)

    @cached_property
    def numbers(self) -> AnswerNumbers:
        """The bins of single choices."""
        return AnswerNumbers(self.values)

    def bins_of(self, answer: Any) -> list[int]:
        """Return the different bins of all choices in an answer, in increasing order.

        A text, or anything that cannot be iterated over, is one choice. Empty choices count as none, and an answer
        without any other choice is the choice (none). All choices that are not listed are one choice, (other).
        """
        none = self.numbers.size - 1
        try:
            choices = answer if isinstance(answer, Iterable) and not isinstance(answer, str | bytes) else [answer]
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
