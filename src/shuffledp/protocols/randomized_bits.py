"""What the protocols of CSU+19 have in common: bits that are flipped now and then (Cheu, Smith, Ullman, Zeber and
Zhilyaev, "Distributed differential privacy via shuffling").

With probability l / n a bit is replaced by a fair coin, so it is flipped with probability f = l / (2 n). Of n people of
whom c hold a 1, Bin(c, 1 - f) + Bin(n - c, f) send one.
"""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import calibration
from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import (
    failure_probability,
    head_count,
    honest_among,
    real,
    target_delta,
    target_epsilon,
)
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.noise.binomial import round_up_to_grid, safely_up
from shuffledp.protocols.release import describe_release, ran_with
from shuffledp.reading.reading import ErrorBound
from shuffledp.reading.supports import draw_supports, flipped_reach, only_unbiased


@dataclass(frozen=True, kw_only=True)
class RandomizedBits(ABC):
    """`users` people, of whom `honest_users` surely flip every bit with `flip_probability`, a multiple of 2^-53."""

    users: int
    flip_probability: float
    honest_users: int | None = None
    guarantee: Guarantee | None = None

    moved_bits: ClassVar[int]
    """How many bits a replaced value changes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", head_count("users", self.users))
        object.__setattr__(self, "honest_users", honest_among(self.honest_users, users=self.users))
        flip = real("flip_probability", self.flip_probability)
        if not 0 < flip < 0.5 or flip != round_up_to_grid(flip):
            raise ParameterError(
                f"flip_probability must be a multiple of 2^-53 strictly between 0 and 1/2, got {flip!r}"
            )

    @property
    def bin_count(self) -> int:
        """How many bits a person has."""
        return 1

    @classmethod
    def _calibration(cls, *, users: Any, epsilon: Any, delta: Any, honest_users: Any) -> dict[str, Any]:
        """The fields of the protocol with the fewest flips that the upper bound allows for (epsilon, delta)."""
        users = head_count("users", users)
        honest = honest_among(honest_users, users=users)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        # flipping every bit this often is private without anybody else
        alone = safely_up(1 / (1 + math.exp(epsilon / cls.moved_bits)))
        found = calibration.smallest_probability(cls.curve, users=honest, epsilon=epsilon, delta=delta)
        flip = alone if found is None else min(found, alone)
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="calibrated on the safe side")
        return {"users": users, "flip_probability": flip, "honest_users": honest, "guarantee": guarantee}

    @classmethod
    def _published(cls, *, users: Any, epsilon: Any, delta: Any) -> dict[str, Any]:
        """The fields with the published number l of coins, for a guarantee divided among the bits that move."""
        users, epsilon, delta = head_count("users", users), target_epsilon(epsilon), target_delta(delta)
        coins = published_coins(users=users, epsilon=epsilon / cls.moved_bits, delta=delta / cls.moved_bits)
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="published parameters")
        return {"users": users, "flip_probability": safely_up(coins / (2 * users)), "guarantee": guarantee}

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """One: bits can be flipped so often that nobody else is needed."""
        return 1

    @classmethod
    def curve(cls, honest_users: int, flip_probability: float) -> BlanketCurve:
        """An upper bound of the privacy curve for given noise, with a lower one beside it."""
        return BlanketCurve(users=honest_users, flip_probability=flip_probability, shifts=cls.moved_bits)

    @cached_property
    def privacy(self) -> BlanketCurve:
        """The upper bound of the curve, counting the honest people's coins only."""
        assert self.honest_users is not None
        return self.curve(self.honest_users, self.flip_probability)

    def variance(self, count: int = 0) -> float:
        """Variance of an estimate; how many people hold the 1 does not matter."""
        flip = self.flip_probability
        return self.users * flip * (1 - flip) / (1 - 2 * flip) ** 2

    def error(self, beta: float, *, estimator: str = "unbiased", occupied_bins: int | None = None) -> ErrorBound:
        """Errors in people that are exceeded with probability at most beta on any dataset, by Chernoff's bound."""
        only_unbiased(estimator)
        beta, flip = failure_probability(beta), self.flip_probability
        per_bin, simultaneous = (
            flipped_reach(self.users, flip, beta / (2 * bits)) / (1 - 2 * flip) for bits in (1, self.bin_count)
        )
        return ErrorBound(beta=beta, per_bin=per_bin, simultaneous=simultaneous)

    def for_reports(self, reports: int | None) -> Self:
        """This protocol as it really ran when only so many people reported: same randomizer, fewer coins."""
        if reports is None or reports == self.users:
            return self
        return ran_with(self, reports)

    def _draw(self, ones: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """How many ones arrive for each number of people who hold one, drawn from the exact law."""
        return draw_supports(
            ones, users=self.users, supports=(1 - self.flip_probability, self.flip_probability), rng=rng
        )

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        return describe_release(
            self,
            bins=self.bin_count,
            noise=f"Each person flips each bit with probability {self.flip_probability:.4g}.",
            error=self.error(beta).simultaneous,
            beta=beta,
            drawn=drawn,
        )


def published_coins(*, users: int, epsilon: float, delta: float) -> float:
    """L of CSU+19 for one sum: 64 ln(4/delta) / epsilon^2 where that is at most n / 3, else more than a third."""
    log = math.log(4 / delta)
    if epsilon >= math.sqrt(192 * log / users):
        return 64 * log / epsilon**2
    coins: float = users - epsilon * users**1.5 / math.sqrt(432 * log)
    if 2 * users * (1 - coins / users) ** 2 < 1e-9:
        raise TooFewUsersError(
            f"users={users} is too few for epsilon={epsilon:g}, delta={delta:g} with the published parameters",
            minimum_users=math.ceil(192 * log / epsilon**2),
        )
    return coins
