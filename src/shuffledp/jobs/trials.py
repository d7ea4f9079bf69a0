"""What all simulations say in the same words about many releases of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from shuffledp.words import counted

_SHARES = {"smallest": 0.0, "median": 0.5, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "largest": 1.0}

NOT_PRIVATE = "NOT PRIVATE: this compares with the true counts."


class Trials(Protocol):
    """A simulation: of single values, or of the distribution function."""

    @property
    def over(self) -> str:
        """What the largest error is the largest of."""

    def error_quantiles(self) -> dict[str, float]:
        """How the largest error is distributed."""

    def headline(self) -> str:
        """What was simulated, in a line."""

    def sentences(self) -> list[str]:
        """What was predicted, what was found, and that it is not private."""


def error_quantiles(largest_errors: Sequence[float]) -> dict[str, float]:
    """The usual quantiles of the largest error of each release, by name."""
    found = np.quantile(largest_errors, list(_SHARES.values())).tolist()
    return dict(zip(_SHARES, found, strict=True))


def headline(releases: int, *, title: str, people: int, epsilon: float, delta: float) -> str:
    """What was simulated, in a line."""
    simulated, all_people = counted(releases, "simulated release"), counted(people, "person", things="people")
    return f"{simulated}: {title}, {all_people}, epsilon {epsilon:g}, delta {delta:g}"


def in_words(trials: Trials) -> str:
    """How good the releases were, in a few lines."""
    errors = ", ".join(f"{name} {error:,.1f}" for name, error in trials.error_quantiles().items())
    largest = f"Largest error {trials.over} of one release, in people: {errors}."
    return "\n".join([trials.headline(), largest, *trials.sentences()])
