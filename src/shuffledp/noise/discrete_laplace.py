"""The discrete Laplace distribution, P(Z = k) proportional to decay^|k|: two-sided noise of the central model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.noise.binomial import GRID_BITS, round_up_to_grid
from shuffledp.noise.distribution import TAIL, WEIGHT_BITS, InversionTable, Tabulated, Tilted, Window
from shuffledp.validation import real


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(Tabulated):
    """Two-sided noise; `decay` in (0, 1) is a multiple of 2^-53, so that it is sampled exactly."""

    decay: float

    def __post_init__(self) -> None:
        decay = real("decay", self.decay)
        if not 0 < decay < 1 or decay != round_up_to_grid(decay):
            raise ParameterError(f"decay must be a multiple of 2^-{GRID_BITS} strictly between 0 and 1, got {decay!r}")

    @property
    def mean(self) -> float:
        """The mean, 0 by symmetry."""
        return 0.0

    @property
    def variance(self) -> float:
        """2 decay / (1 - decay)^2."""
        return 2 * self.decay / (1 - self.decay) ** 2

    def cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln E e^(t Z) = ln((1 - a)^2 / ((1 - a e^t) (1 - a e^-t))) with a = decay, for |t| below `largest_tilt`.

        The product below is (1 - a)^2 - a (e^t + e^-t - 2), written without a difference of close numbers.
        """
        return -np.log1p(-4 * self.decay * np.sinh(tilts / 2) ** 2 / (1 - self.decay) ** 2)

    def tilted(self, tilts: NDArray[np.float64]) -> Tilted:
        """The distribution of Z under weights e^(t Z): a difference of geometric numbers of ratios a e^t and a e^-t.

        A geometric number of ratio r has the cumulants r / (1 - r)^2 and r (1 + 4 r + r^2) / (1 - r)^4 of order two and
        four. The third absolute moment is at most the root of the fourth times the second one.
        """
        up, down = (self.decay * np.exp(sign * tilts) for sign in (1, -1))
        variance = up / (1 - up) ** 2 + down / (1 - down) ** 2
        fourth = sum(r * (1 + 4 * r + r**2) / (1 - r) ** 4 for r in (up, down)) + 3 * variance**2
        # up / (1 - up) - down / (1 - down)
        mean = 2 * self.decay * np.sinh(tilts) / ((1 - up) * (1 - down))
        return Tilted(cumulant=self.cumulant(tilts), mean=mean, variance=variance, third=np.sqrt(fourth * variance))

    @property
    def cumulants(self) -> tuple[float, ...]:
        """The cumulants of order two to four."""
        a = self.decay
        return self.variance, 0.0, 2 * a * (1 + 4 * a + a**2) / (1 - a) ** 4

    @property
    def largest_tilt(self) -> float:
        """The largest tilt with finite moments."""
        return -math.log(self.decay)

    @property
    def _reach(self) -> int:
        """The end of the window, from P(Z > k) = decay^(k + 1) / (1 + decay)."""
        return math.ceil(math.log(TAIL) / math.log(self.decay))

    @property
    def log_concave(self) -> bool:
        """True: P(k) / P(k - 1) is 1 / decay up to 0 and decay from 1 on."""
        return True

    @cached_property
    def window(self) -> Window:
        """Probabilities around 0; each tail outside is below 2^-100."""
        k = np.arange(-self._reach, self._reach + 1)
        log_pmf = np.abs(k) * math.log(self.decay) + math.log((1 - self.decay) / (1 + self.decay))
        return Window(first=-self._reach, log_pmf=log_pmf, mass_below=TAIL, mass_above=TAIL)

    def pmf_fraction(self, k: int) -> Fraction:
        """P(Z = k) as a fraction."""
        decay = Fraction(self.decay)
        return (1 - decay) / (1 + decay) * decay ** abs(k)

    @cached_property
    def _table(self) -> InversionTable:
        """Weights in integers, rounded down at every step."""
        decay, upward = Fraction(self.decay), [1 << WEIGHT_BITS]
        for _ in range(self._reach):
            upward.append(upward[-1] * decay.numerator // decay.denominator)
        return InversionTable(first=-self._reach, weights=upward[:0:-1] + upward)
