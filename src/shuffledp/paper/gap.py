"""R^gap: four bits per person; with input 0 any, with input 1 never exactly two ones (section 4 of the paper).

One person's epsilon is infinite, since two ones reveal input 0. With n >= 2 people every number of ones is possible for
both inputs. The exact epsilon is the largest logarithm of a ratio of coefficients of A^(k+1) B^(n-1-k) and A^k B^(n-k),
where A and B are the generating polynomials of the numbers of ones for either input. A small hole A_2 makes it
arbitrarily small, so the smallest epsilon is computed for a given hole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.paper.divergence import ExactPrivacy, exact_fraction
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.randomness import generator
from shuffledp.validation import whole

MESSAGES = 4
_GRID = 1 << 30
_LARGEST_HOLE = 1 - Fraction(1, 1 << 20)
"""The remaining probability must be many steps of the grid."""

_SYMMETRIC = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
"""The free numbers of symmetric distributions: for each input, the odds of one or three ones against none or four."""
_STARTS = tuple(product((-2.0, 0.0, 2.0), repeat=2))
"""Logarithms of odds of 1 : 7, 1 : 1 and 7 : 1 for each input: none alone always finds the best."""
_FINE = tuple(product(np.linspace(-3, 3, 21).tolist(), repeat=2))
"""Odds of up to 1 : 20, the best of which are one more start, for small holes whose minimum is hard to find."""
_DISTANCES = (0.5, 0.05, 0.005)
"""From the best symmetric distributions to further starts: other minima are near and far."""
_PRECISION = 1e-12
"""Relative to epsilon at the start: far below the change of about 1e-9 by rounding to the grid."""
_MOST_STEPS = 300
"""Observed searches end within 132."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The distributions of the number of ones for either input; vectors with the same number are equally likely."""

    zero: tuple[Fraction, ...]
    one: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        for name in ("zero", "one"):
            object.__setattr__(self, name, tuple(exact_fraction(name, p) for p in getattr(self, name)))
        if len(self.zero) != MESSAGES + 1 or len(self.one) != MESSAGES + 1:
            raise ParameterError("both distributions need five probabilities: of no, one, two, three and four ones")
        if min(self.zero) <= 0 or self.one[2] != 0 or min(self.one[at] for at in (0, 1, 3, 4)) <= 0:
            raise ParameterError("input 0 must allow every number of ones, and input 1 every one but two")
        if not sum(self.zero) == sum(self.one) == 1:
            raise ParameterError("the probabilities of each input must sum to exactly 1: pass fractions.Fraction")

    @classmethod
    def uniform(cls) -> Gap:
        """Uniform over the 16 vectors for input 0, and over the 10 that are allowed for input 1."""
        return cls(
            zero=tuple(Fraction(math.comb(4, k), 16) for k in range(5)),
            one=tuple(Fraction(0 if k == 2 else math.comb(4, k), 10) for k in range(5)),
        )

    @property
    def hole(self) -> Fraction:
        """The probability of two ones for input 0."""
        return self.zero[2]

    @cached_property
    def randomizer(self) -> FiniteRandomizer:
        """All vectors of four bits, in the order sent."""
        return FiniteRandomizer(
            {
                value: {bits: distribution[sum(bits)] / math.comb(4, sum(bits)) for bits in product((0, 1), repeat=4)}
                for value, distribution in enumerate((self.zero, self.one))
            }
        )

    def privacy(self, *, users: int) -> ExactPrivacy:
        """The exact pure privacy among `users` people; infinite for one."""
        return self.randomizer.shuffled_privacy(users=users)

    @property
    def floor(self) -> float:
        """The supremum over z > 0 of |ln(A(z) / B(z))|, a lower bound on epsilon for every n (see `pure_privacy`)."""
        z = np.exp(np.linspace(-40, 40, 8001))  # beyond, the ratio is A_0 / B_0 or A_4 / B_4 to float precision
        zero, one = (np.polyval([float(p) for p in reversed(ones)], z) for ones in (self.zero, self.one))
        return float(np.abs(np.log(zero / one)).max())


