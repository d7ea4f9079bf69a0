"""Bounds on the number of users who took part, from the number of messages; and exact binomial confidence bounds.

If one user's part of a number S has ln E e^(t S) = k(t) for every value, R users have R k(t), and by Chernoff's bound

    P(S >= s) <= e^(R k(t) - t s)   and   P(S <= s) <= e^(R k(-t) + t s)   for every t > 0.

So fewer than (t s + ln RISK) / k(t) users reach s with probability below RISK, for the best t. The values of s that
exclude a given R are all those above some point, so choosing t by s costs nothing. The upper bound is analogous.

`lower_bound` and `upper_bound` are the confidence bounds of Clopper and Pearson (1934).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import CLOPPER_PEARSON_TAIL
from shuffledp.errors import ParameterError
from shuffledp.validation import open_probability, whole


def lower_bound(successes: int, trials: int, *, failure: float) -> float:
    """A number that is above the true probability with probability at most `failure`.

    It is the p with P[Bin(trials, p) >= successes] = failure. That tail is the distribution function at p of a
    Beta(successes, trials - successes + 1) variable, which scipy inverts; the margin covers its error.
    """
    from scipy.special import betaincinv

    successes, trials = whole("successes", successes, minimum=0), whole("trials", trials)
    failure = open_probability("failure", failure)
    if successes > trials:
        raise ParameterError(f"successes={successes} must lie between 0 and trials={trials}")
    if successes == 0:
        return 0.0
    return float(betaincinv(successes, trials - successes + 1, failure * (1 - CLOPPER_PEARSON_TAIL)))


def upper_bound(successes: int, trials: int, *, failure: float) -> float:
    """A number that is below the true probability with probability at most `failure`."""
    return 1 - lower_bound(trials - successes, trials, failure=failure)


Cumulant = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""A function from tilts t to ln E e^(t S) of one person."""

RISK = 1e-9
"""The probability that the true number of people is excluded, on either side."""

_TILTS = np.geomspace(1e-9, 50.0, 400)
"""The tilts to try: the best one is about 6 / (standard deviation of S), and the bound is flat around it."""


def fewest_people(total: float, cumulant: Cumulant) -> int:
    """The smallest number of people who send this much, except with probability RISK; at least 1."""
    with np.errstate(all="ignore"):
        needed = (_TILTS * total + math.log(RISK)) / cumulant(_TILTS)
    return max(1, math.ceil(np.nanmax(needed) * (1 - 1e-12)))


def most_people(total: float, cumulant: Cumulant) -> float:
    """The largest number of people who send only this much, except with probability RISK; it can be infinite."""
    with np.errstate(all="ignore"):
        falling = -cumulant(-_TILTS)
        most = np.where(falling > 0, (_TILTS * total - math.log(RISK)) / falling, np.inf)
    return float(np.nanmin(most) * (1 + 1e-12))
