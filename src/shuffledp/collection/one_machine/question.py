"""What is asked on one machine, and what the simulated people answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shuffledp.errors import ParameterError

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
