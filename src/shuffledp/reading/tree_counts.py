"""Noisy counts of the nodes of a tree, read as estimates of its leaves, of every range of them, with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.law import TiltedLaw
from shuffledp.pipeline.estimate import Intervals
from shuffledp.pipeline.ordered_estimate import rising_band, whole_bounds
from shuffledp.pipeline.tally import Tally
from shuffledp.reading.reading import Reading, every_bin
from shuffledp.reading.tree import Numbers, Tree
from shuffledp.reading.tree_errors import alone, distribution_widths, leaf_widths, range_errors


@dataclass(frozen=True, kw_only=True)
class TreeCounts:
    """`nodes` reads the counts of all nodes, whose noise is independent and has the law `noise`."""

    tree: Tree
    nodes: Reading
    noise: TiltedLaw

    name = "unbiased"
    phantoms = True

    @property
    def people(self) -> int:
        """How many people there are."""
        return self.nodes.people

    def evidence(self, tally: Tally) -> Tally:
        """The counts of all nodes."""
        return every_bin(self.nodes.evidence(tally), bins=self.tree.nodes)

    def point(self, evidence: Tally) -> Numbers:
        """The least squares estimate of each leaf."""
        return self.tree.fit(self.nodes.point(evidence), people=self.people)

    def intervals(self, evidence: Tally, *, beta: float, bins: int) -> Intervals:
        """Bounds on the leaves: on all at once, or for one of them alone."""
        too_high, too_low = self._leaf_widths(beta, bins)
        low, high = whole_bounds(self.point(evidence), too_high, too_low, people=self.people)
        return Intervals(low, high, unreported_high=0)

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """By how much the estimates of the leaves are off: of one, or of all at once."""
        return min(float(np.max(self._leaf_widths(beta, bins))), float(self.people))

    def distribution_error(self, *, beta: float) -> float:
        """By how much the number of people before some place is off, with probability at most beta by more."""
        return min(float(np.max(_distribution_widths(self.tree, self.noise, beta), initial=0.0)), float(self.people))

    def band(self, leaves: Numbers, *, beta: float) -> tuple[Numbers, NDArray[np.int64], NDArray[np.int64]]:
        """How many people are before the places 1 .. leaves - 1: estimates, and bounds that hold for all at once."""
        before = np.cumsum(leaves)[:-1]
        too_high, too_low = _distribution_widths(self.tree, self.noise, beta)
        low, high = whole_bounds(before, too_high, too_low, people=self.people)
        return (before, *rising_band(low, high))

    def range_widths(self, first: int, stop: int, *, beta: float, everywhere: bool) -> tuple[float, float]:
        """How far the number of people in the leaves first .. stop - 1 may be too high, and too low.

        For this range alone, or `everywhere`: for all ranges at once, with an equal part of the risk for each.
        """
        ranges = self.tree.leaves * (self.tree.leaves + 1) // 2
        risk = beta / ranges if everywhere else beta
        return _range_widths(self.tree, self.noise, first, stop, risk)

    def _leaf_widths(self, beta: float, bins: int) -> tuple[Numbers, Numbers]:
        """Of every leaf, where so many of them must keep to them at once."""
        return _leaf_widths(self.tree, self.noise, beta / bins)


@lru_cache(maxsize=16)
def _distribution_widths(tree: Tree, noise: TiltedLaw, beta: float) -> tuple[Numbers, Numbers]:
    """A release asks for them more than once."""
    return distribution_widths(tree, noise, risk=beta)


@lru_cache(maxsize=16)
def _leaf_widths(tree: Tree, noise: TiltedLaw, risk: float) -> tuple[Numbers, Numbers]:
    return leaf_widths(tree, noise, risk=risk)


@lru_cache(maxsize=256)
def _range_widths(tree: Tree, noise: TiltedLaw, first: int, stop: int, risk: float) -> tuple[float, float]:
    too_high, too_low = alone(range_errors(tree, first, stop), noise, risks=risk)
    return float(too_high[0]), float(too_low[0])
