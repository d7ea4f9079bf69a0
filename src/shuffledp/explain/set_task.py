"""A task for numbers or for several choices, as text: its answers, what is counted, and its accuracy."""

from __future__ import annotations

from typing import Any

from shuffledp.collect.task.answers import NONE, OTHER, AnswerChoices, AnswerEdges
from shuffledp.collect.task.task import BETA, RangePlan, Task
from shuffledp.formatting import confidence_percent, people_at_most, percent_at_most, readable
from shuffledp.histogram.edges import written


def numbers(asked: AnswerEdges) -> str:
    """Return the intervals of numbers in one line."""
    edges = asked.intervals.edges
    return f"a number, in {readable(asked.size)} intervals with edges from {written(edges[0])} to {written(edges[-1])}"


def choices(asked: AnswerChoices, listed: str) -> str:
    """Return the possible choices in one line; `listed` names them."""
    return f"up to {asked.most} of {listed}"


def what_numbers_count(task: Task, asked: AnswerEdges) -> str:
    """Return the paragraph about intervals, ranges and quantiles, (other) and (none)."""
    edges = asked.intervals.edges
    shares = ", ".join(_percent(share) for share in asked.shares)
    shown_shares = f" The quantiles {shares} are shown." if shares else ""
    return (
        f"The number of people in each of {readable(asked.size)} intervals of numbers, in every range of them, and "
        f"the quantiles, such as the median.{shown_shares} A number below {written(edges[0])} or from "
        f"{written(edges[-1])} on has an interval too. Anything that is no number is counted as {OTHER}, and no answer "
        f"as {NONE}. {_batches(task)}"
    )


def what_choices_count(task: Task, asked: AnswerChoices, answers: str) -> str:
    """Return the paragraph about choices, (other) and (none)."""
    return (
        f"The number of people per choice, and how many people made few choices: {answers}. Of more than {asked.most} "
        f"choices, the device reports {asked.most} chosen at random. Other choices are counted together as {OTHER}, "
        f"and no choice as {NONE}. {_batches(task)}"
    )


def _batches(task: Task) -> str:
    return (
        f"Counts are published for batches of exactly {readable(task.users)} people. Reports that fill no batch are "
        "deleted unread."
    )


def what_leaves(task: Task) -> str:
    """Return the sentences about the messages of a number or of choices; empty for other kinds of answers."""
    if task.tree is not None:
        levels = task.tree.levels
        of = "the interval" if levels == 1 else f"each of {levels} groups of intervals, from wide to narrow,"
        own = f"The device sends one message for {of} that your number is in"
        return f"{own}, and random messages that depend on nothing. "
    if isinstance(task.answers, AnswerChoices):
        most = task.answers.most
        return (
            f"The device always sends messages for {most} choices: if you choose fewer, the rest say only that a "
            "choice is missing, and nobody can tell whose they are. "
        )
    return ""


def accuracy(plan: RangePlan, users: int) -> str:
    """Return the sentences about the errors of intervals, ranges and quantiles."""
    return (
        f"With {confidence_percent(BETA)}% confidence, the published numbers of people in all single intervals of a "
        f"batch are within ±{people_at_most(plan.single)}, and the numbers of people below all edges within "
        f"±{people_at_most(plan.below)} ({percent_at_most(plan.below, users)} of the batch). The intervals of the "
        "median and of other quantiles follow from these."
    )


def accuracy_in_short(plan: RangePlan, users: int) -> str:
    """Return the accuracy in one line."""
    return (
        f"the number of people below any edge, of {readable(users)} people, within "
        f"±{people_at_most(plan.below)} ({confidence_percent(BETA)}% confidence)"
    )


def about(task: Task, plan: RangePlan) -> dict[str, Any]:
    """Return the facts about the numbers of a task for JSON."""
    asked = task.answers
    assert isinstance(asked, AnswerEdges)
    return {
        "edges": asked.edges,
        "quantiles": list(asked.shares),
        "levels": plan.levels,
        "branching": plan.branching,
        "beta": plan.beta,
        "range_error": plan.below,
    }


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"
