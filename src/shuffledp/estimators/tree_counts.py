"""Estimates of leaves and ranges from noisy counts of the nodes of a tree, with exact error bounds.

Errors are linear combinations of the noise of the nodes, found along paths. Let z be the upward estimates of a tree,
with errors Z, and x the final ones, with errors X. For the leaves before a place, walk up from that place, at level l
in node v with `c` siblings on its left. Let phi_l be the coefficient of the error X of v in the count below v. The part
below its parent p is

    (sum of X over the left siblings) + phi_l X_v,   with   X_i = Z_i + r_i (X_p - sum of Z over the children of p),

so that phi_(l-1) = sum of r over the left siblings + r_v phi_l: (c + phi_l) / b if all children are alike. Walking down
again gives the coefficient of each Z: 1 - phi_(l-1) + m on the left, -phi_(l-1) + m on the right and k = phi_l -
phi_(l-1) + m for v itself. The own noise of v then has s_v k, and its children inherit m = (1 - s_v) k. The error Z of
a sibling is a fixed combination of the noises below it, so a few numbers per level determine all coefficients. The same
walk with phi = 1 at the leaf and nothing on the left gives the error of one leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.estimators.base import Estimator, every_bin
from shuffledp.estimators.tree import LinearErrors, Numbers, Tree
from shuffledp.histogram.estimate import Intervals
from shuffledp.histogram.ordered_estimate import rising_band, whole_bounds
from shuffledp.histogram.tally import Tally
from shuffledp.noise.distribution import TiltedDistribution

Expansion = list[tuple[float, int]]
"""The error of an upward estimate: coefficients of noises with multiplicities."""

_NUMBERS_AT_ONCE = 1 << 16
"""The number of coefficients held at a time, so that they stay in the cache."""

_EQUAL_PART = 0.1
"""The share of the risk of many answers that is divided equally among them."""

_FARTHEST, _HALVINGS = 40.0, 24
"""The end of the search for a common distance, in standard deviations, which no normal error reaches; and its steps."""

_SMALLEST = 1e-6
"""Errors with a smaller share of the largest deviation need no part of the risk."""

_AS_PLANNED, _DIVISIONS = 1.04, 3
"""The risk is divided again, by the widths found, if the widest exceeds the plan by more than this factor: a curator's
noise has heavier tails than normal. The second number is the largest number of rounds.
"""


def prefix_errors(tree: Tree, places: NDArray[np.int64]) -> LinearErrors:
    """The errors of the numbers of people before each of these places, from 1 to leaves - 1."""
    return _along_paths(tree, places, left=1.0, leaf=0.0)


def leaf_errors(tree: Tree, leaves: NDArray[np.int64]) -> LinearErrors:
    """The errors of the estimates of these leaves."""
    return _along_paths(tree, leaves, left=0.0, leaf=1.0)


def range_errors(tree: Tree, first: int, stop: int) -> LinearErrors:
    """The error of the number of people in the leaves first .. stop - 1."""
    weights = np.zeros(tree.leaves)
    weights[first:stop] = 1.0
    return LinearErrors.single(tree.coefficients(weights))


def distribution_widths(tree: Tree, distribution: TiltedDistribution, *, risk: float) -> tuple[Numbers, Numbers]:
    """Bounds on the errors of the numbers of people before the places 1 .. leaves - 1: too high, and too low.

    Some error is larger with probability at most `risk`. The risk is divided so that the widest bounds are as narrow as
    possible (`_divided`).
    """
    from scipy.special import ndtri

    if tree.leaves == 1:
        return np.empty(0), np.empty(0)
    deviations = np.sqrt(distribution.variance * np.concatenate([errors.variances for _, errors in _blocks(tree)]))
    found = []
    for _ in range(_DIVISIONS):
        risks, distance = _divided(deviations, risk)
        parts = [np.array(alone(errors, distribution, risks=risks[at])) for at, errors in _blocks(tree)]
        widths = np.concatenate(parts, axis=1)
        found.append(widths)
        if widths.max() <= _AS_PLANNED * distance:
            break
        deviations = widths.max(axis=0) / -ndtri(risks / 2)
    high, low = min(found, key=np.max)
    return high, low


def _blocks(tree: Tree) -> Iterator[tuple[slice, LinearErrors]]:
    """The errors at the places 1 .. leaves - 1, in blocks, since each has many coefficients."""
    size = max(1, _NUMBERS_AT_ONCE // (2 * tree.levels * (tree.levels + 1)))
    for start in range(0, tree.leaves - 1, size):
        stop = min(start + size, tree.leaves - 1)
        yield slice(start, stop), prefix_errors(tree, np.arange(start + 1, stop + 1))


def leaf_widths(tree: Tree, distribution: TiltedDistribution, *, risk: float) -> tuple[Numbers, Numbers]:
    """Bounds on the error of each leaf, too high and too low, with this risk for each of them.

    Leaves differ only in the number of nodes above them that are the last of their level, where the tree may be uneven.
    """
    leaves = np.arange(tree.leaves)
    last = sum(
        (leaves // width == size - 1).astype(np.int64) for width, size in zip(tree.widths, tree.sizes, strict=True)
    )
    _, first, kind = np.unique(last, return_index=True, return_inverse=True)
    too_high, too_low = alone(leaf_errors(tree, first), distribution, risks=risk)
    return too_high[kind], too_low[kind]


def alone(errors: LinearErrors, distribution: TiltedDistribution, *, risks: float | Numbers) -> tuple[Numbers, Numbers]:
    """Bounds on the error of each answer, too high and too low, with this risk for each of them alone."""
    half = np.asarray(risks) / 2
    return errors.above(distribution, half), errors.reversed.above(distribution, half)


def largest_deviation(tree: Tree, *, places: int) -> float:
    """The standard deviation of the worst of about this number of evenly spaced prefixes, in units of one node's
    noise.
    """
    if tree.leaves == 1:
        return 0.0
    some = np.unique(np.linspace(1, tree.leaves - 1, min(places, tree.leaves - 1)).astype(np.int64))
    return float(np.sqrt(prefix_errors(tree, some).variances.max()))


def _divided(deviations: Numbers, risk: float) -> tuple[Numbers, float]:
    """The risk of each of many answers, with sum `risk`: one tenth in equal parts, the rest by need.

    If all errors were normal with the same bound, which is also returned, each would need the tail beyond it. The
    widest intervals are then narrower than with equal parts, by up to a tenth, and the intervals of other answers
    hardly wider.
    """
    from scipy.special import ndtr

    equal = np.full(deviations.size, _EQUAL_PART * risk / deviations.size)
    low, high = 0.0, _FARTHEST * float(deviations.max())
    smallest = np.maximum(deviations, high * _SMALLEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = 2 * ndtr(-middle / smallest).sum() <= (1 - _EQUAL_PART) * risk if high else True
        low, high = (low, middle) if enough else (middle, high)
    return equal + 2 * ndtr(-high / smallest), high


def _along_paths(tree: Tree, at: NDArray[np.int64], *, left: float, leaf: float) -> LinearErrors:
    """The coefficients of all noises, in groups of equal ones."""
    groups = list(_groups(tree, at, left=left, leaf=leaf))
    coefficients, numbers = (np.array([group[part] for group in groups]) for part in (0, 1))
    return LinearErrors(coefficients=coefficients, numbers=numbers)


def _groups(tree: Tree, at: NDArray[np.int64], *, left: float, leaf: float) -> Iterator[tuple[Numbers, Numbers]]:
    entering = _entering(tree, at, left=left, leaf=leaf)
    regular, last = _expansions(tree)
    inherited = np.zeros(at.size)
    for level in range(tree.levels):
        node = at // tree.widths[level]
        first, size = node // tree.branching * tree.branching, tree.sizes[level]
        on_left, on_right = node - first, np.minimum(first + tree.branching, size) - node - 1
        with_last = (first + tree.branching >= size) & (node < size - 1) & (last[level] != regular[level])
        rest = inherited - entering[level]
        for coefficient, number in regular[level]:
            yield coefficient * (rest + left), number * on_left.astype(float)
            yield coefficient * rest, number * (on_right - with_last).astype(float)
        if with_last.any():
            for coefficient, number in last[level]:
                yield coefficient * rest, number * with_last.astype(float)
        s, total = tree.variances[level][node], rest + entering[level + 1]
        yield s * total, np.ones(at.size)
        inherited = (1 - s) * total


def _entering(tree: Tree, at: NDArray[np.int64], *, left: float, leaf: float) -> list[Numbers]:
    """The numbers phi, from the root to the leaf."""
    upwards = [np.full(at.size, leaf)]
    for level in range(tree.levels - 1, -1, -1):
        node, share = at // tree.widths[level], tree.shares[level]
        first = node // tree.branching * tree.branching
        upwards.append(left * (node - first) * share[first] + share[node] * upwards[-1])
    return upwards[::-1]


def _expansions(tree: Tree) -> tuple[list[Expansion], list[Expansion]]:
    """For each level, the expansion of its nodes and of its last node, which may have fewer below it."""
    regular: list[Expansion] = [[(1.0, 1)]]
    last: list[Expansion] = [[(1.0, 1)]]
    for level in range(tree.levels - 2, -1, -1):
        s, s_last = float(tree.variances[level][0]), float(tree.variances[level][-1])
        below, below_last = regular[-1], last[-1]
        regular.append([(s, 1), *_scaled(below, 1 - s, tree.branching)])
        children = tree.sizes[level + 1] - tree.branching * (tree.sizes[level] - 1)
        if children == tree.branching and below_last == below:
            last.append(regular[-1])
        else:
            rest = _scaled(below, 1 - s_last, children - 1) if children > 1 else []
            last.append([(s_last, 1), *rest, *_scaled(below_last, 1 - s_last, 1)])
    return regular[::-1], last[::-1]


def _scaled(expansion: Expansion, factor: float, times: int) -> Expansion:
    return [(factor * coefficient, times * number) for coefficient, number in expansion]


@dataclass(frozen=True, kw_only=True)
class TreeCounts:
    """The estimator of leaves; `nodes` estimates the counts of all nodes, whose independent noise has distribution
    `noise`.
    """

    tree: Tree
    nodes: Estimator
    noise: TiltedDistribution

    name = "unbiased"
    false_positives = True

    @property
    def people(self) -> int:
        """The number of people."""
        return self.nodes.people

    def statistic(self, tally: Tally) -> Tally:
        """The counts of all nodes."""
        return every_bin(self.nodes.statistic(tally), bins=self.tree.nodes)

    def point(self, statistic: Tally) -> Numbers:
        """The least squares estimate of each leaf."""
        return self.tree.fit(self.nodes.point(statistic), people=self.people)

    def intervals(self, statistic: Tally, *, beta: float, bins: int) -> Intervals:
        """Bounds on the leaves: for all at once, or for one of them alone."""
        too_high, too_low = self._leaf_widths(beta, bins)
        low, high = whole_bounds(self.point(statistic), too_high, too_low, people=self.people)
        return Intervals(low, high, unreported_high=0)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The error bounds of the leaves: for one, and for all at once."""
        return min(float(np.max(self._leaf_widths(beta, bins))), float(self.people))

    def distribution_error(self, *, beta: float) -> float:
        """The error of the number of people before any place, exceeded with probability at most beta."""
        return min(float(np.max(_distribution_widths(self.tree, self.noise, beta), initial=0.0)), float(self.people))

    def band(self, leaves: Numbers, *, beta: float) -> tuple[Numbers, NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of people before the places 1 .. leaves - 1: estimates, and bounds that hold for all at once."""
        before = np.cumsum(leaves)[:-1]
        too_high, too_low = _distribution_widths(self.tree, self.noise, beta)
        low, high = whole_bounds(before, too_high, too_low, people=self.people)
        return (before, *rising_band(low, high))

    def range_widths(self, first: int, stop: int, *, beta: float, everywhere: bool) -> tuple[float, float]:
        """Bounds on the error of the number of people in the leaves first .. stop - 1: too high, and too low.

        For this range alone, or `everywhere`: for all ranges at once, with an equal part of the risk for each.
        """
        ranges = self.tree.leaves * (self.tree.leaves + 1) // 2
        risk = beta / ranges if everywhere else beta
        return _range_widths(self.tree, self.noise, first, stop, risk)

    def _leaf_widths(self, beta: float, bins: int) -> tuple[Numbers, Numbers]:
        """The widths of the intervals of all leaves that hold at once."""
        return _leaf_widths(self.tree, self.noise, beta / bins)


@lru_cache(maxsize=16)
def _distribution_widths(tree: Tree, noise: TiltedDistribution, beta: float) -> tuple[Numbers, Numbers]:
    """Cached: a release needs them more than once."""
    return distribution_widths(tree, noise, risk=beta)


@lru_cache(maxsize=16)
def _leaf_widths(tree: Tree, noise: TiltedDistribution, risk: float) -> tuple[Numbers, Numbers]:
    return leaf_widths(tree, noise, risk=risk)


@lru_cache(maxsize=256)
def _range_widths(tree: Tree, noise: TiltedDistribution, first: int, stop: int, risk: float) -> tuple[float, float]:
    too_high, too_low = alone(range_errors(tree, first, stop), noise, risks=risk)
    return float(too_high[0]), float(too_low[0])
