"""The curve of a release of which one guarantee is stated, (epsilon, delta), and nothing else is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shuffledp.accounting.curve import REPLACE_ONE
from shuffledp.accounting.pure_curve import response_delta
from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.checks import real
from shuffledp.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class StatedCurve:
    """The worst of all releases with this guarantee, `stated_epsilon` and `stated_delta`, below as epsilon0 and delta0.

    It reveals everything with probability delta0 and is binary randomized response otherwise (Kairouz, Oh and
    Viswanath 2015), so that

        delta(epsilon) <= delta0 + (1 - delta0) (e^epsilon0 - e^epsilon) / (1 + e^epsilon0)

    below epsilon0, and delta0 from there on.
    """

    stated_epsilon: float
    stated_delta: float
    neighbours: str = REPLACE_ONE

    def __post_init__(self) -> None:
        check_guarantee(self.stated_epsilon, self.stated_delta, name="stated_{}")

    @property
    def exact(self) -> bool:
        """An upper bound, which only the worst release attains."""
        return False

    def delta(self, epsilon: float) -> float:
        """At most the delta for an epsilon."""
        response = response_delta(epsilon, self.stated_epsilon)
        if not response:
            return self.stated_delta
        return min(1.0, (self.stated_delta + (1 - self.stated_delta) * response) * (1 + SEVERAL_OPERATIONS))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the bound is at most delta; inf if delta is below the stated one."""
        if delta == self.stated_delta:
            return self.stated_epsilon
        return min(self.stated_epsilon, smallest_epsilon(self.delta, delta)) if delta > self.stated_delta else math.inf


def check_guarantee(epsilon: Any, delta: Any, *, name: str = "{}") -> None:
    """Refuses what no guarantee is; `name` is how whoever states it calls an epsilon and a delta."""
    if (found := real(name.format("epsilon"), epsilon)) < 0:
        raise ParameterError(f"{name.format('epsilon')} must not be negative, got {found:g}")
    if not 0 <= (found := real(name.format("delta"), delta)) < 1:
        raise ParameterError(f"{name.format('delta')} must be at least 0 and below 1, got {found:g}")
