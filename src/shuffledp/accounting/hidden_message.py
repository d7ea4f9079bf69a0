"""One person's message among copies that others send of either value's messages: how well it can be told apart.

Of n telling messages, k are like the first of two values' and n - k like the second's. All are fair coins but for the
person's own, if it is among them: under the first value that one is like it with probability p = e^epsilon0 /
(e^epsilon0 + 1), under the second with 1 - p. The symbols are those of docs/proofs/comparison.md, "Messages that tell
little", which derives what is computed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import rounding
from shuffledp.noise import half_binomial

_MORE_THAN_ALL = 2.0
"""Stands for any share of the messages above 1: an event that cannot happen."""


@dataclass(frozen=True, kw_only=True)
class HiddenMessage:
    """A message with a local epsilon0 that is to be hidden up to `epsilon`, below epsilon0."""

    local_epsilon: float
    epsilon: float

    @property
    def likely(self) -> float:
        """p: how often a telling message is like the person's own value's."""
        return 1 / (1 + math.exp(-self.local_epsilon))

    @property
    def unlikely(self) -> float:
        """1 - p, computed by itself: a difference would lose its digits where p is nearly 1."""
        return 1 / (1 + math.exp(self.local_epsilon))

    @property
    def gain(self) -> float:
        """What an event gains where only the own message decides: p - e^epsilon (1 - p), without cancellation."""
        return self.unlikely * math.exp(self.epsilon) * math.expm1(self.local_epsilon - self.epsilon)

    @property
    def loss(self) -> float:
        """e^epsilon - 1: what an event costs for each unit of its probability where both values give it the same."""
        return math.expm1(self.epsilon)

    def delta(
        self, total: NDArray[np.int64], with_own: NDArray[np.float64], without: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For every number n of telling messages what it adds to delta, from below and from above.

        `with_own` is the probability that there are n and the person's own is among them, `without` that there are n
        others. The likelihood ratio grows with k, so the best event is "k or more", with the first k where the ratio
        exceeds e^epsilon; since rounding may have put that one too high, the next lower k is tried as well.
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
        """P(event) - e^epsilon Q(event) of the event "k or more of n", as what it gains and what it loses.

        Where the person's own is among them, it adds gain * P(coins = k - 1) - loss * P(coins >= k) over n - 1 coins;
        where it is not, -loss * P(coins >= k) over n coins, of which one is set apart here.
        """
        at, beyond = half_binomial.pmf(total - 1, k - 1), half_binomial.tail(total - 1, k)
        return with_own * self.gain * at, self.loss * (with_own * beyond + without * (beyond + at / 2))
