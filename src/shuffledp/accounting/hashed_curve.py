"""The privacy curve of hashed messages that hide among uniform ones.

A person's message is uniform on the graph of their value, the pairs (seed, bucket of the value). Dummies fall on all
pairs uniformly, a Poisson number with mean `rate` on every graph. Let N_x be the number of all messages on the graph of
x. The likelihood of a person with x is N_x / rate times that of the dummies alone, so

    delta(epsilon) = E (N_x - e^epsilon N_x')_+ / rate    under dummies alone.

Messages on both graphs are counted in both numbers. The function (a - e^epsilon b)_+ is submodular, and a common part
of two numbers with given distributions can only lower its mean. Graphs that do not meet are therefore the worst case:
independent numbers, as in a bin that loses and a bin that gains one person. This holds for every family of functions.

With K values in one domain, `rate` becomes rate^K. N_x becomes M_x, the number of ways to pick K different messages,
one on the graph of each value. Graphs of one person's values may meet, which can reveal more. If every two graphs
share at most a part `shared` of their pairs, this is at most a random walk of epsilon: for every whole a >= 1,

    delta(epsilon) <= E delta_K(epsilon + (U - D) ln r) + rare,    r = 1 + K / a,

with the K-fold composition delta_K of graphs that do not meet, independent U ~ Poisson(w) and D ~ Poisson(w r), w = K
rate shared / 2, and rare = K^2 (K - 1) shared (1 + rate) P(Poisson(rate) < a + K - 1). The proof lets the shared parts
grow from nothing and bounds what each step adds (docs/proofs/hashed-histogram.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.accounting.curve import Curve, PrivacyCurve, moved_bins
from shuffledp.accounting.rounding import WINDOW_SUM
from shuffledp.errors import ParameterError
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID

_RARE = (1e-2, 1e-5, 1e-8, 1e-11, 1e-15, 1e-20)
"""The values of `rare` for which the largest `a` is tried; each gives a valid bound."""

_MOST_STEPS = 200.0
"""The most steps w of the random walk. With more, nothing useful is left of the bound."""

_NEGLIGIBLE = 1e-25
"""Positions of the random walk that are less likely count as if they revealed everything."""


def poisson(rate: float) -> CompoundPoisson:
    """Dummies that come one at a time."""
    return CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))


@dataclass(frozen=True, kw_only=True)
class HashedCurve(Curve):
    """An upper bound on the curve: `rate` dummies on every graph, `values` of one person, of which two share `shared`.

    With `shared=0` the values are on levels of their own, whose graphs never meet.
    """

    rate: float
    values: int = 1
    shared: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.shared <= 1:
            raise ParameterError(f"shared must be 0 to 1, got {self.shared:g}")

    def delta(self, epsilon: float) -> float:
        """The delta of independent counts, after the random walk of epsilon that shared messages make."""
        if self.separate is not None:
            return self.separate.delta(epsilon)
        least = self._separate.delta(epsilon)
        if self._steps > _MOST_STEPS:
            return 1.0
        return min(1.0, max(least, min(self._bound(epsilon, fewest) for fewest in self._fewest)))

    @property
    def separate(self) -> PrivacyCurve | None:
        """The curve of graphs that do not meet, if that is the bound; it also bounds this release in a composition."""
        return self._separate if self.values == 1 or not self.shared else None

    @cached_property
    def _separate(self) -> PrivacyCurve:
        """The curve of graphs that do not meet."""
        return moved_bins(self._dummies, values=self.values)

    @cached_property
    def _dummies(self) -> CompoundPoisson:
        return poisson(self.rate)

    @property
    def _steps(self) -> float:
        """The mean number w of steps up."""
        return self.values * self.rate * self.shared / 2

    def _rare(self, fewest: int) -> float:
        """The part of delta of outcomes with fewer than `fewest` messages, and some, on a graph."""
        values = self.values
        few = self._dummies.window.below(fewest + values - 1)
        return values**2 * (values - 1) * self.shared * (1 + self.rate) * few

    @cached_property
    def _fewest(self) -> list[int]:
        """The numbers `a` to try."""
        return sorted({self._largest_fewest(most) for most in _RARE})

    def _largest_fewest(self, most: float) -> int:
        """The largest `a` whose `rare` is at most this; 1 if there is none."""
        low, high = 1, math.ceil(self.rate) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._rare(middle) <= most else (low, middle)
        return low

    def _bound(self, epsilon: float, fewest: int) -> float:
        """The bound of the module's docstring, with a = fewest."""
        ratio = 1 + self.values / fewest
        walk, beyond = _walk(self._steps, self._steps * ratio)
        total = sum(chance * self._separate_at(epsilon + position * math.log(ratio)) for position, chance in walk)
        return (total + beyond + self._rare(fewest)) * (1 + WINDOW_SUM)

    def _separate_at(self, epsilon: float) -> float:
        """The curve of graphs that do not meet; 1 - e^epsilon + e^epsilon delta(-epsilon) for a negative epsilon."""
        if epsilon >= 0:
            return self._separate.delta(epsilon)
        return 1 - math.exp(epsilon) * (1 - self._separate.delta(-epsilon))


def _walk(up: float, down: float) -> tuple[list[tuple[int, float]], float]:
    """The positions U - D of a random walk with their probabilities, and the probability of all others."""
    ups, downs = (poisson(mean).window for mean in (up, down))
    chances = np.convolve(ups.pmf, downs.pmf[::-1])
    usual = chances > _NEGLIGIBLE
    positions = ups.first - downs.last + np.flatnonzero(usual)
    outside = sum(window.mass_below + window.mass_above for window in (ups, downs))
    return list(zip(positions.tolist(), chances[usual].tolist(), strict=True)), float(chances[~usual].sum()) + outside
