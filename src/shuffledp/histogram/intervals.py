"""Intervals of counts, and the nearest possible counts inside them.

The nearest possible counts are those with the least sum of squared changes: none negative, with a total that people can
hold, each inside its interval. If the intervals hold the true counts, these are among the possible counts, so the new
estimates are no farther from them than the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.formatting import ShortRepr


@dataclass(frozen=True, eq=False)
class Intervals(ShortRepr):
    """Bounds on the true count of every reported bin, and of every bin that was not reported.

    Around an unbiased estimate below 0 the lower end is below 0 too, so that the estimate lies in its interval. Tables
    and files show the intervals of `possible`.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    unreported_high: int

    def possible(self, people: int) -> Intervals:
        """Clip the intervals to possible counts: 0 to the number of people."""
        return replace(self, low=np.clip(self.low, 0, people), high=np.clip(self.high, 0, people))


_HALVINGS = 200
"""Halvings of the range that contains the common shift: beyond the precision of floats."""


def nearest_possible(
    counts: NDArray[np.float64],
    *,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    least: float,
    most: float,
) -> NDArray[np.float64]:
    """Return the numbers nearest to the counts that lie between `low` and `high` and add up to `least` to `most`.

    A common shift, clipped at the ends, gives the nearest numbers for every total; the total falls as the shift grows.
    A total that the ends do not allow is approached as far as possible.
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
