"""Look up some values of a release, with intervals that hold for exactly these values at once.

An interval over all d values allows each of them a failure probability of beta / d; over a list of k values it is
beta / k, so the intervals are narrower. The estimates stay the same. This is post-processing of a published result: it
uses no data and costs no privacy. The list must not depend on the noise, as the largest estimates would.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from shuffledp.errors import LabelError, ParameterError
from shuffledp.estimators.supports import DecodedTally
from shuffledp.formatting import shown
from shuffledp.histogram.estimate import Estimate
from shuffledp.protocols.shuffled.hashed import MOST_LOOKED_UP, HashedHistogram, check_looked_up

if TYPE_CHECKING:
    from shuffledp.release.release import Release


def look_up(release: Release, values: Iterable[Any], *, beta: float | None = None) -> Estimate:
    """Return the estimate of exactly these values, each once, in the order in which they are first given."""
    estimate, protocol = release.estimate, release.protocol
    if not isinstance(protocol, HashedHistogram) or len(estimate) != protocol.bins:
        got = "any text" if estimate.detection is not None else release.title
        raise ParameterError(
            f"lookup needs a release of the protocol hashed with a domain, got {got}: interval(value) has the interval "
            "of one value"
        )
    if estimate.adjusted:
        raise ParameterError("lookup needs the estimates before they were adjusted: leave out consistent")
    places = list(dict.fromkeys(_place(estimate, value) for value in few_values(values)))
    statistic = DecodedTally(np.array(places), protocol.estimator.supports_of(estimate.counts[places]))
    beta = estimate.beta if beta is None else beta
    found = protocol.looked_up(statistic, estimate.labels[places], beta=beta)
    return replace(found, about=estimate.about, cap=estimate.cap, where=estimate.where)


def few_values(values: Iterable[Any]) -> list[Any]:
    """Return the values as a list; stop before a list that is too long fills the memory."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(f"values must be a list of values, got one {type(values).__name__}")
    found = list(islice(values, MOST_LOOKED_UP + 1))
    check_looked_up(len(found))
    return found


def _place(estimate: Estimate, value: Any) -> int:
    """The place of a value among the estimates; a value that cannot occur is a LabelError."""
    try:
        at = estimate.find(value)
    except LabelError as error:
        raise LabelError(f"{shown(value)} cannot be looked up: {error}") from None
    if at is None:
        raise LabelError(f"label must be a value of the domain, got {shown(value)}")
    return at
