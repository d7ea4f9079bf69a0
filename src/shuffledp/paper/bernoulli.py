"""Bernoulli mean estimation, the paper's example of an earlier separation: estimate p within alpha.

It must succeed with probability at least 99/100 over the sample and the noise, for the worst p.
docs/proofs/bernoulli-mean.md derives where that p lies (at an "edge"), and why success rises and falls with the number
of people (in "ripples").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import ESTIMATE_AT_AN_EDGE
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid, safely_up
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.noise.distribution import Window
from shuffledp.paper.support_identification import TARGET, possible_users, smallest_users
from shuffledp.protocols import BinarySum, BlanketSum
from shuffledp.protocols.local import RandomizedResponse
from shuffledp.validation import head_count, open_probability, target_delta, target_epsilon

LATER_RIPPLES = 4
"""Calibrated noise varies a little with the number of people, so a later ripple might be lower. In 60 settings (epsilon
1/2, 1 and 2, alpha from 0.05 to 0.2) none was too low."""
_FFT_FROM = 10**7
"""Products of probabilities from which Fourier transforms are faster than a plain convolution."""
_COARSE, _FINE = 32, 8
"""Parts into which the range of edges is divided, repeatedly around its smallest point."""


@dataclass(frozen=True)
class EstimateDistribution:
    """Estimated numbers of ones, with their `probabilities`."""

    estimates: NDArray[np.float64]
    probabilities: NDArray[np.float64]


SumProtocol = Callable[[float], EstimateDistribution]
"""A function from p to the distribution of the estimate."""


class Lattice(NamedTuple):
    """Evenly spaced numbers: one of them, and their distance."""

    origin: float
    step: float


@dataclass(frozen=True, kw_only=True)
class BernoulliMean:
    """The problem of estimating a mean within `alpha`."""

    alpha: float

    def __post_init__(self) -> None:
        open_probability("alpha", self.alpha)

    def success(self, protocol: SumProtocol, *, users: int, mean: float) -> float:
        """P(|estimate - p| <= alpha) for p = mean."""
        return self._success(protocol, users, mean)

    def worst_success(self, protocol: SumProtocol, *, users: int, enough: float = 0.0) -> float:
        """The smallest success over all p; any value below `enough`, as soon as there is one.

        It is a limit at an edge, from the side on which the estimate there is lost. p = alpha and p = 1/2 are often bad
        and come first.
        """
        lowest = min(self._success(protocol, users, mean, "above") for mean in (self.alpha, 0.5))
        for side, edges in self._edges(protocol, users).items():
            if lowest < enough:
                return lowest

            def limit(k: int, side: str = side, edges: Lattice = edges) -> float:
                return self._success(protocol, users, edges.origin + k * edges.step, side)

            first, last = math.ceil(-edges.origin / edges.step), math.floor((1 - edges.origin) / edges.step)
            lowest = min(lowest, _lowest(limit, first, last))
        return lowest

    def sample_size(self, protocol: Callable[[int], SumProtocol], *, success: float = TARGET) -> int:
        """A number n of people that suffices for every p, while n - 1 does not (or is refused).

        The lowest points of its own ripple and of the next LATER_RIPPLES suffice as well. Some number below n - 1 may
        also suffice, at the top of a ripple.
        """
        target, made = open_probability("success", success), cache(protocol)

        @cache
        def does(users: int) -> bool:
            return self.worst_success(made(users), users=users, enough=target) >= target

        # fewer than 1 / (4 alpha^2) people have a standard deviation above alpha at p = 1/2
        least = max(possible_users(made), math.floor(1 / (4 * self.alpha**2)))
        users = smallest_users(lambda n: float(does(n)), least=least, target=1.0)
        while (failed := next((n for n in self._low_points(made, users) if not does(n)), None)) is not None:
            users = failed + 1
        return users

    def _low_points(self, made: Callable[[int], SumProtocol], users: int) -> Iterator[int]:
        """The end of the ripple of `users`, `users` itself, and the ends of later ripples."""
        end = self._ripple_end(made, users)
        yield end
        yield users
        for _ in range(LATER_RIPPLES):
            end = self._ripple_end(made, end + 1)
            yield end

    def _success(self, protocol: SumProtocol, users: int, mean: float, side: str = "at") -> float:
        """P(|estimate - p| <= alpha) at p = mean, or its limit from `above` or `below`."""
        distribution, centre, reach = protocol(mean), users * mean, self.alpha * users
        low = centre - reach + (ESTIMATE_AT_AN_EDGE if side == "above" else -ESTIMATE_AT_AN_EDGE)
        high = centre + reach + (-ESTIMATE_AT_AN_EDGE if side == "below" else ESTIMATE_AT_AN_EDGE)
        close = (distribution.estimates >= low) & (distribution.estimates <= high)
        return min(1.0, float(distribution.probabilities[close].sum()))

    def _edges(self, protocol: SumProtocol, users: int) -> dict[str, Lattice]:
        """The values of p at which an estimate is lost, by side."""
        estimates, reach = _possible_estimates(protocol), self.alpha * users
        lost = {"above": estimates.origin + reach, "below": estimates.origin - reach}
        return {side: Lattice(where / users, estimates.step / users) for side, where in lost.items()}

    def _ripple_end(self, made: Callable[[int], SumProtocol], users: int) -> int:
        """The last number of people, from `users`, before one more estimate fits into an interval of length 2 alpha.

        The distance of estimates may change a little with that number. A first guess, as if it did not, is lowered
        until it is not too large, and then raised.
        """

        def people_per_estimate(number: int) -> float:
            return _possible_estimates(made(number)).step / (2 * self.alpha)

        def fitting(number: int) -> int:
            return math.floor(number / people_per_estimate(number) + ESTIMATE_AT_AN_EDGE)

        now = fitting(users)

        def guess(number: int) -> int:
            return math.ceil((now + 1) * people_per_estimate(number) - ESTIMATE_AT_AN_EDGE) - 1

        last = max(users, guess(users))
        while last > users and fitting(last) > now:
            last = max(users, min(last - 1, guess(last)))
        while fitting(last + 1) == now:
            last += 1
        return last

    def shuffled_bound(self, *, epsilon: float, delta: float) -> float:
        """1 / alpha^2 + log(1 / delta) / (alpha epsilon): CSU+19, without the constant."""
        return 1 / self.alpha**2 - math.log(target_delta(delta)) / (self.alpha * target_epsilon(epsilon))

    def local_bound(self, *, epsilon: float) -> float:
        """1 / (alpha epsilon)^2: the lower bound of BNO08, without the constant."""
        return 1 / (self.alpha * target_epsilon(epsilon)) ** 2


def flipped_bits(*, users: int, flip: float) -> SumProtocol:
    """Everyone sends their bit, flipped with probability `flip`: randomized response, and CSU+19."""
    users = head_count("users", users)

    def distribution(mean: float) -> EstimateDistribution:
        sent = _binomial(users, mean * (1 - flip) + (1 - mean) * flip)
        return EstimateDistribution((sent.estimates - users * flip) / (1 - 2 * flip), sent.probabilities)

    return distribution


def local_sum(*, users: int, epsilon: float) -> SumProtocol:
    """Warner's randomized response."""
    return flipped_bits(users=users, flip=RandomizedResponse(users=users, bins=2, epsilon=epsilon).false_support)


