"""The privacy guarantee of a release and its privacy curve: the smallest delta for every epsilon, and the reverse."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from shuffledp.accounting.bounds import REPLACE_ONE as REPLACE_ONE
from shuffledp.accounting.bounds import Curve as Curve
from shuffledp.accounting.bounds import GroupCurve, not_negative, replaced_rows, rows_of
from shuffledp.accounting.loss import GridLoss, PrivacyLoss, Term, only_size, sum_of, total_loss
from shuffledp.accounting.strength import Strength
from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.formatting import privacy_figure as privacy_figure
from shuffledp.noise import IntegerDistribution
from shuffledp.validation import whole


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """An (epsilon, delta)-differential privacy guarantee and its basis."""

    epsilon: float
    delta: float
    basis: str

    def __str__(self) -> str:
        return f"({privacy_figure(self.epsilon)}, {privacy_figure(self.delta)})-differential privacy"

    @property
    def strength(self) -> Strength:
        """How well it protects one person: strong, moderate or weak."""
        return Strength.of(self.epsilon, self.delta)


_STEPS_PER_DEVIATION = 60
"""The grid steps per standard deviation of a composed loss; finer grids move delta by less than 0.1 %."""

_MOST_STEPS = 1 << 13
"""The most losses of one shift on the grid, so that a composition takes milliseconds."""


@dataclass(frozen=True, kw_only=True)
class Shift:
    """One independent coordinate of a release that a neighbouring dataset moves: noise M against M + by."""

    distribution: IntegerDistribution
    by: int

    @property
    def reversed(self) -> Shift:
        """The same coordinate with the two datasets exchanged (up to a translation, which hides nothing)."""
        return Shift(distribution=self.distribution, by=-self.by)

    def times(self, factor: int) -> Shift:
        """The same coordinate, moved this many times as far."""
        return Shift(distribution=self.distribution, by=factor * self.by)

    @property
    def loss(self) -> PrivacyLoss:
        """The privacy-loss distribution of the shift."""
        return _shift_loss(self)


@lru_cache(maxsize=128)
def _shift_loss(shift: Shift) -> PrivacyLoss:
    return PrivacyLoss.of_shift(shift.distribution, shift.by)


@dataclass(frozen=True)
class Comparison:
    """The difference of two neighbouring datasets, in this order, in one release: shifts with their numbers."""

    shifts: frozenset[tuple[Shift, int]]

    @classmethod
    def of(cls, shifts: Iterable[Shift]) -> Comparison:
        """Return the comparison of these shifts, counting equal ones."""
        return cls(frozenset(Counter(shifts).items()))

    @property
    def in_order(self) -> list[tuple[Shift, int]]:
        """The shifts in a reproducible order: larger noise first, and down before up.

        Composition shortens after every step, so the order moves an upper bound, by up to 0.1 %.
        """
        return sorted(
            self.shifts, key=lambda one: (-one[0].distribution.mean, -one[0].distribution.variance, one[0].by)
        )

    @property
    def each(self) -> list[Shift]:
        """Every shift, repeated by its number."""
        return [shift for shift, count in self.shifts for _ in range(count)]

    @property
    def reversed(self) -> Comparison:
        """The comparison with the two datasets exchanged."""
        return Comparison(frozenset((shift.reversed, count) for shift, count in self.shifts))

    def for_rows(self, rows: int) -> Comparison:
        """The comparison in which every coordinate moves this many times as far."""
        return Comparison(frozenset((shift.times(rows), count) for shift, count in self.shifts))

    @property
    def log_concave(self) -> bool:
        """Whether all noises have a likelihood ratio that is monotone under shifts."""
        return all(shift.distribution.log_concave for shift, _ in self.shifts)

    @property
    def ways(self) -> frozenset[Comparison]:
        """Both directions; one only if they are equal, as in every histogram."""
        return frozenset([self, self.reversed])

    @property
    def exact(self) -> bool:
        """Whether delta is exact: up to two shifts are summed by outcome; more have an upper bound on a grid."""
        return sum(count for _, count in self.shifts) <= 2

    def delta(self, epsilon: float, *, resolution: float) -> float:
        """The smallest delta for this pair of datasets, in this direction."""
        if not self.exact:
            return float(_composed(self, resolution).delta(epsilon))
        first, *rest = self.each
        return rest[0].loss.delta_with(first.loss, epsilon) if rest else float(first.loss.delta(epsilon))

    def span(self, cut: float) -> float:
        """The largest span of the losses of one shift, over the directions that differ."""
        if len(self.ways) == 1:
            return max(shift.loss.shortened(cut).span for shift, _ in self.shifts)
        every = [way.loss.shortened(cut).losses for shift, _ in self.shifts for way in (shift, shift.reversed)]
        losses = np.concatenate(every)
        return float(np.ptp(losses)) if losses.size else 0.0

    def on_grid(self, step: float, *, cut: float) -> GridLoss:
        """The loss of all shifts together on a grid; if the directions differ, one that is as bad as either."""
        ways = [
            sum_of([shift.loss.on_grid(step, cut=cut).times(count) for shift, count in way.in_order])
            for way in self.ways
        ]
        return ways[0] if len(ways) == 1 else ways[0].or_worse(ways[1])

    def term(self, times: int, *, cut: float) -> Term:
        """The term of this number of releases in the loss of many (accounting/loss.py)."""
        losses = [shift.loss for shift in self.each]
        return Term(losses, self.span(cut), lambda step: self.on_grid(step, cut=cut), times)


Releases = frozenset[tuple[Comparison, int]]
"""Releases with the number of times that each is made."""


def terms_of(releases: Releases, *, cut: float) -> list[Term]:
    """The terms of the loss of these releases together; equal shifts of different releases are counted."""
    counts: Counter[Comparison] = Counter()
    for release, times in releases:
        if len(release.ways) > 1:
            counts[release] += times
            continue
        for shift, count in release.shifts:  # equal directions: every shift is there with its opposite
            if shift.by >= 0:
                counts[Comparison.of([shift, shift.reversed])] += times * count
    return [release.term(times, cut=cut) for release, times in counts.items()]


@lru_cache(maxsize=64)
def _together(releases: Releases, resolution: float) -> PrivacyLoss:
    return total_loss(terms_of(releases, cut=resolution))


@lru_cache(maxsize=64)
def _composed(release: Comparison, resolution: float) -> PrivacyLoss:
    """The loss of all shifts of one release, on a grid."""
    variance = sum(count * shift.loss.variance for shift, count in release.shifts)
    number = sum(count for _, count in release.shifts)
    # every split adds about step^2 / 6 to the variance: this keeps the total below 1 part in 10^4
    step = math.sqrt(variance / number) / _STEPS_PER_DEVIATION
    step = max(step, release.span(resolution) / _MOST_STEPS)
    step = only_size(shift.loss for shift, _ in release.shifts) or step or 1.0
    return release.on_grid(step, cut=resolution).loss


@dataclass(frozen=True)
class PrivacyCurve(Curve):
    """The curve delta(epsilon) of one release or of several, over all neighbouring datasets and both directions.

    An exact one has an allowance of 1e-12 for rounding, on the safe side. `resolution` is the mass that composition may
    give up (count as revealed) when it shortens a distribution; it matters only far below the deltas of interest.
    `of_sets` says that the coordinates are bins of a set of values, so that two rows may move different ones; otherwise
    every row moves one bin down and one up in each of some groups of bins.
    """

    releases: Releases
    neighbours: str = REPLACE_ONE
    resolution: float = 1e-25
    of_sets: bool = False

    @classmethod
    def of_shifts(cls, *shifts: Shift, neighbours: str = REPLACE_ONE, resolution: float = 1e-25) -> PrivacyCurve:
        """Return the curve of a release in which neighbours move these independent coordinates, in either direction."""
        if not shifts:
            raise ParameterError("a curve needs at least one shift")
        return cls(frozenset([(Comparison.of(shifts), 1)]), neighbours, resolution)

    @property
    def exact(self) -> bool:
        """Whether this is the exact curve, not only an upper bound."""
        return self._only is not None and self._only.exact

    @property
    def _only(self) -> Comparison | None:
        """The single release of this curve; None if there are several."""
        (release, times), *more = self.releases
        return release if times == 1 and not more else None

    @property
    def shifts(self) -> int:
        """The largest number of independent coordinates that a neighbouring dataset moves."""
        return sum(times * len(release.each) for release, times in self.releases)

    def delta(self, epsilon: float) -> float:
        """The smallest delta for which the release is (epsilon, delta)-differentially private; never below it."""
        epsilon = not_negative(epsilon)
        if self._only is None:
            return min(1.0, float(_together(self.releases, self.resolution).delta(epsilon)))
        return min(1.0, max(way.delta(epsilon, resolution=self.resolution) for way in self._only.ways))

    def for_rows(self, rows: int) -> Curve:
        """The curve of a person with this number of rows.

        If noise is log-concave, no way to replace k rows reveals more than all leaving one bin and entering one other:
        the same coordinates move k times as far (docs/proofs/exact-privacy.md, "Several rows of one person"). The
        result is then as exact as the curve of one row, and otherwise an upper bound.
        """
        if (number := rows_of(self, rows)) == 1:
            return self
        if self.of_sets or not all(release.log_concave for release, _ in self.releases):
            return GroupCurve(curve=self, rows=number)
        releases = frozenset((release.for_rows(number), times) for release, times in self.releases)
        return replace(self, releases=releases, neighbours=replaced_rows(number))

    def compose(self, *others: PrivacyCurve) -> PrivacyCurve:
        """Return the curve of this release together with others of the same people's data, each with fresh noise.

        A later release may depend on the results of earlier ones, and so may the direction in which a person's value
        moves it. A release whose two directions differ therefore counts as a pair of distributions that is as bad as
        either for every epsilon: an upper bound (docs/proofs/exact-privacy.md).
        """
        curves = (self, *others)
        if len({curve.neighbours for curve in curves}) > 1:
            raise ParameterError("curves of different neighbouring relations cannot be composed")
        together: Counter[Comparison] = Counter()
        for curve in curves:
            for release, times in curve.releases:
                # the other direction is the same release
                together[release.reversed if release.reversed in together else release] += times
        return PrivacyCurve(
            frozenset(together.items()),
            self.neighbours,
            max(curve.resolution for curve in curves),
            any(curve.of_sets for curve in curves),
        )

    def times(self, releases: int) -> PrivacyCurve:
        """Return the curve of `releases` releases of this kind, each with fresh noise."""
        number = whole("releases", releases)
        return replace(self, releases=frozenset((release, number * times) for release, times in self.releases))

    def pld(self, *, value_discretization_interval: float = 1e-4) -> Any:
        """Convert this curve to a pessimistic PrivacyLossDistribution of dp_accounting, for that library's accountants.

        They compose each direction only with itself. This is correct for a release that is the same in both directions,
        as every histogram here. Any other release is converted to a pair that is as bad as either of its directions.
        """
        try:
            from dp_accounting.pld import privacy_loss_distribution as library
        except ImportError:
            raise MissingExtraError("dp-accounting", extra="pld") from None
        step, parts = value_discretization_interval, []
        for release, times in self.releases:
            if len(release.ways) == 1:
                parts += [_both_ways(shift, step, library) for shift in release.each] * times
                continue
            worse = release.on_grid(step, cut=self.resolution)
            masses = {worse.first + at: float(mass) for at, mass in enumerate(worse.loss.masses)}
            create = library.PrivacyLossDistribution.create_from_rounded_probability
            parts += [create(masses, min(1.0, worse.loss.infinity), step, symmetric=True)] * times
        total, *rest = parts
        for part in rest:
            total = total.compose(part)
        return total


def _both_ways(shift: Shift, step: float, library: Any) -> Any:
    """A shift as that library's distribution, which keeps both directions."""
    window = shift.distribution.window
    log_upper = {window.first + i: float(p) for i, p in enumerate(window.log_pmf) if np.isfinite(p)}
    log_lower = {k + shift.by: p for k, p in log_upper.items()}
    # mass outside of the window is revealed, in either direction: a separate outcome
    outside = window.mass_below + window.mass_above
    if outside:
        log_upper[window.first - 1 - abs(shift.by)] = math.log(outside)
        log_lower[window.last + 1 + abs(shift.by)] = math.log(outside)
    return library.from_two_probability_mass_functions(
        log_lower, log_upper, symmetric=False, value_discretization_interval=step
    )


def moved_bins(*noises: IntegerDistribution, values: int = 1, resolution: float = 1e-25) -> PrivacyCurve:
    """The shifts of a replaced person, who leaves and enters at most this number of bins; each bin moves by one.

    Every bin has an independent coordinate for each of the `noises`. People who share some of their values move fewer
    bins, which reveals less.
    """
    shifts = [Shift(distribution=noise, by=by) for noise in noises for by in (1, -1)] * values
    return replace(PrivacyCurve.of_shifts(*shifts, resolution=resolution), of_sets=values > 1)
