"""A private histogram of ordered values: counts of ranges, the distribution function with a band, and quantiles.

The q-quantile is the smallest value that a share of at least q of the people do not exceed. For values in intervals,
only the interval of a quantile is known; the estimate within it assumes that people are spread evenly.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError, MissingExtraError, ParameterError
from shuffledp.formatting import ShortRepr, shown
from shuffledp.histogram.estimate import Estimate
from shuffledp.jsonable import label_with_kind, plain_label
from shuffledp.validation import open_probability


@dataclass(frozen=True, kw_only=True)
class Quantile(ShortRepr):
    """The value that a `share` of the people do not exceed.

    With edges, the true quantile is at least `low` and below `high` (None without an edge on that side), and `value` is
    the estimate between them. Without edges `low` and `high` are the first and the last possible label. `label` is the
    label of the estimate. All quantiles of a release are in their intervals at once, with the confidence of its band.
    """

    share: float
    value: Any
    label: Any
    low: Any
    high: Any
    edged: bool = True

    @property
    def interval(self) -> str:
        """The interval as text."""
        from shuffledp.explain.release import quantile_interval

        return quantile_interval(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Distribution(ShortRepr):
    """The number of people below each edge, or up to each label.

    `edges` are the public edges between intervals, named by `labels`, or None. `people` is the non-decreasing estimate
    of the people up to each label. `low` and `high` bound the true numbers for all labels at once. The last entries
    count everyone who has a value.
    """

    edges: tuple[Any, ...] | None
    labels: NDArray[Any]
    people: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def __len__(self) -> int:
        return self.people.size

    @property
    def total(self) -> float:
        """The estimated number of people who have a value."""
        return float(self.people[-1])

    @property
    def widest(self) -> float:
        """The largest distance between an estimate and its bounds."""
        return float(np.max([self.people - self.low, self.high - self.people]))

    @cached_property
    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Estimates and bounds as shares of the people who have a value."""
        least, most = max(1, int(self.low[-1])), max(1, int(self.high[-1]))
        return (
            np.minimum(self.people / max(1.0, self.total), 1.0),
            np.minimum(self.low / most, 1.0),
            np.minimum(self.high / least, 1.0),
        )

    def quantile(self, share: float) -> Quantile:
        """Return the value that this share of the people do not exceed, with its interval."""
        share = open_probability("share", share, hint="; 0.5 is the median")
        exact = Fraction(repr(share))
        at = self._first(self.people, float(exact * Fraction(self.total)) - _ROUNDING)
        # the fewest and the most people who have a value
        low = min(at, self._first(self.high, math.ceil(exact * int(self.low[-1]))))
        high = max(at, self._first(self.low, math.ceil(exact * int(self.high[-1]))))
        label, first, last = self.labels[[at, low, high]].tolist()
        if self.edges is None:
            return Quantile(share=share, value=label, label=label, low=first, high=last, edged=False)
        ends = (self._edge(low - 1), self._edge(high))
        return Quantile(share=share, value=self._between(at, share), label=label, low=ends[0], high=ends[1])

    def _first(self, people: NDArray[Any], number: float) -> int:
        """The first label with at least this number of people, or the last one."""
        return min(int(np.searchsorted(people, number)), len(self) - 1)

    def _edge(self, at: int) -> Any:
        """The edge above a label; None if the interval is open."""
        return self.edges[at] if self.edges is not None and 0 <= at < len(self.edges) else None

    def _between(self, at: int, share: float) -> Any:
        """Interpolate within an interval; an open one has its edge."""
        below, above = self._edge(at - 1), self._edge(at)
        if below is None or above is None:
            return above if below is None else below
        before = float(self.people[at - 1]) if at else 0.0
        part = (share * self.total - before) / max(float(self.people[at]) - before, _ROUNDING)
        part = min(1.0, max(0.0, part))
        if isinstance(below, datetime):
            length = above - below
            return below + (part * length if length < _DAYS else timedelta(days=int(part * length.days)))
        return float(below) + part * (float(above) - float(below))

    def to_columns(self) -> dict[str, list[Any]]:
        """Plain columns: label, the edge above it if there are edges, people and shares with bounds."""
        share, least, most = self.shares
        edges = {} if self.edges is None else {"edge": [self._edge(at) for at in range(len(self))]}
        return {
            "label": self.labels.tolist(),
            **edges,
            "people": self.people.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "share": share.tolist(),
            "share_low": least.tolist(),
            "share_high": most.tolist(),
        }

    def to_csv(self) -> str:
        """Format as CSV text with a header."""
        import csv
        import io

        text = io.StringIO()
        columns = self.to_columns()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Convert to a pandas DataFrame."""
        try:
            import pandas as library
        except ImportError:
            raise MissingExtraError("pandas", extra="pandas") from None
        return library.DataFrame(self.to_columns())

    def to_arrow(self) -> Any:
        """Convert to a pyarrow Table."""
        try:
            import pyarrow as library
        except ImportError:
            raise MissingExtraError("pyarrow", extra="arrow") from None
        return library.table(self.to_columns())


_DAYS = timedelta(days=2)
"""The shortest period in which an estimate is rounded to a whole day."""

_ROUNDING = 1e-9
"""In people: the tolerance for rounding where an estimate reaches a share."""


def written(value: Any) -> str:
    """Format an edge, an estimate between edges or a label in few characters."""
    if isinstance(value, datetime):
        return (
            f"{value:%Y-%m-%d}"
            if value == datetime(value.year, value.month, value.day, tzinfo=value.tzinfo)
            else (f"{value:%Y-%m-%d %H:%M}")
        )
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= _WHOLE else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return shown(value)


_WHOLE = 1_000
"""The smallest estimate that is written without digits after the point."""


SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The shares of the quantiles that are shown by default."""


