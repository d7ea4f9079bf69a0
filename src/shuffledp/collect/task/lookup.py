"""Look up one answer of a task with hashed messages, shown in a release or not, from the tallies of its batches.

The shuffled messages are private by themselves, and the ledger has an entry for them once they are released. So the
count of any answer is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from shuffledp.collect.task.answers import NONE, OTHER, AnswerText
from shuffledp.collect.task.task import BETA, Task
from shuffledp.errors import ParameterError
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.estimate import Row
from shuffledp.histogram.tally import Tally
from shuffledp.histogram.text_code import FIRST_PIECE
from shuffledp.protocols.free_text import FreeText, TallyCounts
from shuffledp.protocols.shuffled.hashed import HashedHistogram

LONGEST_LOOKUP = 1_000
"""Characters of an answer that is looked up."""


@dataclass(frozen=True, kw_only=True)
class LookedUp(ShortRepr):
    """The count of an answer with its interval, which holds for this answer by itself with probability 1 - beta.

    `value` is the answer as it is counted: normalised, or (other) or (none).
    """

    value: str
    count: float
    low: int
    high: int
    beta: float
    people: int
    batches: int


def can_look_up(task: Task) -> bool:
    """Whether answers of a task can be looked up: its messages are hashed, and its answers known."""
    return isinstance(task.protocol, HashedHistogram) and task.has_answers


def check_lookup(task: Task, answer: str) -> None:
    """Refuse a task whose answers cannot be looked up, and an answer that is too long."""
    if not can_look_up(task):
        raise ParameterError("an answer can be looked up only in a task with the protocol hashed: see its release")
    if len(answer) > LONGEST_LOOKUP:
        raise ParameterError(f"an answer to look up must have at most {LONGEST_LOOKUP:,} characters")


def looked_up(task: Task, tallies: Sequence[Tally], answer: str, *, beta: float = BETA) -> LookedUp:
    """Return the count of an answer in batches that are counted together."""
    check_lookup(task, answer)
    protocol, together = task.protocol.joined(len(tallies)), reduce(add, tallies)
    assert isinstance(protocol, HashedHistogram)
    if isinstance(task.answers, AnswerText):
        row = _text(FreeText(code=task.answers.code, protocol=protocol), together, answer, beta=beta)
    else:
        row = _listed(protocol, together, task.bin_of(answer), beta=beta)
    return LookedUp(
        value=counted_as(task, answer),
        count=row.count,
        low=row.low,
        high=row.high,
        beta=beta,
        people=protocol.users,
        batches=len(tallies),
    )


def _listed(protocol: HashedHistogram, tally: Tally, at: int, *, beta: float) -> Row:
    """The estimate of one listed answer."""
    estimator = protocol.estimator
    statistic = estimator.statistic_of(tally, np.array([at]))
    (count,) = estimator.point(statistic).tolist()
    ends = estimator.intervals(statistic, beta=beta, bins=1).possible(protocol.users)
    return Row(at, count, int(ends.low[0]), int(ends.high[0]))


def _text(search: FreeText, tally: Tally, answer: str, *, beta: float) -> Row:
    """The estimate of one text, from all levels on which it is counted as a whole."""
    code, tests, counts = search.code, search.tests, TallyCounts(search.protocol, tally)
    path = code.path(answer)
    pieces = sum(symbol >= FIRST_PIECE for symbol in path)
    levels = range(min(pieces, code.levels - 1), code.levels)
    values = code.values_at(path)
    total = np.array([sum(int(counts.count(level, values[[level]])[0]) for level in levels)])
    estimator = tests.counted(len(levels))
    (count,), (low, high) = estimator.estimate(total).tolist(), estimator.interval(total, beta=beta)
    return Row(answer, count, int(low[0]), int(high[0]))


def counted_as(task: Task, answer: str) -> str:
    """The answer as it is counted."""
    if isinstance(task.answers, AnswerText):
        return str(task.answers.code.label(task.answers.path(answer)))
    at, listed = task.bin_of(answer), task.answers.size
    return answer if at < listed else OTHER if at == listed else NONE
