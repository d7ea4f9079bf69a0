"""Two tasks about the same people: the first finds the texts that many of them share, the second counts these texts.

The answers of the second task depend on the first release, its noise does not. So the privacy of both together is the
composition of their curves (docs/proofs/exact-privacy.md, "Several releases"). The composition costs less than the sum
of both epsilons: `split_budget` scales both up until it reaches the whole budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shuffledp.accounting.composition import composed
from shuffledp.accounting.curve import Guarantee
from shuffledp.accounting.search import last_safe_from, log_excess
from shuffledp.collect.task.answers import NONE, OTHER, AnswerList
from shuffledp.collect.task.task import BETA, Task
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import share_at_least
from shuffledp.histogram.labels import NotAValue
from shuffledp.histogram.text_code import TextCode
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.free_text import FreeText
from shuffledp.protocols.protocol import HistogramProtocol
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
    """The protocols of tasks that count."""
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
