"""Search for the point where a condition starts to hold, rounded to the safe side.

A condition is a function `excess` that is positive where it fails: too little noise, too small an epsilon. It fails
below some point and holds from there on (for `last_safe_from`, the reverse). At the returned point the condition was
evaluated and holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from shuffledp.validation import open_probability

_BISECT_EVERY = 4
"""The number of steps after which false position is interrupted by a bisection; a cheap guard."""

_EPSILON_TOLERANCE = 1e-11
MOST_EPSILON = 512.0
"""The largest epsilon of a search; an epsilon of 512 guarantees nothing."""

_NOTHING = 1e-300
"""The stand-in for a delta of 0, which has no logarithm."""


def log_excess(reached: float, allowed: float) -> float:
    """The logarithm of `reached` / `allowed`: smooth where deltas range over many powers of ten."""
    return math.log(max(reached, _NOTHING) / allowed)


def first_safe_from(
    excess: Callable[[float], float],
    start: float,
    *,
    stride: float,
    tolerance: float,
    least: float = -math.inf,
    most: float = math.inf,
    growth: float = 2.0,
) -> float | None:
    """A point where `excess` is not positive, at most `tolerance` above the first, searched for around `start`.

    The search walks from `start`, up if it is not safe and down if it is, until it brackets the first safe point. The
    first step is `stride` long and every further one `growth` times longer. Only points from `least` to `most` are
    tried: the result is `least` if that is safe already, and None if `most` is not.
    """
    known = cache(excess)
    low = high = min(max(start, least), most)
    while known(high) > 0:
        if high >= most:
            return None
        low, high, stride = high, min(high + stride, most), growth * stride
    while known(low) <= 0:
        if low <= least:
            return low
        low, high, stride = max(low - stride, least), low, growth * stride
    return first_safe(known, low, high, tolerance=tolerance)


def last_safe_from(
    excess: Callable[[float], float],
    start: float,
    *,
    stride: float,
    tolerance: float,
    least: float = -math.inf,
    most: float = math.inf,
    growth: float = 2.0,
) -> float | None:
    """The mirror image: if a condition holds below some point and fails above, a point just below it.

    The result is `most` if that is safe, and None if `least` is not.
    """
    mirrored = first_safe_from(
        lambda at: excess(-at), -start, stride=stride, tolerance=tolerance, least=-most, most=-least, growth=growth
    )
    return None if mirrored is None else -mirrored


def first_safe(excess: Callable[[float], float], low: float, high: float, *, tolerance: float) -> float:
    """A point where `excess` is not positive, at most `tolerance` above the point where it stops being positive.

    Needs excess(low) > 0 >= excess(high). False position aims just past the root, on the side of the farther end, so
    that the bracket closes from both sides. Occasional bisection guards against unsuitable functions. A general root
    finder would return a point on either side.
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
    found = first_safe_from(
        lambda epsilon: log_excess(delta_of(epsilon), delta),
        1.0,
        stride=1.0,
        least=0.0,
        most=MOST_EPSILON,
        tolerance=_EPSILON_TOLERANCE,
    )
    return math.inf if found is None else found
