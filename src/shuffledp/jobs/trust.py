"""Whom a release trusts, and what a curator could publish instead."""

from __future__ import annotations

import math

from shuffledp.checks import one_of
from shuffledp.errors import ParameterError
from shuffledp.jobs.choose import MODEL_OF, choose, offered
from shuffledp.protocols.names import TrustName
from shuffledp.protocols.protocol import HistogramProtocol, MessageProtocol
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target
from shuffledp.words import at_most, people_at_most

_MOST_CELLS, _LEAST_EPSILON = 4096, 0.5
"""With more values the error of a curator's ranges takes seconds, and with a smaller epsilon their noise does; from a
thousand values on it is seldom smaller anyway, since a person's value is then counted in many groups."""


def check_trust(trust: TrustName, *, messages: bool = False) -> None:
    """Refuses an unknown name, and messages to a curator, before anything is read."""
    one_of("trust", trust, MODEL_OF)
    if messages and trust == "curator":
        raise ParameterError(
            "trust=curator has no messages, since the curator is given the values: leave out one of --trust curator "
            "and --messages (trust= and messages=)"
        )


def curator_error(target: Target, *, beta: float, estimator: str | None, listed: bool) -> float | None:
    """The error that `trust="curator"` would have for the same question, in people; None where there is no answer.

    It follows from public numbers alone and is known before anything is released.
    """
    asked = estimator if estimator in {entry.reading for entry in offered("curator").values()} else None
    try:
        choice = choose(
            target,
            beta=beta,
            protocol=None,
            estimator=asked,
            listed=listed,
            practical_messages=math.inf,
            trust="curator",
        )
    except ParameterError:
        return None
    return float(choice.protocol.error(beta).simultaneous)


def curator_range_error(target: Target, shuffled: Ranges, *, beta: float) -> float | None:
    """The same of ranges: the error of the distribution function, where it can be computed in about a second.

    `shuffled` is the protocol of the release. Whether it is computed follows from public numbers, too.
    """
    if target.cells > _MOST_CELLS or target.epsilon < _LEAST_EPSILON:
        return None
    return shuffled.with_curator(target).range_error(beta)


def is_smaller(error: float, other: float) -> bool:
    """Whether an error is smaller than another one as both are shown, rounded up to whole people."""
    return math.isfinite(error) and math.ceil(error) < other


def curator_in_words(curator: float | None, *, error: float, gives: str = "has") -> dict[str, str]:
    """What a curator's release would be off by, with a title; nothing where that is not less."""
    if curator is None or not is_smaller(curator, error):
        return {}
    return {
        "If you are trusted with the data": (
            "Whoever trusts you with the data anyway: --trust curator "
            f"{gives} an error of at most {people_at_most(curator)} instead of {at_most(error)}, with the same promise "
            "about what is published."
        )
    }


def why_no_messages(protocol: HistogramProtocol) -> str:
    """Of a release that was made without them."""
    counting = protocol.nodes if isinstance(protocol, Ranges) else protocol
    if isinstance(counting, MessageProtocol):
        return "none: their counts were drawn from their exact law"
    return "none: a curator is given the values"
