"""Free-text answers of `task new`, and the second task of the same people, which counts the texts of the first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from shuffledp.accounting.curve import Guarantee
from shuffledp.collect.task import AnswerText, Task
from shuffledp.collect.task.confirm import SplitBudget, counting_error, split_budget, together
from shuffledp.formatting import counted, epsilon_delta, people_at_most, share_at_most, short_exponent
from shuffledp.protocols.free_text import TextChoices
from shuffledp.release.release import Release
from shuffledp.validation import open_probability


class Confirmation(NamedTuple):
    """Another task of the same people: facts by title, and for JSON."""

    facts: dict[str, str]
    plain: dict[str, Any]


def text_answers(
    choices: TextChoices, people: Mapping[str, Any], *, epsilon: float, delta: float, confirm: float | None
) -> tuple[AnswerText, SplitBudget | None]:
    """Return the answers with the best code, and the budgets of both tasks if a second one is to count."""
    if confirm is None:
        return AnswerText.of(choices.search(**people, epsilon=epsilon, delta=delta).code), None
    # the code is chosen for the budget that is certain
    certain = (1 - open_probability("confirm", confirm)) * epsilon
    code = choices.search(**people, epsilon=certain, delta=delta / 2).code
    return AnswerText.of(code), split_budget(code, **people, epsilon=epsilon, delta=delta, share=confirm)


def confirmation(task: Task, split: SplitBudget) -> Confirmation:
    """Return the plan of the second task, before the first one has found a text."""
    plan = task.text_plan
    assert plan is not None
    texts = max(1, math.floor(task.users / plan.detection_limit))
    error = counting_error(split, users=task.users, texts=texts, honest_users=task.honest_users)
    delta = short_exponent(f"{split.count.delta:g}")
    facts = {
        "Second task": f"counts up to {counted(texts, 'text')} within ±{people_at_most(error)}: after the release, "
        f"create it with --answers-from RELEASE.json --epsilon {split.count.epsilon:g} --delta {delta} and new keys",
        "Both tasks": f"{epsilon_delta(split.total.epsilon, split.total.delta)} {_COMPOSED}",
    }
    plain = {
        "find": _guarantee(split.find),
        "count": {**_guarantee(split.count), "error": error, "texts": texts},
        "together": _guarantee(split.total),
    }
    return Confirmation(facts, plain)


def second_task(task: Task, first: Release) -> Confirmation:
    """Return the guarantee of a task and of the release whose texts it counts."""
    total = together(first, task)
    epsilon, delta = share_at_most(total.epsilon, digits=3), share_at_most(total.delta)
    return Confirmation(
        {"Both tasks": f"with the release, epsilon {epsilon}, delta {delta} {_COMPOSED}"},
        {"together": _guarantee(total)},
    )


_COMPOSED = "for people who answer both (exact composition)"


def _guarantee(guarantee: Guarantee) -> dict[str, float]:
    return {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
