"""Where a condition starts to hold, always reported on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.checks import open_probability

_BISECT_EVERY = 4
_EPSILON_TOLERANCE = 1e-11
_MOST_EPSILON = 1000.0
_NOTHING = 1e-300


def first_safe(excess: Callable[[float], float], low: float, high: float, *, tolerance: float) -> float:
    """A point where `excess` is not positive, at most `tolerance` above the place where it stops being positive.

    Needs excess(low) > 0 >= excess(high). False position aims just past the root, on the side of the farther end, so
    that the bracket closes from both sides; now and then a bisection guards against functions it does not suit. A
    general root finder would return a point on either side.
    """
    at_low, at_high = excess(low), excess(high)
    step = 0
    while high - low > tolerance:
        step += 1
        if step % _BISECT_EVERY:
            guess = low + (high - low) * at_low / (at_low - at_high)
            guess += tolerance / 3 if high - guess > guess - low else -tolerance / 3
        else:
            guess = (low + high) / 2
        guess = min(max(guess, low + tolerance / 4), high - tolerance / 4)
        value = excess(guess)
        if value > 0:
            low, at_low = guess, value
        else:
            high, at_high = guess, value
    return high


def smallest_epsilon(delta_of: Callable[[float], float], delta: float) -> float:
    """The smallest epsilon with delta_of(epsilon) <= delta, for a falling function; inf if none is known."""
    delta = open_probability("delta", delta)
    if delta_of(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of(high) > delta:
        low, high = high, 2 * high
        if high > _MOST_EPSILON:
            return math.inf
    return first_safe(
        lambda epsilon: math.log(max(delta_of(epsilon), _NOTHING) / delta), low, high, tolerance=_EPSILON_TOLERANCE
    )
