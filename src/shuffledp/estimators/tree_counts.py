"""Estimates of leaves and ranges from noisy counts of the nodes of a tree, with exact error bounds.

Errors are linear combinations of the noise of the nodes, found along paths. Let z be the upward estimates of a tree,
with errors Z, and x the final ones, with errors X. For the leaves before a place, walk up from that place, at level l
in node v with `c` siblings on its left. Let phi_l be the coefficient of the error X of v in the count below v. The part
below its parent p is

    (sum of X over the left siblings) + phi_l X_v,   with   X_i = Z_i + r_i (X_p - sum of Z over the children of p),

so that phi_(l-1) = sum of r over the left siblings + r_v phi_l. Walking down again gives the coefficient of each Z: 1 -
phi_(l-1) + m on the left, -phi_(l-1) + m on the right and k = phi_l - phi_(l-1) + m for v itself. The own noise of v
then has s_v k, and its children inherit m = (1 - s_v) k. The error Z of a sibling is a fixed combination of the noises
below it. The same walk with phi = 1 at the leaf and nothing on the left gives the error of one leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.search import first_safe_from, log_excess
from shuffledp.estimators.base import Estimator, every_bin
from shuffledp.estimators.tree import Expansion, LinearErrors, Numbers, PowerSums, Tree, has_polynomials
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.ordered_estimate import rising_band, whole_bounds
from shuffledp.histogram.tally import Tally
from shuffledp.noise.distribution import TiltedDistribution

_PLACES_AT_ONCE = 1 << 14
"""The number of places that are bounded at a time: their power sums take 2 MB."""

_EQUAL_PART = 0.1
"""The share of the risk of many answers that is divided equally among them."""

_FARTHEST, _TOLERANCE = 40.0, 2e-6
"""The end of the search for a common distance, in standard deviations, which no normal error reaches; its tolerance."""

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

    Some error is larger with probability at most `risk`, which is divided so that the widest bounds are as narrow as
    possible.
    """
    from scipy.special import ndtri

    if tree.leaves == 1:
        return np.empty(0), np.empty(0)
    deviations = _prefix_deviations(tree, distribution)
    found = []
    for _ in range(_DIVISIONS):
        risks, distance = _divided(deviations, risk)
        widths = _prefix_widths(tree, distribution, risks)
        found.append(widths)
        if widths.max() <= _AS_PLANNED * distance:
            break
        deviations = widths.max(axis=0) / -ndtri(risks / 2)
    high, low = min(found, key=np.max)
    return high, low


def normal_width(tree: Tree, distribution: TiltedDistribution, *, risk: float) -> float:
    """The largest of `distribution_widths` if all errors were normal, which takes far less time."""
    return _divided(_prefix_deviations(tree, distribution), risk)[1] if tree.leaves > 1 else 0.0


def _prefix_deviations(tree: Tree, distribution: TiltedDistribution) -> Numbers:
    variances = [
        sum(times * factors**2 * sum(number * c**2 for c, number in expansion) for expansion, factors, times in groups)
        for groups in (_groups(tree, places, left=1.0, leaf=0.0) for places in _blocks(tree))
    ]
    return np.sqrt(distribution.variance * np.concatenate(variances))


def _prefix_widths(tree: Tree, distribution: TiltedDistribution, risks: Numbers) -> Numbers:
    parts = [_widths_at(tree, places, distribution, risks[places - 1]) for places in _blocks(tree)]
    return np.concatenate(parts, axis=1)


def _widths_at(tree: Tree, places: NDArray[np.int64], distribution: TiltedDistribution, risks: Numbers) -> Numbers:
    if not has_polynomials(distribution):
        return np.array(alone(prefix_errors(tree, places), distribution, risks=risks))
    sums = PowerSums.of(_groups(tree, places, left=1.0, leaf=0.0), size=places.size)
    too_high = sums.above(distribution, risks / 2, exact=lambda some: prefix_errors(tree, places[some]))
    too_low = sums.reversed.above(
        distribution, risks / 2, exact=lambda some: prefix_errors(tree, places[some]).reversed
    )
    return np.array([too_high, too_low])


def _blocks(tree: Tree) -> Iterator[NDArray[np.int64]]:
    """The places 1 .. leaves - 1, in blocks, since each has many coefficients."""
    for start in range(1, tree.leaves, _PLACES_AT_ONCE):
        yield np.arange(start, min(start + _PLACES_AT_ONCE, tree.leaves))


def leaf_widths(tree: Tree, distribution: TiltedDistribution, *, risk: float) -> tuple[Numbers, Numbers]:
    """Bounds on the error of each leaf, too high and too low, with this risk for each of them.

    Leaves differ only in the number of nodes above them that are the last of their level.
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
    """The standard deviation of the worst of about this number of spaced prefixes, if one node's is 1."""
    if tree.leaves == 1:
        return 0.0
    some = np.unique(np.linspace(1, tree.leaves - 1, min(places, tree.leaves - 1)).astype(np.int64))
    return float(np.sqrt(prefix_errors(tree, some).variances.max()))


