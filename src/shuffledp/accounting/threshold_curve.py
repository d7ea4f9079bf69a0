"""The exact curve of counts with noise that are published where they are occupied and reach a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.accounting.curve import REPLACE_ONE, Shift, moved_bins
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.checks import real
from shuffledp.errors import ParameterError
from shuffledp.noise import IntegerLaw


@dataclass(frozen=True, kw_only=True)
class ThresholdCurve:
    """The worst of four kinds of neighbours: the bin a person leaves stays occupied or not, the one they enter was or
    was not occupied.

    A bin with one person is published with probability s = P(1 + Z >= threshold); left out, it looks like an empty one.
    Where the bin stays occupied, leaving out small counts is post-processing of a shift by one, and for large counts
    loses nothing. If the bin that is left becomes empty, publishing it reveals that (s), and not publishing it has
    likelihood ratio 1 - s; if the bin that is entered was empty, the ratio is 1 / (1 - s).
    """

    noise: IntegerLaw
    threshold: int
    neighbours: str = REPLACE_ONE

    @property
    def exact(self) -> bool:
        """The worst neighbours are known."""
        return True

    def delta(self, epsilon: float) -> float:
        """The exact delta(epsilon) over all neighbouring datasets."""
        epsilon = real("epsilon", epsilon)
        if epsilon < 0:
            raise ParameterError(f"epsilon must not be negative, got {epsilon:g}")
        seen = self.noise.window.above(self.threshold - 2)
        if seen >= 1:
            return 1.0
        hidden = math.log1p(-seen)
        return max(
            moved_bins(self.noise).delta(epsilon),  # occupied, occupied
            seen + (1 - seen) * self._moved_by_one(epsilon - hidden),  # left empty, occupied
            self._moved_by_one(epsilon + hidden),  # occupied, entered when empty
            seen,  # left empty, entered when empty: the ratios cancel
        )

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for a delta; inf if none is known."""
        return smallest_epsilon(self.delta, delta)

    def _moved_by_one(self, epsilon: float) -> float:
        """Delta of one bin that moves by one, in the worse direction."""
        return max(float(Shift(law=self.noise, by=by).loss.delta(epsilon)) for by in (1, -1))
