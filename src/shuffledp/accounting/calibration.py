"""The smallest noise that gives a requested guarantee, and the fewest people with whom it is possible.

`guarantee_of_one` is the weakest guarantee of one of several rounds whose composition is within the guarantee of all.
Every round has the same noise, sampled anew, and one person may answer all of them. The stated delta of a round is
delta / rounds: a reader can then see with basic composition alone that the total is at most (rounds * epsilon, delta).
The noise hardly depends on this choice, since it is calibrated to the composition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

from shuffledp.accounting.curve import Curve, Guarantee, moved_bins
from shuffledp.accounting.search import first_safe_from, last_safe_from, log_excess
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.formatting import share_at_least
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import GRID_BITS, round_up_to_grid
from shuffledp.validation import LEAST_DELTA, LEAST_EPSILON, target_delta, target_epsilon, whole

_TOLERANCE = 1e-9
"""The relative precision of a calibrated probability; it is rounded up."""

_STRIDE = 0.02
"""The first step of the search in the logarithm of the probability: the usual error of the rough mean."""

_RATE_TOLERANCE = 1e-4
"""The relative precision of a Poisson rate, whose curve takes longer to compute."""

_RATE_STRIDE = 0.1
"""The first step of the search for a rate, in its logarithm."""

LARGEST_CALIBRATED = 25_000.0
"""The largest rate of a search: 365 rounds with epsilon 1 need 13,000, and the probabilities of more take seconds."""

_SMALL_EPSILON = 0.2
"""Below it, the rates on the way from log(2/delta) to the result take longer to compute than a rough guess."""

_ROUGH_TOLERANCE = 1e-4
"""The relative precision of the start of a search."""


CurveOf = Callable[[int, float], Curve]
"""A function from a number of honest people and a noise probability to the privacy curve of a protocol."""


def smallest_probability(
    curve_of: CurveOf, *, users: int, epsilon: float, delta: float, shifts: int = 2
) -> float | None:
    """The smallest noise probability in (0, 1/2], on the dyadic grid, that gives (epsilon, delta); None if none does.

    More noise never weakens privacy, so this is a root of log delta(epsilon) in the logarithm of the probability.
    `shifts` is the number of coordinates that a neighbour moves; it only affects the start of the search.
    """

    def probability_at(logarithm: float) -> float:
        return round_up_to_grid(min(0.5, math.exp(logarithm)))

    if curve_of(users, 2.0**-GRID_BITS).delta(epsilon) <= delta:
        return 2.0**-GRID_BITS
    found = first_safe_from(
        lambda logarithm: log_excess(curve_of(users, probability_at(logarithm)).delta(epsilon), delta),
        math.log(_rough_mean(shifts, epsilon, delta) / users),
        stride=_STRIDE,
        least=-GRID_BITS * math.log(2),
        most=math.log(0.5),
        tolerance=_TOLERANCE,
    )
    return None if found is None else probability_at(found)


def rate_to_start(*, epsilon: float, delta: float, shifts: int) -> float:
    """The start of the search for a rate: near the result where epsilon is small, and large rates take long."""
    return _rough_mean(shifts, epsilon, delta) if epsilon < _SMALL_EPSILON else math.log(2 / delta)


def first_rate(excess: Callable[[float], float], *, start: float, largest: float) -> float | None:
    """The smallest rate of a Poisson distribution whose excess is not positive, to 1e-4; None if there is none in
    range.
    """
    found = first_safe_from(
        lambda logarithm: excess(math.exp(logarithm)),
        math.log(start),
        stride=_RATE_STRIDE,
        most=math.log(largest),
        tolerance=_RATE_TOLERANCE,
    )
    return None if found is None else math.exp(found)


def fewest_users(curve_of: CurveOf, *, epsilon: float, delta: float, shifts: int = 2) -> int:
    """The smallest number of honest people for whom the largest noise, probability 1/2, gives (epsilon, delta).

    One more person adds an independent coin to the noise, so privacy only improves with their number. `shifts` is as
    for `smallest_probability`.
    """

    def enough(users: int) -> bool:
        return curve_of(users, 0.5).delta(epsilon) <= delta

    high = max(1, math.ceil(2 * _rough_mean(shifts, epsilon, delta)))
    while not enough(high):
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@lru_cache(maxsize=256)
def moved_bins_probability(*, users: int, epsilon: float, delta: float, values: int = 1) -> float | None:
    """Return `smallest_probability` for histograms whose bins have binomial noise of one coin per person; cached.

    The paper's histogram and the dummy histogram have the same curve. `values` is the number of values per person.
    """
    return smallest_probability(
        partial(_binomial_bins, values), users=users, epsilon=epsilon, delta=delta, shifts=2 * values
    )


@lru_cache(maxsize=256)
def moved_bins_fewest_users(*, epsilon: float, delta: float, values: int = 1) -> int:
    """Return `fewest_users` for the same histograms."""
    return fewest_users(partial(_binomial_bins, values), epsilon=epsilon, delta=delta, shifts=2 * values)


def _binomial_bins(values: int, users: int, probability: float) -> Curve:
    return moved_bins(Binomial(trials=users, probability=probability), values=values)


def _rough_mean(shifts: int, epsilon: float, delta: float) -> float:
    """The start of the search: the noise mean if the losses of the shifts were Gaussian.

    It is at least the mean log(1/delta) that makes the noiseless outcome rare enough.
    """

    def excess(log_mean: float) -> float:
        scale = math.sqrt(shifts / math.exp(log_mean))
        gained = math.erfc((epsilon / scale - scale / 2) / math.sqrt(2)) / 2
        lost = math.exp(epsilon) * math.erfc((epsilon / scale + scale / 2) / math.sqrt(2)) / 2
        return gained - lost - delta

    floor = math.log(1 / delta)
    least, most = math.log(floor), math.log(floor + 4 * floor / epsilon**2)
    found = first_safe_from(excess, least, stride=math.inf, least=least, most=most, tolerance=_ROUGH_TOLERANCE)
    return floor if found in (None, least) else math.exp(found)


FEWEST_ROUNDS, MOST_ROUNDS = 2, 4096
"""One round is no series, and 4096 are eleven years of days."""

_DIGITS = 4
"""Digits of the epsilon of one round: the noise is at most 0.1 % larger than with all of them."""

_DELTA_DIGITS = 2
_EPSILON_TOLERANCE = 5e-4
_EPSILON_STRIDE = 0.02
"""Precision and first step of the search in the logarithm of epsilon; the start is usually off by a few percent."""

_BELOW_BASIC = 0.99
"""The smallest epsilon of one round that is tried, as a multiple of epsilon / rounds. That share always suffices by
basic composition, but for the cost of sampling again, which is below one part in 10^9."""


def rounds_of(value: object, *, name: str = "rounds") -> int:
    """Check a number of rounds."""
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
            stride=_EPSILON_STRIDE,
            least=math.log(max(LEAST_EPSILON, _BELOW_BASIC * epsilon / rounds)),
            most=math.log(epsilon),
            tolerance=_EPSILON_TOLERANCE,
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
    from scipy.special import ndtri

    return float(epsilon / math.sqrt(rounds) * ndtri(share) / ndtri(min(delta, 0.4)))
