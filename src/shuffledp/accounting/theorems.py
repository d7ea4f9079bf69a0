"""The paper's closed forms: the noise of Theorems 3.1 and 3.2, their conditions, and their error bounds.

In the first part, epsilon and delta are the theorem's own: P^zsum is then (epsilon, delta)-private and P^hist (2
epsilon, 2 delta)- private. Errors are in people; the paper states them as shares, that is, divided by n. `log` is
natural throughout.

The second part has the smooth distributions of the paper's appendix (after Ghazi et al.) as statements that can be
checked, with their slack. A distribution is (epsilon, delta, k)-smooth if for every shift k' with 1 <= |k'| <= k

    P_Y[ f(Y) / f(Y + k') >= e^(|k'| epsilon) ] <= delta.

The paper writes "for all k' in [-k, k]", which includes k' = 0, where the event is certain: 0 has to be left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.rounding import LOG_RATIO
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.noise import Binomial, IntegerDistribution
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.validation import failure_probability, head_count, real, target_delta, target_epsilon, whole


def theorem_noise_mean(*, epsilon: float, delta: float) -> float:
    """N * gamma = (50 / epsilon^2) ln(2 / delta): the expected number of missing noise messages per bin."""
    return 50 / epsilon**2 * math.log(2 / delta)


def theorem_users(*, epsilon: float, delta: float) -> int:
    """The smallest n with n >= (100 / epsilon^2) ln(2 / delta), the condition of both theorems."""
    epsilon, delta = _conditions(epsilon, delta)
    return math.ceil(2 * theorem_noise_mean(epsilon=epsilon, delta=delta))


def theorem_probability(*, users: int, epsilon: float, delta: float) -> float:
    """Gamma = 1 - p of both protocols, rounded up to the dyadic grid; checks the theorems' conditions."""
    users = head_count("users", users)
    epsilon, delta = _conditions(epsilon, delta)
    needed = theorem_users(epsilon=epsilon, delta=delta)
    if users < needed:
        raise TooFewUsersError(
            f"users={users} is too few for epsilon={epsilon:g}, delta={delta:g} with the theorem's constants: "
            f"n >= (100 / epsilon^2) ln(2 / delta) needs at least {needed}",
            minimum_users=needed,
        )
    return round_up_to_grid(theorem_noise_mean(epsilon=epsilon, delta=delta) / users)


def sum_error_bound(*, epsilon: float, delta: float, beta: float) -> float:
    """Theorem 3.1 ii and 3.2 ii: n * alpha, exceeded with probability at most beta >= delta^25."""
    epsilon, delta = _conditions(epsilon, delta)
    beta = failure_probability(beta)
    if math.log(beta) < 25 * math.log(delta):
        raise ParameterError(f"beta={beta:g} is below delta^25, where the theorem's bound does not hold")
    return _alpha(epsilon, delta, beta)


def simultaneous_error_bound(*, users: int, epsilon: float, delta: float, beta: float) -> float:
    """Theorem 3.2 iii: n * alpha for all bins at once, exceeded with probability at most beta >= n delta^25."""
    users = head_count("users", users)
    epsilon, delta = _conditions(epsilon, delta)
    beta = failure_probability(beta)
    if math.log(beta) < math.log(users) + 25 * math.log(delta):
        raise ParameterError(f"beta={beta:g} is below n delta^25, where the theorem's bound does not hold")
    return _alpha(epsilon, delta, beta / users)


def _alpha(epsilon: float, delta: float, beta: float) -> float:
    deviation = math.sqrt(200 * math.log(2 / delta) * math.log(2 / beta)) / epsilon
    return theorem_noise_mean(epsilon=epsilon, delta=delta) + deviation


def _conditions(epsilon: float, delta: float) -> tuple[float, float]:
    """Check 0 < epsilon <= 1 and 0 < delta < 1, the conditions of both theorems."""
    epsilon, delta = target_epsilon(epsilon), target_delta(delta)
    if epsilon > 1:
        raise ParameterError(f"epsilon={epsilon:g} is above 1, where the theorem does not hold: calibrate instead")
    return epsilon, delta


