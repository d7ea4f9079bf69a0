"""State a published release again with another confidence, from its estimates and its protocol alone.

Many releases show the number of messages of every bin: the estimate differs from it by a known number. The intervals
of any confidence then follow, without the data and without any privacy cost. Other releases keep their confidence:
those that were adjusted, that select values or hide some, and those whose estimates do not determine the messages.
"""

from __future__ import annotations

from dataclasses import replace

from shuffledp.errors import DataError
from shuffledp.estimators.base import Restating, around_estimates
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.labels import HIDDEN
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.ranges import Ranges


def restated(estimate: Estimate, protocol: HistogramProtocol, *, beta: float) -> Estimate | None:
    """Return the estimate with intervals that fail with probability at most beta; None if that is impossible.

    An estimate that is at least as confident is returned unchanged.
    """
    if estimate.beta <= beta:
        return estimate
    estimator = protocol.estimator
    if estimate.adjusted or estimate.detection is not None or not isinstance(estimator, Restating):
        return None
    if estimator.false_positives and len(estimate) != protocol.bins:
        return None  # some values were left out
    if HIDDEN in estimate.labels.tolist():
        return None  # the sum of several bins
    try:
        per_bin, simultaneous = around_estimates(
            estimate.counts,
            per_bin=estimator.restated(estimate.counts, beta=beta, bins=1),
            simultaneous=estimator.restated(estimate.counts, beta=beta, bins=protocol.bins),
        )
    except DataError:
        return None
    found = replace(estimate, per_bin=per_bin, simultaneous=simultaneous, beta=beta)
    if isinstance(protocol, Ranges) and isinstance(estimate, OrderedEstimate):
        in_order = protocol.in_order(found, edges=estimate.edges, ordered=estimate.ordered)
        return replace(in_order, shares=estimate.shares)
    return found
