"""The guarantee of one of several rounds, given the guarantee of all rounds together.

Every round has the same noise, sampled anew, and one person may answer all of them. The search finds the weakest
guarantee of one round, hence the least noise, whose composition is within the guarantee of all.

**The delta of one round.** A round has many true guarantees (epsilon, delta): its whole curve. The stated one has
delta / rounds. The deltas of all rounds then add up to the delta of all, so a reader can see with basic composition
alone that the total is at most (rounds * epsilon, delta). The exact composition is far below that. The noise hardly
depends on this choice, since it is calibrated to the composition.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import ndtri

from shuffledp.accounting.curve import Guarantee
from shuffledp.accounting.search import last_safe_from, log_excess
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.formatting import share_at_least
from shuffledp.validation import LEAST_DELTA, LEAST_EPSILON, target_delta, target_epsilon, whole

FEWEST_ROUNDS, MOST_ROUNDS = 2, 4096
"""One round is no series, and 4096 are eleven years of days."""

_DIGITS = 4
"""Digits of the epsilon of one round: the noise is at most 0.1 % larger than with all of them."""

_DELTA_DIGITS = 2
_TOLERANCE = 5e-4
_STRIDE = 0.02
"""Precision and first step of the search in the logarithm of epsilon; the start is usually off by a few percent."""

_BELOW_BASIC = 0.99
"""The smallest epsilon of one round that is tried, as a multiple of epsilon / rounds. That share always suffices by
basic composition, but for the cost of sampling again, which is below one part in 10^9."""


def rounds_of(value: object, *, name: str = "rounds") -> int:
    """Return a number of rounds."""
    number = whole(name, value, minimum=FEWEST_ROUNDS)
    if number > MOST_ROUNDS:
        raise ParameterError(f"{name} must be from {FEWEST_ROUNDS} to {MOST_ROUNDS}, got {number}")
    return number


def guarantee_of_one(
    reached: Callable[[float, float], float], *, rounds: int, epsilon: float, delta: float
) -> Guarantee:
    """Return the weakest guarantee of one round for which all rounds are (epsilon, delta)-private together.

    `reached` calibrates a round to its epsilon and delta, and returns the delta of all rounds together at `epsilon`.
    """
    rounds, epsilon, delta = rounds_of(rounds), target_epsilon(epsilon), target_delta(delta)
    share = delta_of_one(rounds=rounds, delta=delta)

    def excess(logarithm: float) -> float:
        return log_excess(reached(_epsilon_at(logarithm), share), delta)

    try:
        found = last_safe_from(
            excess,
            math.log(_start(rounds=rounds, epsilon=epsilon, delta=delta, share=share)),
            stride=_STRIDE,
            least=math.log(max(LEAST_EPSILON, _BELOW_BASIC * epsilon / rounds)),
            most=math.log(epsilon),
            tolerance=_TOLERANCE,
        )
    except TooFewUsersError as error:
        raise TooFewUsersError(f"for one of {rounds} rounds, {error}", minimum_users=error.minimum_users) from None
    except ParameterError as error:
        raise ParameterError(f"for one of {rounds} rounds, {error}") from None
    if found is None:
        raise ParameterError(f"epsilon={epsilon:g} is too small for rounds={rounds}: use fewer rounds")
    return Guarantee(epsilon=_epsilon_at(found), delta=share, basis=f"one of {rounds} rounds")


def delta_of_one(*, rounds: int, delta: float) -> float:
    """Return the delta of one round: its share of the delta of all, rounded down to two digits."""
    share = float(share_at_least(delta / rounds, digits=_DELTA_DIGITS))
    if share < LEAST_DELTA:
        raise ParameterError(f"delta={delta:g} is too small for rounds={rounds}: use a larger delta or fewer rounds")
    return share


def _epsilon_at(logarithm: float) -> float:
    return max(LEAST_EPSILON, float(share_at_least(math.exp(logarithm), digits=_DIGITS)))


def _start(*, rounds: int, epsilon: float, delta: float, share: float) -> float:
    """The epsilon of one round if all losses were Gaussian: deviations shrink by sqrt(rounds), quantiles grow."""
    return float(epsilon / math.sqrt(rounds) * ndtri(share) / ndtri(min(delta, 0.4)))
