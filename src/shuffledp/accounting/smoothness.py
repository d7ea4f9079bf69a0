"""Smooth distributions (the paper's appendix, after Ghazi et al.): statements that can be checked, with their slack.

A law is (epsilon, delta, k)-smooth if for every shift k' with 1 <= |k'| <= k

    P_Y[ f(Y) / f(Y + k') >= e^(|k'| epsilon) ] <= delta.

The paper writes "for all k' in [-k, k]", which includes k' = 0, where the event is certain: 0 has to be left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.rounding import LOG_RATIO
from shuffledp.accounting.theorems import theorem_probability
from shuffledp.checks import real, target_epsilon, whole
from shuffledp.errors import ParameterError
from shuffledp.noise import Binomial, IntegerLaw
from shuffledp.noise.binomial import round_up_to_grid


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
        """How many times larger the claimed delta is than it need be, at least."""
        return self.claimed_delta / self.exact_delta if self.exact_delta else math.inf


def smooth_delta(law: IntegerLaw, *, epsilon: float, shifts: int) -> float:
    """The smallest delta for which the law is (epsilon, delta, shifts)-smooth, rounded up."""
    epsilon, shifts = target_epsilon(epsilon), whole("shifts", shifts)
    return max(
        _ratio_tail(law, shift=sign * size, threshold=size * epsilon)
        for size in range(1, shifts + 1)
        for sign in (1, -1)
    )


def _ratio_tail(law: IntegerLaw, *, shift: int, threshold: float) -> float:
    """P_Y[ log f(Y) - log f(Y + shift) >= threshold ], where f is 0 outside the window."""
    window = law.window
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
    law = Binomial(trials=trials, probability=round_up_to_grid(probability))
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie strictly between 0 and 1, got {alpha:g}")
    if shifts > alpha * law.mean / 2:
        raise ParameterError(
            f"shifts={shifts} is above alpha * gamma * n / 2 = {alpha * law.mean / 2:.4g}: the lemma is silent there"
        )
    epsilon = math.log((1 + alpha) / (1 - alpha))
    exponent = alpha**2 * law.mean
    return Check(
        statement=f"Bin({trials}, {law.probability:.4g}) is smooth for shifts up to {shifts}",
        epsilon=epsilon,
        claimed_delta=math.exp(-exponent / 8) + math.exp(-exponent / (8 + 2 * alpha)),
        exact_delta=smooth_delta(law, epsilon=epsilon, shifts=shifts),
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
