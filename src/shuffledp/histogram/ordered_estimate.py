"""A private histogram of ordered values: also how many people are in any range, and the whole distribution function."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr, people_at_most, percent_at_most, surely
from shuffledp.histogram.distribution import Distribution, Quantile, written
from shuffledp.histogram.estimate import Estimate
from shuffledp.jsonable import label_with_kind, plain_label

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are shown where nobody asked for others."""


class RangeBounds(Protocol):
    """How far the number of people in some leaves may be off."""

    def __call__(self, first: int, stop: int, *, everywhere: bool) -> tuple[float, float]:
        """How far the estimate may be too high, and too low: for this range alone, or for all ranges at once."""


@dataclass(frozen=True, kw_only=True)
class RangeCount(ShortRepr):
    """How many people are in a range of values.

    `low` and `high` hold the truth for all ranges that one may ask for at once, `low_alone` and `high_alone` for this
    one looked at alone, each with the probability of the release.
    """

    count: float
    low: int
    high: int
    low_alone: int
    high_alone: int


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderedEstimate(Estimate):
    """An estimate of values that have an order. The first `ordered` bins are in it, all others, such as missing values,
    are behind them and belong to no range.

    `below` estimates how many people are before the second bin, before the third, and so on; `below_low` and
    `below_high` hold the truth of all of them at once with probability 1 - beta. `edges` are the public edges between
    bins that are intervals: the first is between the first two bins. `shares` are those of the quantiles that are shown
    and written.
    """

    below: NDArray[np.float64]
    below_low: NDArray[np.int64]
    below_high: NDArray[np.int64]
    range_bounds: RangeBounds = field(repr=False)
    edges: Sequence[Any] | None = None
    ordered: int
    shares: Sequence[float] = SHARES

    def __post_init__(self) -> None:
        if not 1 <= self.ordered <= self.bins:
            raise ParameterError(f"ordered must lie between 1 and {self.bins} bins, got {self.ordered}")
        if self.edges is not None and len(self.edges) != self.ordered - 1:
            raise ParameterError(
                f"edges must lie between the {self.ordered} ordered values: one fewer, got {len(self.edges)}"
            )

    @cached_property
    def _distribution(self) -> Distribution:
        """Estimates that never fall and lie in the band, which never falls either."""
        from scipy.optimize import isotonic_regression

        everybody = np.array([self.people])
        low, high = (np.append(end, everybody)[: self.ordered] for end in (self.below_low, self.below_high))
        rising = isotonic_regression(np.append(self.below, everybody)[: self.ordered]).x
        labels = np.arange(self.ordered) if self.domain is None else self.domain.decode(np.arange(self.ordered))
        return Distribution(
            edges=None if self.edges is None else tuple(self.edges),
            labels=labels,
            people=np.clip(rising, low, high),
            low=low,
            high=high,
        )

    def distribution(self) -> Distribution:
        """How many people are below each edge, or have each value or one before it, within a band."""
        return self._distribution

    def quantile(self, share: float) -> Quantile:
        """The smallest value that at least this share of the people do not exceed; 0.5 gives the median."""
        return self._distribution.quantile(share)

    def quantiles(self, shares: Iterable[float] | None = None) -> list[Quantile]:
        """Several quantiles, whose intervals all hold at once: those that were asked for, unless others are given."""
        return [self.quantile(share) for share in (self.shares if shares is None else shares)]

    @property
    def some_without(self) -> bool:
        """Whether people can be without a value in the order: quantiles are then not of all people."""
        return self.ordered < self.bins

    def range(self, low: Any = None, high: Any = None) -> RangeCount:
        """How many people are in a range of values.

        With edges, those from the edge `low` to below the edge `high`; otherwise those with the labels from `low` to
        `high`, both included. None leaves a side open.
        """
        first = 0 if low is None else self._place(low, "low", after=False)
        stop = self.ordered if high is None else self._place(high, "high", after=True)
        if first >= stop:
            raise ParameterError("low must come before high in the order of the values")
        everything = np.concatenate([[0.0], self.below, [float(self.people)]])
        count = float(everything[stop] - everything[first])
        bounds = [self._around(count, *self.range_bounds(first, stop, everywhere=every)) for every in (True, False)]
        (least, most), (least_alone, most_alone) = bounds
        return RangeCount(count=count, low=least, high=most, low_alone=least_alone, high_alone=most_alone)

    def _around(self, count: float, too_high: float, too_low: float) -> tuple[int, int]:
        low, high = whole_bounds(np.array([count]), np.array([too_high]), np.array([too_low]), people=self.people)
        return int(low[0]), int(high[0])

    def _place(self, end: Any, name: str, *, after: bool) -> int:
        """How many bins are before an end of a range."""
        if self.edges is not None:
            place = next((self._edge_places[way] for way in _spellings(end) if way in self._edge_places), None)
            if place is None:
                raise DataError(f"{name} must be one of the edges, which are public, or None: {self._some_edges()}")
            return place
        labels: list[Any] = self._distribution.labels.tolist()
        if end not in labels:
            raise DataError(f"{name} must be one of the {self.ordered} ordered values, or None")
        return labels.index(end) + (1 if after else 0)

    @cached_property
    def _edge_places(self) -> dict[Any, int]:
        return {edge: at + 1 for at, edge in enumerate(self.edges or ())}

    def _some_edges(self) -> str:
        edges = [written(edge) for edge in self.edges or ()]
        return ", ".join(edges if len(edges) <= 8 else [*edges[:3], "...", *edges[-3:]])

    def story(self) -> dict[str, str]:
        """The paragraphs of `explain`, by title, with one about the distribution."""
        story = super().story()
        sure = {name: story.pop(name) for name in ("Result", "How sure")}
        return {**sure, "Distribution": " ".join(self._distribution_in_words()), **story}

    def _distribution_in_words(self) -> Iterator[str]:
        distribution = self._distribution
        off, places = distribution.widest, "every edge" if self.edges is not None else "every value"
        yield (
            f"With probability at least {surely(self.beta)} the number of people below {places} is off by at most "
            f"{people_at_most(off)} ({percent_at_most(off, self.people)} of all people) everywhere at once, and all "
            "quantiles lie in their intervals."
        )
        if len(distribution) > 1:
            middle = distribution.quantile(0.5)
            yield f"The median is about {written(middle.value)} ({middle.interval})."
        if self.some_without:
            yield "People without a value in this order belong to no range, and quantiles are among all others."

    def to_columns(self) -> dict[str, list[Any]]:
        """The histogram as named columns of plain Python values, in the order of the values."""
        return {
            "label": self.labels.tolist(),
            "count": self.counts.tolist(),
            "frequency": self.frequencies.tolist(),
            "low": self.simultaneous.low.tolist(),
            "high": self.simultaneous.high.tolist(),
            "low_alone": self.per_bin.low.tolist(),
            "high_alone": self.per_bin.high.tolist(),
        }

    def about_dict(self) -> dict[str, Any]:
        """Everything but the histogram itself, as plain Python values, with the band and the quantiles."""
        return {
            **super().about_dict(),
            "ordered": self.ordered,
            "edges": None if self.edges is None else [label_with_kind(edge) for edge in self.edges],
            "below": self.below.tolist(),
            "below_low": self.below_low.tolist(),
            "below_high": self.below_high.tolist(),
            "quantiles": [_plain_quantile(found) for found in self.quantiles()],
        }


