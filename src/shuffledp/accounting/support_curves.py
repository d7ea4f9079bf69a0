"""Privacy curves of messages that support many values: parities, and hashed values.

**Parities**, as in the private coin protocol. A real message of value x is a uniform message on the condition that it
supports x, which a uniform one does with probability t. Among m uniform messages, x is told from x' by the numbers N_x
and N_x' of messages that support them. Under x, N_x ~ 1 + Bin(m, t) and N_x' ~ Bin(m + 1, t) are independent, and

    delta(epsilon) = E[(1 - e^epsilon N_x' / N_x)_+]

exactly, alike in both directions (docs/proofs/private-coin.md).

**Hashed values.** A person's message is uniform on the graph of their value, the pairs (seed, bucket of the value).
Dummies fall on all pairs uniformly, a Poisson number with mean `rate` on every graph. With N_x messages on that of x,

    delta(epsilon) = E (N_x - e^epsilon N_x')_+ / rate    under dummies alone.

Graphs that do not meet are the worst case for every family of functions: independent numbers, as in a bin that loses
and a bin that gains one person.

With K values in one domain, `rate` becomes rate^K. N_x becomes M_x, the number of ways to pick K different messages,
one on the graph of each value. Graphs of one person's values may meet, which can reveal more. If every two graphs
share at most a part `shared` of their pairs, this is at most a random walk of epsilon: for every whole a >= 1,

    delta(epsilon) <= E delta_K(epsilon + (U - D) ln r) + rare,    r = 1 + K / a,

with the K-fold composition delta_K of graphs that do not meet, independent U ~ Poisson(w) and D ~ Poisson(w r), w = K
rate shared / 2, and rare = K^2 (K - 1) shared (1 + rate) P(Poisson(rate) < a + K - 1). The proofs are in
docs/proofs/hashed-histogram.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds import Curve, not_negative
from shuffledp.accounting.curve import PrivacyCurve, moved_bins
from shuffledp.accounting.rounding import WINDOW_SUM
from shuffledp.errors import ParameterError
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.compound_poisson import poisson
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
        """t, the probability that a message supports another value than its own."""
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


_RARE = (1e-2, 1e-5, 1e-8, 1e-11, 1e-15, 1e-20)
"""The values of `rare` for which the largest `a` is tried; each gives a valid bound."""

_MOST_STEPS = 200.0
"""The most steps w of the random walk. With more, nothing useful is left of the bound."""

_NEGLIGIBLE = 1e-25
"""Positions of the random walk that are less likely count as if they revealed everything."""


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
        """The curve, also for a negative epsilon: 1 - e^epsilon + e^epsilon delta(-epsilon)."""
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
