"""Counts of the nodes of a tree over ordered leaves, made consistent by least squares; tail bounds of linear errors.

The leaves are the values in order; `branching` neighbours of one level have one parent, up to a root that stands for
all users, whose number is known. All nodes have independent noise of equal variance, here 1. Going up, a node's own
count y and the sum S of its children's estimates, with variance V, are weighted by their precisions; s = V / (1 + V) is
the resulting variance:

    z = s y + (1 - s) S,          and at a leaf z = y, s = 1.

Going down from the root x = people, the difference to the children's sum is divided in proportion to their variances:

    x_child = z_child + (s_child / V) (x - S).

This is the weighted least squares estimate among all consistent trees (Hay, Rastogi, Miklau and Suciu 2010, extended to
uneven trees with a known root).

`LinearErrors` bounds T = a_1 M_1 + ... + a_k M_k, each M minus its mean. With C(t) = ln E e^(t T) = sum_i c(a_i t),
weights e^(t T) give a distribution with mean x = C'(t) and variance v = C''(t), and every t > 0 gives

    P(T >= x) <= e^(C(t) - t x) min(1, E[e^(-t sqrt(v) N); N >= 0] + 2 D),        N normal,

where D, the distance of the weighted distribution from the normal one, is at most 0.56 times the third absolute moments
over v^(3/2) (Berry and Esseen). `PowerSums` need only the power sums of hundreds of coefficients, as far as c is a
polynomial: up to `_REACH` it is one to 12 digits, and so are its derivatives and the third moment.
docs/proofs/ranges.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.noise.distribution import Tilted, TiltedDistribution
from shuffledp.validation import whole

Numbers = NDArray[np.float64]

_BERRY_ESSEEN = 0.56
"""The constant for independent summands of any distributions (Shevtsova 2010 has 0.5600)."""

_NEWTON_STEPS = 4
"""The number of steps after which tilts are within 0.1 % of the best for nearly all sums."""

_STEP_UP = 1.002
"""The factor by which a tilt, and a width, is larger than the one that seems best, so that its bound holds."""

_MOST_TO_SPARE = 0.1
"""The most that the logarithm of a risk may be below the request before its tilt is improved: 0.5 % of a width."""

ROUNDING = 1e-9
"""The margin of the logarithm of a risk, and the relative margin of a width. Measured: 1e-12."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearErrors:
    """Many sums of independent noises of one distribution: a column of coefficients for each, with multiplicities."""

    coefficients: Numbers
    numbers: Numbers

    def __post_init__(self) -> None:
        # coefficients that do not occur must not limit the tilts
        object.__setattr__(self, "coefficients", np.where(self.numbers > 0, self.coefficients, 0.0))

    @classmethod
    def single(cls, coefficients: Numbers) -> LinearErrors:
        """One sum."""
        values, numbers = np.unique(coefficients, return_counts=True)
        return cls(coefficients=values[:, None], numbers=numbers[:, None].astype(float))

    @property
    def reversed(self) -> LinearErrors:
        """The sums with the opposite sign."""
        return LinearErrors(coefficients=-self.coefficients, numbers=self.numbers)

    @cached_property
    def variances(self) -> Numbers:
        """The variance of each sum, if one noise has variance 1."""
        return np.asarray(np.einsum("ij,ij,ij->j", self.numbers, self.coefficients, self.coefficients))

    def above(self, distribution: TiltedDistribution, risks: float | Numbers) -> Numbers:
        """For each sum, a number that it reaches with probability at most this, or its own, risk."""
        found = np.zeros(self.variances.size)
        noisy = np.flatnonzero(self.variances > 0)
        if noisy.size:
            some = self if noisy.size == found.size else self._pick(noisy)
            found[noisy] = some._above(distribution, np.log(np.broadcast_to(risks, found.shape)[noisy]) - ROUNDING)
        return found

    def _above(self, distribution: TiltedDistribution, log_risks: Numbers) -> Numbers:
        # at its largest tilt a sum has no moments
        limit = np.asarray(distribution.largest_tilt / np.abs(self.coefficients).max(axis=0))
        cubes = np.einsum("ij,ij->j", self.numbers, np.abs(self.coefficients) ** 3)
        tilts = first_tilts(distribution, self._power_sums, cubes, log_risks, limit)
        bounds, good = first_bounds(tilts, self._tilted(distribution, tilts), log_risks)
        poor = np.flatnonzero(~good)
        if poor.size:
            searched = self._pick(poor)._searched(distribution, log_risks[poor], tilts[poor], limit[poor])
            bounds[poor] = searched * (1 + ROUNDING)
        return bounds

    def _power_sums(self, order: int) -> Numbers:
        return np.asarray(np.einsum("ij,ij->j", self.numbers, self.coefficients**order))

    def _searched(
        self, distribution: TiltedDistribution, log_risks: Numbers, tilts: Numbers, limit: Numbers
    ) -> Numbers:
        """Search by Newton's steps, then by small steps upwards."""
        for _ in range(_NEWTON_STEPS):
            tilts = _next(tilts, self._tilted(distribution, tilts), log_risks, limit)
        while True:
            sums = self._tilted(distribution, tilts)
            short = _log_risk(tilts, sums) > log_risks
            if not short.any():
                return np.asarray(sums.mean)
            tilts = np.where(short, np.minimum(_STEP_UP * tilts, (tilts + limit) / 2), tilts)

    def _pick(self, at: NDArray[np.int64]) -> LinearErrors:
        return LinearErrors(coefficients=self.coefficients[:, at], numbers=self.numbers[:, at])

    def _tilted(self, distribution: TiltedDistribution, tilts: Numbers) -> Tilted:
        a, k = self.coefficients, self.numbers
        each = distribution.tilted(a * tilts)
        return Tilted(
            cumulant=(k * each.cumulant).sum(axis=0),
            mean=(k * a * each.mean).sum(axis=0),
            variance=(k * a**2 * each.variance).sum(axis=0),
            third=(k * np.abs(a) ** 3 * each.third).sum(axis=0),
        )


