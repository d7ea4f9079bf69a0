"""Exact sampling of an integer law by inversion.

A uniform number U is drawn 64 bits at a time and compared with the law's cumulative probabilities, which are held as
integers with 192 bits after the point. The first 64 bits decide unless they equal the leading bits of a threshold
(probability below 2^-64 per threshold); then 128 more are drawn and compared exactly. So the drawn probabilities are
those of the integer weights to within 2^-192, instead of the 2^-53 of floating-point inversion.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from shuffledp.randomness import random_words

_LEADING_BITS = 64
"""A draw is decided by one word but for the few that fall on an edge of the table."""

_MORE_BITS = 128
"""Drawn for those, again and again until they are decided."""


class InversionTable:
    """Draws `first + i` with probability weights[i] / sum(weights), for integer weights of any size."""

    def __init__(self, *, first: int, weights: Sequence[int]) -> None:
        total = sum(weights)
        cumulative = [c for c in accumulate(weights) if c < total]
        self.first = first
        self._thresholds = [(c << (_LEADING_BITS + _MORE_BITS)) // total for c in cumulative]
        self._leading = np.array([t >> _MORE_BITS for t in self._thresholds], dtype=np.uint64)

    def sample(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent draws."""
        words = random_words(size, rng)
        if not self._thresholds:
            return np.full(size, self.first)
        index = np.searchsorted(self._leading, words, side="right")
        tied = (index > 0) & (self._leading[index - 1] == words)
        for i in np.flatnonzero(tied):
            index[i] = bisect_right(self._thresholds, self._extended(words[i], rng))
        return index + self.first

    @staticmethod
    def _extended(word: np.uint64, rng: np.random.Generator) -> int:
        """The word followed by further random bits, as one integer."""
        return int(word) << _MORE_BITS | int.from_bytes(rng.bytes(_MORE_BITS // 8), "little")
