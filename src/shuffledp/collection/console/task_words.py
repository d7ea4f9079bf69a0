"""A task in words, for the pages: computed once, since what is promised takes a moment to compute."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime

from shuffledp.collection.pages.markup import Html, html, link, paragraphs
from shuffledp.collection.service.making import MadeOnce
from shuffledp.collection.task import Task
from shuffledp.collection.task.task import LONGEST_QUESTION
from shuffledp.collection.task.words import in_words
from shuffledp.words import moment, shown

_TOLD = ("What is counted", "Guarantee", "Who must be trusted", "How sure", "Warning")
"""What is told of a task by itself; a release says the rest."""


MOST_BYTES = 2**23
"""Of words that are kept: those of a thousand tasks."""


class TaskWords:
    """The paragraphs about tasks."""

    def __init__(self) -> None:
        self._made: MadeOnce[Mapping[str, str]] = MadeOnce(most_bytes=MOST_BYTES, size=_size)

    def told(self, task: Task) -> Html:
        """What is counted and promised, whom that trusts, how sure it will be, and what is amiss."""
        said = self._all(task)
        return paragraphs({title: said[title] for title in _TOLD if title in said})

    def one(self, task: Task, title: str) -> str:
        """The text of one of them."""
        return self._all(task)[title]

    def _all(self, task: Task) -> Mapping[str, str]:
        return self._made.get(task.name, lambda: in_words(task))


def _size(said: Mapping[str, str]) -> int:
    return sum(map(sys.getsizeof, said.values()))


def question(task: Task, *, width: int = LONGEST_QUESTION) -> str:
    """The question, in one line."""
    return shown(task.question, width=width)


def state(task: Task, now: datetime) -> str:
    """Whether people can answer it at the moment."""
    if now < task.opens:
        return f"People can answer from {moment(task.opens)} on."
    if now < task.closes:
        return f"People can answer until {moment(task.closes)}."
    return f"Closed since {moment(task.closes)}: nobody can answer any more."


def identity(task: Task) -> Html:
    """The id of a task, by which people know that they were asked the same."""
    file = link(f"/v1/tasks/{task.name}", "the task as a file", download=f"{task.name[:12]}.task.json")
    return Html(
        f'<p class="soft">Task <code>{html(task.name)}</code>. It stands for question, answers, noise, servers and '
        f"keys: {file}.</p>"
    )