def first_tilts(
    distribution: TiltedDistribution,
    power_sums: Callable[[int], Numbers],
    cubes: Numbers,
    log_risks: Numbers,
    limit: Numbers,
) -> Numbers:
    """The best tilts if the noise had only its first cumulants; nearly the best ones if it is large.

    `power_sums` are the sums of a power of the coefficients, `cubes` of their absolute third powers.
    """
    from scipy.special import ndtri_exp

    orders = range(2, 2 + len(distribution.cumulants))
    scaled = [cumulant * power_sums(order) for order, cumulant in zip(orders, distribution.cumulants, strict=True)]
    third = distribution.tilted(np.zeros(1)).third * cubes

    def series(tilts: Numbers, derivative: int) -> Numbers:
        total = np.zeros(tilts.size)
        for n, k in zip(reversed(orders), reversed(scaled), strict=True):
            total = total * tilts + k / math.factorial(n - derivative)
        return np.asarray(total * tilts ** (2 - derivative))

    tilts = np.minimum(np.maximum(1.0, -ndtri_exp(np.minimum(log_risks, -1.0))) / np.sqrt(scaled[0]), limit / 2)
    for _ in range(_NEWTON_STEPS):
        variance = np.maximum(series(tilts, 2), scaled[0] / 2)
        guess = Tilted(cumulant=series(tilts, 0), mean=series(tilts, 1), variance=variance, third=third)
        tilts = _next(tilts, guess, log_risks, limit)
    return np.asarray(np.minimum(_STEP_UP * tilts, (tilts + limit) / 2))


