"""The answers of a task as text: which are possible, what is counted, its accuracy, and what forged reports can do."""

from __future__ import annotations

import math
from typing import Any

from shuffledp.collect.task.answers import (
    NONE,
    OTHER,
    AnswerChoices,
    AnswerEdges,
    AnswerRange,
    AnswersElsewhere,
    AnswerText,
    PieceAlphabet,
)
from shuffledp.collect.task.task import BETA, RangePlan, Task, TextPlan
from shuffledp.explain.protocols import share_of_all
from shuffledp.formatting import (
    confidence_percent,
    counted,
    people_at_most,
    percent_at_most,
    readable,
    share_at_most,
    shown,
)
from shuffledp.histogram.edges import written
from shuffledp.histogram.text_code import FIRST_PIECE, Step
from shuffledp.release.notes import USELESS_SHARE

STEPS = {
    Step.TRIM: "spaces at both ends are removed",
    Step.LOWER: "letters become small",
    Step.QUERY: "everything from the first ? or # on is removed",
    Step.SLASH: "slashes at the end are removed",
}

_LISTED = 12
"""The most answers that are listed in a sentence."""

_LONGEST_ALPHABET = 60
"""The most characters of an alphabet that are listed in a sentence."""

_LONGEST_TEXT = 256
"""The most characters of a text, which is shown whole."""

_SURE = f"{confidence_percent(BETA)}%"


def possible(task: Task) -> str:
    """Return the possible answers in one line."""
    match task.answers:
        case AnswerRange(start=start, stop=stop):
            return f"whole numbers from {start:,} to {stop - 1:,}"
        case AnswersElsewhere(address=address, sha256=sha256, size=size):
            return f"{readable(size)} answers, listed at {address} (SHA-256 {sha256})"
        case AnswerText(longest=longest, levels=levels, pieces=pieces):
            if isinstance(pieces, PieceAlphabet):
                of = f"of the characters {shown(pieces.characters, width=_LONGEST_ALPHABET)}"
            else:
                of = f"made of {counted(len(pieces.values), 'listed piece')}"
            return f"any text of up to {counted(longest, 'byte')}, {of}, in up to {counted(levels, 'piece')}"
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
    """Return the paragraph about what is published, normalisation, (other) and (none)."""
    match task.answers:
        case AnswerText(longest=longest, levels=levels) as asked:
            changed = ", ".join(["Unicode is normalised (NFC)", *(STEPS[step] for step in asked.normalisation)])
            return (
                "Texts that many people give, and the number of people of each. A text is changed on the device before "
                f"it is counted: {changed}. A text of more than {counted(longest, 'byte')}, or one that cannot be cut "
                f"into at most {counted(levels, 'piece')}, is counted as {OTHER}, and no answer as {NONE}. "
                f"{_pieces(asked)} Texts are searched in batches of exactly {readable(task.users)} people. Reports "
                "that fill no batch are deleted unread."
            )
        case AnswerEdges() as numbers:
            what = _counted_numbers(numbers)
        case AnswerChoices(most=most):
            what = (
                f"The number of people per choice, and how many people made few choices: {possible(task)}. Of more "
                f"than {most} choices, the device reports {most} chosen at random. Other choices are counted together "
                f"as {OTHER}, and no choice as {NONE}."
            )
        case _:
            quantiles = "" if task.range_plan is None else ", and the quantiles, such as the median"
            what = (
                f"The number of people per answer: {possible(task)}{quantiles}. Other answers are counted together "
                f"as {OTHER}, and no answer as {NONE}."
            )
    return (
        f"{what} Counts are published for batches of exactly {readable(task.users)} people. Reports that fill no batch "
        "are deleted unread."
    )


def _pieces(asked: AnswerText) -> str:
    pieces = asked.pieces
    if not isinstance(pieces, PieceAlphabet):
        return f"The pieces are {counted(len(pieces.values), 'text')} that the task lists."
    each = "one character" if pieces.width == 1 else f"up to {pieces.width} characters"
    if len(pieces.characters) > _LONGEST_ALPHABET:
        return f"A piece is {each} of the {len(pieces.characters)} that the task lists."
    return f"A piece is {each} of “{shown(pieces.characters, width=_LONGEST_ALPHABET)}”."


