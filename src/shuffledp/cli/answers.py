"""The possible answers of a task in commands: the options, and the answers that they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shuffledp.cli.options import integer, option, shortened, tasks_from_options
from shuffledp.errors import DataError, ParameterError

if TYPE_CHECKING:
    from shuffledp.collect.task import AnswerChoices, AnswerEdges, Task
    from shuffledp.collect.task.answers import Answers

ANSWERS = "Answers"

Domain = Annotated[
    str | None, option("FILE|LIST", "The possible answers: a,b,c; or a file, one per line.", panel=ANSWERS)
]
DomainAt = Annotated[
    str | None,
    option("URL", "The public address of that file, for lists too long for the task.", panel=ANSWERS),
]
Range = Annotated[
    str | None,
    option("A:B", "Whole numbers from A to B, inclusive, as answers.", name="--range", panel=ANSWERS),
]
Edges = Annotated[
    str | None,
    option("EDGES", "Numbers as answers, in intervals: 0,18,30,65 or 0:120:5 (from, to, step).", panel=ANSWERS),
]
Quantiles = Annotated[
    str | None, option("SHARES", "Quantiles that a release shows: 0.25,0.5,0.9; needs --edges.", panel=ANSWERS)
]
ChooseUpTo = Annotated[
    int | None,
    integer("The most answers that one person chooses.", panel=ANSWERS),
]


def check_one_kind(**given: object) -> None:
    """Refuse none or several of the options that give the possible answers."""
    if sum(each is not None for each in given.values()) != 1:
        *names, last = (f"--{name.replace('_', '-')}" for name in given)
        raise ParameterError(f"give the possible answers with exactly one of {', '.join(names)} or {last}")


def check_answer_options(
    *,
    edges: str | None,
    quantiles: str | None,
    choose_up_to: int | None,
    listed: bool,
    range_: str | None = None,
    needs: str = "--domain",
) -> None:
    """Refuse options that belong to another kind of answers; `needs` is the option that lists the answers."""
    if quantiles is not None and range_ is not None:
        from shuffledp.histogram.ordered_estimate import SHARES

        usual = ", ".join(f"{100 * share:.4g}%" for share in SHARES)
        raise ParameterError(
            f"--quantiles needs --edges: a task with --range shows the quantiles {usual}, where its counts give any"
        )
    if quantiles is not None and edges is None:
        raise ParameterError("--quantiles needs --edges: only numbers have quantiles")
    if choose_up_to is not None and not listed:
        raise ParameterError(f"--choose-up-to needs {needs}: the answers that people choose from")


def answers_of(
    *,
    domain: str | None,
    domain_at: str | None,
    range_: str | None,
    edges: str | None,
    quantiles: str | None,
    choose_up_to: int | None,
) -> Answers:
    """Return the answers that the options give, except texts."""
    from shuffledp.cli.domains import read_answers

    if edges is not None:
        return number_answers(edges, quantiles)
    if choose_up_to is not None and domain is not None:
        return choice_answers(read_answers(domain), choose_up_to)
    return _listed(domain, domain_at, range_)


def number_answers(edges: str, quantiles: str | None) -> AnswerEdges:
    """Return the intervals between edges, and the quantiles to show in increasing order."""
    from shuffledp.cli.release_output import parse_shares
    from shuffledp.collect.task import AnswerEdges
    from shuffledp.collect.task.public_file import decimal_text
    from shuffledp.histogram.edges import Edges

    shares = [] if quantiles is None else sorted(set(parse_shares(quantiles)))
    return AnswerEdges(str(Edges(edges)), [decimal_text(share) for share in shares])


def edges_tip(task: Task) -> str | None:
    """Return the tip for a range whose release has no quantiles, or far wider ones than with edges."""
    from shuffledp.collect.task import AnswerRange
    from shuffledp.collect.task.answers import MOST_LISTED
    from shuffledp.collect.task.new_task import gain_of_edges

    gain = gain_of_edges(task)
    if not isinstance(task.answers, AnswerRange) or gain < _WORTHWHILE:
        return None
    start, stop = task.answers.start, task.answers.stop
    listed = task.answers.size + 2 <= MOST_LISTED
    edges = f"--edges {start}:{stop}:1" if listed else "--edges and fewer, wider intervals"
    if math.isinf(gain):
        return f"a release of this task has no median and no quantiles; with {edges} it has them"
    return f"the intervals of the median and the quantiles are about {gain:.0f} times as narrow with {edges}"


_WORTHWHILE = 3.0
"""The gain from which edges are worth their extra messages: about 500 numbers with epsilon 1."""


def choice_answers(values: Sequence[str], most: int) -> AnswerChoices:
    """Return the listed answers of which a person chooses several."""
    from shuffledp.collect.task import AnswerChoices

    if not 2 <= most <= len(values):
        raise ParameterError(
            f"--choose-up-to must be at least 2 and at most the {len(values)} answers, got {most}: for one choice "
            "leave it out"
        )
    return AnswerChoices(list(values), most)


def _listed(domain: str | None, at: str | None, numbers: str | None) -> Answers:
    """Return the answers that the options list."""
    from shuffledp.cli.domains import inline_list, read_answers
    from shuffledp.collect.task import AnswerList, AnswerRange

    if numbers is not None:
        if at is not None:
            raise ParameterError("--domain-at needs --domain, the file with the answers")
        start, stop = _range(numbers)
        answers = AnswerRange(start, stop + 1)
        with tasks_from_options():
            answers.check()
        return answers
    assert domain is not None
    if at is None:
        return AnswerList(read_answers(domain))
    if inline_list(domain) is not None:
        raise ParameterError("--domain must be the file with the answers for --domain-at, got a list")
    return _answers_at(at, Path(domain))


def _answers_at(address: str, file: Path) -> Answers:
    """Return a list of answers that is kept elsewhere, with the SHA-256 of its bytes."""
    import hashlib

    from shuffledp.collect.task import AnswersElsewhere

    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the list of answers {file}: {error.strerror}") from None
    size = len(content.removesuffix(b"\n").split(b"\n"))
    answers = AnswersElsewhere(address=address, sha256=hashlib.sha256(content).hexdigest(), size=size)
    with tasks_from_options():
        answers.check()
    answers.read(content)
    return answers


def _range(text: str) -> tuple[int, int]:
    start, colon, stop = text.partition(":")
    try:
        found = int(start), int(stop)
    except ValueError:
        found = (1, 0)
    if not colon or found[0] > found[1]:
        raise ParameterError(f"range must be two whole numbers such as 1:5, the smaller first, got {shortened(text)}")
    return found