class RangeBounds(Protocol):
    """Error bounds of the number of people in a range of leaves."""

    def __call__(self, first: int, stop: int, *, everywhere: bool) -> tuple[float, float]:
        """How much the estimate may be too high and too low: for this range by itself, or for all ranges at once."""


@dataclass(frozen=True, kw_only=True)
class RangeCount(ShortRepr):
    """The number of people in a range of values.

    `low` and `high` hold for all ranges at once, `low_alone` and `high_alone` for this one by itself, each with the
    confidence of the release.
    """

    count: float
    low: int
    high: int
    low_alone: int
    high_alone: int


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderedEstimate(Estimate):
    """An estimate of ordered values. The first `ordered` bins are ordered; the others, such as missing values, come
    after them and belong to no range.

    `below` estimates the number of people before the second bin, before the third, and so on; `below_low` and
    `below_high` bound all true numbers at once with probability 1 - beta. `edges` are the public edges between bins
    that are intervals. `shares` are those of the quantiles to show.
    """

    below: NDArray[np.float64]
    below_low: NDArray[np.int64]
    below_high: NDArray[np.int64]
    range_bounds: RangeBounds = field(repr=False)
    edges: Sequence[Any] | None = None
    ordered: int
    shares: Sequence[float] = SHARES

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.ordered <= self.bins:
            raise ParameterError(f"ordered must lie between 1 and {self.bins} bins, got {self.ordered}")
        if self.edges is not None and len(self.edges) != self.ordered - 1:
            raise ParameterError(
                f"edges must lie between the {self.ordered} ordered values: one fewer, got {len(self.edges)}"
            )

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The order of the bins."""
        return np.arange(len(self))

    @cached_property
    def _distribution(self) -> Distribution:
        """Non-decreasing estimates inside the non-decreasing band."""
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
        """The number of people below each edge, or up to each value, with a band."""
        return self._distribution

    def quantile(self, share: float) -> Quantile:
        """The smallest value that at least this share of the people do not exceed."""
        return self._distribution.quantile(share)

    def quantiles(self, shares: Iterable[float] | None = None) -> list[Quantile]:
        """Several quantiles, by default of `shares`, whose intervals all hold at once."""
        return [self.quantile(share) for share in (self.shares if shares is None else shares)]

    @property
    def some_without(self) -> bool:
        """Whether people can lack a value in the order; quantiles are then of the others."""
        return self.ordered < self.bins

    def range(self, low: Any = None, high: Any = None) -> RangeCount:
        """Count the people in a range of values.

        With edges, the range is from the edge `low` to below the edge `high`; otherwise it is from the label `low` to
        the label `high`, both included. None leaves a side open.
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
        """The number of bins before an end of a range."""
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

    def about_dict(self) -> dict[str, Any]:
        """Everything except the histogram itself, with the band and the quantiles."""
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
    ends = {name: getattr(found, name) for name in ("value", "low", "high")}
    # the key `edges` has all digits of an edge
    numbers = {name: float(end) if isinstance(end, Decimal) else plain_label(end) for name, end in ends.items()}
    return {"share": found.share, **numbers, "interval": found.interval}


def _spellings(edge: Any) -> Iterator[Any]:
    """A float can stand for a decimal edge, a day or a text for a datetime."""
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
    """Bounds on whole numbers of people from estimates and their error bounds, clipped to 0 and all people."""
    low = np.ceil(counts - too_high - _ROUNDING_OF_SUMS).clip(0, people)
    high = np.floor(counts + too_low + _ROUNDING_OF_SUMS).clip(0, people)
    # an estimate outside the possible numbers has an interval of one number
    return np.minimum(low, high).astype(np.int64), np.maximum(low, high).astype(np.int64)


def rising_band(low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tighten a band around non-decreasing numbers."""
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    return np.minimum(low, high), np.maximum(low, high)


_ROUNDING_OF_SUMS = 1e-6
"""In people: the rounding error of a sum over a million leaves is below 1e-8."""
