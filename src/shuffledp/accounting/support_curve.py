"""The privacy of one message among uniform ones, as in the private coin protocol.

A real message of value x is a uniform message on the condition that it supports x, which a uniform one does with
probability t. Shuffled with m uniform messages, the outcome has likelihood N_x / (t (m + 1)) relative to m + 1 uniform
ones, N_x being the number that support x. So x is told from x' by N_x / N_x' alone. Where a message supports x and x'
independently, N_x ~ 1 + Bin(m, t) and N_x' ~ Bin(m + 1, t) under x, independent of each other, and

    delta(epsilon) = E[(1 - e^epsilon N_x' / N_x)_+]

exactly, alike in both directions. docs/proofs/private-coin.md has the details.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds import Curve, not_negative
from shuffledp.accounting.rounding import WINDOW_SUM
from shuffledp.errors import ParameterError
from shuffledp.noise import Binomial
from shuffledp.noise.distribution import Window
from shuffledp.validation import whole

MOST_ELEMENTS = 50
"""The most elements, so that 2^-elements is a probability on the dyadic grid."""


@dataclass(frozen=True, kw_only=True)
class SupportCurve(Curve):
    """The curve of one real message of `elements` fair parities, hidden among `noise_messages` uniform ones.

    The curve is exact if the adversary knows all other people's real messages, and otherwise an upper bound.
    `lowest_delta` is a lower bound on the truth.
    """

    noise_messages: int
    elements: int

    def __post_init__(self) -> None:
        whole("noise_messages", self.noise_messages)
        if whole("elements", self.elements) > MOST_ELEMENTS:
            raise ParameterError(f"elements must be at most {MOST_ELEMENTS}, got {self.elements}")

    @property
    def support(self) -> float:
        """t, the probability that a message supports a value that is not its own."""
        return 2.0**-self.elements

    def delta(self, epsilon: float) -> float:
        """A delta for which the release is (epsilon, delta)-private; never below the formula."""
        gained, mass, outside = self._gain(_checked(epsilon))
        return min(1.0, gained + WINDOW_SUM * mass + outside)

    def lowest_delta(self, epsilon: float) -> float:
        """A lower bound on the delta of some pair of datasets, with at least four bins.

        Everyone else holds a third value z, such that x, x' and z are supported independently. The adversary drops all
        messages that support z: the messages of the others, and m - k of the noise messages, k ~ Bin(m, 1 - t). If the
        real message is kept (probability 1 - t), it is hidden among k. If not, the best event W against k messages
        costs (e^epsilon - 1) times its probability:

            delta(epsilon) >= E_k[ (1 - t) delta_k(epsilon) - t (e^epsilon - 1) P_k(W) ]   (docs/proofs/private-coin.md)
        """
        epsilon = _checked(epsilon)
        t, loss = self.support, math.expm1(epsilon)
        dropped = self._among_noise
        expected, summed, unresolved = 0.0, 0.0, dropped.mass_below + dropped.mass_above
        for number, probability in enumerate(dropped.pmf.tolist(), start=dropped.first):
            if number == self.noise_messages:  # no noise message is left
                unresolved += probability
                continue
            among_kept = SupportCurve(noise_messages=self.noise_messages - number, elements=self.elements)
            own_is_kept, own_is_dropped = among_kept._delta_from_below(epsilon), -loss * among_kept._event(epsilon)
            expected += probability * ((1 - t) * own_is_kept + t * own_is_dropped)
            summed += probability * ((1 - t) * abs(own_is_kept) - t * own_is_dropped)
        # terms of both signs may cancel, their rounding does not
        return max(0.0, expected - WINDOW_SUM * summed - loss * unresolved)

    @cached_property
    def _among_noise(self) -> Window:
        """The distribution of the number of noise messages that support a given value."""
        return Binomial(trials=self.noise_messages, probability=self.support).window

    @cached_property
    def _among_all(self) -> Window:
        """The distribution of the number of messages that support a value that nobody holds."""
        return Binomial(trials=self.noise_messages + 1, probability=self.support).window

    def _gain(self, epsilon: float) -> tuple[float, float, float]:
        """The sum of the formula, the probability of its event, and the probability outside of the windows."""
        own, other, factor = self._among_noise, self._among_all, math.exp(epsilon)
        supporting = np.arange(own.first, own.last + 1) + 1.0
        below = _below(other, supporting / factor)
        numbers = np.arange(other.first, other.last + 1)
        probability = np.append(0.0, np.cumsum(other.pmf))[below]
        expectation = np.append(0.0, np.cumsum(numbers * other.pmf))[below]
        gains = np.maximum(probability - factor * expectation / supporting, 0.0)
        outside = sum(window.mass_below + window.mass_above for window in (own, other))
        return float(own.pmf @ gains), float(own.pmf @ probability), outside

    def _delta_from_below(self, epsilon: float) -> float:
        """The formula, rounded down."""
        gained, mass, _ = self._gain(epsilon)
        return gained - WINDOW_SUM * mass

    def _event(self, epsilon: float) -> float:
        """P(W), W = {N_x > e^epsilon N_x'}, if no message is real; rounded up."""
        distribution = self._among_noise
        below = _below(distribution, np.arange(distribution.first, distribution.last + 1) / math.exp(epsilon))
        event = float(distribution.pmf @ np.append(0.0, np.cumsum(distribution.pmf))[below])
        return event * (1 + WINDOW_SUM) + 2 * (distribution.mass_below + distribution.mass_above)


def _below(window: Window, limits: NDArray[np.floating]) -> NDArray[np.int64]:
    """The number of values of the window below each limit."""
    below: NDArray[np.int64] = np.clip(np.ceil(limits) - window.first, 0, window.pmf.size).astype(np.int64)
    return below


def _checked(epsilon: float) -> float:
    return min(not_negative(epsilon), 700.0)  # keeps e^epsilon finite; a smaller epsilon has the larger delta
