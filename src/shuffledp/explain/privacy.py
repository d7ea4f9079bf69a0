"""A privacy guarantee in everyday numbers: how many times more likely, one chance in how many, and how strong."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from shuffledp.formatting import privacy_figure, share_at_most

if TYPE_CHECKING:
    from shuffledp.release.release import GroupPrivacy

_STRONG = (1.0, 1e-5)
"""Largest epsilon and delta called strong: no outcome becomes even three times as likely because of one person."""

_MODERATE = (3.0, 1e-3)
"""Largest epsilon and delta called moderate: an outcome can become 20 times as likely. Beyond that, an observer who
thought an answer as likely as not can become 95% sure of it."""


class Protection(NamedTuple):
    """A guarantee in everyday terms: `factor` and `chance` are bounds, rounded so that they hold."""

    factor: str
    chance: str
    verdict: str

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Protection:
        """Describe an epsilon and a delta."""
        return cls(times(epsilon), one_in(delta), verdict(epsilon, delta))


def several_rows(found: GroupPrivacy, *, delta: float, things: str = "rows") -> str:
    """The privacy of a person with several rows or reports, where one has this `delta`; without a full stop."""
    who = f"a person with {found.rows} {things}"
    if not math.isfinite(found.epsilon):
        return f"nothing is guaranteed to {who}"
    figure = f"{'' if found.exact else 'at most '}{share_at_most(found.epsilon, digits=4)}"
    where = "(same delta)" if found.delta == delta else f"at delta {privacy_figure(found.delta)}"
    return f"{who} has epsilon {figure} {where}"


def verdict(epsilon: float, delta: float) -> str:
    """Return "strong", "moderate" or "weak"."""
    for word, (largest_epsilon, largest_delta) in (("strong", _STRONG), ("moderate", _MODERATE)):
        if epsilon <= largest_epsilon and delta <= largest_delta:
            return word
    return "weak"


def times(epsilon: float) -> str:
    """Return e^epsilon, rounded up, as the number before "times"."""
    if epsilon > 700:  # e^709 is the largest that a float holds
        return "any number of"
    factor = math.exp(epsilon)
    return share_at_most(factor, digits=3) if factor < 100 else f"{math.ceil(factor):,}"


def one_in(chance: float | str) -> str:
    """Return a chance as people say it, never smaller than it is."""
    exact = Fraction(str(chance))  # of its decimal digits: 1e-05 is 1 in 100,000, though its float is not
    return "0" if not exact else f"1 in {int(1 / exact):,}"
