"""The people who satisfy a condition, and shares among them, from a release alone.

Every person without a value in a row that passes is in one bin of their own, "(no value)". Its count and interval give
the number of all others. If all simultaneous intervals hold, which has probability at least 1 - beta, the number of
people who pass and all shares lie in the intervals here: they follow from the others and fail with none but them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """An estimated share with the ends of its interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Passing:
    """The number of people who hold a value in a row that passes: the estimate and the ends of its interval."""

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
