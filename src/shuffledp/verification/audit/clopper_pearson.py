"""Exact confidence bounds for the probability of an event that was counted (Clopper and Pearson 1934)."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.checks import open_probability, whole
from shuffledp.errors import ParameterError

_SAFETY = 1 - 1e-8
"""The tail is computed to about ten digits; the allowed failure is lowered by more than it may be off."""


def lower_bound(successes: int, trials: int, *, failure: float) -> float:
    """A number that is above the true probability with probability at most `failure`."""
    _check(successes, trials, failure)
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _at_least(successes, trials, middle) <= failure * _SAFETY:
            low = middle
        else:
            high = middle
    return low


def upper_bound(successes: int, trials: int, *, failure: float) -> float:
    """A number that is below the true probability with probability at most `failure`."""
    return 1 - lower_bound(trials - successes, trials, failure=failure)


def _at_least(successes: int, trials: int, probability: float) -> float:
    """P[Bin(trials, probability) >= successes], for 0 < probability < 1 and a tail on that side of the mean."""
    if not 0 < probability < 1:
        return float(probability >= 1)
    k = np.arange(successes, trials + 1)
    # log of f(k) / f(successes), summed from closed forms
    ratios = np.log((trials - k[:-1]) / (k[:-1] + 1)) + math.log(probability) - math.log1p(-probability)
    relative = np.exp(np.concatenate([[0.0], np.cumsum(ratios)])).sum()
    log_first = (
        math.lgamma(trials + 1)
        - math.lgamma(successes + 1)
        - math.lgamma(trials - successes + 1)
        + successes * math.log(probability)
        + (trials - successes) * math.log1p(-probability)
    )
    return math.exp(log_first) * float(relative)


def _check(successes: int, trials: int, failure: float) -> None:
    whole("trials", trials)
    open_probability("failure", failure)
    if not 0 <= whole("successes", successes, minimum=0) <= trials:
        raise ParameterError(f"successes={successes} must lie between 0 and trials={trials}")
