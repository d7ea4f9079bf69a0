"""Simulated people: their question and answers, answers from a column of files, and people who keep arriving."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shuffledp.collect.client.making import new_report
from shuffledp.collect.client.transport import SECONDS, Connection, post_over
from shuffledp.collect.task import AnswerChoices, AnswerEdges, AnswerList, AnswerText, Task
from shuffledp.collect.task.answers import MOST_CHOICES, Answers
from shuffledp.data import Files, Source, open_engine
from shuffledp.errors import DataError, ParameterError, RefusedError, UnreachableError
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.free_text import TextChoices
from shuffledp.randomness import secure_rng
from shuffledp.validation import whole


def simulated_answers(files: Files, *, column: str, people: int | None = None, progress: Progress = quiet) -> list[Any]:
    """Return the values of a column in random order, None where one is missing, for this number of people.

    With fewer rows than people, rows are repeated, all equally often up to one.
    """
    engine = open_engine(Source.of(files, column=column), progress=progress)
    try:
        values: list[Any] = []
        times: list[int] = []
        for found, counts in engine.counts():
            values += found.to_pylist()
            times += counts.tolist()
    finally:
        engine.close()
    rows = secure_rng().permutation(np.repeat(np.arange(len(values)), times))
    if not rows.size:
        raise DataError(f"{files.shown} has no rows")
    chosen = rows if people is None else np.resize(rows, whole("people", people))
    return [values[at] for at in chosen.tolist()]


THEMES: Mapping[str, float] = {
    "dark": 0.38,
    "light": 0.27,
    "system": 0.2,
    "high contrast": 0.07,
    "solarized": 0.05,
    "sepia": 0.03,
}
"""Answers of simulated people with their probabilities."""

HOME_PAGES: Mapping[str, float] = {
    "wikipedia.org": 0.26,
    "google.com": 0.2,
    "bbc.co.uk": 0.15,
    "github.com": 0.11,
    "nytimes.com": 0.07,
    "weather.com": 0.05,
    "archive.org": 0.04,
    "imdb.com": 0.02,
}
"""Home pages of simulated people with their probabilities; every other person has a page of their own."""

SEPARATOR = "\n"
"""Between the choices in a cell: no answer of a task has a line break."""

_CHANGING = 0.5
"""The share of the people with the first answer who have the second one in the last round of a series."""

_SEED = 14
"""The people are always the same; their noise never is."""


@dataclass(frozen=True)
class Question:
    """A question, its answers with the shares of the simulated people, and a short name for files.

    `texts` are the choices of a code if people can type any text. Shares may sum to less than 1 then: each of the other
    people has a text of their own. With `numbers`, people have a number, mostly between the edges; with `most`, they
    choose up to this number of answers, in the cells of a file with SEPARATOR between them.
    """

    words: str = "Which theme do you use?"
    shares: Mapping[str, float] = field(default_factory=lambda: THEMES)
    name: str = "theme"
    texts: TextChoices | None = None
    numbers: AnswerEdges | None = None
    most: int | None = None

    @classmethod
    def of(
        cls,
        words: str | None,
        answers: Sequence[str] | None,
        *,
        texts: TextChoices | None = None,
        typed: Sequence[str] | None = None,
        numbers: AnswerEdges | None = None,
        choose_up_to: int | None = None,
    ) -> Question:
        """Return the given question, or the default one; the shares of the answers are made up and decreasing.

        `typed` are texts of people, each as frequent as it is in there. With `numbers`, the answers are numbers; with
        `choose_up_to`, each person chooses up to this number of answers.
        """
        if words is not None and not words.strip():
            raise ParameterError("question must not be empty")
        if answers is not None and not all(answers):
            raise ParameterError("answers must not be empty: give them with commas between them, such as tea,coffee")
        if texts is not None:
            return cls("What is your home page?" if words is None else words, _shares(answers, typed), "text", texts)
        if typed is not None:
            raise ParameterError("answers_file must be given with free_text")
        if numbers is not None:
            if answers is not None:
                raise ParameterError("answers and edges must not be given together")
            return cls("What is your number?" if words is None else words, {}, "number", numbers=numbers)
        if choose_up_to is not None:
            shares = THEMES if answers is None else _decreasing(answers)
            if not 2 <= choose_up_to <= min(MOST_CHOICES, len(shares)):
                raise ParameterError(
                    f"choose_up_to must be at least 2, at most {MOST_CHOICES} and at most the {len(shares)} answers, "
                    f"got {choose_up_to}"
                )
            return cls("Which of these do you use?" if words is None else words, shares, "choices", most=choose_up_to)
        if words is None and answers is None:
            return cls()
        if words is None or answers is None:
            raise ParameterError("question and answers must be given together, such as answers tea,coffee")
        return cls(words, _decreasing(answers), "question")

    @property
    def answers(self) -> list[str]:
        """The answers that several people give, in their order."""
        return list(self.shares)

    def possible(self, *, users: int, epsilon: float, delta: float) -> Answers:
        """The possible answers of a task with this guarantee."""
        if self.numbers is not None:
            return self.numbers
        if self.most is not None:
            return AnswerChoices(self.answers, self.most)
        if self.texts is None:
            return AnswerList(self.answers)
        return AnswerText.of(self.texts.search(users=users, epsilon=epsilon, delta=delta).code)

    def of_people(self, people: int) -> list[str]:
        """Return the answers of the first `people` people."""
        return self._drawn(people, np.random.default_rng(_SEED))

    def of_round(self, people: int, share: float) -> list[str]:
        """Return the answers of the same people later: some of those with the first answer change to the second.

        `share` is the time that has passed, from 0 in the first round to 1 in the last one.
        """
        answers, rng = self.of_people(people), np.random.default_rng(_SEED + 2)
        if self.numbers is not None or self.most is not None or len(self.shares) < 2:
            return answers
        first, second = self.answers[:2]
        changes = rng.random(people) < _CHANGING * share
        pairs = zip(answers, changes.tolist(), strict=True)
        return [second if answer == first and changed else answer for answer, changed in pairs]

    def of_others(self) -> Iterator[Any]:
        """Yield the answers of later people, without end; several choices are a list."""
        rng = np.random.default_rng(_SEED + 1)
        while True:
            drawn = self._drawn(1_000, rng)
            yield from drawn if self.most is None else (answer.split(SEPARATOR) for answer in drawn)

    @property
    def example(self) -> str:
        """One possible answer."""
        return self.answers[0] if self.numbers is None else _number(0.5, self.numbers)

    def _drawn(self, people: int, rng: np.random.Generator) -> list[str]:
        if self.numbers is not None:
            return [_number(place, self.numbers) for place in rng.beta(3.0, 4.0, size=people).tolist()]
        if self.most is not None:
            return self._chosen(people, self.most, rng)
        rest = max(0.0, 1 - sum(self.shares.values()))
        shares = np.array([*self.shares.values(), rest])
        chosen = rng.choice(len(shares), size=people, p=shares / shares.sum()).tolist()
        answers = self.answers
        return [answers[at] if at < len(answers) else f"p{rng.integers(10**6)}.example" for at in chosen]

    def _chosen(self, people: int, most: int, rng: np.random.Generator) -> list[str]:
        """Choices of people, who each make 0 to `most` of them; the first answers are chosen most often."""
        shares = np.array(list(self.shares.values()))
        keys = np.log(shares) + rng.gumbel(size=(people, shares.size))  # the largest are a sample without replacement
        chosen, numbers = np.argsort(-keys, axis=1), rng.integers(0, most, size=people, endpoint=True)
        return [
            SEPARATOR.join(self.answers[at] for at in row[:number])
            for row, number in zip(chosen.tolist(), numbers.tolist(), strict=True)
        ]


def _number(place: float, numbers: AnswerEdges) -> str:
    """A number at a place from 0 to 1 between the edges, or a little beyond them."""
    first, last = (float(numbers.intervals.edges[at]) for at in (0, -1))
    width = last - first or 1.0
    return f"{first - 0.02 * width + place * 1.04 * width:.4g}"


def _shares(answers: Sequence[str] | None, typed: Sequence[str] | None) -> Mapping[str, float]:
    if answers is not None and typed is not None:
        raise ParameterError("answers and answers_file must not be given together")
    if typed is not None:
        if not typed:
            raise DataError("answers_file has no text")
        return {text: times / len(typed) for text, times in Counter(typed).items()}
    return HOME_PAGES if answers is None else _decreasing(answers)


def _decreasing(answers: Sequence[str]) -> dict[str, float]:
    weights = [1 / (at + 1) for at in range(len(answers))]
    shares = {answer: weight / sum(weights) for answer, weight in zip(answers, weights, strict=True)}
    if len(shares) < len(answers):
        raise ParameterError("answers must differ: one is there twice")
    return shares


MOST_A_SECOND = 100.0
"""People per second whose reports one thread can make and send."""

_FILLS_IN = 90.0
"""Default seconds in which a batch fills: long enough to answer yourself, short enough to wait."""

_USUALLY_AT_MOST = 25.0
"""Default people per second at most: on a slow machine the servers and a browser keep most of the time."""

_LOOKS_EVERY = 0.2
"""Seconds between checks whether to stop."""

_PAUSE = 1.0
"""Seconds before a retry."""


def usual_pace(users: int) -> float:
    """Return people per second such that a batch of `users` fills in a minute or two, if the machine can do that."""
    return min(_USUALLY_AT_MOST, users / _FILLS_IN)


def check_pace(pace: float) -> float:
    """Return a valid number of people per second."""
    if not 0 <= pace <= MOST_A_SECOND:
        raise ParameterError(f"pace must be from 0 to {MOST_A_SECOND:g} people per second, got {pace:g}")
    return pace


class ArrivingPeople:
    """People with these answers who report in a thread until `stop`; no answer is ever on a disk."""

    def __init__(self, task: Task, answers: Iterator[Any], *, pace: float) -> None:
        self._task, self._answers, self._pace = task, answers, pace
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._arrive()), daemon=True)

    def start(self) -> None:
        """Start with the first person."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait for the thread."""
        self._over.set()
        self._thread.join()

    async def _arrive(self) -> None:
        clock = asyncio.get_running_loop().time
        next_one = clock()
        with closing(Connection(self._task.shufflers[0].address, timeout=SECONDS)) as connection:
            while await self._passed(next_one - clock()) and await self._answer(connection):
                next_one = max(clock(), next_one + 1 / self._pace)

    async def _answer(self, connection: Connection) -> bool:
        """Return False if the task is closed, or it is time to stop."""
        report = new_report(self._task, next(self._answers))
        while True:
            try:
                await post_over(connection, self._task, report)
                return True
            except RefusedError:  # the task is closed
                return False
            except UnreachableError:
                if not await self._passed(_PAUSE):
                    return False

    async def _passed(self, seconds: float) -> bool:
        """Wait; return False if it is time to stop."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while not self._over.is_set():
            if (left := until - clock()) <= 0:
                return True
            await asyncio.sleep(min(left, _LOOKS_EVERY))
        return False
