"""The exact distribution of the difference of two errors with independent noise (docs/proofs/intervals.md).

An estimate of round i is off by s_i (M_i - E[M_i]), for noise M_i of a known distribution and a sign s_i. With weights
w_i, which are 1 for numbers of people and 1 / people for shares, the difference of two estimates is off by

    E = w_2 s_2 (M_2 - E[M_2]) - w_1 s_1 (M_1 - E[M_1]).

Its tails are sums over the values of M_1 of a tail of M_2, rounded up. For numbers of people they are exact; for shares
the ends of a range are off by at most a billionth of its width, outwards.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import COUNT_AGAINST_MEAN, WINDOW_SUM
from shuffledp.estimators.base import ErrorNoise

_PRECISION = 1e-9
"""The precision of the range of a difference of shares, relative to the largest possible difference."""


@dataclass(frozen=True, kw_only=True)
class ErrorDifference:
    """E for the errors of an earlier round, `one`, and of a later one, `other`, with weights."""

    one: ErrorNoise
    other: ErrorNoise
    weight_of_one: float = 1.0
    weight_of_other: float = 1.0

    def above(self, bound: float) -> float:
        """P(E > bound), rounded up."""
        # E > bound if s_2 M_2 > s_2 E[M_2] + (bound + w_1 s_1 (M_1 - E[M_1])) / w_2
        needed = self.other.sign * self.other.noise.mean + (bound + self._errors_of_one) / self.weight_of_other
        return self._total(self._tail_above(needed, self.other.sign))

    def below(self, bound: float) -> float:
        """P(E < bound), rounded up."""
        needed = -self.other.sign * self.other.noise.mean - (bound + self._errors_of_one) / self.weight_of_other
        return self._total(self._tail_above(needed, -self.other.sign))

    def range(self, risk: float) -> tuple[float, float]:
        """The smallest and the largest E, each passed with at most half of the risk; infinite if the windows are too
        narrow.
        """
        return -self._first_safe(self.below, risk / 2, sign=-1), self._first_safe(self.above, risk / 2, sign=1)

    def _first_safe(self, tail: Callable[[float], float], risk: float, *, sign: int) -> float:
        """The smallest bound on one side whose tail has at most this risk."""
        steps = self._steps
        options = range(math.ceil(self._farthest / steps) + 2)
        # between two values that E can take, so that rounding does not decide on which side a value lies
        first = self._first_step(sign)
        at = bisect_left(options, True, key=lambda k: tail(sign * (first + k * steps)) <= risk)
        return first + at * steps if at < len(options) else math.inf

    def _first_step(self, sign: int) -> float:
        """The first bound to try: half of a person beyond a value of E if these are whole but for an offset."""
        if not self._whole:
            return 0.0
        offset = -sign * (self.other.sign * self.other.noise.mean - self.one.sign * self.one.noise.mean)
        return (offset + 0.5) % 1.0

    @property
    def _whole(self) -> bool:
        return self.weight_of_one == self.weight_of_other == 1.0

    @property
    def _steps(self) -> float:
        return 1.0 if self._whole else self._farthest * _PRECISION

    @cached_property
    def _farthest(self) -> float:
        """The largest absolute value of E inside both windows."""
        ends = [
            weight * max(abs(end - each.noise.mean) for end in (each.noise.window.first, each.noise.window.last))
            for each, weight in ((self.one, self.weight_of_one), (self.other, self.weight_of_other))
        ]
        return max(sum(ends), 1e-300)

    @cached_property
    def _errors_of_one(self) -> NDArray[np.float64]:
        """The values of w_1 s_1 (M_1 - E[M_1]) inside the window."""
        window = self.one.noise.window
        values = np.arange(window.first, window.last + 1, dtype=np.float64)
        return self.weight_of_one * self.one.sign * (values - self.one.noise.mean)

    def _total(self, tails: NDArray[np.float64]) -> float:
        window = self.one.noise.window
        outside = window.mass_below + window.mass_above
        return min(1.0, float(window.pmf @ tails) * (1 + WINDOW_SUM) + outside)

    def _tail_above(self, bounds: NDArray[np.float64], sign: int) -> NDArray[np.float64]:
        """P(sign M_2 > bound) for each bound, rounded up; a value that equals a bound but for rounding counts."""
        window = self.other.noise.window
        if sign > 0:
            at = np.floor(bounds - COUNT_AGAINST_MEAN) + 1 - window.first
            return np.asarray(self._from[np.clip(at, 0, window.pmf.size).astype(np.int64)])
        at = np.ceil(-bounds + COUNT_AGAINST_MEAN) - window.first
        return np.asarray(self._before[np.clip(at, 0, window.pmf.size).astype(np.int64)])

    @cached_property
    def _from(self) -> NDArray[np.float64]:
        """P(M_2 >= first + k) for k = 0, 1, ..."""
        window = self.other.noise.window
        return np.append(np.cumsum(window.pmf[::-1])[::-1], 0.0) * (1 + WINDOW_SUM) + window.mass_above

    @cached_property
    def _before(self) -> NDArray[np.float64]:
        """P(M_2 < first + k) for k = 0, 1, ..."""
        window = self.other.noise.window
        return np.append(0.0, np.cumsum(window.pmf)) * (1 + WINDOW_SUM) + window.mass_below


@lru_cache(maxsize=4096)
def difference_range(difference: ErrorDifference, risk: float) -> tuple[float, float]:
    """Cached: rounds of one series all have the same noise."""
    return difference.range(risk)
