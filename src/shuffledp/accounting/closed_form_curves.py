"""Privacy curves with a closed form.

- `PureCurve`: a release that is epsilon0-private with delta = 0.
- `StatedCurve`: a release of which one guarantee (epsilon, delta) is known and nothing else.
- `SplitAndMixCurve`: a noisy sum that is split into shares and mixed (protocols/sums/real_sum.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.accounting.curve import REPLACE_ONE, Curve
from shuffledp.accounting.group_curve import bound_for_rows, replaced_rows, rows_of
from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.errors import ParameterError
from shuffledp.validation import real


@dataclass(frozen=True, kw_only=True)
class PureCurve:
    """The curve of a release whose likelihood ratios are at most e^epsilon0, with `pure_epsilon` as epsilon0.

    Binary randomized response is the worst case (Kairouz, Oh and Viswanath 2015), so that

        delta(epsilon) <= (e^epsilon0 - e^epsilon) / (1 + e^epsilon0)   below epsilon0, and 0 from there on.
    """

    pure_epsilon: float
    neighbours: str = REPLACE_ONE

    @property
    def exact(self) -> bool:
        """An upper bound, which only binary randomized response attains."""
        return False

    def delta(self, epsilon: float) -> float:
        """An upper bound on the delta for an epsilon."""
        return min(1.0, response_delta(epsilon, self.pure_epsilon) * (1 + SEVERAL_OPERATIONS))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the bound is at most delta; epsilon0 for delta = 0."""
        return self.pure_epsilon if delta == 0 else min(self.pure_epsilon, smallest_epsilon(self.delta, delta))

    def for_rows(self, rows: int) -> Curve:
        """The curve of a person with this number of rows: likelihood ratios multiply."""
        number = rows_of(self, rows)
        return PureCurve(pure_epsilon=number * self.pure_epsilon, neighbours=replaced_rows(number))


def response_delta(epsilon: float, pure_epsilon: float) -> float:
    """The delta of binary randomized response that is `pure_epsilon`-private, up to a few roundings."""
    epsilon = real("epsilon", epsilon)
    if epsilon < 0:
        raise ParameterError(f"epsilon must not be negative, got {epsilon:g}")
    if epsilon >= pure_epsilon:
        return 0.0
    # divided by e^epsilon0, so that nothing overflows
    return -math.expm1(epsilon - pure_epsilon) / (1 + math.exp(-pure_epsilon))


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
        """An upper bound on the delta for an epsilon."""
        response = response_delta(epsilon, self.stated_epsilon)
        if not response:
            return self.stated_delta
        return min(1.0, (self.stated_delta + (1 - self.stated_delta) * response) * (1 + SEVERAL_OPERATIONS))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the bound is at most delta; inf if delta is below the stated one."""
        if delta == self.stated_delta:
            return self.stated_epsilon
        return min(self.stated_epsilon, smallest_epsilon(self.delta, delta)) if delta > self.stated_delta else math.inf

    def for_rows(self, rows: int) -> Curve:
        """An upper bound for a person with this number of rows."""
        return bound_for_rows(self, rows)


def check_guarantee(epsilon: Any, delta: Any, *, name: str = "{}") -> None:
    """Raise an error unless epsilon and delta form a guarantee; `name` gives the names used in the message."""
    if (found := real(name.format("epsilon"), epsilon)) < 0:
        raise ParameterError(f"{name.format('epsilon')} must not be negative, got {found:g}")
    if not 0 <= (found := real(name.format("delta"), delta)) < 1:
        raise ParameterError(f"{name.format('delta')} must be at least 0 and below 1, got {found:g}")


_LARGEST_EXPONENT = 700.0
"""The largest exponent: above it e^epsilon overflows, and delta is 1 anyway."""


@dataclass(frozen=True, kw_only=True)
class SplitAndMixCurve:
    """The curve of the noise, plus (1 + e^epsilon) 2^-sigma for what shares reveal beyond their sum."""

    noise: Curve
    security_bits: int
    neighbours: str = REPLACE_ONE

    @property
    def exact(self) -> bool:
        """An upper bound: the distance of the shares from knowing only the sum is bounded, not computed."""
        return False

    def delta(self, epsilon: float) -> float:
        """The delta for an epsilon."""
        leak = (1 + math.exp(min(epsilon, _LARGEST_EXPONENT))) * 2.0**-self.security_bits
        return min(1.0, self.noise.delta(epsilon) + leak)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon that the bound gives; inf if none does."""
        return smallest_epsilon(self.delta, delta)

    def for_rows(self, rows: int) -> Curve:
        """The curve of a person with this number of rows: the shares reveal as much beyond their sum as for one."""
        number = rows_of(self, rows)
        return replace(self, noise=self.noise.for_rows(number), neighbours=replaced_rows(number))
