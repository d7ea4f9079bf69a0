"""What can be asked about single answers after a task: a second task that counts the texts it found, and lookups.

- The answers of the second task depend on the first release, its noise does not. So the privacy of both together is the
  composition of their curves (docs/proofs/exact-privacy.md, "Several releases"). The composition costs less than the
  sum of both epsilons: `split_budget` scales both up until it reaches the whole budget.
- Any answer of a task with hashed messages can be looked up in the tallies of its batches, shown in a release or not.
  The shuffled messages are private by themselves, and the ledger has an entry for them once they are released. So the
  count of any answer is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from shuffledp.accounting.composition import composed
from shuffledp.accounting.curve import Guarantee
from shuffledp.accounting.search import last_safe_from, log_excess
from shuffledp.collect.task.answers import NONE, OTHER, AnswerList, AnswerText
from shuffledp.collect.task.task import BETA, Task
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr, share_at_least
from shuffledp.histogram.estimate import Row
from shuffledp.histogram.labels import NotAValue
from shuffledp.histogram.tally import Tally
from shuffledp.histogram.text_code import FIRST_PIECE, TextCode
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.free_text import FreeText, TallyCounts
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.target import Target
from shuffledp.release.release import Release
from shuffledp.validation import open_probability, target_delta, target_epsilon

_COUNTING = ("dummy-poisson", "sparse", "hashed")
"""The protocols that `new_task` chooses for listed answers of many people. Their curves for one guarantee differ by a
few percent; the budget suffices for each of them."""

_DIGITS = 3
_TOLERANCE = 1e-3
"""The precision of an epsilon of three digits."""


@dataclass(frozen=True, kw_only=True)
class SplitBudget:
    """The guarantees of a task that finds texts and of a task that counts them, for a `total` of the same people."""

    find: Guarantee
    count: Guarantee
    total: Guarantee


def split_budget(
    code: TextCode, *, users: int, epsilon: float, delta: float, share: float, honest_users: int | None = None
) -> SplitBudget:
    """Return the largest guarantees whose composition is within the budget; `share` of epsilon is for counting.

    Each task has half of delta. The curves of both tasks are those of `users` people in one batch.
    """
    share = open_probability("confirm", share)
    epsilon, delta = target_epsilon(epsilon), target_delta(delta)
    half = delta / 2
    people: dict[str, Any] = {"users": users, "honest_users": honest_users}

    def excess(scale: float) -> float:
        search = FreeText.for_target(code, epsilon=_rounded(scale * (1 - share) * epsilon), delta=half, **people)
        # the noise of a task that counts does not depend on the number of its answers
        counting = _counting(bins=3, epsilon=_rounded(scale * share * epsilon), delta=half, **people)
        found, counted = search.protocol.privacy, [made.privacy for made in counting]
        reached = max(composed([found, each]).delta(epsilon) for each in counted)
        return log_excess(reached, delta)

    # with the scale 1 the sum of both guarantees is the budget
    scale = last_safe_from(excess, 1.2, stride=0.2, least=1.0, most=1 / max(share, 1 - share), tolerance=_TOLERANCE)
    if scale is None:
        raise ParameterError(f"confirm={share:g} leaves too little of epsilon={epsilon:g} for one of the two tasks")
    return SplitBudget(
        find=_part(scale * (1 - share) * epsilon, half),
        count=_part(scale * share * epsilon, half),
        total=Guarantee(epsilon=epsilon, delta=delta, basis="composed"),
    )


def _part(epsilon: float, delta: float) -> Guarantee:
    return Guarantee(epsilon=_rounded(epsilon), delta=delta, basis="a part of the budget")


def _rounded(epsilon: float) -> float:
    return float(share_at_least(epsilon, digits=_DIGITS))


def _counting(*, bins: int, **asked: Any) -> list[HistogramProtocol]:
    target = Target(bins=bins, padding_bins=0, **asked)
    return [named(name).make(target) for name in _COUNTING]


def counting_error(split: SplitBudget, *, users: int, texts: int, honest_users: int | None = None) -> float:
    """Return the smallest error bound, in people, of a task that counts this number of texts with its part."""
    guarantee = {"epsilon": split.count.epsilon, "delta": split.count.delta}
    made = _counting(users=users, bins=texts + 2, honest_users=honest_users, **guarantee)
    return min(each.error(BETA).simultaneous for each in made)


def found_texts(release: Release) -> AnswerList:
    """Return the texts of a release of free text as answers of a new task, the most frequent first.

    (other), (none) and hidden texts are left out, and so is a text that reads like one of them.
    """
    detection = release.estimate.detection
    if detection is None or detection.longest is None:
        raise DataError("the release must be of a free-text task: its values were listed before")
    labels = [row.label for row in release.estimate.top()]
    texts = [str(label) for label in labels if not isinstance(label, NotAValue)]
    texts = [text for text in texts if text.strip('"') not in (OTHER, NONE)]
    if not texts:
        raise DataError("the release has no text that is shown, so there is nothing to count")
    return AnswerList(texts)


def together(release: Release, task: Task) -> Guarantee:
    """Return the guarantee of a release and a task for people who take part in both, at the sum of both deltas."""
    first = release.estimate.guarantee
    if first is None:
        raise DataError("the release has no guarantee, so its privacy cannot be composed")
    delta = min(first.delta + task.guarantee.delta, 0.5)
    epsilon = composed([release.protocol.privacy, task.protocol.privacy]).epsilon(delta)
    return Guarantee(epsilon=epsilon, delta=delta, basis="composed")


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
