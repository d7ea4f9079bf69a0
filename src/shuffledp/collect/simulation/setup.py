"""What is asked on one machine, and what the simulated people answer.

What a collection on one machine needs: task, keys, tokens and a ledger in a folder, and the commands for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shuffledp.collect.crypto.keys import KeyPair, write_key, write_secret
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.collect.task import AnswerList, Place, Task
from shuffledp.collect.task.new_task import new_task
from shuffledp.errors import ParameterError
from shuffledp.ledger import Ledger

THEMES: Mapping[str, float] = {
    "dark": 0.38,
    "light": 0.27,
    "system": 0.2,
    "high contrast": 0.07,
    "solarized": 0.05,
    "sepia": 0.03,
}
"""What the simulated people answer, with which chances."""

_SEED = 14
"""The people are always the same ones; their noise never is."""


@dataclass(frozen=True)
class Question:
    """A question, its answers with the share of the simulated people who give each, and a short name for files."""

    words: str = "Which theme do you use?"
    shares: Mapping[str, float] = field(default_factory=lambda: THEMES)
    name: str = "theme"

    @classmethod
    def of(cls, words: str | None, answers: Sequence[str] | None) -> Question:
        """Somebody's own question, or the usual one; the shares of its answers are made up, the first is largest."""
        if words is None and answers is None:
            return cls()
        if words is None or answers is None:
            raise ParameterError("a question of your own needs both: --question and --answers, such as tea,coffee")
        if not words.strip():
            raise ParameterError("--question is empty: say what is asked")
        if not all(answers):
            raise ParameterError("an answer is empty in --answers: give words with commas between them: tea,coffee")
        weights = [1 / (at + 1) for at in range(len(answers))]
        shares = {answer: weight / sum(weights) for answer, weight in zip(answers, weights, strict=True)}
        if len(shares) < len(answers):
            raise ParameterError("an answer is there twice in --answers: give each once")
        return cls(words, shares, "question")

    @property
    def answers(self) -> list[str]:
        """In their order."""
        return list(self.shares)

    def of_people(self, people: int) -> list[str]:
        """The answers of the first so many people."""
        rng = np.random.default_rng(_SEED)
        found: list[str] = rng.choice(self.answers, size=people, p=list(self.shares.values())).tolist()
        return found

    def of_others(self) -> Iterator[str]:
        """The answers of those who come later, one after another without an end."""
        rng = np.random.default_rng(_SEED + 1)
        while True:
            yield from rng.choice(self.answers, size=1_000, p=list(self.shares.values())).tolist()


EPSILON, DELTA = 1.0, 1e-6
"""What the simulated people are promised: the figures of the tutorial, so that results can be compared."""

LEDGER = "budget.ledger"
OPERATOR = "operator.token"
"""With which one signs in to the operator's view of the console."""


class Command(NamedTuple):
    """A server: its name for people, the address at which it answers, and the words that start it."""

    name: str
    address: str
    arguments: list[str]


class SettingUp:
    """The files of shufflers and an analyzer at these ports, in order; the last one is the analyzer's."""

    def __init__(self, question: Question, *, users: int, ports: Sequence[int]) -> None:
        self._keys = [KeyPair.generate() for _ in ports]
        places = [Place(f"http://127.0.0.1:{port}", key.public) for port, key in zip(ports, self._keys, strict=True)]
        now = datetime.now(UTC)
        self.task: Task = new_task(
            question=question.words,
            answers=AnswerList(question.answers),
            users=users,
            epsilon=EPSILON,
            delta=DELTA,
            shufflers=places[:-1],
            analyzer=places[-1],
            opens=now - timedelta(hours=1),
            closes=now + timedelta(days=1),
        )
        self.task_file = f"{question.name}.task.json"
        self._ports = ports
        self._names = [*(f"shuffler {at + 1}" for at in range(len(ports) - 1)), "analyzer"]
        self._tokens = [new_token() for _ in ports[1:]]
        self._operator = new_token()

    def write(self, folder: Path) -> None:
        """Writes all files."""
        (folder / self.task_file).write_text(self.task.to_json(), encoding="utf-8")
        for name, key in zip(self._names, self._keys, strict=True):
            write_key(key, folder / f"{_file(name)}.key")
        for name, token in zip(self._names[1:], self._tokens, strict=True):
            write_secret(folder / f"{_file(name)}.token", token)
        write_secret(folder / OPERATOR, self._operator)
        Ledger.create(folder / LEDGER, epsilon=EPSILON, delta=DELTA, population="simulated people")

    def commands(self, folder: Path) -> Iterator[Command]:
        """How each server is started with the files of the folder; each but the first pulls from the one before."""
        for at, (name, port) in enumerate(zip(self._names, self._ports, strict=True)):
            last = at == len(self._tokens)
            own = str(folder / _file(name))
            words = ["analyzer" if last else "shuffler", "--task", str(folder / self.task_file), "--key", f"{own}.key"]
            words += ["--store", f"{own}.db", "--port", str(port)]
            if at == 0:
                words += ["--page"]
            else:
                words += ["--token", f"{own}.token"]
            if last:
                words += ["--ledger", str(folder / LEDGER), "--join", "--operator", hash_of(self._operator).hex()]
            else:
                words += ["--next", hash_of(self._tokens[at]).hex()]  # of the hop that fetches batches
            yield Command(name, f"http://127.0.0.1:{port}", words)


def _file(name: str) -> str:
    return name.replace(" ", "-")
