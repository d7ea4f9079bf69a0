"""Bits that are sometimes replaced by fair coins: the privacy of CSU+19's sums and histograms.

Everybody's bit is flipped with probability f, which is the same as being replaced by a fair coin with probability 2 f.
The coins of the others hide one person's bit. Telling which people tossed a coin, and what all the rest hold, only
helps an adversary, and leaves B ~ Bin(n - 1, 2 f) coins:

    (B, Bin(B, 1/2) + Ber(1 - f))   against   (B, Bin(B, 1/2) + Ber(f))

is an upper bound for one moved bit. A replaced value of a histogram moves two, with independent coins. A lower bound
comes from one dataset: what is true for it no argument can undercut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.curve import REPLACE_ONE
from shuffledp.accounting.loss import PrivacyLoss
from shuffledp.accounting.rounding import LOWER_BOUND
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.checks import real
from shuffledp.errors import ParameterError
from shuffledp.noise import Binomial, half_binomial
from shuffledp.noise.law import TAIL

_MOST_OUTCOMES = 200_000
_FEWEST_BLOCKS = 16


def blocks(
    trials: int, probability: float, *, most: int, width: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Bin(trials, probability) with neighbouring values taken together: first, last and mass of each block.

    The probability is a multiple of 2^-53. There are at most `most` blocks, and values that differ by less than the
    share `width` are together. All but `TAIL` on either side is there.
    """
    if trials == 0 or probability in (0.0, 1.0):
        at = np.array([0 if probability == 0.0 else trials])
        return at, at, np.ones(1)
    if probability <= 0.5:
        window = Binomial(trials=trials, probability=probability).window
        pmf, first = window.pmf, window.first
    else:
        window = Binomial(trials=trials, probability=1 - probability).window
        pmf, first = window.pmf[::-1], trials - window.last
    starts = np.arange(0, pmf.size, max(math.ceil(pmf.size / most), int(width * first), 1))
    ends = np.append(starts[1:], pmf.size) - 1
    return first + starts, first + ends, np.add.reduceat(pmf, starts)


@dataclass(frozen=True, kw_only=True)
class BlanketCurve:
    """delta(epsilon) of bits of `users` people that are flipped with a probability; a neighbour moves `shifts` of them.

    `delta` and `epsilon` are upper bounds, `lowest_delta` is a lower one.
    """

    users: int
    flip_probability: float
    shifts: int
    neighbours: str = REPLACE_ONE

    @property
    def exact(self) -> bool:
        """An upper bound."""
        return False

    @cached_property
    def _loss(self) -> PrivacyLoss:
        """The loss of one moved bit; it is the same for both directions, since 0 and 1 play the same part."""
        flip = self.flip_probability
        likely = 1 + 2 * flip * (self.users - 1)
        width = 2 * math.sqrt(likely * math.log(2 / TAIL) / 2) + 2
        most = max(_FEWEST_BLOCKS, int(_MOST_OUTCOMES / width))
        # fewer coins are never better for privacy, so a block counts as its first value
        coins, _, mass = blocks(self.users - 1, 2 * flip, most=most)
        # with the person's own bit among them: total of them, sum of which are 1
        block, sums = _side_by_side(*_likely_sums(coins + 1))
        total = (coins + 1)[block]
        if_one, if_zero = (1 - flip) * sums + flip * (total - sums), flip * sums + (1 - flip) * (total - sums)
        masses = 2 * mass[block] * half_binomial.pmf(total, sums) * if_one / total
        losses = np.log(if_one) - np.log(if_zero)
        order = np.argsort(losses, kind="stable")
        return PrivacyLoss(losses[order], masses[order], 6 * TAIL)

    @cached_property
    def _real_losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """One moved bit where all others hold 0, in both directions: the truth for that dataset."""
        flip = self.flip_probability
        others = np.ones(1) if self.users == 1 else Binomial(trials=self.users - 1, probability=flip).window.pmf
        before, after = np.append(others, 0.0), np.append(0.0, others)
        one, zero = flip * before + (1 - flip) * after, (1 - flip) * before + flip * after
        ratio = np.log(one) - np.log(zero)  # grows with the number of ones
        return PrivacyLoss(ratio, one, 0.0), PrivacyLoss(-ratio[::-1], zero[::-1], 0.0)

    def delta(self, epsilon: float) -> float:
        """An upper bound on the smallest delta such that the release is (epsilon, delta)-private."""
        epsilon = _not_negative(epsilon)
        one = self._loss
        return min(1.0, float(one.delta(epsilon)) if self.shifts == 1 else one.delta_with(one, epsilon))

    def lowest_delta(self, epsilon: float) -> float:
        """A lower bound: the delta of neighbours where all others hold the same, one of the two values that differ."""
        epsilon = _not_negative(epsilon)
        up, down = self._real_losses
        reached = max(
            (float(up.delta(epsilon)), float(down.delta(epsilon)))
            if self.shifts == 1
            else (up.delta_with(up, epsilon), down.delta_with(down, epsilon))
        )
        return max(0.0, reached * (1 - LOWER_BOUND) - 2 * TAIL)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon that the upper bound gives."""
        return smallest_epsilon(self.delta, delta)


def _likely_sums(coins: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last sum that this many fair coins reach but for 2^-100, by Hoeffding's inequality."""
    reach = np.ceil(np.sqrt(coins * math.log(2 / TAIL) / 2)).astype(np.int64) + 1
    return np.maximum(coins // 2 - reach, 0), np.minimum(coins // 2 + reach, coins)


def _side_by_side(first: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ranges first[i] .. last[i], one after the other: which range each number is of, and the number."""
    sizes = last - first + 1
    which = np.repeat(np.arange(sizes.size), sizes)
    starts = np.cumsum(sizes) - sizes
    return which, first[which] + np.arange(which.size) - starts[which]


def _not_negative(epsilon: float) -> float:
    epsilon = real("epsilon", epsilon)
    if epsilon < 0:
        raise ParameterError(f"epsilon must not be negative, got {epsilon:g}")
    return epsilon
