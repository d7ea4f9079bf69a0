"""Bernoulli mean estimation, the paper's example of a separation known before (related work).

Everybody holds 1 with probability p, else 0. Wanted is p within alpha, with probability at least 99/100 over the sample
and the noise. What a protocol counts has a known law given p, so its success is computed, not simulated; it is the
smallest over a list of p, as p is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.applications.search import TARGET, smallest_users
from shuffledp.errors import TooFewUsersError
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid, safely_up
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.noise.law import Window
from shuffledp.parameters import head_count, open_probability, target_delta, target_epsilon
from shuffledp.protocols import BinarySum, BlanketSum
from shuffledp.protocols.local import RandomizedResponse

_HAIR = 1e-9


@dataclass(frozen=True)
class EstimateLaw:
    """The law of an estimated number of ones: `estimates` with their `probabilities`."""

    estimates: NDArray[np.float64]
    probabilities: NDArray[np.float64]


SumProtocol = Callable[[float], EstimateLaw]
"""From p to the law of the estimate."""


@dataclass(frozen=True, kw_only=True)
class BernoulliMean:
    """The problem of estimating a mean within `alpha`."""

    alpha: float

    def __post_init__(self) -> None:
        open_probability("alpha", self.alpha)

    @property
    def means(self) -> tuple[float, ...]:
        """The p that are tried: evenly spread, and small ones near alpha, which a truncated estimate can miss."""
        near = (factor * self.alpha for factor in (0.5, 1.0, 1.01, 1.5, 2.0))
        return tuple(sorted({0.0, 0.25, 0.5, 0.75, 0.9, 1.0, *(mean for mean in near if mean < 1)}))

    def success(self, protocol: SumProtocol, *, users: int, mean: float) -> float:
        """P(|estimate - p| <= alpha) for p = mean."""
        law = protocol(mean)
        close = np.abs(law.estimates - users * mean) <= self.alpha * users + _HAIR
        return min(1.0, float(law.probabilities[close].sum()))

    def sample_size(self, protocol: Callable[[int], SumProtocol], *, success: float = TARGET) -> int:
        """The smallest number of people with whom every p on the list is estimated well enough.

        Counts are whole, so that success ripples as people are added: see `smallest_users`.
        """
        target = open_probability("success", success)

        def worst(users: int) -> float:
            made = protocol(users)
            return min(self.success(made, users=users, mean=mean) for mean in self.means)

        try:
            protocol(1)
            least = 1
        except TooFewUsersError as error:
            least = error.minimum_users
        # fewer than 1 / (4 alpha^2) people have a standard deviation above alpha at p = 1/2
        return smallest_users(worst, least=max(least, math.floor(1 / (4 * self.alpha**2))), target=target)

    def shuffled_bound(self, *, epsilon: float, delta: float) -> float:
        """1 / alpha^2 + log(1 / delta) / (alpha epsilon): CSU+19, without the constant."""
        return 1 / self.alpha**2 - math.log(target_delta(delta)) / (self.alpha * target_epsilon(epsilon))

    def local_bound(self, *, epsilon: float) -> float:
        """1 / (alpha epsilon)^2: the lower bound of BNO08, without the constant."""
        return 1 / (self.alpha * target_epsilon(epsilon)) ** 2


def flipped_bits(*, users: int, flip: float) -> SumProtocol:
    """Everybody sends their bit, flipped with probability `flip`: randomized response, and CSU+19."""
    users = head_count("users", users)

    def law(mean: float) -> EstimateLaw:
        sent = _binomial(users, mean * (1 - flip) + (1 - mean) * flip)
        return EstimateLaw((sent.estimates - users * flip) / (1 - 2 * flip), sent.probabilities)

    return law


def local_sum(*, users: int, epsilon: float) -> SumProtocol:
    """Warner's randomized response."""
    return flipped_bits(users=users, flip=RandomizedResponse(users=users, bins=2, epsilon=epsilon).false_support)


def blanket_sum(protocol: BlanketSum) -> SumProtocol:
    """CSU+19: every bit is a fair coin now and then."""
    return flipped_bits(users=protocol.users, flip=protocol.flip_probability)


def binary_sum(protocol: BinarySum, *, estimator: str) -> SumProtocol:
    """P^zsum: c - M + E[M], which the truncated estimator replaces by 0 unless c > M."""

    def law(mean: float) -> EstimateLaw:
        excess = _plus(_binomial(protocol.users, mean), protocol.noise.window, sign=-1)
        estimates = excess.estimates + protocol.noise.mean
        if estimator == "truncated":
            estimates = np.where(excess.estimates > 0, estimates, 0.0)
        return EstimateLaw(estimates, excess.probabilities)

    return law


def central_sum(*, users: int, epsilon: float) -> SumProtocol:
    """The true number of ones plus discrete Laplace noise, which is epsilon-private."""
    noise = DiscreteLaplace(decay=safely_up(math.exp(-target_epsilon(epsilon))))

    def law(mean: float) -> EstimateLaw:
        return _plus(_binomial(users, mean), noise.window, sign=1)

    return law


def _binomial(trials: int, probability: float) -> EstimateLaw:
    """The number of successes, for any probability."""
    rare = min(probability, 1 - probability)
    if rare <= 0:
        return EstimateLaw(np.array([trials * probability]), np.ones(1))
    window = Binomial(trials=trials, probability=min(0.5, round_up_to_grid(rare))).window
    values = np.arange(window.first, window.last + 1, dtype=np.float64)
    return EstimateLaw(values if probability <= 0.5 else trials - values, window.pmf)


def _plus(law: EstimateLaw, noise: Window, *, sign: int) -> EstimateLaw:
    """The law of an independent sum (sign 1) or difference (sign -1) of whole numbers."""
    order: Any = np.argsort(law.estimates)
    pmf = noise.pmf if sign == 1 else noise.pmf[::-1]
    lowest = law.estimates.min() + (noise.first if sign == 1 else -noise.last)
    joint = np.convolve(law.probabilities[order], pmf)
    return EstimateLaw(lowest + np.arange(joint.size), joint)