def blanket_sum(protocol: BlanketSum) -> SumProtocol:
    """CSU+19: every bit is sometimes replaced by a fair coin."""
    return flipped_bits(users=protocol.users, flip=protocol.flip_probability)


def binary_sum(protocol: BinarySum) -> SumProtocol:
    """P^zsum: c - M + E[M], which the truncated estimator replaces by 0 unless c > M."""

    def distribution(mean: float) -> EstimateDistribution:
        excess = _plus(_binomial(protocol.users, mean), protocol.noise.window, sign=-1)
        estimates = excess.estimates + protocol.noise.mean
        if protocol.truncated:
            estimates = np.where(excess.estimates > 0, estimates, 0.0)
        return EstimateDistribution(estimates, excess.probabilities)

    return distribution


def central_sum(*, users: int, epsilon: float) -> SumProtocol:
    """The true number of ones plus discrete Laplace noise, which is epsilon-private."""
    noise = DiscreteLaplace(decay=safely_up(math.exp(-target_epsilon(epsilon))))

    def distribution(mean: float) -> EstimateDistribution:
        return _plus(_binomial(users, mean), noise.window, sign=1)

    return distribution


def _binomial(trials: int, probability: float) -> EstimateDistribution:
    rare = min(probability, 1 - probability)
    if rare <= 0:
        return EstimateDistribution(np.array([trials * probability]), np.ones(1))
    window = Binomial(trials=trials, probability=min(0.5, round_up_to_grid(rare))).window
    values = np.arange(window.first, window.last + 1, dtype=np.float64)
    return EstimateDistribution(values if probability <= 0.5 else trials - values, window.pmf)


def _plus(distribution: EstimateDistribution, noise: Window, *, sign: int) -> EstimateDistribution:
    """The distribution of an independent sum (sign 1) or difference (sign -1) of whole numbers."""
    order: Any = np.argsort(distribution.estimates)
    pmf = noise.pmf if sign == 1 else noise.pmf[::-1]
    lowest = distribution.estimates.min() + (noise.first if sign == 1 else -noise.last)
    joint = _convolved(distribution.probabilities[order], pmf)
    return EstimateDistribution(lowest + np.arange(joint.size), joint)


def _convolved(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """By Fourier transforms where that is faster, which are off by less than 1e-14."""
    if first.size * second.size < _FFT_FROM:
        return np.convolve(first, second)
    total = first.size + second.size - 1
    size = 1 << total.bit_length()
    joint = np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size), size)[:total]
    return np.asarray(np.maximum(joint, 0.0), dtype=np.float64)


def _possible_estimates(protocol: SumProtocol) -> Lattice:
    """Their distance is computed from many, since one difference is too inexact."""
    estimates = np.unique(protocol(0.5).estimates)
    upper = estimates[(estimates.size - 1) // 2 :]  # a truncated estimate has a gap above 0
    return Lattice(float(upper[-1]), float(upper[-1] - upper[0]) / (upper.size - 1))


def _lowest(value: Callable[[int], float], first: int, last: int) -> float:
    """The smallest value of a smooth sequence: a coarse grid, then finer ones around its smallest point."""
    known: dict[int, float] = {}
    low, high, parts = first, last, _COARSE
    while low <= high:
        points = sorted({low + (high - low) * part // parts for part in range(parts + 1)})
        for point in points:
            if point not in known:
                known[point] = value(point)
        if len(points) == high - low + 1:
            break
        best = points.index(min(points, key=known.__getitem__))
        low, high, parts = points[max(0, best - 1)], points[min(len(points) - 1, best + 1)], _FINE
    return min(known.values(), default=1.0)
