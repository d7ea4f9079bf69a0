"""The paper's closed forms: the noise of Theorems 3.1 and 3.2, their conditions, and their error bounds.

Here epsilon and delta are the theorem's own: P^zsum is then (epsilon, delta)-private and P^hist (2 epsilon, 2 delta)-
private. Errors are in people; the paper states them as shares, that is, divided by n. `log` is natural throughout.
"""

from __future__ import annotations

import math

from shuffledp.checks import failure_probability, head_count, target_delta, target_epsilon
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.noise.binomial import round_up_to_grid


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
    """0 < epsilon <= 1 and 0 < delta < 1, as both theorems ask."""
    epsilon, delta = target_epsilon(epsilon), target_delta(delta)
    if epsilon > 1:
        raise ParameterError(f"epsilon={epsilon:g} is above 1, where the theorem does not hold: calibrate instead")
    return epsilon, delta
