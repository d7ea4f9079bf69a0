"""Quantiles over time: the median and others in each round, and whether they moved.

The intervals of a quantile follow from the band of the distribution function of its round, so those of all quantiles in
all rounds hold at once, with the intervals of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.ordered_estimate import OrderedEstimate, Quantile


class Verdict(StrEnum):
    """Whether a number changed between two rounds: its interval is above 0, below 0, or contains 0."""

    UP = "up"
    DOWN = "down"
    NO_EVIDENCE = "no-evidence"


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
    """The values in the order."""
    return tuple(estimate.distribution().labels.tolist())


def _apart(one: Any, other: Any) -> float | None:
    """The difference of two numbers as a float; None for an open end, and for dates and texts."""
    numbers = (int, float, Decimal)
    if not isinstance(one, numbers) or not isinstance(other, numbers) or isinstance(one, datetime):
        return None
    return float(Decimal(str(other)) - Decimal(str(one)))