def _counted_numbers(asked: AnswerEdges) -> str:
    edges = asked.intervals.edges
    shares = ", ".join(f"{100 * share:.4g}%" for share in asked.shares)
    shown_shares = f" The quantiles {shares} are shown." if shares else ""
    return (
        f"The number of people in each of {readable(asked.size)} intervals of numbers, in every range of them, and "
        f"the quantiles, such as the median.{shown_shares} A number below {written(edges[0])} or from "
        f"{written(edges[-1])} on has an interval too. Anything that is no number is counted as {OTHER}, and no answer "
        f"as {NONE}."
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
    """Return the sentences about the messages of a text, a number or choices; empty for other kinds of answers."""
    if task.tree is not None:
        levels = task.tree.levels
        of = "the interval" if levels == 1 else f"each of {levels} groups of intervals, from wide to narrow,"
        own = f"The device sends one message for {of} that your number is in"
        return f"{own}, and random messages that depend on nothing. "
    match task.answers:
        case AnswerChoices(most=most):
            return (
                f"The device always sends messages for {most} choices: if you choose fewer, the rest say only that a "
                "choice is missing, and nobody can tell whose they are. "
            )
        case AnswerText(levels=levels):
            return (
                f"The device sends one message for each of {counted(levels, 'beginning')} of the text, of one piece, "
                "two pieces and so on: a random key, and a short hash of the beginning under this key, which many "
                "texts share. Beside them it sends random messages that depend on nothing. "
            )
    return ""


def accuracy(task: Task) -> str:
    """Return the sentences about the errors of counts, ranges and quantiles, or about which texts are found."""
    whole = "the batch"
    if (texts := task.text_plan) is not None:
        if texts.detection_limit > task.users:
            return "The noise hides every text: use more people, a larger epsilon or fewer pieces."
        return (
            f"A text that at least {readable(texts.detection_limit)} people give "
            f"({percent_at_most(texts.detection_limit, task.users)} of {whole}) is found with {_SURE} probability. The "
            f"chance that any published text was given by nobody is at most {share_at_most(texts.risk)}, if no report "
            "is forged."
        )
    if (plan := task.range_plan) is not None:
        single, below = (
            ("in all single intervals of a batch", "below all edges")
            if isinstance(task.answers, AnswerEdges)
            else ("with each answer of a batch", "up to all answers")
        )
        return (
            f"With {_SURE} confidence each, the published numbers of people {single} are within "
            f"±{people_at_most(plan.single)}, and the numbers of people {below} within "
            f"±{people_at_most(plan.below)}{share_of_all(plan.below, task.users, whole=whole)}. The intervals of the "
            "median and of other quantiles follow from these."
        )
    error = task.protocol.error(BETA).simultaneous
    return (
        f"With {_SURE} confidence, all published counts of a batch are within "
        f"±{people_at_most(error)}{share_of_all(error, task.users, whole=whole)}."
    )


def accuracy_in_short(task: Task) -> str:
    """Return the accuracy in one line."""
    people = readable(task.users)
    if (texts := task.text_plan) is not None:
        if texts.detection_limit > task.users:
            return "no text can be found"
        return (
            f"a text of at least {readable(texts.detection_limit)} of {people} people is found with {_SURE} "
            f"probability; chance of any text that nobody gave: at most {share_at_most(texts.risk)}"
        )
    if (plan := task.range_plan) is not None:
        below = people_at_most(plan.below)
        if isinstance(task.answers, AnswerEdges):
            return f"the number of people below any edge, of {people} people, within ±{below} ({_SURE} confidence)"
        return (
            f"counts of {people} people each, within ±{people_at_most(plan.single)}; the number of people up to any "
            f"answer, within ±{below} ({_SURE} confidence each)"
        )
    error = people_at_most(task.protocol.error(BETA).simultaneous)
    return f"counts of {people} people each, within ±{error} ({_SURE} confidence)"


def text_limits(task: Task, plan: TextPlan) -> str:
    """Return the paragraph about forged reports and joined batches."""
    return (
        f"About {counted(_forged_reports(task, plan), 'forged report')} can make a text appear that nobody gave, "
        "so the chance above is about honest people only. Admission by a secret or by tokens limits forged reports. "
        f"Noise is added for every {readable(task.users)} people: a batch should be the whole population, since joined "
        "batches have the noise of all of them."
    )


def _forged_reports(task: Task, plan: TextPlan) -> int:
    """The fewest forged reports, each with all messages that it may have, that often make a text appear."""
    return math.ceil(plan.planting_messages / task.most_messages)


def text_warnings(task: Task, plan: TextPlan) -> list[str]:
    """Return the warnings about texts: few are found, or anyone can forge one."""
    found = []
    if plan.detection_limit > USELESS_SHARE * task.users:
        most = min(plan.detection_limit, task.users)
        found.append(
            f"only a text of at least {readable(most)} of {readable(task.users)} people is found: use more people or "
            "shorter texts"
        )
    if task.admission == "anybody":
        forged = counted(_forged_reports(task, plan), "forged report")
        found.append(
            f"anyone can send reports, and about {forged} can make a text appear: admit people by secret or token"
        )
    return found


def about_texts(task: Task, plan: TextPlan) -> dict[str, Any]:
    """Return the facts about the texts of a task for JSON."""
    asked = task.answers
    assert isinstance(asked, AnswerText)
    return {
        "longest": asked.longest,
        "levels": asked.levels,
        "pieces": asked.code.symbols - FIRST_PIECE,
        "normalisation": list(asked.normalisation),
        "detection_limit": plan.detection_limit,
        "all_reported": plan.all_reported,
        "risk": plan.risk,
        "beta": plan.beta,
        "forged_reports": _forged_reports(task, plan),
    }


def about_numbers(task: Task, plan: RangePlan) -> dict[str, Any]:
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