def _divided(deviations: Numbers, risk: float) -> tuple[Numbers, float]:
    """The risk of each of many answers, with sum `risk`: one tenth in equal parts, the rest by need.

    If all errors were normal with the same bound, which is also returned, each would need the tail beyond it. The
    widest intervals are then narrower than with equal parts, by up to a tenth, and the others hardly wider.
    """
    from scipy.special import ndtr, ndtri

    equal = np.full(deviations.size, _EQUAL_PART * risk / deviations.size)
    by_need = (1 - _EQUAL_PART) * risk
    largest = float(deviations.max())
    if not largest:
        return equal, 0.0
    smallest = np.maximum(deviations, _FARTHEST * largest * _SMALLEST)

    def excess(distance: float) -> float:
        needed = 2 * ndtr(-distance * largest / smallest).sum()
        return log_excess(float(needed), by_need)

    # enough if all deviations were the largest one, and not much more than needed
    start = -float(ndtri(by_need / 2 / deviations.size))
    found = first_safe_from(excess, start, stride=0.5, least=0.0, most=_FARTHEST, tolerance=_TOLERANCE)
    distance = largest * (_FARTHEST if found is None else found)
    return equal + 2 * ndtr(-distance / smallest), distance


def _along_paths(tree: Tree, at: NDArray[np.int64], *, left: float, leaf: float) -> LinearErrors:
    coefficients, numbers = [], []
    for expansion, factors, times in _groups(tree, at, left=left, leaf=leaf):
        coefficients += [coefficient * factors for coefficient, _ in expansion]
        numbers += [number * times for _, number in expansion]
    return LinearErrors(coefficients=np.array(coefficients), numbers=np.array(numbers))


def _groups(
    tree: Tree, at: NDArray[np.int64], *, left: float, leaf: float
) -> Iterator[tuple[Expansion, Numbers, Numbers]]:
    """The errors Z of siblings and the own noises along the paths: their expansions, coefficients and numbers."""
    entering = _entering(tree, at, left=left, leaf=leaf)
    regular, last = _expansions(tree)
    inherited = np.zeros(at.size)
    for level in range(tree.levels):
        node = at // tree.widths[level]
        first, size = node // tree.branching * tree.branching, tree.sizes[level]
        on_left, on_right = node - first, np.minimum(first + tree.branching, size) - node - 1
        with_last = (first + tree.branching >= size) & (node < size - 1) & (last[level] != regular[level])
        rest = inherited - entering[level]
        yield regular[level], rest + left, on_left.astype(float)
        yield regular[level], rest, (on_right - with_last).astype(float)
        if with_last.any():
            yield last[level], rest, with_last.astype(float)
        s, total = tree.variance(level, node), rest + entering[level + 1]
        yield _OWN, s * total, np.ones(at.size)
        inherited = (1 - s) * total


_OWN: Expansion = [(1.0, 1)]
"""The noise of a node itself."""


def _entering(tree: Tree, at: NDArray[np.int64], *, left: float, leaf: float) -> list[Numbers]:
    """The numbers phi, from the root to the leaf."""
    upwards = [np.full(at.size, leaf)]
    for level in range(tree.levels - 1, -1, -1):
        node = at // tree.widths[level]
        first = node // tree.branching * tree.branching
        below = tree.share(level, node) * upwards[-1]
        upwards.append(left * (node - first) * tree.share(level, first) + below if left else below)
    return upwards[::-1]


def _expansions(tree: Tree) -> tuple[list[Expansion], list[Expansion]]:
    """For each level, the expansion of its nodes and of its last node."""
    regular: list[Expansion] = [[(1.0, 1)]]
    last: list[Expansion] = [[(1.0, 1)]]
    for level in range(tree.levels - 2, -1, -1):
        s, s_last = tree.end_variances[level]
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
    """The estimator of leaves; `nodes` estimates the counts of all nodes, with independent `noise`."""

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
        """Bounds on the leaves."""
        return self.intervals_from_counts(self.point(statistic), beta=beta, bins=bins)

    def intervals_from_counts(self, counts: Numbers, *, beta: float, bins: int) -> Intervals:
        """The intervals of these estimates; their widths do not depend on the counts."""
        too_high, too_low = self._leaf_widths(beta, bins)
        low, high = whole_bounds(counts, too_high, too_low, people=self.people)
        return Intervals(low, high, unreported_high=0)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The error bound of the leaves."""
        return min(float(np.max(self._leaf_widths(beta, bins))), float(self.people))

    def distribution_error(self, *, beta: float) -> float:
        """The error of the number of people before any place, exceeded with probability at most beta."""
        return min(float(np.max(_distribution_widths(self.tree, self.noise, beta), initial=0.0)), float(self.people))

    def band(self, leaves: Numbers, *, beta: float) -> tuple[Numbers, NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of people before the places 1 .. leaves - 1: estimates, and bounds for all at once."""
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
