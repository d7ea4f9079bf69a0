"""Counts of the nodes of a tree over ordered leaves, made consistent by least squares; tail bounds of linear errors.

**The tree.** The leaves are the values in order; a node is a run of neighbouring leaves, and `branching` neighbours of
one level have one parent. Level `levels` has the leaves; the root above level 1 is all users, whose number is known.
The last node of a level may have fewer children, so any number of leaves fits.

All nodes have independent noise of equal variance, here 1. Going up, a node's own count y and the sum S of its
children's estimates, with variance V, are weighted by their precisions; s = V / (1 + V) is the resulting variance:

    z = s y + (1 - s) S,          and at a leaf z = y, s = 1.

Going down from the root x = people, the difference to the children's sum is divided in proportion to their variances:

    x_child = z_child + (s_child / V) (x - S).

This is the weighted least squares estimate among all consistent trees (Hay, Rastogi, Miklau and Suciu 2010, extended to
uneven trees with a known root): unbiased, and of the smallest variance among linear estimates for every linear query.

**Linear errors.** `LinearErrors` bounds T = a_1 M_1 + ... + a_k M_k, each M minus its mean. With
C(t) = ln E e^(t T) = sum_i c(a_i t), weights e^(t T) give a distribution with mean x = C'(t) and variance v = C''(t),
and

    P(T >= x) = e^(C(t) - t x) E_t[e^(-t (T - x)); T >= x]
             <= e^(C(t) - t x) min(1, E[e^(-t sqrt(v) N); N >= 0] + 2 D),        N normal,

where D is the distance of the weighted distribution from the normal one. By the theorem of Berry and Esseen, D is at
most 0.56 (Shevtsova 2010) times the third absolute moments over v^(3/2). The first factor alone is Chernoff's bound;
the second recovers about 1 / (t sqrt(2 pi v)). Every t > 0 gives a valid bound: t is only searched for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
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

_ROUNDING = 1e-9
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
        """For each sum, a number that it reaches with probability at most this risk, or at most its own risk."""
        found = np.zeros(self.variances.size)
        noisy = np.flatnonzero(self.variances > 0)
        if noisy.size:
            some = self if noisy.size == found.size else self._pick(noisy)
            found[noisy] = some._above(distribution, np.log(np.broadcast_to(risks, found.shape)[noisy]) - _ROUNDING)
        return found

    def _above(self, distribution: TiltedDistribution, log_risks: Numbers) -> Numbers:
        # at its largest tilt a sum has no moments
        limit = np.asarray(distribution.largest_tilt / np.abs(self.coefficients).max(axis=0))
        tilts = self._first_tilts(distribution, log_risks, limit)
        sums = self._tilted(distribution, tilts)
        means, spare = sums.mean, log_risks - _log_risk(tilts, sums)
        poor = np.flatnonzero((spare < 0) | (spare > _MOST_TO_SPARE))
        if poor.size:
            means[poor] = self._pick(poor)._searched(distribution, log_risks[poor], tilts[poor], limit[poor])
        return np.asarray(means * (1 + _ROUNDING))

    def _first_tilts(self, distribution: TiltedDistribution, log_risks: Numbers, limit: Numbers) -> Numbers:
        """The best tilts if the noise had only its first cumulants; nearly the best ones if it is large."""
        from scipy.special import ndtri_exp

        orders = range(2, 2 + len(distribution.cumulants))
        sums = [np.einsum("ij,ij->j", self.numbers, self.coefficients**order) for order in orders]
        scaled = [cumulant * total for cumulant, total in zip(distribution.cumulants, sums, strict=True)]
        third = distribution.tilted(np.zeros(1)).third * np.einsum(
            "ij,ij->j", self.numbers, np.abs(self.coefficients) ** 3
        )

        def series(tilts: Numbers, derivative: int) -> Numbers:
            parts = (
                k * tilts ** (n - derivative) / math.factorial(n - derivative)
                for n, k in zip(orders, scaled, strict=True)
            )
            return np.asarray(sum(parts))

        tilts = np.minimum(np.maximum(1.0, -ndtri_exp(np.minimum(log_risks, -1.0))) / np.sqrt(scaled[0]), limit / 2)
        for _ in range(_NEWTON_STEPS):
            variance = np.maximum(series(tilts, 2), scaled[0] / 2)
            guess = Tilted(cumulant=series(tilts, 0), mean=series(tilts, 1), variance=variance, third=third)
            tilts = _next(tilts, guess, log_risks, limit)
        return np.asarray(np.minimum(_STEP_UP * tilts, (tilts + limit) / 2))

    def _searched(
        self, distribution: TiltedDistribution, log_risks: Numbers, tilts: Numbers, limit: Numbers
    ) -> Numbers:
        """Search for tilts by Newton's steps, then by small steps upwards."""
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
        """All sums under exponential weights, each with its own tilt."""
        a, k = self.coefficients, self.numbers
        each = distribution.tilted(a * tilts)
        return Tilted(
            cumulant=(k * each.cumulant).sum(axis=0),
            mean=(k * a * each.mean).sum(axis=0),
            variance=(k * a**2 * each.variance).sum(axis=0),
            third=(k * np.abs(a) ** 3 * each.third).sum(axis=0),
        )


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
"""The most leaves of a tree: a band has a number for each, and more would take minutes."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A tree over `leaves` ordered values in which nodes have up to `branching` children.

    Its nodes, without the root, are numbered from 0: level 1 from left to right, then level 2, and so on; the leaves
    come last.
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
        """The number of levels below the root, which is the number of nodes above each leaf including itself."""
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
        """The nodes that contain each of many leaves: a row of `levels` numbers for each."""
        return np.asarray(leaves[:, None] // np.array(self.widths) + np.array(self.starts))

    def totals(self, leaf_counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of all nodes, from the counts of the leaves."""
        upwards = [leaf_counts]
        for _ in range(self.levels - 1):
            upwards.append(self._sums(upwards[-1]))
        return np.concatenate(upwards[::-1])

    def fit(self, node_counts: Numbers, *, people: int) -> Numbers:
        """The least squares estimate of every leaf; they add up to the number of people."""
        own, variances = self._by_level(node_counts), self.variances
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
        upwards = [np.ones(self.leaves)]
        for _ in range(self.levels - 1):
            below = self._sums(upwards[-1])
            upwards.append(below / (1 + below))
        return tuple(upwards[::-1])

    @cached_property
    def shares(self) -> tuple[Numbers, ...]:
        """The share of a parent's difference that goes to each node, level by level."""
        return tuple(s / self._to_children(self._sums(s), s.size) for s in self.variances)

    def _by_level(self, numbers: Numbers) -> list[Numbers]:
        return np.split(numbers, self.starts[1:])

    def _sums(self, children: NDArray[N]) -> NDArray[N]:
        """One sum for each parent."""
        return np.asarray(np.add.reduceat(children, np.arange(0, children.size, self.branching)), dtype=children.dtype)

    def _to_children(self, parents: Numbers, children: int) -> Numbers:
        """Each parent's number, once for each of its children."""
        return np.repeat(parents, self.branching)[:children]
