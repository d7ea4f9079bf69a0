"""What P^zsum and P^hist have in common: everybody sends a noise message per bin, and a few are missing.

Each person leaves out each noise message independently with the small `missing_probability` (gamma = 1 - p in the
paper), so a bin's count is (true count) + users - M with M ~ Bin(users, missing_probability).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import calibration, theorems
from shuffledp.accounting.curve import PrivacyCurve
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import (
    failure_probability,
    head_count,
    honest_among,
    target_delta,
    target_epsilon,
    whole,
)
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.noise import Binomial
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate, Intervals
from shuffledp.pipeline.tally import sorted_order
from shuffledp.protocols.release import assembled, describe_release, ran_with
from shuffledp.reading.noisy_counts import error_bound, named
from shuffledp.reading.reading import ErrorBound

_HAIR = 1e-9
"""Estimates are compared up to this much, so that the float mean of the noise decides nothing."""


@dataclass(frozen=True, kw_only=True)
class MissingNoise(ABC):
    """The parameters and the law of both protocols.

    `users` is n. `honest_users` is how many of them surely follow the protocol; only their noise counts for privacy.
    `guarantee` is what the noise was chosen for; the exact curve is in `privacy` whatever it is.
    """

    users: int
    missing_probability: float
    honest_users: int | None = None
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", head_count("users", self.users))
        object.__setattr__(self, "honest_users", honest_among(self.honest_users, users=self.users))
        _ = self.noise  # validates the probability

    @property
    @abstractmethod
    def bin_count(self) -> int:
        """How many bins are estimated."""

    @staticmethod
    @abstractmethod
    def curve(honest_users: int, missing_probability: float) -> PrivacyCurve:
        """The exact privacy curve for given noise."""

    @cached_property
    def noise(self) -> Binomial:
        """The law of M, the number of noise messages missing from a bin; its mean is lambda."""
        return Binomial(trials=self.users, probability=self.missing_probability)

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The exact privacy curve of the whole release, counting the honest people's noise only."""
        assert self.honest_users is not None
        return self.curve(self.honest_users, self.missing_probability)

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible for the whole release."""
        return calibration.fewest_users(cls.curve, epsilon=target_epsilon(epsilon), delta=target_delta(delta))

    def error(self, beta: float, *, estimator: str = "truncated", occupied_bins: int | None = None) -> ErrorBound:
        """Exact error in people before any release: the smallest bounds that fail with probability at most beta.

        `occupied_bins` is how many different values people hold, if that is known to be small.
        """
        most = min(self.bin_count, self.users)
        return error_bound(
            self.noise,
            beta=failure_probability(beta),
            people=self.users,
            bins=self.bin_count,
            occupied=most if occupied_bins is None else min(most, whole("occupied_bins", occupied_bins)),
            estimator=estimator,
        )

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """How likely the truncated estimator reports a bin of `count` people, with an estimate of `at_least` so many.

        Reported where count - M > 0, as count - M + E[M]; up to float rounding, and 0 for an empty bin.
        """
        needed = max(1, math.ceil(at_least - self.noise.mean - _HAIR))
        return max(0.0, 1 - self.noise.window.above(count - needed)) if count >= needed else 0.0

    @classmethod
    def _calibration(cls, *, users: Any, epsilon: Any, delta: Any, honest_users: Any) -> dict[str, Any]:
        """The fields of the protocol with the smallest noise that makes the whole release (epsilon, delta)-private."""
        users = head_count("users", users)
        honest = honest_among(honest_users, users=users)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        probability = calibration.smallest_probability(cls.curve, users=honest, epsilon=epsilon, delta=delta)
        if probability is None:
            name = "users" if honest_users is None else "honest_users"
            needed = cls.minimum_users(epsilon=epsilon, delta=delta)
            raise TooFewUsersError(
                f"{name}={honest} is too few for epsilon={epsilon:g}, delta={delta:g}: needs at least {needed}, "
                "or a larger epsilon or delta",
                minimum_users=needed,
            )
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="exact calibration")
        return {
            "users": users,
            "missing_probability": probability,
            "honest_users": honest,
            "guarantee": guarantee,
        }

    @classmethod
    def _theorem(cls, *, users: Any, epsilon: Any, delta: Any, name: str, factor: int) -> dict[str, Any]:
        """The fields of the protocol with the paper's constants; the theorem promises factor * (epsilon, delta)."""
        if factor * target_delta(delta) >= 1:
            raise ParameterError(f"delta={delta:g} is too large: {name} gives {factor} * delta, which must be below 1")
        try:
            probability = theorems.theorem_probability(users=users, epsilon=epsilon, delta=delta)
        except TooFewUsersError as error:
            exactly = cls.minimum_users(epsilon=factor * epsilon, delta=factor * delta)
            raise TooFewUsersError(
                f"{error}; calibrate exactly to the same guarantee to need only {exactly}",
                minimum_users=error.minimum_users,
            ) from None
        guarantee = Guarantee(epsilon=factor * epsilon, delta=factor * delta, basis=name)
        return {"users": users, "missing_probability": probability, "guarantee": guarantee}

    def for_reports(self, reports: int | None) -> Self:
        """This protocol as it really ran when only so many people reported: same randomizer, less noise."""
        if reports is None or reports == self.users:
            return self
        return ran_with(self, reports)

    def _read(
        self,
        symbols: NDArray[Any],
        counts: NDArray[np.int64],
        *,
        estimator: str,
        beta: float,
        domain: Domain | None,
    ) -> Estimate:
        """The estimate from the number of messages in each bin."""
        beta = failure_probability(beta)
        method = named(estimator)
        order = sorted_order(symbols)
        symbols, excess = symbols[order], counts[order] - self.users
        if excess.size and excess.max() > self.users:
            raise DataError(
                f"a bin has more messages than {self.users} people can send; give the number who reported as reports="
            )
        estimates = method.point(excess, self.noise)
        reported = slice(None) if estimator == "unbiased" else excess > 0
        excess = excess[reported]

        def intervals(bins: int) -> Intervals:
            low, high = method.noise_range(self.noise, beta=beta, people=self.users, bins=bins)
            return Intervals(
                low=np.clip(excess + low, 0, self.users),
                high=np.clip(excess + high, 0, self.users),
                unreported_high=min(high, self.users),
            )

        return assembled(
            self,
            symbols=symbols[reported],
            counts=estimates[reported],
            intervals=intervals,
            bins=self.bin_count,
            beta=beta,
            estimator=estimator,
            domain=domain,
            about=partial(self.describe, estimator=estimator),
        )

    def describe(self, *, estimator: str = "truncated", beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        return describe_release(
            self,
            bins=self.bin_count,
            noise=(
                f"Each person leaves out each noise message with probability {self.missing_probability:.4g}; on "
                f"average {self.noise.mean:.1f} are missing from a bin."
            ),
            error=self.error(beta, estimator=estimator).simultaneous,
            beta=beta,
            drawn=drawn,
        )
