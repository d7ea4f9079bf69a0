"""The discrete Laplace law, P(Z = k) proportional to decay^|k|: two-sided geometric noise of the central model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.checks import real
from shuffledp.errors import ParameterError
from shuffledp.noise.binomial import GRID_BITS, round_up_to_grid
from shuffledp.noise.inversion import InversionTable
from shuffledp.noise.law import TAIL, Window

_WEIGHT_BITS = 256
"""Of the integers in which probabilities are tabulated: the tails down to 2^-100 keep more than a hundred bits."""


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace:
    """Noise of both signs; `decay` in (0, 1) is a multiple of 2^-53, so that it is sampled as it is accounted for."""

    decay: float

    def __post_init__(self) -> None:
        decay = real("decay", self.decay)
        if not 0 < decay < 1 or decay != round_up_to_grid(decay):
            raise ParameterError(f"decay must be a multiple of 2^-{GRID_BITS} strictly between 0 and 1, got {decay!r}")

    @property
    def mean(self) -> float:
        """The law is symmetric."""
        return 0.0

    @property
    def variance(self) -> float:
        """2 decay / (1 - decay)^2."""
        return 2 * self.decay / (1 - self.decay) ** 2

    @property
    def _reach(self) -> int:
        """How far the window goes: P(Z > k) = decay^(k + 1) / (1 + decay)."""
        return math.ceil(math.log(TAIL) / math.log(self.decay))

    @cached_property
    def window(self) -> Window:
        """Probabilities around 0; each tail outside is below 2^-100."""
        k = np.arange(-self._reach, self._reach + 1)
        log_pmf = np.abs(k) * math.log(self.decay) + math.log((1 - self.decay) / (1 + self.decay))
        return Window(first=-self._reach, log_pmf=log_pmf, mass_below=TAIL, mass_above=TAIL)

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent draws by inversion, exact but for the 2^-100 of either tail."""
        return self._table.sample(size, rng=rng)

    def pmf_fraction(self, k: int) -> Fraction:
        """P(Z = k) as a fraction."""
        decay = Fraction(self.decay)
        return (1 - decay) / (1 + decay) * decay ** abs(k)

    @cached_property
    def _table(self) -> InversionTable:
        """Weights in integers, rounded down at every step."""
        decay, upward = Fraction(self.decay), [1 << _WEIGHT_BITS]
        for _ in range(self._reach):
            upward.append(upward[-1] * decay.numerator // decay.denominator)
        return InversionTable(first=-self._reach, weights=upward[:0:-1] + upward)
