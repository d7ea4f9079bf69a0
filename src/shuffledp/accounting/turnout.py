"""How many people must have reported, by what they sent.

If one person's part of a number S has ln E e^(t S) = k(t), whatever their value, that of R people has R k(t), and by
Chernoff's bound

    P(S >= s) <= e^(R k(t) - t s)   and   P(S <= s) <= e^(R k(-t) + t s)   for every t > 0.

So fewer than (t s + ln RISK) / k(t) people reach s with probability below RISK only, for the best t: the values of s
for which a given R is excluded are all those above some point, so that choosing t by s costs nothing. The other side
is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Cumulant = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From tilts t to ln E e^(t S) of one person."""

RISK = 1e-9
"""How likely a number of people is excluded although it is the true one, on either side."""

_TILTS = np.geomspace(1e-9, 50.0, 400)
"""Tilts that are tried: the best one is about 6 / (standard deviation of S), and the bound is flat around it."""


def fewest_people(total: float, cumulant: Cumulant) -> int:
    """The smallest number of people who send this much, but for RISK; at least 1."""
    with np.errstate(all="ignore"):
        needed = (_TILTS * total + math.log(RISK)) / cumulant(_TILTS)
    return max(1, math.ceil(np.nanmax(needed) * (1 - 1e-12)))


def most_people(total: float, cumulant: Cumulant) -> float:
    """The largest number of people who send as little as this, but for RISK; it can be infinite."""
    with np.errstate(all="ignore"):
        falling = -cumulant(-_TILTS)
        most = np.where(falling > 0, (_TILTS * total - math.log(RISK)) / falling, np.inf)
    return float(np.nanmin(most) * (1 + 1e-12))
