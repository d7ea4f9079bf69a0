"""The distribution function of an ordered estimate, with a band, and its quantiles.

The q-quantile is the smallest value that a share of at least q of the people do not exceed. For values in intervals,
only the interval of a quantile is known; the estimate within it assumes that people are spread evenly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import MissingExtraError
from shuffledp.formatting import ShortRepr, shown
from shuffledp.validation import open_probability

Edge = int | float | Decimal | datetime


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

    `edges` are the public edges between the intervals of values, or None; `labels` name the intervals. `people` is the
    non-decreasing estimate of the people up to each label. `low` and `high` bound the true numbers for all labels at
    once. The last entries count everyone who has a value.
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
        """The first label with at least this number of people; the last label if there is none."""
        return min(int(np.searchsorted(people, number)), len(self) - 1)

    def _edge(self, at: int) -> Any:
        """The edge above a label; None if the interval is open."""
        return self.edges[at] if self.edges is not None and 0 <= at < len(self.edges) else None

    def _between(self, at: int, share: float) -> Any:
        """Interpolate within an interval; return the edge of an open interval."""
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
        """Plain columns in order: label, the edge above it if there are edges, people and shares with bounds."""
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
