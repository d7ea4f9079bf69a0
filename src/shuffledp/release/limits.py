"""The detection limit of a release, and what makes a plan or a release questionable."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np

from shuffledp.data.bins import Possible
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import RISK, Detection
from shuffledp.histogram.intervals import Intervals
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


MOST_ROWS = 100_000
"""The most values that are all reported: a release of them has 20 MB."""


def standing_out(
    estimate: Estimate,
    protocol: HistogramProtocol,
    *,
    always: Collection[Any] = (),
    most_rows: int = MOST_ROWS,
    risk: float = RISK,
) -> Estimate:
    """Return an estimate of the values that stand out, if all of them would be more than `most_rows`.

    Labels in `always` are kept whatever their estimate is.
    """
    if len(estimate) <= most_rows or not estimate.reports_all:
        return estimate
    threshold = protocol.error(risk).simultaneous
    labels = estimate.labels
    kept = estimate.counts > threshold
    kept |= np.fromiter((label in always for label in labels.tolist()), dtype=bool, count=labels.size)
    limit = math.floor(threshold + protocol.error(estimate.beta).per_bin) + 1

    def cut(intervals: Intervals) -> Intervals:
        most = int(intervals.high[~kept].max(initial=0))
        return Intervals(intervals.low[kept], intervals.high[kept], unreported_high=most)

    return replace(
        estimate,
        symbols=labels[kept],
        domain=Domain.implicit(estimate.bins),
        counts=estimate.counts[kept],
        per_bin=cut(estimate.per_bin),
        simultaneous=cut(estimate.simultaneous),
        detection=Detection(limit=limit, risk=risk, candidates=(estimate.bins,)),
    )
