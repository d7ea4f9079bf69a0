"""Privacy-loss distributions of pairs of neighbouring datasets.

For a pair of distributions (P, Q) the loss of outcome o is log P(o)/Q(o). The distribution of the loss under P
determines the privacy curve:

    delta(epsilon) = sum over o of [P(o) - e^epsilon Q(o)]_+ = E_P[(1 - e^(epsilon - loss))_+] + P(loss infinite)

Losses of independent pairs add up. Everything here errs on the safe side: mass that is not resolved counts as an
infinite loss, and rounding is added to delta.

**Many releases.** `total_loss` adds losses on a grid whose step grows with the sum. Every loss is on a grid with a step
2^k, and a sum has 80 to 160 steps per standard deviation; with more, it is coarsened. A sum therefore has a few
thousand points, however many releases it is of, and the epsilon of 365 releases is 1e-4 above the truth and never below
it (docs/proofs/exact-privacy.md, "Very many releases").

The two losses with the smallest variances are added first. Small losses are then never moved to a grid that is coarse
for them, and the order depends on the losses alone: clients/javascript/src/curve/total.js computes the same.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import PRIVACY_LOSS
from shuffledp.noise import IntegerDistribution

_LARGEST_EXPONENT = 700.0
"""The largest exponent, which keeps e^epsilon finite; the mass there is 0."""

_ONE_THREAD = 1 << 13
"""The longest product of vectors at once: longer ones use threads, which take twenty times as long on busy machines."""


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """A loss distribution: finite losses in increasing order, their mass under P, and the mass at infinity."""

    losses: NDArray[np.float64]
    masses: NDArray[np.float64]
    infinity: float

    @classmethod
    def of_shift(cls, distribution: IntegerDistribution, shift: int) -> PrivacyLoss:
        """P is the distribution of the noise M, Q the distribution of M + shift."""
        window = distribution.window
        size = window.log_pmf.size
        shift = max(-size, min(shift, size))  # a longer shift reveals everything, as a shift by the whole window does
        reachable = slice(max(shift, 0), size + min(shift, 0))
        image = slice(max(-shift, 0), size - max(shift, 0))
        possible = window.pmf[reachable] > 0
        shared = possible & (window.pmf[image] > 0)
        losses = window.log_pmf[reachable][shared] - window.log_pmf[image][shared]
        masses = window.pmf[reachable]
        unreachable = window.pmf[shift:] if shift < 0 else window.pmf[:shift]
        revealing = unreachable.sum() + masses[possible & ~shared].sum() + window.mass_below + window.mass_above
        order = np.argsort(losses, kind="stable")
        return cls(losses[order], masses[shared][order], float(revealing) * (1 + PRIVACY_LOSS))

    @cached_property
    def _mass_from(self) -> NDArray[np.float64]:
        """P-mass of the i-th loss and above, for i = 0 .. size."""
        return _sums_from(self.masses)

    @cached_property
    def _other_mass_from(self) -> NDArray[np.float64]:
        """Q-mass of the i-th loss and above, for i = 0 .. size."""
        return _sums_from(self.masses * np.exp(-self.losses))

    def delta(self, epsilon: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """The exact delta(epsilon) of this pair, plus the allowance for rounding; any real epsilon."""
        gain, mass = self._gain(epsilon)
        return np.maximum(gain, 0) + PRIVACY_LOSS * mass + self.infinity

    def lowest_delta(self, epsilon: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """The delta(epsilon) of the finite losses, less the allowance for rounding: never above the exact one."""
        gain, mass = self._gain(epsilon)
        return np.maximum(gain - PRIVACY_LOSS * mass, 0)

    def _gain(self, epsilon: float | NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """P(event) - e^epsilon Q(event), and P(event), of the event that the loss exceeds epsilon."""
        above = np.searchsorted(self.losses, epsilon, side="right")
        mass = self._mass_from[above]
        return mass - np.exp(np.minimum(epsilon, _LARGEST_EXPONENT)) * self._other_mass_from[above], mass

    def delta_with(self, other: PrivacyLoss, epsilon: float) -> float:
        """The exact delta(epsilon) of both pairs together: E over this loss of the other's delta(epsilon - loss)."""
        rest = other.delta(epsilon - self.losses)
        return float(self.masses @ rest) * (1 + PRIVACY_LOSS) + self.infinity

    def lowest_delta_with(self, other: PrivacyLoss, epsilon: float) -> float:
        """The same without the infinite losses, rounded down."""
        return float(self.masses @ other.lowest_delta(epsilon - self.losses)) * (1 - PRIVACY_LOSS)

    @property
    def mean(self) -> float:
        """Expected finite loss."""
        return float(self.masses @ self.losses)

    @property
    def variance(self) -> float:
        """Variance of the finite loss."""
        return float(self.masses @ (self.losses - self.mean) ** 2)

    def shortened(self, cut: float) -> PrivacyLoss:
        """Cut the far ends: the largest losses become infinite, the smallest move up to the first one kept.

        Infinite losses raise delta(epsilon) by at most e^epsilon times their mass under Q, and raised small losses by
        at most their mass under P. `cut` bounds these masses.
        """
        low = int(np.searchsorted(np.cumsum(self.masses), cut))
        high = int(np.searchsorted(-self._other_mass_from, -cut))
        if low >= high:
            return PrivacyLoss(np.empty(0), np.empty(0), self.infinity + float(self.masses.sum()))
        masses = self.masses[low:high].copy()
        masses[0] += self.masses[:low].sum()
        return PrivacyLoss(self.losses[low:high], masses, self.infinity + float(self.masses[high:].sum()))

    @property
    def span(self) -> float:
        """The distance of the smallest and the largest finite loss."""
        return float(self.losses[-1] - self.losses[0]) if self.losses.size else 0.0

    def on_grid(self, step: float, *, cut: float) -> GridLoss:
        """Move the losses to multiples of `step` without ever weakening the adversary.

        An outcome with a loss between two grid points is split into two outcomes on them, which together keep its mass
        under P and under Q. Merging the two gives the old pair back, so the new pair reveals at least as much. The
        error is of second order in `step`. `cut` is as for `shortened`.
        """
        kept = self.shortened(cut)
        if not kept.losses.size:
            return GridLoss(step, 0, np.zeros(1), kept.infinity, cut)
        lower = np.floor(kept.losses / step)
        # with a loss at a + u, u in [0, step): the upper part is (1 - e^-u) / (1 - e^-step) of the mass
        share = -np.expm1(lower * step - kept.losses) / -math.expm1(-step)
        up = kept.masses * np.clip(share * (1 + PRIVACY_LOSS), 0, 1)
        first = int(lower[0])
        at = (lower - first).astype(np.int64)
        masses = np.zeros(at[-1] + 2)
        np.add.at(masses, at, kept.masses - up)
        np.add.at(masses, at + 1, up)
        return GridLoss(step, first, masses, kept.infinity, cut)


