"""Look up one answer of a task with hashed messages, shown in a release or not, from the tallies of released batches.

The shuffled messages are private by themselves, and the ledger has an entry for them since their release. So the count
of any answer is post-processing. Batches that are not released yet are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.cache import BoundedCache
from shuffledp.collect.store import TallyStore
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task import AnswerText, Task
from shuffledp.collect.task.schema import NONE, OTHER
from shuffledp.collect.task.task import BETA
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.estimate import Row
from shuffledp.histogram.labels import text_label
from shuffledp.histogram.tally import Tally
from shuffledp.histogram.text_code import FIRST_PIECE
from shuffledp.histogram.text_code import OTHER as OTHER_SYMBOL
from shuffledp.protocols.free_text import FreeText, TallyCounts
from shuffledp.protocols.shuffled.hashed import HashedHistogram

LONGEST = 1_000
"""Characters of an answer that is looked up."""

_MOST_BYTES = 2**20
_BYTES_OF_ONE = 1_000


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


class Lookups:
    """Answers that operators look up: one at a time, and each once for every release."""

    def __init__(self, store: TallyStore) -> None:
        self._store = store
        self._cache: BoundedCache[LookedUp | None] = BoundedCache(most_bytes=_MOST_BYTES, size=lambda _: _BYTES_OF_ONE)

    @staticmethod
    def can(task: Task) -> bool:
        """Whether answers of a task can be looked up: its messages are hashed, and its answers known."""
        return task.protocol_used.name == "hashed" and task.has_answers

    def of(self, task: Task, answer: str) -> LookedUp | None:
        """Return the count of an answer in all released batches; None before the first release."""
        if not self.can(task):
            raise Refused(Reason.UNKNOWN_TASK)
        releases = len(self._store.listed(task.id))
        return self._cache.get((task.id, releases, _counted_as(task, answer)), lambda: self._look_up(task, answer))

    def _look_up(self, task: Task, answer: str) -> LookedUp | None:
        released = [kept for kept in self._store.tallies(task.id) if kept.released and kept.problem is None]
        if not released:
            return None
        return looked_up(task, [from_bytes(kept.tally) for kept in released], answer)


def looked_up(task: Task, tallies: Sequence[Tally], answer: str, *, beta: float = BETA) -> LookedUp:
    """Return the count of an answer in batches that are counted together."""
    protocol, together = task.protocol.joined(len(tallies)), reduce(add, tallies)
    assert isinstance(protocol, HashedHistogram)
    if isinstance(task.answers, AnswerText):
        row = _text(FreeText(code=task.answers.code, protocol=protocol), together, answer, beta=beta)
    else:
        row = _listed(protocol, together, task.bin_of(answer), beta=beta)
    return LookedUp(
        value=_counted_as(task, answer),
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


def _counted_as(task: Task, answer: str) -> str:
    """The answer as it is counted."""
    if isinstance(task.answers, AnswerText):
        first, text = task.answers.path(answer)[0], task.answers.code.normalise(answer)
        return text_label(text or "") if first >= FIRST_PIECE else OTHER if first == OTHER_SYMBOL else NONE
    at, listed = task.bin_of(answer), task.answers.size
    return answer if at < listed else OTHER if at == listed else NONE
