"""The privacy loss of many releases together, on a grid whose step grows with the sum.

Every loss is on a grid with a step 2^k, and a sum has 80 to 160 steps per standard deviation. A sum with more steps is
coarsened: the step doubles, and every point between two new ones is split so that the adversary only gains
(`GridLoss.coarsened`). A sum therefore has a few thousand points, however many releases it is of. Coarsening adds
step^2 / 2 to the variance, at most 1 / (2 * 160^2) of it, about once for every fourfold number of releases: the epsilon
of 365 releases is 1e-4 above the truth and never below it (docs/proofs/exact-privacy.md, "Very many releases").

The two losses with the smallest variances are added first. Small losses are then never moved to a grid that is coarse
for them, and the order depends on the losses alone: clients/javascript/src/curve/total.js computes the same.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.accounting.loss import GridLoss, PrivacyLoss

_STEPS_PER_DEVIATION = 80
"""The fewest steps per standard deviation; a sum with twice as many is coarsened."""

_MOST_POINTS = 1 << 13
"""The most points of a grid: a few large losses, as of little noise, are far beyond the standard deviation."""


_SAME_SIZE = 1e-9
"""The relative distance at which losses are merged on the grid; the difference is split on the safe side."""


@dataclass(frozen=True, eq=False)
class Term:
    """A release to be added: its loss is the sum of independent `losses`, and it is made `times` times.

    `span` is the largest span of one of the losses, and `on_grid` the sum of all on the grid with a given step.
    """

    losses: Sequence[PrivacyLoss]
    span: float
    on_grid: Callable[[float], GridLoss]
    times: int = 1

    @cached_property
    def variance(self) -> float:
        """The variance of the loss of one release."""
        return sum(loss.variance for loss in self.losses)

    @property
    def fine_step(self) -> float:
        """The step of its grid: 80 to 160 steps per standard deviation, if the span has few enough steps."""
        finest = max(math.sqrt(self.variance) / _STEPS_PER_DEVIATION, 2 * self.span / _MOST_POINTS)
        return 2.0 ** math.floor(math.log2(finest)) if finest > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Sum:
    """The loss of several releases on a grid, with its variance off the grid and the number of losses added."""

    grid: GridLoss
    variance: float
    number: int

    @classmethod
    def of(cls, grid: GridLoss, variance: float, number: int) -> Sum:
        """Return a sum, coarsened if its grid is finer than necessary."""
        while math.sqrt(variance) >= 2 * _STEPS_PER_DEVIATION * grid.step or grid.masses.size > _MOST_POINTS:
            grid = grid.coarsened
        return cls(grid, variance, number)

    def __add__(self, other: Sum) -> Sum:
        """The loss of both together, on the coarser one of the two grids."""
        one, two = self.grid, other.grid
        while one.step < two.step:
            one = one.coarsened
        while two.step < one.step:
            two = two.coarsened
        return Sum.of(one + two, self.variance + other.variance, self.number + other.number)

    def times(self, number: int) -> Sum:
        """The loss of this number of independent copies, by doubling along the binary digits of the number."""
        total = self
        for digit in bin(number)[3:]:
            total = total + total
            if digit == "1":
                total = total + self
        return total


def total_loss(terms: Sequence[Term]) -> PrivacyLoss:
    """The loss of all terms together: always the two sums with the smallest variances are added."""
    # losses of one single size are composed exactly, on the grid of that size
    size = only_size(loss for term in terms for loss in term.losses)
    queue: list[tuple[float, int, Sum]] = []
    for term in sorted(terms, key=lambda term: term.times * term.variance):
        one = Sum.of(term.on_grid(size or term.fine_step), term.variance, len(term.losses))
        queue.append((term.times * term.variance, len(queue), one.times(term.times)))
    for serial in range(len(queue), 2 * len(queue) - 1):
        together = heapq.heappop(queue)[2] + heapq.heappop(queue)[2]
        heapq.heappush(queue, (together.variance, serial, together))
    total = queue[0][2]
    return total.grid.loss_of(total.number)


def only_size(losses: Iterable[PrivacyLoss]) -> float | None:
    """The size of all losses, as for discrete Laplace noise that moves by one; None if there are several."""
    sizes = np.concatenate([np.abs(loss.losses) for loss in losses])
    largest = float(sizes.max(initial=0.0))
    return largest if (sizes >= (1 - _SAME_SIZE) * largest).all() else None
