"""Privacy amplification by shuffling the messages of a local randomizer.

This module has the tight numerical bound, two published closed forms, and a lower bound for every randomizer.

The tight bound is from Feldman, McMillan and Talwar, "Stronger privacy amplification by shuffling": other people
imitate the one whose value is replaced. Let C ~ Bin(n - 1, q), q = 2 / (e^epsilon0 + 1), of them be fair copies of
either value, let A ~ Bin(C, 1/2) of these be of the first, and let D ~ Ber(p), p = e^epsilon0 / (e^epsilon0 + 1), be
the person's own message. Distinguishing (A + D, C - A + 1 - D) from (A + 1 - D, C - A + D) is at least as easy as
distinguishing the two datasets.

Many randomizers do better. A message is telling if it is more likely under one of the two values, and then e^epsilon0
times. If this has probability t only, another person sends a copy of a telling message of either kind with probability
at least t / (e^epsilon0 + 1) each, and of one that tells nothing with (1 - t) h. Here h bounds how much less likely
such messages are under another value: at least e^-epsilon0, and 1 for d-ary response (docs/proofs/comparison.md,
"Messages that tell little").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.blanket_curve import BlanketCurve, HiddenMessage, blocks
from shuffledp.accounting.bounds import Curve, not_negative
from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.accounting.search import first_safe_from, last_safe_from, log_excess
from shuffledp.errors import ParameterError
from shuffledp.noise.binomial import GRID_BITS, round_up_to_grid
from shuffledp.noise.distribution import TAIL
from shuffledp.validation import head_count, open_probability, real

MOST_LOCAL_EPSILON = 30.0
_MOST_BLOCKS = 1024
_BLOCK_WIDTH = 1e-5
"""Values of C within this relative distance, or beyond the maximum number of blocks, are merged, on the safe side."""

_MOST_THINNED_COPIES = 4 * 10**5
_THINNED_OUTCOMES = 3 * 10**4
_THINNED_BLOCKS = (32, 192)
"""The same limits if every number of telling messages is tried for every block, which is slow for more copies, outcomes
or blocks. Up to 192 people every number of copies is a block of its own. Beyond, delta is above its formula: measured
by up to 4 % at 1,000 people and 9 % at 3,000, for deltas above 1e-10.
"""

_TOLERANCE = 1e-9
"""The relative precision of an epsilon, and the absolute precision of a local epsilon."""

_LOOSE_TOLERANCE = 1e-5
"""The precision of a local epsilon for a particular randomizer, whose bound takes longer to compute."""

_LOG_STRIDE = math.log(1.2)
"""The first step from a rough epsilon, in its logarithm."""

_MOST_KEPT = 64
"""The number of cached results for all randomizers: a calibration asks for the same one for each of its candidates."""

_LOCAL_STRIDE = 0.1
"""The first step from the local epsilon that suffices for all randomizers."""


@dataclass(frozen=True, kw_only=True)
class Amplification(Curve):
    """The curve of the shuffled messages of `users` people, each private by itself at `local_epsilon`.

    Neighbours have equal size: with one person more or less, the number of messages would reveal the change.
    `telling` is t above: an upper bound on the probability that a message is more likely under one of two given values.
    `covered` is h: a lower bound on the probability of any other message under a third value, relative to those two.
    """

    local_epsilon: float
    users: int
    telling: float = 1.0
    covered: float = 0.0

    def __post_init__(self) -> None:
        epsilon = real("local_epsilon", self.local_epsilon)
        if not 0 < epsilon <= MOST_LOCAL_EPSILON:
            raise ParameterError(f"local_epsilon (epsilon0) must lie in (0, {MOST_LOCAL_EPSILON:g}], got {epsilon:g}")
        object.__setattr__(self, "local_epsilon", epsilon)
        object.__setattr__(self, "users", head_count("users", self.users))
        telling = real("telling", self.telling)
        if not 0 < telling <= 1:
            raise ParameterError(f"telling must lie in (0, 1], got {telling:g}")
        covered = real("covered", self.covered)
        if not 0 <= covered <= 1:
            raise ParameterError(f"covered must lie in [0, 1], got {covered:g}")
        object.__setattr__(self, "covered", max(covered, math.exp(-epsilon) * (1 - SEVERAL_OPERATIONS)))

    def delta(self, epsilon: float) -> float:
        """The delta of the tight bound; never below the numerical truth."""
        return self._bound(epsilon, upper=True)

    def delta_of_bound(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper numbers for the tight bound itself, which differ by merged values of C and rounding."""
        return self._bound(epsilon, upper=False), self._bound(epsilon, upper=True)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon that the tight bound gives."""
        delta = open_probability("delta", delta)
        if self.delta(0.0) <= delta:
            return 0.0
        most = math.log(self.local_epsilon)

        def epsilon_at(logarithm: float) -> float:
            return self.local_epsilon if logarithm >= most else math.exp(logarithm)

        found = first_safe_from(
            lambda logarithm: log_excess(self.delta(epsilon_at(logarithm)), delta),
            math.log(self._rough_epsilon(delta)),
            stride=_LOG_STRIDE,
            most=most,
            tolerance=_TOLERANCE,
        )
        # at local_epsilon the local guarantee alone suffices
        return self.local_epsilon if found is None else epsilon_at(found)

    def _rough_epsilon(self, delta: float) -> float:
        """The epsilon of a Gaussian whose mean moves by the same number of standard deviations."""
        t, copied = self.telling, _copied_by_all(self.local_epsilon)
        shift = 2 * (1 - copied) * t / math.sqrt(t + self.users * copied * t)
        return shift * math.sqrt(2 * math.log(1 / delta)) + shift**2 / 2

    def _bound(self, epsilon: float, *, upper: bool) -> float:
        epsilon = not_negative(epsilon)
        if epsilon >= self.local_epsilon:
            return 0.0
        message = HiddenMessage(local_epsilon=self.local_epsilon, epsilon=epsilon)
        if self._thinned:
            low, high = message.delta(*(self._tellings if upper else self._tellings_of(self._copies[1])))
            return min(self._for_any.delta(epsilon), float(high.sum()) + 4 * TAIL) if upper else float(low.sum())
        first, last, mass = self._copies
        # every message is telling: all copies, and always the person's own
        total = (first if upper else last) + 1
        low, high = message.delta(total, np.ones(total.size), np.zeros(total.size))
        return min(1.0, float(mass @ high) + 2 * TAIL) if upper else float(mass @ low)

    @cached_property
    def _for_any(self) -> Amplification:
        """The bound for every randomizer; with finer blocks it can be the better one."""
        return Amplification(local_epsilon=self.local_epsilon, users=self.users)

    @property
    def _thinned(self) -> bool:
        """Whether `telling` is used; with very many copies there are too many outcomes to try."""
        return self.telling < 1 and self.users * self._copied < _MOST_THINNED_COPIES

    @property
    def _copy_rates(self) -> tuple[float, float]:
        """Lower bounds on the probabilities that another person sends a copy of a telling message, or of another."""
        plain = max(1 - self.telling - SEVERAL_OPERATIONS, 0.0)
        margin = 1 - 8 * SEVERAL_OPERATIONS
        return _copied_by_all(self.local_epsilon) * self.telling * margin, plain * self.covered * margin

    @property
    def _telling_share(self) -> float:
        """The share of the copies that is telling, rounded up to the grid."""
        telling, plain = self._copy_rates
        return round_up_to_grid(telling / (telling + plain)) if plain else 1.0

    @property
    def _copied(self) -> float:
        """The probability that another person sends a copy; with this telling share, no kind exceeds its rate."""
        if self.telling == 1:
            return _copied_by_all(self.local_epsilon)
        (telling, plain), share = self._copy_rates, self._telling_share
        return min(telling / share, plain / (1 - share)) if share < 1 else telling

    @cached_property
    def _copies(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Blocks of values of C: first, last and probability of each. Fewer copies are never better for privacy."""
        copied = self._copied if self._thinned else _copied_by_all(self.local_epsilon)
        rounded = max(round_up_to_grid(copied) - 2.0**-GRID_BITS, 0.0)  # rounded down: fewer copies
        most, likely = _MOST_BLOCKS, 1 + int(self.users * copied)
        if self._thinned:
            most = min(max(_THINNED_OUTCOMES // likely, _THINNED_BLOCKS[0]), _THINNED_BLOCKS[1])
        return blocks(self.users - 1, rounded, most=most, width=_BLOCK_WIDTH)

    @cached_property
    def _tellings(self) -> _Tellings:
        """The number of telling messages if every block of C counts as its first value."""
        return self._tellings_of(self._copies[0])

    def _tellings_of(self, copies: NDArray[np.int64]) -> _Tellings:
        """The distribution of the number of telling messages, for one number of copies C of every block.

        Let f be the distribution of the number of telling ones among the C copies. There are n telling messages with
        probability t f(n - 1) if the person's own is one of them, and (1 - t) f(n) if not. Each is multiplied by the
        block's probability. Numbers n that are possible only without the person's own reveal nothing and are left out.
        """
        t = self.telling
        totals, with_owns, withouts = [], [], []
        distributions = _binomials(copies.tolist(), self._telling_share)
        for (first, f), mass in zip(distributions, self._copies[2].tolist(), strict=True):
            totals.append(np.arange(first, first + f.size + 1))
            with_owns.append(mass * t * np.append(0.0, f))
            withouts.append(mass * (1 - t) * np.append(f, 0.0))
        possible = np.concatenate(with_owns) > 0
        return _Tellings(*(np.concatenate(parts)[possible] for parts in (totals, with_owns, withouts)))


class _Tellings(NamedTuple):
    """Numbers of telling messages, and the probability of each with the person's own message and without it."""

    total: NDArray[np.int64]
    with_own: NDArray[np.float64]
    without: NDArray[np.float64]


def _binomials(trials: list[int], probability: float) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """The distributions of Bin(n, probability) for increasing n: the first value and the probabilities from there on.

    If n grows by one, a distribution follows from the previous one: one more trial succeeds or not. This adds positive
    numbers, so each step adds at most two roundings, and the mass outside of the first window does not grow.
    """
    before, first, f = -1, 0, np.empty(0)
    for number in trials:
        if number == before + 1 and f.size:
            f = np.append(f, 0.0) * (1 - probability) + np.append(0.0, f) * probability
        else:
            values, _, f = blocks(number, probability, most=number + 1)
            first = int(values[0])
        before = number
        yield first, f


def _copied_by_all(local_epsilon: float) -> float:
    """2 (1 - p): the probability that another person's message is a copy of either value's, for any randomizer."""
    return 2 / (1 + math.exp(local_epsilon))


def closed_form_epsilon(*, local_epsilon: float, users: int, delta: float) -> float | None:
    """The bound of Erlingsson, Feldman, Mironov, Raghunathan, Talwar and Thakurta (2019); None if it does not apply."""
    if users < 1000 or local_epsilon >= 0.5 or delta >= 0.01:
        return None
    return 12 * local_epsilon * math.sqrt(math.log(1 / delta) / users)


def blanket_epsilon(*, local_epsilon: float, users: int, delta: float) -> float | None:
    """The privacy blanket of Balle, Bell, Gascon and Nissim (2019) with Hoeffding's inequality; None if it is void.

    Each message comes with some probability g >= e^-epsilon0 from a distribution that does not depend on the value.
    With M ~ Bin(n, g), delta(epsilon) <= E[(L_1 + ... + L_M)_+] / (g n), where the L_i have mean 1 - e^epsilon and a
    range of width g w, w = (e^epsilon0 - 1) (1 + e^epsilon). Hoeffding bounds that by g w^2 / (4 n (e^epsilon - 1))
    f(g)^n, f(g) = 1 - g (1 - exp(-2 (e^epsilon - 1)^2 / (g w)^2)), which falls and then rises in g: it is largest at an
    end.
    """

    def excess(epsilon: float) -> float:
        drift = math.expm1(epsilon)
        width = math.expm1(local_epsilon) * (2 + drift)
        kept = max(
            math.log1p(blanket * math.expm1(-2 * (drift / (blanket * width)) ** 2))
            for blanket in (math.exp(-local_epsilon), 1.0)
        )
        return math.log(width**2 / (4 * users * drift)) + users * kept - math.log(delta)

    most = math.log(local_epsilon)
    found = first_safe_from(
        lambda logarithm: excess(math.exp(logarithm)), most, stride=_LOG_STRIDE, most=most, tolerance=_TOLERANCE
    )
    return None if found is None else math.exp(found)


def unavoidable_epsilon(*, local_epsilon: float, users: int, delta: float) -> float:
    """A lower bound for all randomizers: the epsilon of binary randomized response if all others hold 0."""
    flip = round_up_to_grid(1 / (1 + math.exp(local_epsilon)))
    curve = BlanketCurve(users=users, flip_probability=flip, shifts=1)
    if curve.lowest_delta(0.0) <= delta:
        return 0.0
    low, high = 0.0, local_epsilon  # too little, and enough
    while high - low > _TOLERANCE * max(high, 1e-6):
        middle = (low + high) / 2
        low, high = (middle, high) if curve.lowest_delta(middle) > delta else (low, middle)
    return low


def largest_local_epsilon(
    *, epsilon: float, delta: float, users: int, special: Callable[[float], Amplification] | None = None
) -> float:
    """The largest epsilon0 whose shuffled messages are (epsilon, delta)-private by the tight bound.

    `special` gives the bound of a particular randomizer for an epsilon0, if it is better than the general one.
    """
    epsilon, delta = real("epsilon", epsilon), open_probability("delta", delta)
    if not 0 < epsilon <= MOST_LOCAL_EPSILON:
        raise ParameterError(f"epsilon must lie in (0, {MOST_LOCAL_EPSILON:g}], got {epsilon:g}")

    # shuffling preserves epsilon-privacy, and no bound for one randomizer is worse than the general one
    enough = _largest_for_all(epsilon, delta, head_count("users", users))
    if special is None:
        return enough
    return _largest(
        special, epsilon=epsilon, delta=delta, start=enough, stride=_LOCAL_STRIDE, tolerance=_LOOSE_TOLERANCE
    )


@lru_cache(maxsize=_MOST_KEPT)
def _largest_for_all(epsilon: float, delta: float, users: int) -> float:
    """The largest epsilon0 for every randomizer, which is the start of searches for particular ones."""

    def for_all(local_epsilon: float) -> Amplification:
        return Amplification(local_epsilon=local_epsilon, users=users)

    return _largest(
        for_all, epsilon=epsilon, delta=delta, start=epsilon, stride=MOST_LOCAL_EPSILON, tolerance=_TOLERANCE
    )


def _largest(
    bound: Callable[[float], Amplification],
    *,
    epsilon: float,
    delta: float,
    start: float,
    stride: float,
    tolerance: float,
) -> float:
    """The largest epsilon0 that suffices by this bound, from the start on; the start if no larger one does."""
    found = last_safe_from(
        lambda local_epsilon: log_excess(bound(local_epsilon).delta(epsilon), delta),
        start,
        stride=stride,
        least=start,
        most=MOST_LOCAL_EPSILON,
        tolerance=tolerance,
    )
    return start if found is None else found
