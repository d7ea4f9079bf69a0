"""How likely something goes wrong in at least one of many bins, and the bounds on noise that keep that rare."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

from shuffledp.noise import IntegerLaw

_MOST_EVENTS = 10**300
"""More events than this cannot be told apart in floats, and leave nothing to chance."""


def any_of(*risks: tuple[float, int]) -> float:
    """How likely at least one of independent events is: each entry is a probability and how many events have it."""
    at_risk = [(probability, min(count, _MOST_EVENTS)) for probability, count in risks if count]
    if any(probability >= 1 for probability, _ in at_risk):
        return 1.0
    none = sum(count * math.log1p(-probability) for probability, count in at_risk)
    return -math.expm1(none)


def last_low(noise: IntegerLaw, fails: Callable[[int], bool]) -> int:
    """The largest bound below the mean of a law on 0, 1, ... that does not fail."""
    return bisect_left(range(1, math.floor(noise.mean) + 1), True, key=fails)


def first_high(noise: IntegerLaw, fails: Callable[[int], bool]) -> int:
    """The smallest bound above the mean that does not fail; the largest possible value if only that is sure."""
    options = range(math.floor(noise.mean), noise.window.last + 2)
    at = bisect_left(options, True, key=lambda high: not fails(high))
    return options[at] if at < len(options) else int(noise.window.highest)


def smallest_distance(noise: IntegerLaw, holds: Callable[[float], bool]) -> float:
    """The smallest error that holds, where errors are whole counts or distances of the noise from its mean."""
    largest = math.ceil(max(noise.mean, min(noise.window.highest, 2 * noise.window.last))) + 1
    whole = bisect_left(range(largest), True, key=holds)
    if whole == largest:  # the tails outside of the window are too heavy for this risk: only the farthest value is sure
        return max(noise.mean, noise.window.highest - noise.mean)
    # of the distances from the mean, two lie in the last unit
    below = noise.mean - math.floor(noise.mean - whole + 1)
    above = math.ceil(noise.mean + whole - 1) - noise.mean
    between = sorted(error for error in (below, above) if max(0, whole - 1) < error < whole)
    return next((error for error in between if holds(error)), float(whole))
