"""Estimates that could be true: none negative, together as many as people hold, each inside its interval.

They are the nearest such numbers, by the sum of squares. Where the intervals hold the truth, the truth is among those
numbers, and so no farther from them than from the estimates as they were.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_HALVINGS = 200
"""Of the range in which the common shift is looked for: beyond the precision of floats."""


def nearest_possible(
    counts: NDArray[np.float64],
    *,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    least: float,
    most: float,
) -> NDArray[np.float64]:
    """The numbers between `low` and `high` that add up to `least` up to `most`, nearest to the counts.

    Shifting all alike and cutting off at the ends gives the nearest numbers of every total, which falls as the shift
    grows. Totals that the ends do not allow come as near as they can.
    """

    def shifted(shift: float) -> NDArray[np.float64]:
        return np.clip(counts - shift, low, high)

    total = float(shifted(0.0).sum())
    if least <= total <= most or not counts.size:
        return shifted(0.0)
    wanted = most if total > most else least
    reach = float(np.max(high - low) + np.max(np.abs(counts)) + np.max(np.abs([low, high])))
    below, above = -reach, reach
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        if float(shifted(middle).sum()) > wanted:
            below = middle
        else:
            above = middle
    return shifted(above)
