"""How many messages a report may hold, where people draw their number: who draws more draws again.

Let A be the event that nobody of n people draws more than `most` messages, and eta >= n P(more) bound the chance that
it fails. The number of messages has the same law whatever somebody holds, so P(A) is the same for neighbours, and for
every set S of outcomes

    P_x(S | A) = P_x(S and A) / P(A) <= (e^epsilon P_x'(S and A) + delta) / P(A) = e^epsilon P_x'(S | A) + delta / P(A).

Drawing again therefore costs a factor 1 / (1 - eta) in delta, for every epsilon, alone and in any composition.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.errors import ParameterError
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram

SHARE_OF_DELTA = 1e-3
"""The chance that anybody draws again is at most this share of delta."""

SELDOM = 2.0**-44
"""And at most this, far below the margins that every delta has for rounding (accounting/rounding.py): a curve that
does not know of the limit, as in a ledger, is then still on the safe side. It makes the limit a few messages larger."""

_TILTS = np.geomspace(1e-9, 50.0, 400)
"""Tilts of Chernoff's bound that are tried; each gives a bound that holds, and it is flat around the best."""


def most_messages(protocol: ShuffledHistogram, *, delta: float) -> int:
    """The smallest limit that nobody of all people exceeds, but for a negligible chance; at most what anybody sends."""
    limit = seldom_enough(delta)
    with np.errstate(over="ignore"):
        growth = protocol.messages_cumulant(_TILTS) * (1 + SEVERAL_OPERATIONS) + math.log(protocol.users / limit)
    needed = float(np.nanmin(np.where(np.isfinite(growth), growth, np.inf) / _TILTS))
    least = min(needed - 1, protocol.messages_per_user.maximum)  # more than `most` is at least most + 1
    if not math.isfinite(least):
        raise ParameterError(f"{type(protocol).__name__} has no largest number of messages that is known")
    return max(protocol.values_per_person, math.ceil(least))


def seldom_enough(delta: float) -> float:
    """The chance that anybody draws again which a delta allows."""
    return min(SHARE_OF_DELTA * delta, SELDOM)


def chance_of_more(protocol: ShuffledHistogram, most: int) -> float:
    """At most how likely anybody of all people draws more than `most` messages."""
    if most >= protocol.messages_per_user.maximum:
        return 0.0
    with np.errstate(over="ignore"):
        exponents = protocol.messages_cumulant(_TILTS) * (1 + SEVERAL_OPERATIONS) - _TILTS * (most + 1)
    return min(1.0, protocol.users * math.exp(min(0.0, float(np.nanmin(exponents)))))
