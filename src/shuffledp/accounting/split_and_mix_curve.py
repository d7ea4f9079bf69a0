"""The curve of a noisy sum that is split into shares and mixed (protocols/sums/real_sum.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.accounting.curve import REPLACE_ONE, PrivacyCurve
from shuffledp.accounting.search import smallest_epsilon

_LARGEST_EXPONENT = 700.0
"""Above it e^epsilon overflows; delta is then 1 anyway."""


@dataclass(frozen=True, kw_only=True)
class SplitAndMixCurve:
    """The curve of the noise, plus (1 + e^epsilon) 2^-sigma for what shares can tell beyond their sum."""

    noise: PrivacyCurve
    security_bits: int
    neighbours: str = REPLACE_ONE

    @property
    def exact(self) -> bool:
        """An upper bound: the distance of the shares from knowing only the sum is bounded, not computed."""
        return False

    def delta(self, epsilon: float) -> float:
        """The delta for an epsilon."""
        told = (1 + math.exp(min(epsilon, _LARGEST_EXPONENT))) * 2.0**-self.security_bits
        return min(1.0, self.noise.delta(epsilon) + told)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon that the bound gives; inf if none does."""
        return smallest_epsilon(self.delta, delta)
