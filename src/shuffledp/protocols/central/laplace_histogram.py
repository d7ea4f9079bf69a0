"""Discrete Laplace noise on every bin (Dwork, McSherry, Nissim and Smith 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import PrivacyCurve, Shift
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.accounting.search import first_safe
from shuffledp.checks import failure_probability, target_delta, target_epsilon
from shuffledp.errors import DataError
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.central.curator import Curator
from shuffledp.reading.noisy_counts import any_of, error_bound
from shuffledp.reading.reading import ErrorBound


@dataclass(frozen=True, kw_only=True)
class LaplaceHistogram(Curator):
    """Every bin of the domain with noise of both signs; a replaced value moves two of them by one."""

    @classmethod
    def from_paper(cls, *, users: int, bins: int, epsilon: float) -> Self:
        """Pure epsilon: decay e^(-epsilon / 2), since two counts change by one."""
        epsilon = target_epsilon(epsilon)
        noise = DiscreteLaplace(decay=safely_up(math.exp(-epsilon / 2)))
        guarantee = Guarantee(epsilon=epsilon, delta=0.0, basis="sensitivity 2")
        return cls(users=users, bins=bins, noise=noise, guarantee=guarantee)

    @classmethod
    def calibrate(cls, *, users: int, bins: int, epsilon: float, delta: float, honest_users: int | None = None) -> Self:
        """The smallest noise that makes the release (epsilon, delta)-private, exactly."""
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        noise = smallest_noise(epsilon, delta)
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="exact calibration")
        return cls(users=users, bins=bins, noise=noise, guarantee=guarantee)

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The exact curve."""
        return two_shifts(self.noise)

    def error(self, beta: float, *, estimator: str = "unbiased", occupied_bins: int | None = None) -> ErrorBound:
        """Exact error in people before any release."""
        beta = failure_probability(beta)
        return error_bound(
            self.noise,
            beta=beta,
            people=self.users,
            bins=self.bins,
            occupied=min(self.users, self.bins),
            estimator="unbiased",
        )

    @property
    def _estimator(self) -> str:
        return "unbiased"

    def _counted(self, values: ArrayLike) -> NDArray[np.int64]:
        return Tally.of_bins(self._people(values), bins=self.bins).counts

    def _kept(self, truth: Tally, noisy: NDArray[np.int64]) -> Tally:
        if len(truth) != self.bins:
            raise DataError("this protocol reports every bin: give an array with all true counts")
        return Tally(truth.symbols, noisy)

    def _bounds(self, beta: float, bins: int) -> tuple[int, int]:
        window, reach = self.noise.window, 0
        while any_of((2 * window.above(reach), bins)) > beta:
            reach += 1
        return reach, 0


def two_shifts(noise: DiscreteLaplace) -> PrivacyCurve:
    """A replaced value moves two bins by one, in opposite directions, with independent noise."""
    return PrivacyCurve.of_shifts(Shift(law=noise, by=1), Shift(law=noise, by=-1))


def smallest_noise(epsilon: float, delta: float) -> DiscreteLaplace:
    """The smallest noise for two moved bins: less than pure epsilon needs, since delta may be spent."""

    def law(rate: float) -> DiscreteLaplace:
        return DiscreteLaplace(decay=safely_up(math.exp(rate)))

    def excess(rate: float) -> float:
        return math.log(two_shifts(law(rate)).delta(epsilon) / delta)

    enough = -epsilon / 2  # pure privacy
    low = enough
    while excess(low) <= 0:
        low *= 1.2
        if low < -30:
            return law(-30.0)
    return law(first_safe(excess, low, enough, tolerance=1e-9 * epsilon)) if excess(enough) <= 0 else law(enough)
