"""The privacy curve of a release: the smallest delta for every epsilon, and back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import Any, Protocol

import numpy as np

from shuffledp.accounting.loss import PrivacyLoss
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.checks import real, whole
from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.noise import IntegerLaw

REPLACE_ONE = "datasets of equal size in which one person's value is replaced"

_STEPS_PER_DEVIATION = 60
"""Of the grid on which losses are composed: finer ones move delta by less than one part in a thousand."""

_MOST_STEPS = 1 << 13
"""Of one shift's losses on the grid, so that a composition takes milliseconds."""

_MOST_COMPARISONS = 5000
"""Mixes of directions that are worth checking one by one: each takes about a millisecond."""


class Curve(Protocol):
    """What every privacy curve answers, whichever release it is for."""

    @property
    def neighbours(self) -> str:
        """Which datasets count as neighbours."""

    @property
    def exact(self) -> bool:
        """Whether the curve is the truth, up to rounding, or an upper bound."""

    def delta(self, epsilon: float) -> float:
        """A delta such that the release is (epsilon, delta)-private; never below the smallest."""

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the curve gives this delta; inf if there is none."""


@dataclass(frozen=True, kw_only=True)
class Shift:
    """One independent coordinate of a release that a neighbouring dataset moves: noise M against M + by."""

    law: IntegerLaw
    by: int

    @property
    def reversed(self) -> Shift:
        """The same coordinate with the two datasets exchanged (up to a translation, which hides nothing)."""
        return Shift(law=self.law, by=-self.by)

    @property
    def loss(self) -> PrivacyLoss:
        """Its privacy-loss distribution."""
        return _shift_loss(self)


@lru_cache(maxsize=128)
def _shift_loss(shift: Shift) -> PrivacyLoss:
    """Equal shifts share one loss distribution, also when they belong to different curves."""
    return PrivacyLoss.of_shift(shift.law, shift.by)


@dataclass(frozen=True)
class Comparison:
    """One way in which two neighbouring datasets can be told apart: independent shifts, each with its multiplicity."""

    shifts: frozenset[tuple[Shift, int]]

    @classmethod
    def of(cls, shifts: Iterable[Shift]) -> Comparison:
        """The given shifts, equal ones counted."""
        return cls(frozenset(Counter(shifts).items()))

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison.of(self.each + other.each)

    @property
    def each(self) -> list[Shift]:
        """Every shift, as often as it occurs."""
        return [shift for shift, count in self.shifts for _ in range(count)]

    @property
    def reversed(self) -> Comparison:
        """The two datasets exchanged."""
        return Comparison(frozenset((shift.reversed, count) for shift, count in self.shifts))

    @property
    def exact(self) -> bool:
        """Up to two shifts are summed outcome by outcome; more are composed on a grid that errs on the safe side."""
        return sum(count for _, count in self.shifts) <= 2

    def delta(self, epsilon: float, *, resolution: float) -> float:
        """The smallest delta for this pair of datasets, in this direction."""
        if not self.exact:
            return float(_composed(self, resolution).delta(epsilon))
        first, *rest = self.each
        return rest[0].loss.delta_with(first.loss, epsilon) if rest else float(first.loss.delta(epsilon))


@lru_cache(maxsize=64)
def _composed(comparison: Comparison, resolution: float) -> PrivacyLoss:
    """The loss of all shifts together, on a grid."""
    variance = sum(count * shift.loss.variance for shift, count in comparison.shifts)
    number = sum(count for _, count in comparison.shifts)
    # every split adds about step^2 / 6 to the variance: this keeps the total below 1 part in 10^4
    step = math.sqrt(variance / number) / _STEPS_PER_DEVIATION
    step = max(step, max(shift.loss.shortened(resolution).span for shift, _ in comparison.shifts) / _MOST_STEPS)
    # where every shift has one single loss, that loss is the grid
    step = step or max(abs(shift.loss.mean) for shift, _ in comparison.shifts) or 1.0
    parts = [shift.loss.on_grid(step, cut=resolution).times(count) for shift, count in comparison.shifts]
    return sum(parts[1:], start=parts[0]).loss


@dataclass(frozen=True)
class PrivacyCurve:
    """delta(epsilon) of a release, over all neighbouring datasets and both directions.

    `exact` tells whether the curve is the truth (up to an allowance of 1e-12 for rounding, on the safe side) or an
    upper bound. `neighbours` says which datasets count as neighbours. `resolution` is the mass that composition may
    give up (count as revealed) wherever it shortens a distribution; it matters only far below the deltas of interest.
    """

    comparisons: frozenset[Comparison]
    neighbours: str = REPLACE_ONE
    resolution: float = 1e-25

    @classmethod
    def of_shifts(cls, *shifts: Shift, neighbours: str = REPLACE_ONE, resolution: float = 1e-25) -> PrivacyCurve:
        """The curve of a release in which neighbours move these independent coordinates, either way round."""
        if not shifts:
            raise ParameterError("a curve needs at least one shift")
        comparison = Comparison.of(shifts)
        return cls(frozenset([comparison, comparison.reversed]), neighbours, resolution)

    @property
    def exact(self) -> bool:
        """Whether this is the exact curve, not only an upper bound."""
        return all(comparison.exact for comparison in self.comparisons)

    @property
    def shifts(self) -> int:
        """How many independent coordinates a neighbouring dataset moves, at most."""
        return max(len(comparison.each) for comparison in self.comparisons)

    def delta(self, epsilon: float) -> float:
        """The smallest delta such that the release is (epsilon, delta)-differentially private; never below it."""
        epsilon = real("epsilon", epsilon)
        if epsilon < 0:
            raise ParameterError(f"epsilon must not be negative, got {epsilon:g}")
        return min(1.0, max(c.delta(epsilon, resolution=self.resolution) for c in self.comparisons))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the release is (epsilon, delta)-private; inf if none is known."""
        return smallest_epsilon(self.delta, delta)

    def compose(self, *others: PrivacyCurve) -> PrivacyCurve:
        """The curve of this release together with others of the same people's data, each with fresh noise.

        A person's value can move different releases in different directions, so every mix of directions is a
        comparison of its own.
        """
        curves = (self, *others)
        if len({curve.neighbours for curve in curves}) > 1:
            raise ParameterError("curves of different neighbouring relations cannot be composed")
        _check_number(math.prod(len(curve.comparisons) for curve in curves))
        mixes = product(*(curve.comparisons for curve in curves))
        resolution = max(curve.resolution for curve in curves)
        return PrivacyCurve(frozenset(_together(mix) for mix in mixes), self.neighbours, resolution)

    def times(self, releases: int) -> PrivacyCurve:
        """The curve of `releases` releases of this kind, each with fresh noise: equal to composing one by one."""
        releases = whole("releases", releases)
        _check_number(math.comb(releases + len(self.comparisons) - 1, releases))
        mixes = combinations_with_replacement(self.comparisons, releases)
        return PrivacyCurve(frozenset(_together(mix) for mix in mixes), self.neighbours, self.resolution)

    def pld(self, *, value_discretization_interval: float = 1e-4) -> Any:
        """This curve as a dp_accounting PrivacyLossDistribution, pessimistic, for use with that library's accountants.

        They compose each direction only with itself. That is right for releases that a replaced value always moves
        the same way, and for curves that are equal both ways round (every histogram here); several binary sums of
        different bits need `times` or `compose`, which try every mix.
        """
        comparison = next(iter(self.comparisons))
        if not self.comparisons <= {comparison, comparison.reversed}:
            raise ParameterError(
                "a composition with mixed directions has no single privacy-loss distribution: "
                "read .delta(epsilon) and .epsilon(delta) of this curve instead"
            )
        try:
            from dp_accounting.pld import privacy_loss_distribution as library
        except ImportError:
            raise MissingExtraError("dp-accounting", extra="pld") from None
        parts = []
        for shift in comparison.each:
            window = shift.law.window
            log_upper = {window.first + i: float(p) for i, p in enumerate(window.log_pmf) if np.isfinite(p)}
            log_lower = {k + shift.by: p for k, p in log_upper.items()}
            # what lies outside the window is revealed, in either direction: an outcome of its own
            outside = window.mass_below + window.mass_above
            if outside:
                log_upper[window.first - 1 - abs(shift.by)] = math.log(outside)
                log_lower[window.last + 1 + abs(shift.by)] = math.log(outside)
            parts.append(
                library.from_two_probability_mass_functions(
                    log_lower,
                    log_upper,
                    symmetric=False,
                    value_discretization_interval=value_discretization_interval,
                )
            )
        total, *rest = parts
        for part in rest:
            total = total.compose(part)
        return total


def moved_bins(noise: IntegerLaw) -> PrivacyCurve:
    """A replaced value moves two bins by one, in opposite directions, with independent noise."""
    return PrivacyCurve.of_shifts(Shift(law=noise, by=1), Shift(law=noise, by=-1))


def _together(mix: Iterable[Comparison]) -> Comparison:
    return Comparison.of(shift for comparison in mix for shift in comparison.each)


def _check_number(comparisons: int) -> None:
    if comparisons > _MOST_COMPARISONS:
        raise ParameterError(
            f"this composition has {comparisons} mixes of directions, more than the {_MOST_COMPARISONS} that are "
            "worth checking one by one: compose fewer different releases"
        )
