"""A task for texts that nobody listed, as text: its answers, its accuracy, and what forged reports can do."""

from __future__ import annotations

import math
from typing import Any

from shuffledp.collect.task.answers import NONE, OTHER, AnswerText, PieceAlphabet
from shuffledp.collect.task.task import BETA, Task, TextPlan
from shuffledp.formatting import (
    confidence_percent,
    counted,
    percent_at_most,
    readable,
    share_at_most,
    shown,
)
from shuffledp.histogram.text_code import FIRST_PIECE, Step
from shuffledp.release.notes import USELESS_SHARE

STEPS = {
    Step.TRIM: "spaces at both ends are removed",
    Step.LOWER: "letters become small",
    Step.QUERY: "everything from the first ? or # on is removed",
    Step.SLASH: "slashes at the end are removed",
}

_LONGEST_ALPHABET = 60
"""The most characters of an alphabet that are listed in a sentence."""


def answers(asked: AnswerText) -> str:
    """Return the possible answers in one line."""
    pieces = asked.pieces
    if isinstance(pieces, PieceAlphabet):
        of = f"of the characters {shown(pieces.characters, width=_LONGEST_ALPHABET)}"
    else:
        of = f"made of {counted(len(pieces.values), 'listed piece')}"
    return f"any text of up to {counted(asked.longest, 'byte')}, {of}, in up to {counted(asked.levels, 'piece')}"


def what_is_counted(task: Task, asked: AnswerText) -> str:
    """Return the paragraph about what is counted, normalisation, (other) and (none)."""
    return (
        f"Texts that many people give, and the number of people of each. {_normalisation(asked)} A text of more than "
        f"{counted(asked.longest, 'byte')}, or one that cannot be cut into at most {counted(asked.levels, 'piece')}, "
        f"is counted as {OTHER}, and no answer as {NONE}. {_pieces(asked)} Texts are searched in batches of exactly "
        f"{readable(task.users)} people. Reports that fill no batch are deleted unread."
    )


def _normalisation(asked: AnswerText) -> str:
    steps = [STEPS[step] for step in asked.normalisation]
    changed = ", ".join(["Unicode is normalised (NFC)", *steps])
    return f"A text is changed on the device before it is counted: {changed}."


def _pieces(asked: AnswerText) -> str:
    pieces = asked.pieces
    if not isinstance(pieces, PieceAlphabet):
        return f"The pieces are {counted(len(pieces.values), 'text')} that the task lists."
    each = "one character" if pieces.width == 1 else f"up to {pieces.width} characters"
    if len(pieces.characters) > _LONGEST_ALPHABET:
        return f"A piece is {each} of the {len(pieces.characters)} that the task lists."
    return f"A piece is {each} of “{shown(pieces.characters, width=_LONGEST_ALPHABET)}”."


def what_leaves(asked: AnswerText) -> str:
    """Return the sentence about the messages of a text."""
    return (
        f"The device sends one message for each of {counted(asked.levels, 'beginning')} of the text, of one piece, two "
        "pieces and so on: a random key, and a short hash of the beginning under this key, which many texts share. "
        "Beside them it sends random messages that depend on nothing. "
    )


def accuracy(plan: TextPlan, users: int) -> str:
    """Return the sentences about which texts are found."""
    sure = f"{confidence_percent(BETA)}%"
    if plan.detection_limit > users:
        return "The noise hides every text: use more people, a larger epsilon or fewer pieces."
    return (
        f"A text that at least {readable(plan.detection_limit)} people give "
        f"({percent_at_most(plan.detection_limit, users)} of the batch) is found with {sure} probability. The chance "
        f"that any published text was given by nobody is at most {share_at_most(plan.risk)}, if no report is forged."
    )


def accuracy_in_short(plan: TextPlan, users: int) -> str:
    """Return the accuracy in one line."""
    if plan.detection_limit > users:
        return "no text can be found"
    return (
        f"a text of at least {readable(plan.detection_limit)} of {readable(users)} people is found with "
        f"{confidence_percent(BETA)}% probability; chance of any text that nobody gave: at most "
        f"{share_at_most(plan.risk)}"
    )


def limits(task: Task, plan: TextPlan) -> str:
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


def warnings(task: Task, plan: TextPlan) -> list[str]:
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


def about(task: Task, plan: TextPlan) -> dict[str, Any]:
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
