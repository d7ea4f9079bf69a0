"""Two tasks about the same people: the first finds the texts that many of them share, the second counts these texts.

The answers of the second task depend on the first release, its noise does not. So the privacy of both together is the
composition of their curves (docs/proofs/exact-privacy.md, "Several releases"). The composition costs less than the sum
of both epsilons: `split_budget` scales both up until it reaches the whole budget.
"""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting.composition import composed
from shuffledp.accounting.curve import Curve, Guarantee
from shuffledp.accounting.search import last_safe_from, log_excess
from shuffledp.collect.task.guarantee import CODECS
from shuffledp.collect.task.schema import NONE, OTHER, AnswerList
from shuffledp.collect.task.task import Task
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import share_at_least
from shuffledp.histogram.labels import NotAValue
from shuffledp.histogram.text_code import TextCode
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.target import Target
from shuffledp.release.release import Release
from shuffledp.validation import open_probability

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
    whole = Target(
        users=users, bins=code.values, epsilon=epsilon, delta=delta, honest_users=honest_users, padding_bins=0
    )
    half = delta / 2

    def excess(scale: float) -> float:
        found = _finding(whole, code, epsilon=_rounded(scale * (1 - share) * epsilon), delta=half)
        counted = _counting(whole, epsilon=_rounded(scale * share * epsilon), delta=half)
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


def _finding(target: Target, code: TextCode, *, epsilon: float, delta: float) -> Curve:
    part = _target(target, bins=code.values, epsilon=epsilon, delta=delta)
    return HashedHistogram.for_levels(part, levels=code.levels, pieces=code.symbols).privacy


def _counting(target: Target, *, epsilon: float, delta: float) -> list[Curve]:
    """The curves of tasks that count, whose noise does not depend on the number of answers."""
    part = _target(target, bins=3, epsilon=epsilon, delta=delta)
    return [named(name).make(part).privacy for name in _COUNTING if name in CODECS]


def _target(target: Target, *, bins: int, epsilon: float, delta: float) -> Target:
    return Target(
        users=target.users,
        bins=bins,
        epsilon=epsilon,
        delta=delta,
        honest_users=target.honest_users,
        padding_bins=0,
    )


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
