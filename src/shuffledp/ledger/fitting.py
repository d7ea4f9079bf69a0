"""The largest epsilon of one more release that still fits a budget."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from shuffledp.accounting.composition import Composition, composed
from shuffledp.accounting.curve import Curve
from shuffledp.accounting.search import last_safe_from, log_excess
from shuffledp.accounting.stated_curve import StatedCurve
from shuffledp.checks import LEAST_EPSILON
from shuffledp.errors import ParameterError
from shuffledp.ledger.budget import Budget
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.words import share_at_least

Make = Callable[[float], Curve]
"""From an epsilon to the curve of the release that would be made with it."""

_DIGITS = 3
_TOLERANCE = 1e-3
"""Of an epsilon that is printed with three digits."""

_LESS = 0.99
_TRIES = 5
"""How often a little less is tried where the rough total was too small: it is off by a few parts in a thousand."""

_MANY_PEOPLE = 10**6
"""Noise that is a sum over so many hardly depends on how many they are."""


def smallest_looked_for(budget: Budget) -> float:
    """A hundredth of the limit: with less nobody would release anything, and it takes long to calibrate."""
    return max(LEAST_EPSILON, budget.epsilon / 100)


def largest_that_fits(budget: Budget, total: Composition, make: Make) -> float | None:
    """The largest epsilon, rounded down to three digits, with which one more release fits; None if none does.

    It is at most the limit's own. More epsilon is less noise of the kind that `make` makes, so beyond some epsilon none
    fits. Where people are too few for a small epsilon, that does not fit either.
    """

    @cache
    def excess(epsilon: float) -> float:
        try:
            return log_excess(budget.roughly_reached(total, make(epsilon)), budget.delta)
        except ParameterError:  # people are too few for so small an epsilon: look among larger ones
            return -1.0

    found = last_safe_from(
        excess,
        budget.epsilon,
        stride=budget.epsilon / 4,
        least=smallest_looked_for(budget),
        most=budget.epsilon,
        tolerance=_TOLERANCE * budget.epsilon,
    )
    for less in [] if found is None else [found * _LESS**tried for tried in range(_TRIES)]:
        epsilon = float(share_at_least(less, digits=_DIGITS))
        if _fits(budget, total, make, epsilon):
            return epsilon
    return None


def largest_histogram(budget: Budget, total: Composition, *, delta: float) -> float | None:
    """The same for the paper's histogram of one value each, with many people."""
    return largest_that_fits(
        budget,
        total,
        lambda epsilon: Histogram.calibrate(users=_MANY_PEOPLE, bins=2, epsilon=epsilon, delta=delta).privacy,
    )


def largest_guarantee(budget: Budget, total: Composition, *, delta: float) -> float | None:
    """The same for a release of which nothing but its guarantee is known: the worst of all that have it."""
    return largest_that_fits(budget, total, lambda epsilon: StatedCurve(stated_epsilon=epsilon, stated_delta=delta))


def _fits(budget: Budget, total: Composition, make: Make, epsilon: float) -> bool:
    try:
        return budget.allows(composed([total, make(epsilon)]))
    except ParameterError:
        return False
