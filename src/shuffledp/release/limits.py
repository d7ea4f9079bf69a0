"""The detection limit of a release, and what makes a plan or a release questionable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

from shuffledp.data.bins import Possible
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.labels import Absent
from shuffledp.histogram.periods import Periods
from shuffledp.protocols.protocol import HistogramProtocol

USELESS_SHARE = 0.1
"""An error above this share of all people makes the result nearly useless."""


def detection_limit(error: float, *, false_positives: bool) -> int:
    """Return the smallest count that is distinguishable from 0, given the simultaneous error.

    The error of a hidden bin is its whole count. With false positives, an empty bin has an error of its own, so the
    count must exceed both errors.
    """
    return math.floor(error * (2 if false_positives else 1)) + 1


def released_error(estimate: Estimate, protocol: HistogramProtocol) -> float:
    """Return the simultaneous error of a release: of this estimate, if it shows selected values and 0 for others."""
    if estimate.detection is None:
        return protocol.error(estimate.beta).simultaneous
    return max(estimate.largest_distance, float(estimate.simultaneous.unreported_high))


def released_limit(estimate: Estimate, error: float, *, false_positives: bool) -> int:
    """Return the detection limit of a release: without false positives, one more than a hidden value can have."""
    if estimate.detection is not None:
        return estimate.detection.limit
    if false_positives:
        return detection_limit(error, false_positives=True)
    return estimate.simultaneous.unreported_high + 1


class Caution(StrEnum):
    """What makes a plan, a task or a release questionable."""

    LARGE_DELTA = "large-delta"
    LARGE_ERROR = "large-error"
    MOSTLY_NO_DATE = "mostly-no-date"
    MOSTLY_NO_NUMBER = "mostly-no-number"


def mostly_missing(estimate: Estimate, possible: Sequence[Possible | None] | None) -> tuple[Caution, ...]:
    """Return the caution for a column of dates or numbers whose values are mostly missing, by the private counts.

    Text in another format counts as missing. Missing values count as most if they outnumber all others by the estimates
    and are not only noise.
    """
    if possible is None or len(possible) > 1 or not isinstance(possible[0], Edges | Periods):
        return ()
    known = {label: at for at, label in enumerate(estimate.labels.tolist()) if not isinstance(label, Absent)}
    at = known.get(None)
    if at is None or 2 * estimate.counts[at] <= sum(estimate.counts[one] for one in known.values()):
        return ()
    if estimate.simultaneous.low[at] <= 0:
        return ()
    return (Caution.MOSTLY_NO_DATE if isinstance(possible[0], Periods) else Caution.MOSTLY_NO_NUMBER,)


def cautions(*, users: int, delta: float, error: float = 0.0) -> tuple[Caution, ...]:
    """Return the cautions for a question, or for a release whose error is known."""
    found = {Caution.LARGE_DELTA: delta > 1 / users, Caution.LARGE_ERROR: error > USELESS_SHARE * users}
    return tuple(caution for caution, applies in found.items() if applies)