def best_gap(*, users: int, hole: Fraction, rng: np.random.Generator | None = None, restarts: int = 12) -> Gap:
    """Search for the probabilities with the smallest epsilon for n people and a given hole.

    The search starts from the best distributions that are symmetric under exchanging zeros and ones; others are better
    for some n. It works in floats, and the result is rounded to fractions. Their epsilon is exact, but a smaller one is
    not excluded.
    """
    users = whole("users", users, minimum=2)
    hole = exact_fraction("hole", hole)
    if not 0 < hole <= _LARGEST_HOLE:
        raise ParameterError(f"hole must lie above 0 and at most at 1 - 2^-20, got {float(hole):.15g}")

    def ratios(logits: NDArray[np.float64]) -> NDArray[np.float64]:
        return log_ratios(*_distributions(logits, float(hole)), users=users)

    def loss(logits: NDArray[np.float64]) -> float:
        return float(np.abs(ratios(logits)).max())

    starts = *_STARTS, min(_FINE, key=lambda odds: loss(_SYMMETRIC @ odds))
    symmetric = (_smallest_largest(lambda x: ratios(_SYMMETRIC @ x), np.array(odds)) for odds in starts)
    best = start = min((_SYMMETRIC @ odds for odds in symmetric), key=loss)
    source = generator(rng)
    for attempt in range(restarts):
        moved = start + _DISTANCES[attempt % len(_DISTANCES)] * source.standard_normal(start.size)
        best = min(best, _smallest_largest(ratios, moved), key=loss)
    zero, one = _distributions(best, float(hole))
    return Gap(zero=_on_grid(zero, 1 - hole, middle=hole), one=_on_grid(one, Fraction(1), middle=Fraction(0)))


def _smallest_largest(
    numbers: Callable[[NDArray[np.float64]], NDArray[np.float64]], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The point near the start, or the start, where the largest absolute value of smooth numbers is smallest.

    The largest of them has kinks. So one more variable, t, which is scaled to 1 at the start, is minimized under
    -t <= number <= t for all of them: a smooth problem.
    """
    from scipy.optimize import minimize

    def largest(x: NDArray[np.float64]) -> float:
        return float(np.abs(numbers(x)).max())

    scale = largest(start)

    def slack(x_and_t: NDArray[np.float64]) -> NDArray[np.float64]:
        found, t = numbers(x_and_t[:-1]) / scale, x_and_t[-1]
        return np.concatenate([t - found, t + found])

    only_t = np.append(np.zeros(start.size), 1.0)
    solution = minimize(
        lambda x_and_t: x_and_t[-1],
        np.append(start, 1.0),
        jac=lambda x_and_t: only_t,
        method="SLSQP",
        constraints={"type": "ineq", "fun": slack},
        options={"ftol": _PRECISION, "maxiter": _MOST_STEPS},
    )
    found: NDArray[np.float64] = solution.x[:-1]
    return found if largest(found) < scale else start


def _distributions(logits: NDArray[np.float64], hole: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Three free numbers for each input: logarithms of the odds of one, three and four ones against none."""
    zero, one = (_shares(np.concatenate([[0.0], part])) for part in np.split(logits, 2))
    return np.insert((1 - hole) * zero, 2, hole), np.insert(one, 2, 0.0)


def _shares(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())  # so that none overflows
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def _on_grid(distribution: NDArray[np.float64], total: Fraction, *, middle: Fraction) -> tuple[Fraction, ...]:
    """The distribution in fractions, with exactly the given total beside the middle."""
    rounded = [Fraction(max(1, round(p * _GRID)), _GRID) for p in np.delete(distribution, 2).tolist()]
    largest = max(range(len(rounded)), key=lambda at: (rounded[at], at))
    rounded[largest] += total - sum(rounded)
    return *rounded[:2], middle, *rounded[2:]


def log_ratios(zero: NDArray[np.float64], one: NDArray[np.float64], *, users: int) -> NDArray[np.float64]:
    """ln(P[outcome | k + 1 zeros] / P[outcome | k zeros]) for every number of ones and every k below n.

    A coefficient that underflows counts as the smallest normal float: the search then sees a large number and turns
    back, where 0 / 0 would end it.
    """
    powers_zero, powers_one = ([np.ones(1)], [np.ones(1)])
    for powers, distribution in ((powers_zero, zero), (powers_one, one)):
        for _ in range(users):
            powers.append(np.convolve(powers[-1], distribution))
    outputs = np.array([np.convolve(powers_zero[k], powers_one[users - k]) for k in range(users + 1)])
    logs = np.log(np.maximum(outputs, np.finfo(np.float64).tiny))
    ratios: NDArray[np.float64] = np.diff(logs, axis=0).ravel()
    return ratios
