"""What an audit can show at best: with the event that tells two known laws apart, at its expected number of times.

By Neyman and Pearson no event of a given probability on one dataset is less likely on the other than "the likelihood
ratio is at least r". So the largest bound over all r is what a perfect choice of the event would show, and an audit,
which has to learn the event, shows less. To refute a promise, runs are needed until this is above it.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.accounting.confidence import lower_bound, upper_bound
from shuffledp.verification.audit.black_box import COUNTING_SHARE
from shuffledp.verification.exact.pairs import Pair

_MOST_EVENTS = 300
"""Events that are tried: neighbouring ones have nearly the same probability."""


def provable_epsilon(pair: Pair, *, trials: int, delta: float = 0.0, confidence: float = 0.99) -> float:
    """The bound that `audit` would find in this number of runs if it knew the best event for these two laws."""
    runs, failure = math.floor(trials * COUNTING_SHARE), (1 - confidence) / 2
    best = 0.0
    for way in (pair, pair.reversed):
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-(way.one / way.other))
        likely, unlikely = (np.minimum(np.cumsum(law[order]), 1.0) for law in (way.one, way.other))
        events = np.flatnonzero(likely > delta)
        for at in events[:: max(1, events.size // _MOST_EVENTS)].tolist():
            low = lower_bound(round(likely[at] * runs), runs, failure=failure)
            high = upper_bound(round(unlikely[at] * runs), runs, failure=failure)
            if low - delta > high:
                best = max(best, math.log((low - delta) / high))
    return best
