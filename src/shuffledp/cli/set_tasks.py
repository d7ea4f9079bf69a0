"""Numbers and several choices in commands: the answers of a task, one person's answer, and answers in a column."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli.options import option, shortened, whole_number
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from shuffledp.collect.task import AnswerChoices, AnswerEdges, Task

ANSWERS = "Answers"

Edges = Annotated[
    str | None,
    option("EDGES", "Numbers as answers, in intervals: 0,18,30,65 or 0:120:5 (from, to, step).", panel=ANSWERS),
]
Quantiles = Annotated[
    str | None, option("SHARES", "Quantiles that a release shows: 0.25,0.5,0.9; needs --edges.", panel=ANSWERS)
]
ChooseUpTo = Annotated[
    int | None,
    option("NUMBER", "The most answers that one person chooses.", panel=ANSWERS, parser=whole_number),
]
Separator = Annotated[
    str, option("MARK", "Between the choices in a cell, if the task allows several.", name="--separator")
]

SEPARATOR = ";"
"""Between the choices in a cell: less common in answers than a comma, and no delimiter of most CSV files."""


def number_answers(edges: str, quantiles: str | None) -> AnswerEdges:
    """Return the intervals between edges, and the quantiles to show in increasing order."""
    from shuffledp.cli.release_output import parse_shares
    from shuffledp.collect.task import AnswerEdges
    from shuffledp.collect.task.public_file import decimal_text
    from shuffledp.histogram.edges import Edges

    shares = [] if quantiles is None else sorted(set(parse_shares(quantiles)))
    return AnswerEdges(str(Edges(edges)), [decimal_text(share) for share in shares])


def choice_answers(values: Sequence[str], most: int) -> AnswerChoices:
    """Return the listed answers of which a person chooses several."""
    from shuffledp.collect.task import AnswerChoices

    if not 2 <= most <= len(values):
        raise ParameterError(
            f"--choose-up-to must be at least 2 and at most the {len(values)} answers, got {most}: for one choice "
            "leave it out"
        )
    return AnswerChoices(list(values), most)


def check_sets(
    *, edges: str | None, quantiles: str | None, choose_up_to: int | None, listed: bool, needs: str = "--domain"
) -> None:
    """Refuse options that belong to another kind of answers; `needs` is the option that lists the answers."""
    if quantiles is not None and edges is None:
        raise ParameterError("--quantiles needs --edges: only numbers have quantiles")
    if choose_up_to is not None and not listed:
        raise ParameterError(f"--choose-up-to needs {needs}: the answers that people choose from")


def answer_of(values: Sequence[str], task: Task) -> Any:
    """Return the answer that is made of these values; several are for a task with choices only.

    The value - stands for a line of standard input, or for all lines if several choices are possible.
    """
    from shuffledp.collect.task import AnswerChoices

    several = isinstance(task.answers, AnswerChoices)
    if list(values) == ["-"]:
        text = sys.stdin.read() if several else sys.stdin.readline()
        values = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if several:
        return list(values)
    if len(values) > 1:
        raise ParameterError(f"--value must be given once: this task counts one answer, got {len(values)}")
    return values[0]


def split_choices(answers: list[Any], task: Task, separator: str) -> list[Any]:
    """Return the answers of a column as a task takes them: cells with several choices are split."""
    from shuffledp.collect.task import AnswerChoices

    if not isinstance(task.answers, AnswerChoices):
        return answers
    if not separator:
        raise ParameterError(f"--separator must not be empty, got {shortened(separator)!r}")
    return [
        [part.strip() for part in answer.split(separator)] if isinstance(answer, str) else answer for answer in answers
    ]


def note_on(task: Task, answer: Any) -> str | None:
    """Return what is counted of a number or of choices, for the person's own screen; None if nothing is special."""
    from shuffledp.collect.task import AnswerChoices, AnswerEdges
    from shuffledp.formatting import shown

    asked, other = task.answers, task.is_other(answer)
    if isinstance(asked, AnswerEdges):
        if other:
            return "Your answer is no number such as 42 or 4.5, and counts as (other)."
        if answer is None:
            return None
        (interval,) = task.labels.decode([task.bin_of(answer)])
        return f"This is what will be counted: {shown(interval)}"
    if not isinstance(asked, AnswerChoices):
        return None
    notes = ["A choice that is not exactly in the list of the task counts as (other)."] if other else []
    if len(asked.bins_of(answer)) > asked.most:
        notes.append(f"The task counts at most {asked.most} choices: {asked.most} of yours are chosen at random.")
    return " ".join(notes) or None
