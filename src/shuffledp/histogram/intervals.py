"""Intervals of counts, the nearest possible counts inside them, and the people who satisfy a condition.

The nearest possible counts are those with the least sum of squared changes: none negative, with a total that people can
hold, each inside its interval. If the intervals hold the true counts, these are among the possible counts, so the new
estimates are no farther from them than the old ones.

With a condition, every person without a value in a row that passes is in one bin, "(no value)". Its count and interval
give the number of all others. If all simultaneous intervals hold, so do those of the people who pass and of all shares:
they follow from the others and fail with none but them.
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


@dataclass(frozen=True)
class Share:
    """An estimated share with the ends of its interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Passing:
    """The number of people who hold a value in a row that passes, with its interval."""

    count: float
    low: int
    high: int

    @classmethod
    def of(cls, *, people: int, without: float, low: int, high: int) -> Passing:
        """Return the others of all people, given the estimate and the interval of the people `without` a value."""
        most = min(people, max(0, people - low))
        return cls(
            count=min(float(people), max(0.0, people - without)), low=min(most, max(0, people - high)), high=most
        )

    def share(self, count: float, *, low: int, high: int) -> Share:
        """Return the share of those who pass that hold a value, given the estimate and the interval of its people.

        The smallest share is of the fewest people among the most who pass, and the largest the other way round. Who
        holds the value passes, so no share is above 1. Without anybody who passes, any share is possible.
        """
        fewest = max(0, low)
        smallest = fewest / self.high if self.high else 0.0
        among = max(self.low, fewest)
        largest = min(1.0, max(0, high) / among) if among else 1.0
        share = count / self.count if self.count > 0 else 0.0
        return Share(min(max(share, smallest), largest), min(smallest, largest), largest)
