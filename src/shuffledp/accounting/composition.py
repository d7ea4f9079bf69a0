"""The curve of several releases of the same people's data, whichever curves they are known by.

Releases whose curves are made of shifts of noise are composed shift by shift, as `PrivacyCurve.compose` does. Of every
other release only the numbers delta(epsilon) are known; it counts as the pair of laws that connects them
(accounting/dots.py). Either way what is asked in a later release may depend on the results of the earlier ones
(docs/proofs/exact-privacy.md, "Several releases").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from shuffledp.accounting.curve import REPLACE_ONE, Curve, PrivacyCurve
from shuffledp.accounting.dots import connected
from shuffledp.accounting.loss import GridLoss, PrivacyLoss, sum_of
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.checks import real
from shuffledp.errors import ParameterError

RESOLUTION = 1e-25
"""The mass that may be given up, counted as revealed, wherever a distribution is shortened: that of `PrivacyCurve`."""

_STEPS_PER_DEVIATION = 60
_MOST_STEPS = 1 << 13
"""Of the grid on which losses are composed, as fine as that of `PrivacyCurve`."""


@dataclass(frozen=True)
class Composition:
    """delta(epsilon) of several releases together, each with fresh noise; never below the truth.

    `parts` are the curves and how often each is released. Made by `composed`, which counts equal ones together.
    """

    parts: frozenset[tuple[Curve, int]]
    neighbours: str = REPLACE_ONE

    @property
    def exact(self) -> bool:
        """Whether this is the truth: where nothing was released, or once, with an exact curve."""
        return not self.parts or (self._only is not None and self._only.exact)

    @property
    def releases(self) -> int:
        """How many releases there are."""
        return sum(times for _, times in self.parts)

    @property
    def pair(self) -> PrivacyLoss:
        """The loss of a pair of laws that tells at least as much as all releases together, in either direction."""
        return _together(self.parts) if self.parts else PrivacyLoss(np.zeros(1), np.ones(1), 0.0)

    @cached_property
    def _only(self) -> Curve | None:
        """A curve that knows its own composition: of one release, or of shifts alone; None if there is none."""
        shifts, others = _apart(self.parts)
        if not others:
            return shifts
        (curve, times), *more = others
        return curve if times == 1 and not more and shifts is None else None

    def delta(self, epsilon: float) -> float:
        """A delta such that all releases together are (epsilon, delta)-private; never below the smallest."""
        epsilon = real("epsilon", epsilon)
        if epsilon < 0:
            raise ParameterError(f"epsilon must not be negative, got {epsilon:g}")
        if not self.parts:
            return 0.0
        if self._only is not None:
            return min(1.0, self._only.delta(epsilon))
        return min(1.0, float(_together(self.parts).delta(epsilon)))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which all releases together are (epsilon, delta)-private; inf if none is known."""
        return smallest_epsilon(self.delta, delta)


def composed(curves: Iterable[Curve], *, neighbours: str = REPLACE_ONE) -> Composition:
    """The curve of all these releases together; equal ones are counted, and compositions are taken apart."""
    parts: Counter[Curve] = Counter()
    for curve in curves:
        if curve.neighbours != neighbours:
            raise ParameterError(
                f"curves of different neighbouring relations cannot be composed: {neighbours}; {curve.neighbours}"
            )
        for part, times in curve.parts if isinstance(curve, Composition) else [(curve, 1)]:
            parts[part] += times
    return Composition(frozenset(parts.items()), neighbours)


_Parts = frozenset[tuple[Curve, int]]


def _apart(parts: _Parts) -> tuple[PrivacyCurve | None, list[tuple[Curve, int]]]:
    """The composition of those that are made of shifts, and the others."""
    shifts = [curve.times(times) for curve, times in parts if isinstance(curve, PrivacyCurve)]
    others = [(curve, times) for curve, times in parts if not isinstance(curve, PrivacyCurve)]
    # a curve's own resolution suits its own guarantee, not that of very many releases
    return (replace(shifts[0].compose(*shifts[1:]), resolution=RESOLUTION) if shifts else None), others


@lru_cache(maxsize=64)
def _together(parts: _Parts) -> PrivacyLoss:
    """The loss of all releases together, on one grid."""
    shifts, others = _apart(parts)
    pairs = [(connected(curve, RESOLUTION), times) for curve, times in others]
    releases = [] if shifts is None else list(shifts.releases)
    moved = [(shift.loss, times * count) for release, times in releases for shift, count in release.shifts]
    spans = [pair.shortened(RESOLUTION).span for pair, _ in pairs]
    spans += [release.span(RESOLUTION) for release, _ in releases]
    step = _step([*pairs, *moved], max(spans))
    on_grid = [pair.on_grid(step, cut=RESOLUTION).times(times) for pair, times in pairs]
    on_grid += [release.on_grid(step, cut=RESOLUTION).times(times) for release, times in releases]
    return _smallest_first(on_grid).loss


def _step(losses: list[tuple[PrivacyLoss, int]], span: float) -> float:
    """Of the grid: a fraction of the standard deviation of the average loss, and not too fine for the longest."""
    variance = sum(count * loss.variance for loss, count in losses)
    number = sum(count for _, count in losses)
    step = max(math.sqrt(variance / number) / _STEPS_PER_DEVIATION, span / _MOST_STEPS)
    # where every release has one single loss, that loss is the grid
    return step or max(abs(loss.mean) for loss, _ in losses) or 1.0


def _smallest_first(losses: list[GridLoss]) -> GridLoss:
    """The sum, which takes least time where short distributions meet short ones."""
    return sum_of(sorted(losses, key=lambda loss: loss.masses.size))