@dataclass(frozen=True, kw_only=True)
class Check:
    """A claimed delta beside the exact one for the same epsilon (rounded up; below 1e-29 it is not resolved)."""

    statement: str
    epsilon: float
    claimed_delta: float
    exact_delta: float

    @property
    def holds(self) -> bool:
        """Whether the claim is on the safe side."""
        return self.exact_delta <= self.claimed_delta

    @property
    def slack(self) -> float:
        """A lower bound on the ratio of the claimed and the smallest delta."""
        return self.claimed_delta / self.exact_delta if self.exact_delta else math.inf


def smooth_delta(distribution: IntegerDistribution, *, epsilon: float, shifts: int) -> float:
    """The smallest delta for which the distribution is (epsilon, delta, shifts)-smooth, rounded up."""
    epsilon, shifts = target_epsilon(epsilon), whole("shifts", shifts)
    return max(
        _ratio_tail(distribution, shift=sign * size, threshold=size * epsilon)
        for size in range(1, shifts + 1)
        for sign in (1, -1)
    )


def _ratio_tail(distribution: IntegerDistribution, *, shift: int, threshold: float) -> float:
    """P_Y[ log f(Y) - log f(Y + shift) >= threshold ], where f is 0 outside the window."""
    window = distribution.window
    moved = np.full(window.log_pmf.size, -np.inf)
    if abs(shift) < moved.size:
        kept = slice(max(-shift, 0), moved.size - max(shift, 0))
        image = slice(max(shift, 0), moved.size - max(-shift, 0))
        moved[kept] = window.log_pmf[image]
    exceeds = window.log_pmf - moved >= threshold - LOG_RATIO
    return float(window.pmf[exceeds].sum()) + window.mass_below + window.mass_above


def binomial_lemma(*, trials: int, probability: float, alpha: float, shifts: int = 1) -> Check:
    """Lemma "Binomial Distribution is Smooth": Bin(n, gamma), gamma <= 1/2, 0 < alpha < 1, k <= alpha gamma n / 2.

    Claims epsilon = ln((1 + alpha) / (1 - alpha)) and
    delta = exp(-alpha^2 gamma n / 8) + exp(-alpha^2 gamma n / (8 + 2 alpha)).
    """
    alpha = real("alpha", alpha)
    distribution = Binomial(trials=trials, probability=round_up_to_grid(probability))
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie strictly between 0 and 1, got {alpha:g}")
    if shifts > alpha * distribution.mean / 2:
        raise ParameterError(
            f"shifts must be at most alpha * gamma * n / 2 = {alpha * distribution.mean / 2:.4g}, got {shifts}: "
            "the lemma does not apply there"
        )
    epsilon = math.log((1 + alpha) / (1 - alpha))
    exponent = alpha**2 * distribution.mean
    return Check(
        statement=f"Bin({trials}, {distribution.probability:.4g}) is smooth for shifts up to {shifts}",
        epsilon=epsilon,
        claimed_delta=math.exp(-exponent / 8) + math.exp(-exponent / (8 + 2 * alpha)),
        exact_delta=smooth_delta(distribution, epsilon=epsilon, shifts=shifts),
    )


def corollary(*, users: int, epsilon: float, delta: float) -> Check:
    """The appendix's corollary: Bin(n, 50 ln(2/delta) / (n epsilon^2)) is (epsilon, delta, 1)-smooth.

    It follows from the lemma with alpha = (e^epsilon - 1) / (e^epsilon + 1) >= epsilon / sqrt(5) for epsilon <= 1.
    """
    noise = Binomial(trials=users, probability=theorem_probability(users=users, epsilon=epsilon, delta=delta))
    return Check(
        statement=f"Bin({users}, {noise.probability:.4g}) is smooth for shifts by one",
        epsilon=epsilon,
        claimed_delta=delta,
        exact_delta=smooth_delta(noise, epsilon=epsilon, shifts=1),
    )
