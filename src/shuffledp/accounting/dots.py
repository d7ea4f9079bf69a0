"""A pair of laws from a privacy curve that is known only by its numbers delta(epsilon): its dots are connected.

Let H(x) = sup over events of P - x Q, x = e^epsilon, be the truth for any two neighbours in either order. As a function
of x it is convex, falls, and is 1 at x = 0. A curve bounds it at every x >= 1, and with P and Q exchanged below 1 too:

    H(x) <= delta(ln x)  for x >= 1,    H(x) <= 1 - x + x delta(-ln x)  for x < 1.

The largest convex function through or below some of these points is therefore nowhere below H, whatever the curve does
between them, and it is the curve of one pair of laws: the mass of Q at a point is the change of slope there, that of P
is x times as much, and what is left at the last point is a loss without limit (Doroshenko, Ghazi, Kamath, Kumar and
Manurangsi 2022, "Connect the dots"; docs/proofs/exact-privacy.md, "Curves known by their numbers").
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.curve import Curve
from shuffledp.accounting.loss import PrivacyLoss
from shuffledp.accounting.rounding import PRIVACY_LOSS

_DOTS = 128
"""On either side of 0. The epsilon of eleven histograms is then 0.2 % above that of their shifts, with twice as many
0.05 %; but some curves take a tenth of a second for each dot."""

_FARTHEST = 128.0
"""Beyond this epsilon no curve is asked: what is not resolved up to there counts as revealed."""

_FLOOR = 1e-3
"""A delta that is within this share of the smallest one of its curve has reached it."""

_LOWEST = -30.0
"""No dots are set below: an outcome with a smaller loss has a probability below e^-30, and could as well have this."""


@lru_cache(maxsize=128)
def connected(curve: Curve, resolution: float) -> PrivacyLoss:
    """The loss of a pair of laws that tells at least as much as what the curve is of, in either direction.

    `resolution` is a delta below which nothing needs to be told apart.
    """
    end = _end(curve, resolution)
    epsilons = np.linspace(0.0, end, _DOTS + 1)
    deltas = np.array([min(1.0, curve.delta(float(epsilon))) for epsilon in epsilons])
    deltas = np.minimum.accumulate(deltas)  # H falls, so what bounds it bounds it further on as well
    mirrored = (epsilons[1:] <= -_LOWEST).nonzero()[0][::-1] + 1
    losses = np.concatenate([-epsilons[mirrored], epsilons])
    below = np.exp(-epsilons[mirrored])
    heights = np.concatenate([[1.0], 1 - below + below * deltas[mirrored], deltas])
    places = np.concatenate([[0.0], np.exp(losses)])
    corners = _lower_hull(places, heights)
    slopes = np.append(np.diff(heights[corners]) / np.diff(places[corners]), 0.0)
    masses = places[corners[1:]] * np.maximum(np.diff(slopes), 0.0)
    return PrivacyLoss(losses[corners[1:] - 1], masses * (1 + PRIVACY_LOSS), float(deltas[-1]) * (1 + PRIVACY_LOSS))


def _end(curve: Curve, resolution: float) -> float:
    """The last dot: about the first epsilon at which the delta is below the resolution, or falls no more."""
    floor = min(curve.delta(epsilon) for epsilon in (1.0, 4.0, 16.0, 64.0, _FARTHEST))
    enough = max(resolution, floor * (1 + _FLOOR))
    low, high = 0.0, 1.0
    while high < _FARTHEST and curve.delta(high) > enough:
        low, high = high, 2 * high
    while high - low > max(_NEARLY * high, _NEARLY):
        middle = (low + high) / 2
        low, high = (low, middle) if curve.delta(middle) <= enough else (middle, high)
    return high


_NEARLY = 1e-9
"""Where the last dot may be, relative: a curve that ends in a corner, as every pure one does, has a dot on it."""


def _lower_hull(places: NDArray[np.float64], heights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Which points are corners of the largest convex function that is nowhere above any of them."""
    corners: list[int] = []
    for at in range(places.size):
        while len(corners) > 1 and not _turns_up(places, heights, corners[-2], corners[-1], at):
            corners.pop()
        corners.append(at)
    return np.array(corners)


def _turns_up(places: NDArray[np.float64], heights: NDArray[np.float64], first: int, middle: int, last: int) -> bool:
    """Whether the middle one of three points lies below the line through the others."""
    before = (heights[middle] - heights[first]) / (places[middle] - places[first])
    after = (heights[last] - heights[middle]) / (places[last] - places[middle])
    return bool(before < after)
