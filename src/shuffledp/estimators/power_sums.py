"""Bounds on very many sums of noise from their power sums, for trees with hundreds of thousands of leaves.

The error at one place of a tree has hundreds of coefficients a with multiplicities n, but its cumulant
C(t) = sum of n c(a t) needs only the power sums of a, as far as the cumulant c of one noise is a polynomial. Up to
`_REACH` it is one to 12 digits, and so are its derivatives and the third moment. The bounds are then those of
`LinearErrors`, up to rounding. Sums with larger tilts, and those whose first tilt is not good enough, are left to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from shuffledp.estimators.tree import ROUNDING, LinearErrors, Numbers, first_bounds, first_tilts
from shuffledp.noise.distribution import Tilted, TiltedDistribution

_REACH = 0.2
"""The largest coefficient times tilt of the polynomials. Most sums of many noises have tilts below it."""

_DEGREE = 9
_TOP = _DEGREE + 3
"""The degree of the polynomials, and the largest power that is summed: third moments have three more."""

_ACCURACY = 1e-12
"""The largest relative error of a polynomial: a thousandth of the margin for rounding in `LinearErrors`."""

Expansion = list[tuple[float, int]]
"""Positive coefficients of noises with multiplicities."""


@dataclass(frozen=True, eq=False)
class PowerSums:
    """Power sums of the positive coefficients of many sums, and of the negative ones without their sign.

    Row k has the sums of the k-th powers, from k = 2 on. `largest` are the largest absolute coefficients.
    """

    positive: Numbers
    negative: Numbers
    largest: Numbers

    @classmethod
    def of(cls, groups: Iterable[tuple[Expansion, Numbers, Numbers]], *, size: int) -> PowerSums:
        """Sum up groups of coefficients: an expansion times the factor of each sum, with multiplicities."""
        positive, negative, largest = np.zeros((_TOP + 1, size)), np.zeros((_TOP + 1, size)), np.zeros(size)
        for expansion, factors, times in groups:
            coefficients, numbers = np.array(expansion).T
            weights = numbers @ coefficients[:, None] ** np.arange(_TOP + 1)
            occurring = np.where(times > 0, factors, 0.0)
            np.maximum(largest, coefficients.max() * np.abs(occurring), out=largest)
            for rows, base in ((positive, np.maximum(occurring, 0.0)), (negative, np.maximum(-occurring, 0.0))):
                if base.any():
                    powers = times * base
                    for k in range(2, _TOP + 1):
                        powers *= base
                        rows[k] += weights[k] * powers
        return cls(positive, negative, largest)

    @property
    def reversed(self) -> PowerSums:
        """The sums with the opposite sign."""
        return PowerSums(self.negative, self.positive, self.largest)

    def above(
        self, distribution: TiltedDistribution, risks: Numbers, *, exact: Callable[[NDArray[np.int64]], LinearErrors]
    ) -> Numbers:
        """For each sum, a number that it reaches with probability at most its risk; `exact` returns some of them."""
        log_risks, limit = np.log(risks) - ROUNDING, np.full(self.largest.size, np.inf)
        tilts = first_tilts(distribution, self._signed, self.positive[3] + self.negative[3], log_risks, limit)
        within = self.largest * tilts <= _REACH
        bounds, good = first_bounds(
            tilts, self._tilted(distribution, np.minimum(tilts, _REACH / self.largest)), log_risks
        )
        rest = np.flatnonzero(~(good & within))
        if rest.size:
            bounds[rest] = exact(rest).above(distribution, risks[rest])
        return bounds

    def _signed(self, order: int) -> Numbers:
        """The sums of the powers of the coefficients themselves."""
        return np.asarray(self.positive[order] + (-1) ** order * self.negative[order])

    def _tilted(self, distribution: TiltedDistribution, tilts: Numbers) -> Tilted:
        """All sums under exponential weights, by Horner's rule."""
        found, polynomials = np.zeros((4, tilts.size)), _polynomials(distribution) or ()
        for k in range(_DEGREE, -1, -1):
            signed, cubes = self._signed(k + 2), self.positive[k + 3] + (-1) ** k * self.negative[k + 3]
            for row, polynomial, sums in zip(found, polynomials, (signed, signed, signed, cubes), strict=True):
                row *= tilts
                row += polynomial[k] * sums
        return Tilted(cumulant=found[0] * tilts**2, mean=found[1] * tilts, variance=found[2], third=found[3])


def has_polynomials(distribution: TiltedDistribution) -> bool:
    """Whether sums of this noise can be bounded by their power sums."""
    return _polynomials(distribution) is not None


@lru_cache(maxsize=16)
def _polynomials(distribution: TiltedDistribution) -> tuple[Numbers, ...] | None:
    """Coefficients of c(x) / x^2, c'(x) / x, c''(x) and of the third moment; None if one is not accurate enough."""
    if distribution.largest_tilt <= 2 * _REACH:
        return None

    def values(x: Numbers) -> list[Numbers]:
        one = distribution.tilted(x)
        return [one.cumulant / x**2, one.mean / x, one.variance, one.third]

    nodes = _REACH * np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    between = np.linspace(-_REACH, _REACH, 200)
    found = []
    for at_nodes, truth in zip(values(nodes), values(between), strict=True):
        fitted = Chebyshev.fit(nodes, at_nodes, _DEGREE, domain=[-_REACH, _REACH]).convert(kind=Polynomial)
        if np.abs(fitted(between) / truth - 1).max() > _ACCURACY:
            return None
        coefficients = np.zeros(_DEGREE + 1)
        coefficients[: len(fitted.coef)] = fitted.coef
        found.append(coefficients)
    return tuple(found)
