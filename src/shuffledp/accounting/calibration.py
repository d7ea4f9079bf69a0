"""The smallest noise that gives a requested guarantee, and the fewest people with whom it is possible."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Protocol

from shuffledp.accounting.search import first_safe
from shuffledp.noise.binomial import GRID_BITS, round_up_to_grid

_TOLERANCE = 1e-9
"""Relative precision of a calibrated probability; it is rounded up."""

_FIRST_STRIDE = 0.02
"""First step of the search for a bracket, in the logarithm of the probability; every further step is twice as long."""

_RATE_TOLERANCE = 1e-4


class Curve(Protocol):
    """What is asked of a privacy curve here."""

    @property
    def shifts(self) -> int:
        """How many independent coordinates a neighbouring dataset moves."""

    def delta(self, epsilon: float) -> float:
        """The delta for an epsilon."""


CurveOf = Callable[[int, float], Curve]
"""From a number of honest people and a noise probability to the privacy curve of a protocol."""


def smallest_probability(curve_of: CurveOf, *, users: int, epsilon: float, delta: float) -> float | None:
    """The smallest noise probability in (0, 1/2], on the dyadic grid, that gives (epsilon, delta); None if none does.

    More noise never hurts privacy, so this is a root of log delta(epsilon) in the logarithm of the probability.
    """

    @cache
    def excess(log_probability: float) -> float:
        probability = round_up_to_grid(min(0.5, math.exp(log_probability)))
        return math.log(curve_of(users, probability).delta(epsilon) / delta)

    least, most = -GRID_BITS * math.log(2), math.log(0.5)
    if curve_of(users, 2.0**-GRID_BITS).delta(epsilon) <= delta:
        return 2.0**-GRID_BITS
    shifts = curve_of(users, 0.5).shifts
    low = high = min(most, math.log(_rough_mean(shifts, epsilon, delta) / users))
    stride = _FIRST_STRIDE
    while excess(high) > 0:
        if high == most:
            return None
        low, high, stride = high, min(most, high + stride), 2 * stride
    while excess(low) <= 0:
        low, high, stride = max(least, low - stride), low, 2 * stride
    return round_up_to_grid(min(0.5, math.exp(first_safe(excess, low, high, tolerance=_TOLERANCE))))


def first_rate(excess: Callable[[float], float], *, start: float, largest: float) -> float | None:
    """The smallest rate of a Poisson law whose excess is not positive, to 1e-4; None if it is above the largest."""
    cached = cache(lambda log_rate: excess(math.exp(log_rate)))
    low = high = math.log(start)
    stride, most = 0.1, math.log(largest)
    while cached(high) > 0:
        if high >= most:
            return None
        low, high, stride = high, min(high + stride, most), 2 * stride
    while cached(low) <= 0:
        low, high, stride = low - stride, low, 2 * stride
    return math.exp(first_safe(cached, low, high, tolerance=_RATE_TOLERANCE))


def fewest_users(curve_of: CurveOf, *, epsilon: float, delta: float) -> int:
    """The smallest number of honest people for whom the largest noise, probability 1/2, gives (epsilon, delta).

    One more person adds an independent coin to the noise, so privacy only improves with their number.
    """

    def enough(users: int) -> bool:
        return curve_of(users, 0.5).delta(epsilon) <= delta

    high = max(1, math.ceil(2 * _rough_mean(curve_of(1, 0.5).shifts, epsilon, delta)))
    while not enough(high):
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _rough_mean(shifts: int, epsilon: float, delta: float) -> float:
    """Where the search starts: the noise mean if the losses of the shifts were Gaussian, at least the mean log(1/delta)
    that makes the noiseless outcome rare enough.
    """

    def excess(log_mean: float) -> float:
        scale = math.sqrt(shifts / math.exp(log_mean))
        gained = math.erfc((epsilon / scale - scale / 2) / math.sqrt(2)) / 2
        lost = math.exp(epsilon) * math.erfc((epsilon / scale + scale / 2) / math.sqrt(2)) / 2
        return gained - lost - delta

    floor = math.log(1 / delta)
    low, high = math.log(floor), math.log(floor + 4 * floor / epsilon**2)
    return math.exp(first_safe(excess, low, high, tolerance=1e-4)) if excess(low) > 0 >= excess(high) else floor
