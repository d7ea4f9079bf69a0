"""A privacy guarantee in everyday numbers: how many times more likely, one chance in how many, and how strong."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Protocol

from shuffledp.formatting import privacy_figure, share_at_most

if TYPE_CHECKING:
    from shuffledp.release.release import GroupPrivacy


class Guaranteed(Protocol):
    """A verified guarantee, of a release or of a task."""

    @property
    def epsilon(self) -> float:
        """The epsilon that holds."""

    @property
    def delta(self) -> float:
        """The delta that holds at this epsilon."""

    @property
    def strength(self) -> str:
        """How well it protects one person: strong, moderate or weak."""


class Protection(NamedTuple):
    """A verified guarantee in everyday terms: `factor` and `chance` are bounds, rounded so that they hold."""

    factor: str
    chance: str
    strength: str

    @classmethod
    def of(cls, guarantee: Guaranteed) -> Protection:
        """Describe a guarantee."""
        return cls(times(guarantee.epsilon), one_in(guarantee.delta), guarantee.strength)


def several_rows(found: GroupPrivacy, *, delta: float, things: str = "rows") -> str:
    """The privacy of a person with several rows or reports, where one has this `delta`; without a full stop."""
    who = f"a person with {found.rows} {things}"
    if not math.isfinite(found.epsilon):
        return f"nothing is guaranteed to {who}"
    figure = f"{'' if found.exact else 'at most '}{share_at_most(found.epsilon, digits=4)}"
    where = "(same delta)" if found.delta == delta else f"at delta {privacy_figure(found.delta)}"
    return f"{who} has epsilon {figure} {where}"


def times(epsilon: float) -> str:
    """Return e^epsilon, rounded up, as the number before "times"."""
    if epsilon > 700:  # e^709 is the largest that a float holds
        return "any number of"
    factor = math.exp(epsilon)
    if factor < 100:
        return share_at_most(factor, digits=3)
    # of a number beyond a million nobody reads more than three digits, and a float does not know all of them
    return f"{math.ceil(factor) if factor < 1e6 else int(float(share_at_most(factor, digits=3))):,}"


def one_in(chance: float | str) -> str:
    """Return a chance as people say it, never smaller than it is."""
    exact = Fraction(str(chance))  # of its decimal digits: 1e-05 is 1 in 100,000, though its float is not
    return "0" if not exact else f"1 in {int(1 / exact):,}"
