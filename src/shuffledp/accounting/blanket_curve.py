"""Privacy of bits that are sometimes replaced by fair coins: the sums and histograms of CSU+19.

Every bit is flipped with probability f, which equals replacing it by a fair coin with probability 2 f. The coins of the
other users hide one user's bit. Revealing which users tossed a coin, and what all others hold, only helps an attacker
and leaves B ~ Bin(n - 1, 2 f) coins:

    (B, Bin(B, 1/2) + Ber(1 - f))   against   (B, Bin(B, 1/2) + Ber(f))

is an upper bound for one moved bit. Replacing a value of a histogram moves two bits, with independent coins. The lower
bound is the exact divergence of one pair of datasets.

`HiddenMessage` is the general step. Of n informative messages, k are like the first value's and n - k like the
second's. All are fair coins except the user's own, if it is among them: under the first value it is like the first with
probability p = e^epsilon0 / (e^epsilon0 + 1), under the second with 1 - p. docs/proofs/comparison.md, "Messages that
tell little", derives what is computed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import rounding
from shuffledp.accounting.bounds import Curve, not_negative
from shuffledp.accounting.loss import PrivacyLoss
from shuffledp.accounting.rounding import WINDOW_SUM
from shuffledp.noise.binomial import Binomial, half_pmf, half_tail
from shuffledp.noise.distribution import TAIL

_MORE_THAN_ALL = 2.0
"""A share of the messages above 1: an event that cannot happen."""


@dataclass(frozen=True, kw_only=True)
class HiddenMessage:
    """A message with a local epsilon0 that is to be hidden up to `epsilon`, below epsilon0."""

    local_epsilon: float
    epsilon: float

    @property
    def likely(self) -> float:
        """p: the probability that a telling message is like those of the person's own value."""
        return 1 / (1 + math.exp(-self.local_epsilon))

    @property
    def unlikely(self) -> float:
        """1 - p, computed directly: a difference would lose digits if p is nearly 1."""
        return 1 / (1 + math.exp(self.local_epsilon))

    @property
    def gain(self) -> float:
        """The gain of an event that depends only on the own message: p - e^epsilon (1 - p), without cancellation."""
        return self.unlikely * math.exp(self.epsilon) * math.expm1(self.local_epsilon - self.epsilon)

    @property
    def loss(self) -> float:
        """e^epsilon - 1: the loss of an event per unit of probability, if both values give it the same probability."""
        return math.expm1(self.epsilon)

    def delta(
        self, total: NDArray[np.int64], with_own: NDArray[np.float64], without: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and upper contribution to delta of every number n of telling messages.

        `with_own` is the probability of n including the person's own, `without` of n others. The likelihood ratio grows
        with k, so the best event is "k or more", with the first k where the ratio exceeds e^epsilon. Rounding may have
        made this k too large, so the next lower k is tried as well.
        """
        first = self._first_telling(total, with_own, without)
        margin = rounding.half_binomial(total)
        lower, upper = np.zeros(total.size), np.zeros(total.size)
        for k in (first - 1, first):
            gained, lost = self._advantage(total, k, with_own, without)
            off = margin * (gained + lost)
            lower, upper = np.maximum(lower, gained - lost - off), np.maximum(upper, gained - lost + off)
        return lower, upper

    def _first_telling(
        self, total: NDArray[np.int64], with_own: NDArray[np.float64], without: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """The smallest k with P(n, k) > e^epsilon Q(n, k): where k / n exceeds s."""
        p, q, ratio = self.likely, self.unlikely, math.exp(self.epsilon)
        s = (ratio * p - q + self.loss * without / (2 * with_own)) / ((p - q) * (1 + ratio))
        return np.floor(np.minimum(s, _MORE_THAN_ALL) * total).astype(np.int64) + 1

    def _advantage(
        self,
        total: NDArray[np.int64],
        k: NDArray[np.int64],
        with_own: NDArray[np.float64],
        without: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """P(event) - e^epsilon Q(event) of the event "k or more of n", as its gain and its loss.

        With the person's own message among them, it is gain * P(coins = k - 1) - loss * P(coins >= k) over n - 1 coins.
        Without it, it is -loss * P(coins >= k) over n coins, of which one is set apart here.
        """
        at, beyond = half_pmf(total - 1, k - 1), half_tail(total - 1, k)
        return with_own * self.gain * at, self.loss * (with_own * beyond + without * (beyond + at / 2))


_MOST_OUTCOMES = 200_000
_FEWEST_BLOCKS = 16


def blocks(
    trials: int, probability: float, *, most: int, width: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Bin(trials, probability) with neighbouring values merged: first, last and mass of each block.

    The probability is a multiple of 2^-53. There are at most `most` blocks, and values within the relative distance
    `width` are merged. The blocks hold all mass except `TAIL` on either side.
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
class BlanketCurve(Curve):
    """The curve delta(epsilon) of flipped bits of `users` people, if a neighbour moves `shifts` of them.

    `delta` and `epsilon` are upper bounds, `lowest_delta` is a lower one.
    """

    users: int
    flip_probability: float
    shifts: int

    @cached_property
    def _loss(self) -> PrivacyLoss:
        """The loss of one moved bit; it is the same in both directions, since 0 and 1 are symmetric."""
        flip = self.flip_probability
        likely = 1 + 2 * flip * (self.users - 1)
        width = 2 * math.sqrt(likely * math.log(2 / TAIL) / 2) + 2
        most = max(_FEWEST_BLOCKS, int(_MOST_OUTCOMES / width))
        # fewer coins are never better for privacy, so a block counts as its first value
        coins, _, mass = blocks(self.users - 1, 2 * flip, most=most)
        # total and sum include the person's own bit
        block, sums = _side_by_side(*_likely_sums(coins + 1))
        total = (coins + 1)[block]
        if_one, if_zero = (1 - flip) * sums + flip * (total - sums), flip * sums + (1 - flip) * (total - sums)
        masses = 2 * mass[block] * half_pmf(total, sums) * if_one / total
        losses = np.log(if_one) - np.log(if_zero)
        order = np.argsort(losses, kind="stable")
        return PrivacyLoss(losses[order], masses[order], 6 * TAIL)

    @cached_property
    def _real_losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """The losses of one moved bit if all others hold 0, in both directions; exact for this dataset."""
        flip = self.flip_probability
        others = np.ones(1) if self.users == 1 else Binomial(trials=self.users - 1, probability=flip).window.pmf
        before, after = np.append(others, 0.0), np.append(0.0, others)
        one, zero = flip * before + (1 - flip) * after, (1 - flip) * before + flip * after
        ratio = np.log(one) - np.log(zero)  # grows with the number of ones
        return PrivacyLoss(ratio, one, 0.0), PrivacyLoss(-ratio[::-1], zero[::-1], 0.0)

    def delta(self, epsilon: float) -> float:
        """An upper bound on the smallest delta such that the release is (epsilon, delta)-private."""
        epsilon = not_negative(epsilon)
        one = self._loss
        return min(1.0, float(one.delta(epsilon)) if self.shifts == 1 else one.delta_with(one, epsilon))

    def lowest_delta(self, epsilon: float) -> float:
        """A lower bound: the delta of neighbours where all others hold the same one of the two values that differ."""
        epsilon = not_negative(epsilon)
        up, down = self._real_losses
        reached = max(
            (float(up.lowest_delta(epsilon)), float(down.lowest_delta(epsilon)))
            if self.shifts == 1
            else (up.lowest_delta_with(up, epsilon), down.lowest_delta_with(down, epsilon))
        )
        # at either end of the window, the other distribution lacks at most TAIL for each moved bit
        return max(
            0.0, reached * (1 - WINDOW_SUM) - 2 * self.shifts * TAIL * math.exp(min(epsilon, self._largest_loss))
        )

    @property
    def _largest_loss(self) -> float:
        """The largest loss of all moved bits together: each was flipped or not."""
        flip = self.flip_probability
        return self.shifts * (math.log1p(-flip) - math.log(flip))


def _likely_sums(coins: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The range of sums of this number of fair coins, except with probability 2^-100, by Hoeffding's inequality."""
    reach = np.ceil(np.sqrt(coins * math.log(2 / TAIL) / 2)).astype(np.int64) + 1
    return np.maximum(coins // 2 - reach, 0), np.minimum(coins // 2 + reach, coins)


def _side_by_side(first: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Concatenate the ranges first[i] .. last[i]: the index of the range of each number, and the number."""
    sizes = last - first + 1
    which = np.repeat(np.arange(sizes.size), sizes)
    starts = np.cumsum(sizes) - sizes
    return which, first[which] + np.arange(which.size) - starts[which]
