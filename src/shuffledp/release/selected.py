"""Report only the values that stand out from the noise, where most of very many possible ones are held by nobody.

An estimator with noise of both signs reports every possible value. With a million of them most rows are noise, and a
release has hundreds of megabytes. A value is kept if its estimate exceeds the error that the estimates of all values
exceed together with probability at most `risk`. So with probability at most `risk` is any value kept that nobody holds.
The others have at most the largest of their upper bounds. All intervals are those of the whole estimate.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import RISK, Detection
from shuffledp.histogram.intervals import Intervals
from shuffledp.protocols.protocol import HistogramProtocol

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
