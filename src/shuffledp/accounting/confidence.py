"""Exact confidence bounds for the probability of an event that was counted (Clopper and Pearson 1934)."""

from __future__ import annotations

from shuffledp.accounting.rounding import CLOPPER_PEARSON_TAIL
from shuffledp.checks import open_probability, whole
from shuffledp.errors import ParameterError


def lower_bound(successes: int, trials: int, *, failure: float) -> float:
    """A number that is above the true probability with probability at most `failure`.

    It is the p with P[Bin(trials, p) >= successes] = failure. That tail is the distribution function at p of a
    Beta(successes, trials - successes + 1) variable, which scipy inverts; the margin covers how exactly it does.
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
