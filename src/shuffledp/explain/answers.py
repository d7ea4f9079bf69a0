"""The answers of a task as text: which are possible, what is counted, and the accuracy of numbers."""

from __future__ import annotations

from typing import Any

from shuffledp.collect.task.answers import (
    NONE,
    OTHER,
    AnswerChoices,
    AnswerEdges,
    AnswerRange,
    AnswersElsewhere,
    AnswerText,
)
from shuffledp.collect.task.task import BETA, RangePlan, Task
from shuffledp.explain import text_task
from shuffledp.explain.protocols import share_of_all
from shuffledp.formatting import confidence_percent, people_at_most, readable, shown
from shuffledp.histogram.edges import written

_LISTED = 12
"""The most answers that are listed in a sentence."""

_LONGEST_TEXT = 256
"""The most characters of a text, which is shown whole."""


def possible(task: Task) -> str:
    """Return the possible answers in one line."""
    match task.answers:
        case AnswerRange(start=start, stop=stop):
            return f"whole numbers from {start:,} to {stop - 1:,}"
        case AnswersElsewhere(address=address, sha256=sha256, size=size):
            return f"{readable(size)} answers, listed at {address} (SHA-256 {sha256})"
        case AnswerText() as text:
            return text_task.answers(text)
        case AnswerEdges(size=size) as numbers:
            first, last = (written(numbers.intervals.edges[at]) for at in (0, -1))
            return f"a number, in {readable(size)} intervals with edges from {first} to {last}"
        case AnswerChoices(values=values, most=most):
            return f"up to {most} of {_listed(values)}"
        case listed:
            return _listed(listed.values)


def _listed(values: list[str]) -> str:
    if len(values) <= _LISTED:
        return ", ".join(shown(value) for value in values)
    first = ", ".join(shown(value) for value in values[: _LISTED // 2])
    return f"{readable(len(values))} answers ({first}, ...)"


def what_is_counted(task: Task) -> str:
    """Return the paragraph about what is published, (other) and (none)."""
    match task.answers:
        case AnswerText() as text:
            return text_task.what_is_counted(task, text)
        case AnswerEdges() as numbers:
            return f"{_counted_numbers(numbers)} {_batches(task)}"
        case AnswerChoices(most=most):
            return (
                f"The number of people per choice, and how many people made few choices: {possible(task)}. Of more "
                f"than {most} choices, the device reports {most} chosen at random. Other choices are counted together "
                f"as {OTHER}, and no choice as {NONE}. {_batches(task)}"
            )
    quantiles = "" if task.range_plan is None else ", and the quantiles, such as the median"
    return (
        f"The number of people per answer: {possible(task)}{quantiles}. Other answers are counted together "
        f"as {OTHER}, and no answer as {NONE}. {_batches(task)}"
    )


def _counted_numbers(asked: AnswerEdges) -> str:
    edges = asked.intervals.edges
    shares = ", ".join(_percent(share) for share in asked.shares)
    shown_shares = f" The quantiles {shares} are shown." if shares else ""
    return (
        f"The number of people in each of {readable(asked.size)} intervals of numbers, in every range of them, and "
        f"the quantiles, such as the median.{shown_shares} A number below {written(edges[0])} or from "
        f"{written(edges[-1])} on has an interval too. Anything that is no number is counted as {OTHER}, and no answer "
        f"as {NONE}."
    )


def _batches(task: Task) -> str:
    return (
        f"Counts are published for batches of exactly {readable(task.users)} people. Reports that fill no batch are "
        "deleted unread."
    )


def note_on(task: Task, answer: Any) -> str | None:
    """Return what is counted of an answer, for the person's own screen; None if it is the answer itself."""
    other = task.is_other(answer)
    match task.answers:
        case AnswerEdges():
            if other:
                return f"Your answer is no number such as 42 or 4.5, and counts as {OTHER}."
            if answer is None:
                return None
            (interval,) = task.labels.decode([task.bin_of(answer)])
            return f"This is what will be counted: {shown(interval)}"
        case AnswerChoices(most=most) as choices:
            notes = [f"A choice that is not exactly in the list of the task counts as {OTHER}."] if other else []
            if len(choices.bins_of(answer)) > most:
                notes.append(f"The task counts at most {most} choices: {most} of yours are chosen at random.")
            return " ".join(notes) or None
        case AnswerText(longest=longest, code=code):
            if other:
                return (
                    f"Your text counts as {OTHER}: it has more than {longest} bytes, characters that the task does not "
                    "count, or too many pieces."
                )
            text = code.normalise(answer)
            return f"This is what will be counted: {shown(text, width=_LONGEST_TEXT)}" if text else None
    return f"Your answer is not exactly in the list of the task, and counts as {OTHER}." if other else None


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


def accuracy(task: Task, plan: RangePlan) -> str:
    """Return the sentences about the errors of single counts, ranges and quantiles."""
    single, below = (
        ("in all single intervals of a batch", "below all edges")
        if isinstance(task.answers, AnswerEdges)
        else ("with each answer of a batch", "up to all answers")
    )
    return (
        f"With {confidence_percent(BETA)}% confidence each, the published numbers of people {single} are within "
        f"±{people_at_most(plan.single)}, and the numbers of people {below} within "
        f"±{people_at_most(plan.below)}{share_of_all(plan.below, task.users, whole='the batch')}. The intervals of the "
        "median and of other quantiles follow from these."
    )


def accuracy_in_short(task: Task, plan: RangePlan) -> str:
    """Return the accuracy in one line."""
    below, percent = people_at_most(plan.below), f"{confidence_percent(BETA)}%"
    if isinstance(task.answers, AnswerEdges):
        people = readable(task.users)
        return f"the number of people below any edge, of {people} people, within ±{below} ({percent} confidence)"
    return (
        f"counts of {readable(task.users)} people each, within ±{people_at_most(plan.single)}; the number of people up "
        f"to any answer, within ±{below} ({percent} confidence each)"
    )


def about(task: Task, plan: RangePlan) -> dict[str, Any]:
    """Return the facts about the numbers of a task for JSON: without edges or quantiles of its own, for a range."""
    asked = task.answers if isinstance(task.answers, AnswerEdges) else None
    return {
        "edges": asked and asked.edges,
        "quantiles": list(asked.shares) if asked else [],
        "levels": plan.levels,
        "branching": plan.branching,
        "beta": plan.beta,
        "range_error": plan.below,
    }


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"
