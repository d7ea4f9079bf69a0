"""R^gap: four bits per person; with input 0 any, with input 1 never exactly two ones (section 4 of the paper).

What a person sends is, shuffled, the number of ones: a law on 0 .. 4 for each input. One person's epsilon is infinite,
since two ones give input 0 away; with n >= 2 people every number of ones is possible either way. The exact epsilon is
the largest logarithm of a ratio of coefficients of A^(k+1) B^(n-1-k) and A^k B^(n-k), where A and B are the generating
polynomials of the two laws.

Making the hole A_2 small makes epsilon as small as one likes, so the smallest epsilon is asked for with the hole given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.parameters import whole
from shuffledp.verification.divergence import ExactPrivacy
from shuffledp.verification.finite import FiniteRandomizer

MESSAGES = 4
_GRID = 1 << 20
"""Probabilities that a search has found are rounded to fractions with this denominator."""

_STARTS, _SECTIONS = 24, 30


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The laws of the number of ones for input 0 and input 1; vectors with equally many ones are equally likely."""

    zero: tuple[Fraction, ...]
    one: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.zero) != MESSAGES + 1 or len(self.one) != MESSAGES + 1:
            raise ParameterError("both laws need five probabilities: of no, one, two, three and four ones")
        if min(self.zero) <= 0 or self.one[2] != 0 or min(self.one[at] for at in (0, 1, 3, 4)) <= 0:
            raise ParameterError("input 0 must allow every number of ones, and input 1 every one but two")

    @classmethod
    def uniform(cls) -> Gap:
        """Uniform over the 16 vectors for input 0, and over the 10 that are allowed for input 1."""
        return cls(
            zero=tuple(Fraction(math.comb(4, k), 16) for k in range(5)),
            one=tuple(Fraction(0 if k == 2 else math.comb(4, k), 10) for k in range(5)),
        )

    @property
    def hole(self) -> Fraction:
        """The probability of two ones for input 0, which input 1 never has."""
        return self.zero[2]

    @cached_property
    def randomizer(self) -> FiniteRandomizer:
        """All vectors of four bits, in the order sent."""
        return FiniteRandomizer(
            {
                value: {bits: law[sum(bits)] / math.comb(4, sum(bits)) for bits in product((0, 1), repeat=4)}
                for value, law in enumerate((self.zero, self.one))
            }
        )

    def privacy(self, *, users: int) -> ExactPrivacy:
        """The exact pure privacy among so many people; infinite for one."""
        return self.randomizer.shuffled_privacy(users=users)

    @property
    def floor(self) -> float:
        """The supremum over z > 0 of |ln(A(z) / B(z))|: no number of people brings epsilon below it (see `pure`)."""
        z = np.exp(np.linspace(-40, 40, 8001))
        ratios = np.polyval(_floats(self.zero)[::-1], z) / np.polyval(_floats(self.one)[::-1], z)
        return float(np.abs(np.log(ratios)).max())


def best_gap(*, users: int, hole: Fraction) -> Gap:
    """The probabilities with the smallest epsilon for n people and a given hole, by search.

    The search is over laws that are symmetric under exchanging zeros and ones, which leaves one free number for each
    input; it minimises in floats, and the result is rounded to fractions, whose epsilon is exact.
    """
    users = whole("users", users, minimum=2)
    if not 0 < hole < 1:
        raise ParameterError(f"hole must lie strictly between 0 and 1, got {float(hole):g}")

    def laws(shares: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first, second = (0.5 * (1 - float(hole)), 0.5)
        return tuple(  # type: ignore[return-value]
            np.array([half * share, half * (1 - share), middle, half * (1 - share), half * share])
            for half, middle, share in zip((first, second), (float(hole), 0.0), shares, strict=True)
        )

    def loss(outer_one: float) -> tuple[float, float]:
        """The smallest epsilon for a share of input 1, over the share of input 0; and that share."""
        found = smallest(lambda outer_zero: largest_log_ratio(*laws((outer_zero, outer_one)), users=users))
        return found[1], found[0]

    outer_one, _ = smallest(lambda share: loss(share)[0])
    shares = loss(outer_one)[1], outer_one
    halves = [Fraction(round(share * _GRID), _GRID) / 2 for share in shares]
    ends_zero, ends_one = (1 - hole) * halves[0], halves[1]
    inner_zero, inner_one = (1 - hole) / 2 - ends_zero, Fraction(1, 2) - ends_one
    return Gap(
        zero=(ends_zero, inner_zero, hole, inner_zero, ends_zero),
        one=(ends_one, inner_one, Fraction(0), inner_one, ends_one),
    )


def largest_log_ratio(zero: NDArray[np.float64], one: NDArray[np.float64], *, users: int) -> float:
    """Epsilon in floats: sums and products of positive numbers only, so to nearly full precision."""
    powers_zero, powers_one = ([np.ones(1)], [np.ones(1)])
    for powers, law in ((powers_zero, zero), (powers_one, one)):
        for _ in range(users):
            powers.append(np.convolve(powers[-1], law))
    outputs = [np.convolve(powers_zero[k], powers_one[users - k]) for k in range(users + 1)]
    with np.errstate(divide="ignore"):
        logs = [np.log(output) for output in outputs]
    return max(float(np.abs(a - b).max()) for a, b in pairwise(logs))


def smallest(loss: Callable[[float], float]) -> tuple[float, float]:
    """Where in (0, 1) a function that need not be smooth is smallest, and its value: a grid, then golden sections."""
    grid = np.arange(1, _STARTS) / _STARTS
    at = float(min(grid, key=lambda x: loss(float(x))))
    low, high = at - 1 / _STARTS, at + 1 / _STARTS
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    below, above = loss(left), loss(right)
    for _ in range(_SECTIONS):
        if below < above:
            high, right, above = right, left, below
            left = high - golden * (high - low)
            below = loss(left)
        else:
            low, left, below = left, right, above
            right = low + golden * (high - low)
            above = loss(right)
    return (left, below) if below < above else (right, above)


def _floats(law: Sequence[Fraction]) -> list[float]:
    return [float(p) for p in law]
