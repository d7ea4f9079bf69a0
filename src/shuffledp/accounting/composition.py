"""The privacy curve of several releases about the same users.

Releases whose curves are shifts of noise are composed shift by shift, as `PrivacyCurve.compose` does. Every other
release is known by its numbers delta(epsilon) only; `connected` turns these into a pair of distributions. In both cases
a later question may depend on earlier results, and accounting/loss.py adds the losses. The proofs are in
docs/proofs/exact-privacy.md, from "Several releases" on.

**Connecting the dots** (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). Let H(x) = sup over events of P - x Q, x
= e^epsilon, for two neighbours in either order. Then

    H(x) <= delta(ln x)  for x >= 1,    H(x) <= 1 - x + x delta(-ln x)  for x < 1.

The largest convex function through or below some of these points is the curve of one pair of distributions: the mass of
Q at a point is the change of slope there, the mass of P is x times as much, and the rest at the last point is an
infinite loss.

**Amounts chosen by results.** `MomentBound` holds even if each release's budget depends on earlier results. Fix an
order a > 1. For a release with loss l, let r be the mass of infinite loss and M = E_P[e^((a - 1) l)] over the rest. If
on every path of results the sum of the r is at most R and the product of the M at most B, then

    delta(epsilon) <= R + c e^(-(a - 1) epsilon) B,   c = (1 - 1/a)^(a - 1) / a.

With the order, R and B fixed in advance this is a privacy filter (Rogers, Roth, Ullman and Vadhan 2016; Feldman and
Zrnic 2021). R and B must not be traded against each other depending on results.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds import REPLACE_ONE, Curve, not_negative, replaced_rows, rows_of
from shuffledp.accounting.curve import PrivacyCurve, terms_of
from shuffledp.accounting.loss import PrivacyLoss, Term, sum_of, total_loss
from shuffledp.accounting.rounding import PRIVACY_LOSS
from shuffledp.accounting.support_curves import HashedCurve
from shuffledp.errors import ParameterError
from shuffledp.validation import target_delta, target_epsilon

_DOTS = 128
"""The number of dots on either side of 0. The epsilon of eleven histograms is then 0.2 % above the epsilon of their
shifts, and 0.05 % with twice this number; but some curves take a tenth of a second for each dot.
"""

_FARTHEST = 128.0
"""The largest epsilon at which a curve is evaluated; mass that is not resolved there counts as revealed."""

_FLOOR = 1e-3
"""The relative distance at which a delta counts as the smallest one of its curve."""

_LOWEST = -30.0
"""The lowest dot: an outcome with a smaller loss has a probability below e^-30, and can be given this loss."""


@lru_cache(maxsize=128)
def connected(curve: Curve, resolution: float) -> PrivacyLoss:
    """The loss of a pair of distributions that reveals at least as much as the curve allows, in either direction.

    `resolution` is a delta below which nothing needs to be distinguished.
    """
    end = _end(curve, resolution)
    epsilons = np.linspace(0.0, end, _DOTS + 1)
    deltas = np.array([min(1.0, curve.delta(float(epsilon))) for epsilon in epsilons])
    deltas = np.minimum.accumulate(deltas)  # H decreases, so a bound holds further on as well
    mirrored = (epsilons[1:] <= -_LOWEST).nonzero()[0][::-1] + 1
    losses = np.concatenate([-epsilons[mirrored], epsilons])
    below = np.exp(-epsilons[mirrored])
    heights = np.concatenate([[1.0], 1 - below + below * deltas[mirrored], deltas])
    places = np.concatenate([[0.0], np.exp(losses)])
    corners = _lower_hull(places, heights)
    slopes = np.append(np.diff(heights[corners]) / np.diff(places[corners]), 0.0)
    masses = places[corners[1:]] * np.maximum(np.diff(slopes), 0.0)
    return PrivacyLoss(losses[corners[1:] - 1], masses * (1 + PRIVACY_LOSS), float(deltas[-1]) * (1 + PRIVACY_LOSS))


def _end(curve: Curve, resolution: float) -> float:
    """The last dot: about the first epsilon at which the delta is below the resolution, or stops decreasing."""
    floor = min(curve.delta(epsilon) for epsilon in (1.0, 4.0, 16.0, 64.0, _FARTHEST))
    enough = max(resolution, floor * (1 + _FLOOR))
    low, high = 0.0, 1.0
    while high < _FARTHEST and curve.delta(high) > enough:
        low, high = high, 2 * high
    while high - low > max(_NEARLY * high, _NEARLY):
        middle = (low + high) / 2
        low, high = (low, middle) if curve.delta(middle) <= enough else (middle, high)
    return high


_NEARLY = 1e-9
"""The relative precision of the last dot: a curve that ends in a corner, as every pure one, has a dot on it."""


def _lower_hull(places: NDArray[np.float64], heights: NDArray[np.float64]) -> NDArray[np.int64]:
    """The indices of the corners of the largest convex function that is nowhere above the points."""
    corners: list[int] = []
    for at in range(places.size):
        while len(corners) > 1 and not _turns_up(places, heights, corners[-2], corners[-1], at):
            corners.pop()
        corners.append(at)
    return np.array(corners)


def _turns_up(places: NDArray[np.float64], heights: NDArray[np.float64], first: int, middle: int, last: int) -> bool:
    """Whether the middle one of three points is below the line through the others."""
    before = (heights[middle] - heights[first]) / (places[middle] - places[first])
    after = (heights[last] - heights[middle]) / (places[last] - places[middle])
    return bool(before < after)


RESOLUTION = 1e-25
"""The mass that may be given up (counted as revealed) wherever a distribution is shortened, as for `PrivacyCurve`."""


@dataclass(frozen=True)
class Composition(Curve):
    """The curve delta(epsilon) of several releases together, each with fresh noise; never below the truth.

    `parts` are the curves and the number of releases of each. `composed` creates it and counts equal curves together.
    """

    parts: frozenset[tuple[Curve, int]]
    neighbours: str = REPLACE_ONE

    @property
    def exact(self) -> bool:
        """Whether this is the exact curve: for no release, or for one with an exact curve."""
        return not self.parts or (self._only is not None and self._only.exact)

    @property
    def releases(self) -> int:
        """Their number."""
        return sum(times for _, times in self.parts)

    @property
    def pair(self) -> PrivacyLoss:
        """The loss of a pair of distributions that reveals at least as much as all releases together, in either
        direction.
        """
        return _together(self.parts) if self.parts else PrivacyLoss(np.zeros(1), np.ones(1), 0.0)

    @cached_property
    def _only(self) -> Curve | None:
        """The curve of the single release; None if there are several, or none."""
        if self.releases != 1:
            return None
        ((curve, _),) = self.parts
        # a curve's own resolution suits its own guarantee, not the total of very many releases
        return replace(curve, resolution=RESOLUTION) if isinstance(curve, PrivacyCurve) else curve

    def delta(self, epsilon: float) -> float:
        """A delta such that all releases together are (epsilon, delta)-private; never below the smallest."""
        epsilon = not_negative(epsilon)
        if not self.parts:
            return 0.0
        if self._only is not None:
            return min(1.0, self._only.delta(epsilon))
        return min(1.0, float(_together(self.parts).delta(epsilon)))

    def for_rows(self, rows: int) -> Curve:
        """The curve of a person with this number of rows in every release."""
        number = rows_of(self, rows)
        parts: Counter[Curve] = Counter()
        for curve, times in self.parts:  # rounding can make different curves of one row equal
            parts[curve.for_rows(number)] += times
        return Composition(frozenset(parts.items()), replaced_rows(number))


def composed(curves: Iterable[Curve], *, neighbours: str = REPLACE_ONE) -> Composition:
    """Return the curve of all these releases together; equal ones are counted, and compositions are flattened."""
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


@lru_cache(maxsize=64)
def _together(parts: _Parts) -> PrivacyLoss:
    known = [(_shifts(curve), curve, times) for curve, times in parts]
    shifts = [curve.times(times) for curve, _, times in known if curve is not None]
    terms = terms_of(shifts[0].compose(*shifts[1:]).releases, cut=RESOLUTION) if shifts else []
    return total_loss(terms + [_term(connected(curve, RESOLUTION), times) for only, curve, times in known if not only])


def _shifts(curve: Curve) -> PrivacyCurve | None:
    """The shifts that bound a release in any composition; None if it is known by its numbers only."""
    return curve.separate if isinstance(curve, HashedCurve) else curve if isinstance(curve, PrivacyCurve) else None


def _term(loss: PrivacyLoss, times: int) -> Term:
    return Term([loss], loss.shortened(RESOLUTION).span, lambda step: loss.on_grid(step, cut=RESOLUTION), times)


_ORDERS = 1 + np.geomspace(1e-2, 1e4, 2000)
"""The orders to choose from; the number of releases that a limit allows is flat around the best one."""

_REVEALED = 0.5
"""The share of a delta for revealed mass, R; the rest is for moments. A share of one half costs the moments little: ln
2 / (a - 1) of epsilon.
"""

_ADDED = 1 / 512
"""The part of that share for a sum that is added to delta."""

_STEPS = 1 << 11
"""The grid steps of the losses of one release: moments of the order in use move by less than 0.1 %."""


@dataclass(frozen=True, kw_only=True)
class MomentBound:
    """The bound at a limit (`epsilon`, `delta`), whose order depends on nothing else."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", target_epsilon(self.epsilon))
        object.__setattr__(self, "delta", target_delta(self.delta))

    @cached_property
    def order(self) -> float:
        """The order with which most releases of Gaussian losses fit: with variance v, M = e^(a (a - 1) v / 2)."""
        a = _ORDERS
        log_c = (a - 1) * np.log1p(-1 / a) - np.log(a)
        variance = 2 * (math.log((1 - _REVEALED) * self.delta) - log_c + (a - 1) * self.epsilon) / (a * (a - 1))
        return float(a[np.argmax(variance)])

    def reached(self, total: Composition, added: float | None = None) -> float:
        """The delta that all releases use at the limit's epsilon, even if each was chosen by earlier results.

        If it is at most some delta on every path of results, all releases are private with that delta: R is at most one
        share of it, and the term with B the other. `added` is another sum over the releases that delta grows by, as for
        limits on messages; it takes a fixed part of the share of R, even where it is 0.
        """
        a, revealed, log_moment = self.order, 0.0, 0.0
        for curve, times in total.parts:
            share, moment = _moment(curve, a)
            revealed += times * share
            log_moment += times * moment
        if not total.parts:
            return 0.0
        if added is not None:
            revealed = max(revealed / (1 - _ADDED), added / _ADDED)
        log_c = (a - 1) * math.log1p(-1 / a) - math.log(a)
        exponent = log_c - (a - 1) * self.epsilon + log_moment
        tail = math.exp(min(exponent, 0.0)) * (1 + _MARGIN * (1 + log_moment))
        return min(1.0, max(revealed / _REVEALED, tail / (1 - _REVEALED)))


_MARGIN = 1e-9
"""The relative margin of the exponential of a sum of logarithms, each off by a few roundings of losses up to 700."""


@lru_cache(maxsize=512)
def _moment(curve: Curve, order: float) -> tuple[float, float]:
    """The mass that one release reveals, and the logarithm of its moment; both rounded up."""
    loss = _pair(curve)
    moment = float(np.log(np.sum(loss.masses * np.exp((order - 1) * (loss.losses - loss.losses[-1])))))
    return loss.infinity, max(0.0, moment + (order - 1) * float(loss.losses[-1]) + PRIVACY_LOSS)


def _pair(curve: Curve) -> PrivacyLoss:
    """One pair of distributions that is as bad as the release in either direction."""
    if (shifts := _shifts(curve)) is None:
        return connected(curve, RESOLUTION)
    span = max(release.span(RESOLUTION) for release, _ in shifts.releases)
    step = span / _STEPS or 1.0
    return sum_of([release.on_grid(step, cut=RESOLUTION).times(times) for release, times in shifts.releases]).loss