def _plain_quantile(found: Quantile) -> dict[str, Any]:
    """A quantile for readers of JSON: numbers or texts, and its interval in words as it is shown."""
    ends = {name: getattr(found, name) for name in ("value", "low", "high")}
    # all digits of an edge are among the edges
    numbers = {name: float(end) if isinstance(end, Decimal) else plain_label(end) for name, end in ends.items()}
    return {"share": found.share, **numbers, "interval": found.interval}


def _spellings(edge: Any) -> Iterator[Any]:
    """An edge as it is given, a float as the decimal number that it is written as, a day or a text as a moment."""
    if isinstance(edge, Hashable):
        yield edge
    if isinstance(edge, float):
        yield Decimal(repr(edge))
    elif isinstance(edge, date) and not isinstance(edge, datetime):
        yield datetime(edge.year, edge.month, edge.day)
    elif isinstance(edge, str):
        with suppress(ValueError):
            yield datetime.fromisoformat(edge)


def whole_bounds(
    counts: NDArray[np.float64], too_high: NDArray[np.float64], too_low: NDArray[np.float64], *, people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bounds on whole numbers of people, from estimates and how far these may be off, as far as there are people."""
    low = np.ceil(counts - too_high - _ROUNDING).clip(0, people)
    high = np.floor(counts + too_low + _ROUNDING).clip(0, people)
    # an estimate beyond all possible numbers has an interval of one of them
    return np.minimum(low, high).astype(np.int64), np.maximum(low, high).astype(np.int64)


def rising_band(low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A band around numbers that never fall, without what such numbers cannot be."""
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    return np.minimum(low, high), np.maximum(low, high)


_ROUNDING = 1e-6
"""In people: sums of estimates of a million leaves are off by less than 1e-8."""
