"""Whether a task keeps what it claims: computed from its parameters by whoever is asked, before they answer."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting.rounding import PROMISED_DELTA
from shuffledp.errors import BrokenPromiseError, ParameterError
from shuffledp.formatting import share_at_most
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, chance_of_more, seldom_enough
from shuffledp.validation import target_delta, target_epsilon


@dataclass(frozen=True, kw_only=True)
class Promise:
    """(epsilon, delta) as claimed, and the delta that the parameters reach at this epsilon, never below the truth.

    `exact` says that `reached` is the truth but for rounding; otherwise it is an upper bound.
    """

    epsilon: float
    delta: float
    reached: float
    exact: bool


def check_promise(
    protocol: ShuffledHistogram, *, most_messages: int, at_most: tuple[float, float] | None = None
) -> Promise:
    """The promise of a protocol whose reports hold at most so many messages; refused where it is not kept.

    `at_most` is the (epsilon, delta) that somebody allows, which may be stronger than what is claimed.
    """
    claimed = protocol.guarantee
    assert claimed is not None
    redrawn = chance_of_more(protocol, most_messages)
    if redrawn > seldom_enough(claimed.delta):
        raise BrokenPromiseError(
            f"most_messages={most_messages} is too small: people would draw other messages than the privacy is "
            "computed for"
        )
    reached = _delta(protocol, claimed.epsilon, redrawn)
    if reached > claimed.delta * (1 + PROMISED_DELTA):
        raise BrokenPromiseError(
            f"the task claims delta={claimed.delta:g} at epsilon={claimed.epsilon:g}, but its parameters give "
            f"{share_at_most(reached)}, which is weaker"
        )
    if at_most is not None:
        epsilon, delta = target_epsilon(at_most[0]), target_delta(at_most[1])
        allowed = _delta(protocol, epsilon, redrawn)
        if allowed > delta * (1 + PROMISED_DELTA):
            raise BrokenPromiseError(
                f"the task gives delta={share_at_most(allowed)} at epsilon={epsilon:g}, which is more than the "
                f"{delta:g} that is allowed here"
            )
    return Promise(epsilon=claimed.epsilon, delta=claimed.delta, reached=reached, exact=protocol.privacy.exact)


def _delta(protocol: ShuffledHistogram, epsilon: float, redrawn: float) -> float:
    """Of the curve, and what drawing again costs (protocols/shuffled_histogram.py)."""
    try:
        return protocol.privacy.delta(epsilon) / (1 - redrawn)
    except ParameterError as error:  # noise so small that the part of the honest people is none in floating point
        raise BrokenPromiseError(f"the privacy of its parameters cannot be computed: {error}") from None
