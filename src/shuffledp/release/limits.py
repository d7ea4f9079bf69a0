"""The detection limit of a release, and what makes a plan or a release questionable."""

from __future__ import annotations

import math
from enum import StrEnum

from shuffledp.histogram.estimate import Estimate

USELESS_SHARE = 0.1
"""An error above this share of all people makes the result nearly useless."""


def detection_limit(error: float, *, false_positives: bool) -> int:
    """Return the smallest count that is distinguishable from 0, given the simultaneous error.

    The error of a hidden bin is its whole count. With false positives, an empty bin has an error of its own, so the
    count must exceed both errors.
    """
    return math.floor(error * (2 if false_positives else 1)) + 1


def released_limit(estimate: Estimate, error: float, *, false_positives: bool) -> int:
    """Return the detection limit of a release: without false positives, one more than a hidden value can have."""
    if false_positives:
        return detection_limit(error, false_positives=True)
    return estimate.simultaneous.unreported_high + 1


class Caution(StrEnum):
    """What makes a plan, a task or a release questionable."""

    LARGE_DELTA = "large-delta"
    LARGE_ERROR = "large-error"


def cautions(*, users: int, delta: float, error: float = 0.0) -> tuple[Caution, ...]:
    """Return the cautions for a question, or for a release whose error is known."""
    found = {Caution.LARGE_DELTA: delta > 1 / users, Caution.LARGE_ERROR: error > USELESS_SHARE * users}
    return tuple(caution for caution, applies in found.items() if applies)
