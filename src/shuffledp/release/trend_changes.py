"""The changes of all values and quantiles between two rounds, with intervals that hold at once.

The difference of two joint intervals is always valid. Where the errors of both rounds have known distributions, it is
intersected with the interval from the exact distribution of their difference (estimators/differences.py). The intervals
of a quantile follow from the band of the distribution function of its round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.estimators.base import AdditiveNoise
from shuffledp.estimators.differences import ErrorDifference, difference_range
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.ordered_estimate import OrderedEstimate, Quantile
from shuffledp.release.trend_rounds import Numbers, RoundEstimate, bins_at_risk


class Verdict(StrEnum):
    """Whether a number changed between two rounds: its interval is above 0, below 0, or contains 0."""

    UP = "up"
    DOWN = "down"
    NO_EVIDENCE = "no-evidence"


class Measure(StrEnum):
    """What is compared: numbers of people, or shares if the rounds have different numbers of people."""

    PEOPLE = "people"
    SHARE = "share"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The change of a value from round `since` to round `until`, in people and as a difference of shares.

    `exact` tells whether the interval that decides the verdict used the distribution of the difference of the noises.
    """

    label: Any
    since: int
    until: int
    low: int
    high: int
    share_low: float
    share_high: float
    verdict: Verdict
    exact: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Changes(ShortRepr):
    """The changes of all values from round `since`, with `people`, to round `until`, as arrays.

    `possible` marks the values that were possible answers in both rounds.
    """

    since: int
    until: int
    people: int
    measure: Measure
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    share_low: NDArray[np.float64]
    share_high: NDArray[np.float64]
    exact: NDArray[np.bool_]
    possible: NDArray[np.bool_]

    @classmethod
    def of(
        cls, numbers: Numbers, rounds: Sequence[RoundEstimate], one: int, other: int, *, measure: Measure, risk: float
    ) -> Changes:
        """Compare the rounds at two places; `risk` is for exact changes of all values."""
        shares, sizes = measure is Measure.SHARE, [1.0 / rounds[at].people for at in (one, other)]
        low, high = numbers.low[other] - numbers.high[one], numbers.high[other] - numbers.low[one]
        share_low = numbers.low[other] * sizes[1] - numbers.high[one] * sizes[0]
        share_high = numbers.high[other] * sizes[1] - numbers.low[one] * sizes[0]
        exact = np.zeros(low.shape, dtype=bool)
        found = _noise_range(rounds[one], rounds[other], weights=sizes if shares else [1.0, 1.0], risk=risk)
        if found is not None:
            least, most = found
            exact = numbers.additive[one] & numbers.additive[other]
            if shares:
                apart = numbers.counts[other] * sizes[1] - numbers.counts[one] * sizes[0]
                share_low, share_high = _narrowed(share_low, share_high, apart - most, apart - least, exact)
            else:
                apart = numbers.counts[other] - numbers.counts[one]
                bounds = np.ceil(apart - most), np.floor(apart - least)
                low, high = _narrowed(low, high, *bounds, exact)
        share_low, share_high = _outwards(share_low, share_high)
        return cls(
            since=rounds[one].number,
            until=rounds[other].number,
            people=rounds[one].people,
            measure=measure,
            low=low,
            high=high,
            share_low=share_low,
            share_high=share_high,
            exact=exact,
            possible=numbers.possible[one] & numbers.possible[other],
        )

    def at(self, place: int, label: Any) -> Difference | None:
        """The change of the value at a place; None if it was not possible in both rounds."""
        if not self.possible[place]:
            return None
        low, high = int(self.low[place]), int(self.high[place])
        if self.measure is Measure.SHARE:
            shares = max(-1.0, float(self.share_low[place])), min(1.0, float(self.share_high[place]))
        else:
            shares = decimal_share(low, self.people, up=False), decimal_share(high, self.people, up=True)
        return Difference(
            label=label,
            since=self.since,
            until=self.until,
            low=low,
            high=high,
            share_low=shares[0],
            share_high=shares[1],
            verdict=_verdict(*(shares if self.measure is Measure.SHARE else (low, high))),
            exact=bool(self.exact[place]),
        )

    @property
    def changed(self) -> tuple[int, int]:
        """The number of values that changed, and of all that are compared."""
        low, high = (self.share_low, self.share_high) if self.measure is Measure.SHARE else (self.low, self.high)
        changed = ((low > 0) | (high < 0)) & self.possible
        return int(changed.sum()), int(self.possible.sum())


