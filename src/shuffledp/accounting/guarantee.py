"""What a release promises."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.words import share_at_most

_ASKED_DIGITS = 9
"""Whoever asks for an epsilon writes it in fewer digits than this: it is printed as it was asked for."""

_REACHED_DIGITS = 6
"""A figure that was computed has more digits than anybody reads: it is rounded up, so that what is printed holds."""


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What was promised: (epsilon, delta)-differential privacy, and where the promise comes from."""

    epsilon: float
    delta: float
    basis: str

    def __str__(self) -> str:
        return f"({privacy_figure(self.epsilon)}, {privacy_figure(self.delta)})-differential privacy"


def privacy_figure(figure: float) -> str:
    """An epsilon or a delta: as it was asked for, or rounded up where it has too many digits to have been."""
    asked = f"{figure:.{_ASKED_DIGITS}g}"
    return asked if float(asked) == figure else share_at_most(figure, digits=_REACHED_DIGITS)
