"""The curve of a release that is epsilon0-private with delta = 0, whatever else it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.accounting.curve import REPLACE_ONE
from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.checks import real
from shuffledp.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class PureCurve:
    """Every likelihood ratio is at most e^epsilon0, with `pure_epsilon` as epsilon0.

    Of all such releases binary randomized response tells most (Kairouz, Oh and Viswanath 2015), so that

        delta(epsilon) <= (e^epsilon0 - e^epsilon) / (1 + e^epsilon0)   below epsilon0, and 0 from there on.
    """

    pure_epsilon: float
    neighbours: str = REPLACE_ONE

    @property
    def exact(self) -> bool:
        """An upper bound, which only binary randomized response attains."""
        return False

    def delta(self, epsilon: float) -> float:
        """At most the delta for an epsilon."""
        return min(1.0, response_delta(epsilon, self.pure_epsilon) * (1 + SEVERAL_OPERATIONS))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the bound is at most delta; epsilon0 for delta = 0."""
        return self.pure_epsilon if delta == 0 else min(self.pure_epsilon, smallest_epsilon(self.delta, delta))


def response_delta(epsilon: float, pure_epsilon: float) -> float:
    """The delta of binary randomized response that is `pure_epsilon`-private, up to a few roundings."""
    epsilon = real("epsilon", epsilon)
    if epsilon < 0:
        raise ParameterError(f"epsilon must not be negative, got {epsilon:g}")
    if epsilon >= pure_epsilon:
        return 0.0
    # divided by e^epsilon0, so that nothing overflows
    return -math.expm1(epsilon - pure_epsilon) / (1 + math.exp(-pure_epsilon))
