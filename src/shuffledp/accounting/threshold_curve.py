"""The exact privacy curve of noisy counts that are published only if they are occupied and reach a threshold.

The noise is discrete Laplace. The privacy loss of a count that moves by one takes few values, so it is listed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from shuffledp.accounting.bounds import Curve, GroupCurve, not_negative, replaced_rows, rows_of
from shuffledp.accounting.curve import Shift
from shuffledp.accounting.loss import GridLoss, PrivacyLoss
from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.noise.discrete_laplace import DiscreteLaplace

_CUT = 1e-25
"""The mass that may be given up at either end, on the safe side: far below the deltas of interest."""


@lru_cache(maxsize=1024)
def loss_of_shifts(noise: DiscreteLaplace, number: int) -> PrivacyLoss:
    """The loss of this number of independent counts, each of which moves by one, up or down.

    P(k) / P(k - 1) is 1 / decay for k <= 0 and decay from 1 on. The loss of one count is therefore plus or minus ln(1 /
    decay), and the loss of several a multiple of it: nothing is rounded to a grid. The distribution is symmetric, so k
    -> -k turns a move up into a move down with the same loss.
    """
    if not number:
        return PrivacyLoss(np.zeros(1), np.ones(1), 0.0)
    return _one(noise).times(number).loss


def _one(noise: DiscreteLaplace) -> GridLoss:
    """One moved count, on the grid of its own two losses."""
    loss = Shift(distribution=noise, by=1).loss
    less, more = (float(loss.masses[side].sum()) for side in (loss.losses < 0, loss.losses > 0))
    return GridLoss(-math.log(noise.decay), -1, np.array([less, 0.0, more]), loss.infinity, _CUT)


@dataclass(frozen=True, kw_only=True)
class ThresholdCurve(Curve):
    """The exact curve over all kinds of neighbours, in which bins that a person leaves or enters can be empty.

    A bin with one person is published with probability s = P(1 + Z >= threshold); otherwise it looks empty. If a bin
    stays occupied, leaving out small counts is post-processing of a shift by one, and for large counts loses nothing.
    If the person leaves a bin empty, publishing it reveals that (s), and not publishing it has likelihood ratio 1 - s.
    If the person enters an empty bin, the ratio is 1 / (1 - s).

    A person holds `values` = K values. Replacing all moves K bins down and K up. Fewer moved bins reveal no more, since
    an attacker could simulate the others. Suppose that a of the bins that are left become empty and b of those that are
    entered were empty. With probability 1 - (1 - s)^a one is published, which reveals everything. Otherwise the loss is
    (a - b) ln(1 - s) plus the loss of 2K - a - b shifts. docs/proofs/exact-privacy.md has the proof.
    """

    noise: DiscreteLaplace
    threshold: int
    values: int = 1

    exact = True

    def delta(self, epsilon: float) -> float:
        """The exact delta(epsilon) over all neighbouring datasets: the largest over a and b, each from 0 to K."""
        epsilon = not_negative(epsilon)
        return self._largest(epsilon, allowed=0.0)

    def keeps(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) is at most this; faster than the curve itself, for calibration."""
        return self._largest(epsilon, allowed=delta) <= delta

    def _largest(self, epsilon: float, *, allowed: float) -> float:
        """The largest delta over all pairs (a, b), or an upper bound on it that is allowed.

        Best first: the block of pairs with the largest bound is split, until it is a single pair.
        """
        seen = self.noise.window.above(self.threshold - 2)
        if seen >= 1:
            return 1.0
        hidden = math.log1p(-seen)
        everything = _Block(0, self.values, 0, self.values)
        open_blocks = [(-self._bound(everything, epsilon, hidden), everything)]
        while (worst := heapq.heappop(open_blocks))[1].several and -worst[0] > allowed:
            for part in worst[1].split():
                heapq.heappush(open_blocks, (-self._bound(part, epsilon, hidden), part))
        return min(1.0, -worst[0])

    def for_rows(self, rows: int) -> Curve:
        """The curve of a person with this number of rows; an upper bound if each row holds several values."""
        if (number := rows_of(self, rows)) == 1:
            return self
        if self.values > 1:
            return GroupCurve(curve=self, rows=number)
        return ThresholdRowsCurve(noise=self.noise, threshold=self.threshold, rows=number)

    def _bound(self, block: _Block, epsilon: float, hidden: float) -> float:
        """An upper bound on the delta of every pair (a, b) of a block; exact for a single pair.

        More shifts, a smaller epsilon and more bins that can become empty never lower it.
        """
        revealed = -math.expm1(block.most_emptied * hidden) * (1 + SEVERAL_OPERATIONS)
        shifts = 2 * self.values - block.least_emptied - block.least_new
        shifted = epsilon - (block.least_emptied - block.most_new) * hidden
        rest = float(loss_of_shifts(self.noise, shifts).delta(shifted))
        return revealed + math.exp(block.least_emptied * hidden) * (1 + SEVERAL_OPERATIONS) * rest