class Addable(ABC):
    """A loss to which those of independent releases can be added."""

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    def times(self, number: int) -> Self:
        """The loss of this number of independent copies, by doubling along the binary digits of the number."""
        total = self
        for digit in bin(number)[3:]:
            total = total + total
            if digit == "1":
                total = total + self
        return total


@dataclass(frozen=True, eq=False)
class GridLoss(Addable):
    """A loss distribution on the multiples first * step, (first + 1) * step, ... of a step.

    `cut` is the mass that may be given up at either end whenever the distribution is shortened; that only raises delta.
    """

    step: float
    first: int
    masses: NDArray[np.float64]
    infinity: float
    cut: float

    def __add__(self, other: GridLoss) -> GridLoss:
        """The loss of two independent releases. Only positive terms are added, so small masses keep their digits."""
        masses = _convolved(self.masses, other.masses)
        infinity = self.infinity + other.infinity - self.infinity * other.infinity
        return GridLoss(self.step, self.first + other.first, masses, infinity, self.cut)._shortened()

    @property
    def coarsened(self) -> GridLoss:
        """The same distribution on a grid with twice the step, without ever weakening the adversary.

        A point at an odd multiple of the step is split into its two neighbours, so that its mass under P and under Q is
        kept, as by `PrivacyLoss.on_grid`: the upper part is (1 - e^-step) / (1 - e^(-2 step)) of the mass.
        """
        first = self.first // 2
        before = self.first - 2 * first
        pairs = np.zeros((before + self.masses.size) // 2 + 1, dtype=(np.float64, 2))
        pairs.reshape(-1)[before : before + self.masses.size] = self.masses
        even, odd = pairs.T
        up = odd * min(1.0, (1 + PRIVACY_LOSS) / (1 + math.exp(-self.step)))
        masses = even + (odd - up)
        masses[1:] += up[:-1]
        return GridLoss(2 * self.step, first, masses, self.infinity, self.cut)

    def or_worse(self, other: GridLoss) -> GridLoss:
        """A loss whose delta(epsilon) is the larger one of two at every point of the grid, and at least that between
        points.

        A delta is a convex function of x = e^epsilon whose slope at x is minus the Q-mass of all losses above; on a
        grid it is linear between neighbouring points. The larger one of two is convex too. If it belongs to the same
        loss at both ends of a step, it has the slope of that loss. If it changes, the steeper of the two slopes is on
        the safe side. The change of slope at a point is the Q-mass there.
        """
        first = min(self.first, other.first)
        size = max(loss.first + loss.masses.size for loss in (self, other)) - first
        losses = self.step * np.arange(first, first + size, dtype=np.float64)
        masses = np.zeros((2, size))
        for row, loss in zip(masses, (self, other), strict=True):
            row[loss.first - first :][: loss.masses.size] = loss.masses
        # entry i is minus the slope of the step that ends at point i; the first begins at x = 0, where both are 1
        slopes = np.array([_sums_from(row * np.exp(-losses)) for row in masses])
        above = np.array([_sums_from(row) for row in masses])
        ratio = np.exp(np.minimum(losses, _LARGEST_EXPONENT))
        deltas = above[:, 1:] - ratio * slopes[:, 1:] + np.array([[self.infinity], [other.infinity]])
        larger, steeper = np.argmax(deltas, axis=0), np.argmax(slopes, axis=0)
        which = np.append(larger, larger[-1])
        which[1:-1] = np.where(larger[:-1] == larger[1:], larger[1:], steeper[1:-1])
        left, right, at = which[:-1], which[1:], np.arange(size)
        change = np.maximum(slopes[left, at] - slopes[right, at + 1], 0.0)
        kept = np.where(left == right, masses[left, at], ratio * change)
        return GridLoss(self.step, first, kept * (1 + PRIVACY_LOSS), max(self.infinity, other.infinity), self.cut)

    def _shortened(self) -> GridLoss:
        """The grid without its far ends."""
        kept = PrivacyLoss(self._losses, self.masses, self.infinity).shortened(self.cut)
        if not kept.losses.size:
            return GridLoss(self.step, 0, np.zeros(1), kept.infinity, self.cut)
        first = round(float(kept.losses[0]) / self.step)
        return GridLoss(self.step, first, kept.masses, kept.infinity, self.cut)

    @property
    def loss(self) -> PrivacyLoss:
        """The same distribution as losses and masses, with a margin for the rounding of the convolutions."""
        return self.loss_of(1)

    def loss_of(self, number: int) -> PrivacyLoss:
        """The same with the margin of this number of losses that were added: their relative errors add up."""
        margin = 1 + number * PRIVACY_LOSS
        return PrivacyLoss(self._losses, self.masses * margin, self.infinity * margin)

    @property
    def _losses(self) -> NDArray[np.float64]:
        return self.step * np.arange(self.first, self.first + self.masses.size, dtype=np.float64)


def sum_of(losses: Sequence[GridLoss]) -> GridLoss:
    """The loss of independent releases."""
    first, *rest = losses
    return sum(rest, start=first)


def _convolved(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """The masses of sums of two independent losses, in pieces for which numpy starts no threads."""
    short, long = sorted((one, other), key=len)
    total = np.zeros(one.size + other.size - 1)
    for start in range(0, short.size, _ONE_THREAD):
        part = np.convolve(long, short[start : start + _ONE_THREAD])
        total[start : start + part.size] += part
    return total


def _sums_from(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entry i is the sum of masses[i:], summed from the far end so that small tails keep their digits."""
    return np.append(np.cumsum(masses[::-1])[::-1], 0.0)


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
class Sum(Addable):
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