def first_bounds(tilts: Numbers, sums: Tilted, log_risks: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """The bounds that these tilts give, and whether each holds and is nearly the best."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spare = log_risks - _log_risk(tilts, sums)
    return np.asarray(sums.mean * (1 + ROUNDING)), (spare >= 0) & (spare <= _MOST_TO_SPARE)


def _next(tilts: Numbers, sums: Tilted, log_risks: Numbers, limit: Numbers) -> Numbers:
    """Newton's next tilts, with bounded steps."""
    step = (_log_risk(tilts, sums) - log_risks) / (tilts * sums.variance + 1 / tilts)
    return np.clip(tilts + step, tilts / 2, np.minimum(2 * tilts, (tilts + limit) / 2))


def _log_risk(tilts: Numbers, sums: Tilted) -> Numbers:
    """The logarithm of the bound on P(T >= mean under weights)."""
    from scipy.special import erfcx

    normal = erfcx(tilts * np.sqrt(sums.variance / 2)) / 2
    distance = _BERRY_ESSEEN * sums.third / sums.variance**1.5
    return np.asarray(sums.cumulant - tilts * sums.mean + np.log(np.minimum(1.0, normal + 2 * distance)))


N = TypeVar("N", np.int64, np.float64)

MOST_LEAVES = 1 << 20
"""The most leaves of a tree: a band of more would take many seconds."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A tree over `leaves` ordered values in which nodes have up to `branching` children.

    Its nodes, without the root, are numbered from 0: level 1 from left to right, then level 2, and so on.
    """

    leaves: int
    branching: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "leaves", whole("leaves", self.leaves))
        object.__setattr__(self, "branching", whole("branching", self.branching, minimum=2))
        if self.leaves > MOST_LEAVES:
            raise ParameterError(
                f"a tree has at most {MOST_LEAVES:,} leaves, got {self.leaves:,}: use fewer, wider ranges of values"
            )

    @classmethod
    def with_levels(cls, *, leaves: int, levels: int) -> Tree:
        """Return the tree of at most this number of levels with the fewest children each."""
        branching = max(2, round(leaves ** (1 / levels)) - 1)
        while branching**levels < leaves:
            branching += 1
        return cls(leaves=leaves, branching=branching)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level, from level 1 to the leaves."""
        upwards = [self.leaves]
        while upwards[-1] > self.branching:
            upwards.append(-(-upwards[-1] // self.branching))
        return tuple(reversed(upwards))

    @property
    def levels(self) -> int:
        """The number of levels below the root."""
        return len(self.sizes)

    @property
    def nodes(self) -> int:
        """The number of nodes without the root."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first node of each level."""
        return tuple(sum(self.sizes[:level]) for level in range(self.levels))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of leaves of a node of each level, except for the last node."""
        return tuple(self.branching ** (self.levels - 1 - level) for level in range(self.levels))

    def paths(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes that contain each of many leaves, one row for each."""
        return np.asarray(leaves[:, None] // np.array(self.widths) + np.array(self.starts))

    def totals(self, leaf_counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of all nodes, from the counts of the leaves."""
        upwards = [leaf_counts]
        for _ in range(self.levels - 1):
            upwards.append(self._sums(upwards[-1]))
        return np.concatenate(upwards[::-1])

    def fit(self, node_counts: Numbers, *, people: int) -> Numbers:
        """The least squares estimate of every leaf; they add up to the number of people."""
        own, variances = np.split(node_counts, self.starts[1:]), self.variances
        upwards = [own[-1]]
        for y, s in zip(own[-2::-1], variances[-2::-1], strict=True):
            upwards.append(s * y + (1 - s) * self._sums(upwards[-1]))
        agreed = np.array([float(people)])
        for z, share in zip(upwards[::-1], self.shares, strict=True):
            lacking = agreed - self._sums(z)
            agreed = z + share * self._to_children(lacking, z.size)
        return agreed

    def coefficients(self, weights: Numbers) -> Numbers:
        """The coefficients of the noise of every node in the sum of the leaves' estimates with these weights.

        The transpose of `fit`: its steps in reverse order, with gradients.
        """
        gradient, corrected = weights, []
        for share in self.shares[::-1]:
            above = self._sums(share * gradient)
            corrected.append(gradient - self._to_children(above, gradient.size))
            gradient = above
        inherited, found = np.zeros(1), []
        for alone, s in zip(corrected[::-1], self.variances, strict=True):
            total = alone + self._to_children(inherited, alone.size)
            found.append(s * total)
            inherited = (1 - s) * total
        return np.concatenate(found)

    @cached_property
    def variances(self) -> tuple[Numbers, ...]:
        """The variance s of the upward estimate of each node, level by level, if one noise has variance 1."""
        return tuple(self.variance(level, np.arange(size)) for level, size in enumerate(self.sizes))

    @cached_property
    def shares(self) -> tuple[Numbers, ...]:
        """The share of a parent's difference that goes to each node, level by level."""
        return tuple(self.share(level, np.arange(size)) for level, size in enumerate(self.sizes))

    @cached_property
    def end_variances(self) -> tuple[tuple[float, float], ...]:
        """For each level, the variance s of its nodes, and of its last node."""
        upwards = [(1.0, 1.0)]
        for level in range(self.levels - 1, 0, -1):
            upwards.append(tuple(below / (1 + below) for below in self._sums_below(level, upwards[-1])))  # type: ignore[arg-type]
        return tuple(upwards[::-1])

    def variance(self, level: int, nodes: NDArray[np.int64]) -> Numbers:
        """The variance s of some nodes of a level, counted from 0."""
        usual, last = self.end_variances[level]
        return np.where(nodes == self.sizes[level] - 1, last, usual)

    def share(self, level: int, nodes: NDArray[np.int64]) -> Numbers:
        """The share of their parent's difference that goes to some nodes of a level."""
        usual, last = self._sums_below(level, self.end_variances[level])
        parents = self.sizes[level - 1] if level else 1
        below = np.where(nodes // self.branching == parents - 1, last, usual)
        return np.asarray(self.variance(level, nodes) / below)

    def _sums_below(self, level: int, variances: tuple[float, float]) -> tuple[float, float]:
        """V of a parent of nodes of this level, and of the last parent."""
        usual, last = variances
        parents = self.sizes[level - 1] if level else 1
        return self.branching * usual, (self.sizes[level] - self.branching * (parents - 1) - 1) * usual + last

    def _sums(self, children: NDArray[N]) -> NDArray[N]:
        return np.asarray(np.add.reduceat(children, np.arange(0, children.size, self.branching)), dtype=children.dtype)

    def _to_children(self, parents: Numbers, children: int) -> Numbers:
        """Each parent's number, once for each of its children."""
        return np.repeat(parents, self.branching)[:children]


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
        """By Horner's rule."""
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
