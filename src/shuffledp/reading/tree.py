"""Counts of the nodes of a tree over ordered leaves, each with noise of its own, made to agree by least squares.

The leaves are the values in their order; a node is a run of neighbouring leaves, and `branching` neighbours of one
level have one parent. Level `levels` has the leaves; the root above level 1 is everybody, whose number is known. The
last node of a level may have fewer children than the others, so that any number of leaves fits.

All nodes have independent noise of equal variance, here 1. Going up, a node's own count y and the sum S of its
children's estimates, with variance V, are weighted by their precisions; s = V / (1 + V) is the variance that results:

    z = s y + (1 - s) S,          and at a leaf z = y, s = 1.

Going down from the root x = people, what the children's sum lacks is divided in proportion to their variances:

    x_child = z_child + (s_child / V) (x - S).

This is the weighted least squares estimate among all trees of numbers that add up (Hay, Rastogi, Miklau and Suciu 2010,
for trees that may be uneven and a root that is known): unbiased, and of the smallest variance of all linear ones for
every linear question, each leaf and each range of leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.checks import whole
from shuffledp.errors import ParameterError

Numbers = NDArray[np.float64]
N = TypeVar("N", np.int64, np.float64)

MOST_LEAVES = 1 << 20
"""A tree has a number for every node, and a band one for every leaf: more would take minutes."""


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
        """The tree of at most this many levels with the fewest children each."""
        branching = max(2, round(leaves ** (1 / levels)) - 1)
        while branching**levels < leaves:
            branching += 1
        return cls(leaves=leaves, branching=branching)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has, from level 1 to the leaves."""
        upwards = [self.leaves]
        while upwards[-1] > self.branching:
            upwards.append(-(-upwards[-1] // self.branching))
        return tuple(reversed(upwards))

    @property
    def levels(self) -> int:
        """How many levels there are below the root: as many nodes hold each leaf."""
        return len(self.sizes)

    @property
    def nodes(self) -> int:
        """How many nodes there are without the root."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first node of each level."""
        return tuple(sum(self.sizes[:level]) for level in range(self.levels))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many leaves a node of each level has, unless it is the last one."""
        return tuple(self.branching ** (self.levels - 1 - level) for level in range(self.levels))

    def paths(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes that hold each of many leaves: a row of `levels` numbers for each."""
        return np.asarray(leaves[:, None] // np.array(self.widths) + np.array(self.starts))

    def totals(self, leaf_counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of all nodes, from those of the leaves."""
        upwards = [leaf_counts]
        for _ in range(self.levels - 1):
            upwards.append(self._sums(upwards[-1]))
        return np.concatenate(upwards[::-1])

    def fit(self, node_counts: Numbers, *, people: int) -> Numbers:
        """The least squares estimate of every leaf; all of them add up to the people."""
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
        """By which the noise of every node enters the sum of the leaves' estimates with these weights.

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
        """The variance s of the upward estimate of each node, level by level; that of one noise is 1."""
        upwards = [np.ones(self.leaves)]
        for _ in range(self.levels - 1):
            below = self._sums(upwards[-1])
            upwards.append(below / (1 + below))
        return tuple(upwards[::-1])

    @cached_property
    def shares(self) -> tuple[Numbers, ...]:
        """Which share of what a parent lacks goes to each node, level by level."""
        return tuple(s / self._to_children(self._sums(s), s.size) for s in self.variances)

    def _by_level(self, numbers: Numbers) -> list[Numbers]:
        return np.split(numbers, self.starts[1:])

    def _sums(self, children: NDArray[N]) -> NDArray[N]:
        """One sum for each parent."""
        return np.asarray(np.add.reduceat(children, np.arange(0, children.size, self.branching)), dtype=children.dtype)

    def _to_children(self, parents: Numbers, children: int) -> Numbers:
        """Each parent's number, once for each of its children."""
        return np.repeat(parents, self.branching)[:children]