@dataclass(frozen=True, kw_only=True)
class ThresholdRowsCurve(Curve):
    """The exact curve of a person with `rows` = k rows of one value each.

    Of the k rows, i leave bins that become empty and j enter bins that were empty. The others leave one bin and enter
    one bin: shifts by k - i and k - j, which reveal the most since the noise is log-concave. A bin with r rows of the
    person alone is hidden with probability 1 - s_r, s_r = P(r + Z >= threshold). With h_i the smallest sum of ln(1 -
    s_r) over all partitions of i into sizes r of bins,

        delta(epsilon) = max over i, j of  1 - e^h_i + e^h_i D_(k-i,k-j)(epsilon - h_i + h_j),

    where D is the curve of the two shifts. docs/proofs/exact-privacy.md has the proof.
    """

    noise: DiscreteLaplace
    threshold: int
    rows: int

    @property
    def neighbours(self) -> str:
        """Datasets in which several rows are replaced."""
        return replaced_rows(self.rows)

    exact = True

    def delta(self, epsilon: float) -> float:
        """The exact delta(epsilon) over all ways to replace the rows."""
        epsilon = not_negative(epsilon)
        hidden = self._hidden
        if hidden is None:
            return 1.0
        numbers = range(self.rows + 1)
        return min(1.0, max(self._way(epsilon, i, j, hidden) for i, j in product(numbers, numbers)))

    @cached_property
    def _hidden(self) -> list[float] | None:
        """h_i for i = 0 .. k, by the size of the last bin; None if some bin is always published."""
        seen = [self.noise.window.above(self.threshold - size - 1) for size in range(1, self.rows + 1)]
        if max(seen) >= 1:
            return None
        smallest = [0.0]
        for number in range(1, self.rows + 1):
            smallest.append(min(smallest[number - size] + math.log1p(-seen[size - 1]) for size in range(1, number + 1)))
        return smallest

    def _way(self, epsilon: float, emptied: int, new: int, hidden: list[float]) -> float:
        """The delta if these numbers of rows empty bins and enter empty bins."""
        shifts = [Shift(distribution=self.noise, by=by).loss for by in (self.rows - emptied, new - self.rows) if by]
        shifted = epsilon - hidden[emptied] + hidden[new]
        if not shifts:
            rest = float(loss_of_shifts(self.noise, 0).delta(shifted))
        else:
            first, *more = shifts
            rest = first.delta_with(more[0], shifted) if more else float(first.delta(shifted))
        revealed, kept = -math.expm1(hidden[emptied]), math.exp(hidden[emptied])
        return (revealed + kept * rest) * (1 + SEVERAL_OPERATIONS)


class _Block(NamedTuple):
    """A block of pairs (a, b)."""

    least_emptied: int
    most_emptied: int
    least_new: int
    most_new: int

    @property
    def several(self) -> bool:
        """Whether there is more than one pair."""
        return self.least_emptied < self.most_emptied or self.least_new < self.most_new

    def split(self) -> Iterator[_Block]:
        """Split the block in half in both numbers: four blocks, or two if it is a single row."""
        ranges = [_halves(self.least_emptied, self.most_emptied), _halves(self.least_new, self.most_new)]
        for emptied, new in product(*ranges):
            yield _Block(*emptied, *new)


def _halves(least: int, most: int) -> list[tuple[int, int]]:
    middle = (least + most) // 2
    return [(least, middle), (middle + 1, most)] if least < most else [(least, most)]
