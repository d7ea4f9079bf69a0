"""Where a condition starts to hold, always reported on the safe side."""

from __future__ import annotations

from collections.abc import Callable

_BISECT_EVERY = 4


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