def _noise_range(
    one: RoundEstimate, other: RoundEstimate, *, weights: Sequence[float], risk: float
) -> tuple[float, float] | None:
    """The range of the difference of the errors of two rounds in every bin; None if it is unknown."""
    earlier, later = one.protocol.estimator, other.protocol.estimator
    if not isinstance(earlier, AdditiveNoise) or not isinstance(later, AdditiveNoise):
        return None
    difference = ErrorDifference(
        one=earlier.error_noise, other=later.error_noise, weight_of_one=weights[0], weight_of_other=weights[1]
    )
    least, most = difference_range(difference, risk / bins_at_risk(one.protocol))
    return (least, most) if math.isfinite(least) and math.isfinite(most) else None


def _narrowed(
    low: NDArray[Any], high: NDArray[Any], least: NDArray[Any], most: NDArray[Any], exact: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The intersection of two families of intervals that hold at once; if one must have failed, the second."""
    with np.errstate(invalid="ignore"):
        narrow_low, narrow_high = np.fmax(low, least), np.fmin(high, most)
        empty = narrow_low > narrow_high
    narrow_low, narrow_high = np.where(empty, least, narrow_low), np.where(empty, most, narrow_high)
    return np.where(exact, narrow_low, low), np.where(exact, narrow_high, high)


def _verdict(low: float, high: float) -> Verdict:
    return Verdict.UP if low > 0 else Verdict.DOWN if high < 0 else Verdict.NO_EVIDENCE


_DIGITS = 12
"""Of a bound on a share, far more than the noise leaves."""


def decimal_share(number: int, people: int, *, up: bool) -> float:
    """Return a share as a decimal number, rounded up or down."""
    digits = int(number) * 10**_DIGITS
    rounded = -(-digits // people) if up else digits // people
    return float(rounded) / 10.0**_DIGITS


def _outwards(low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds on differences of shares as decimal numbers, beyond the errors of a few operations."""
    scale = 10.0**_DIGITS
    return np.floor((low - _FEW_ULPS) * scale) / scale, np.ceil((high + _FEW_ULPS) * scale) / scale


_FEW_ULPS = 1e-14
"""Absolute: a few operations with numbers up to 1, each off by at most 1.1e-16."""


@dataclass(frozen=True, kw_only=True)
class QuantileDifference:
    """The change of a quantile from round `since` to round `until`.

    `low` and `high` bound it where values are numbers; None where a bound is open or values are not numbers.
    """

    share: float
    since: int
    until: int
    low: float | None
    high: float | None
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class QuantileTrend:
    """The value that a `share` of the people do not exceed, in each round; `numbers` are the numbers of the rounds."""

    share: float
    numbers: tuple[int, ...]
    values: tuple[Quantile, ...]
    order: tuple[Any, ...] = ()

    def difference(self, *, since: int | None = None, until: int | None = None) -> QuantileDifference:
        """The change between two rounds, by default the first and the last."""
        since = self.numbers[0] if since is None else since
        until = self.numbers[-1] if until is None else until
        one, other = (self.values[self.numbers.index(number)] for number in (since, until))
        verdict = Verdict.NO_EVIDENCE
        if self._certainly_below(one, other):
            verdict = Verdict.UP
        elif self._certainly_below(other, one):
            verdict = Verdict.DOWN
        return QuantileDifference(
            share=self.share,
            since=since,
            until=until,
            low=_apart(one.high, other.low),
            high=_apart(one.low, other.high),
            verdict=verdict,
        )

    def _certainly_below(self, one: Quantile, other: Quantile) -> bool:
        """Whether the first quantile is smaller: it is below its `high`, or one of the labels up to it."""
        if one.edged:
            return one.high is not None and other.low is not None and bool(one.high <= other.low)
        return self.order.index(one.high) < self.order.index(other.low)


def quantile_trends(rounds: Sequence[tuple[int, Estimate]]) -> tuple[QuantileTrend, ...]:
    """The quantiles of rounds of ordered values with the same edges, for the shares of the latest; else none."""
    ordered = [(number, estimate) for number, estimate in rounds if isinstance(estimate, OrderedEstimate)]
    if not ordered or len(ordered) < len(rounds) or len({_values(estimate) for _, estimate in ordered}) > 1:
        return ()
    return tuple(
        QuantileTrend(
            share=share,
            numbers=tuple(number for number, _ in ordered),
            values=tuple(estimate.quantile(share) for _, estimate in ordered),
            order=_values(ordered[0][1]),
        )
        for share in ordered[-1][1].shares
    )


def _values(estimate: OrderedEstimate) -> tuple[Any, ...]:
    return tuple(estimate.distribution().labels.tolist())


def _apart(one: Any, other: Any) -> float | None:
    """The difference of two numbers; None for an open end, and for dates and texts."""
    numbers = (int, float, Decimal)
    if not isinstance(one, numbers) or not isinstance(other, numbers) or isinstance(one, datetime):
        return None
    return float(Decimal(str(other)) - Decimal(str(one)))
