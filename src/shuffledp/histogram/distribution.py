"""The distribution function of an ordered estimate: how many people are below each edge, within a band; and quantiles.

The q-quantile is the smallest value that a share of at least q of the people do not exceed. Intervals of values are
told apart only by their edges, so a quantile is known as the interval that it lies in; its estimate within that
interval takes people to be spread evenly.
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

    With edges, the true one is at least `low` and below `high`, None where there is no edge on that side, and `value`
    is the estimate between them. Without edges `low` and `high` are the first and the last label that it can be.
    `label` is that of the estimate. All quantiles of a release are in their intervals at once, as surely as its band.
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
    """How many people are below each edge, or have each label or one before it.

    `edges` are the public edges between the intervals of values, or None; `labels` name the intervals. `people` has an
    estimate for every label, of those who are in it or in one before it; it never falls. `low` and `high` hold the
    truth for all labels at once. The last ones are about everybody who has a value.
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
        """The people who have a value, as estimated; all of them unless some have none."""
        return float(self.people[-1])

    @property
    def widest(self) -> float:
        """By how many people an estimate can be off at most."""
        return float(np.max([self.people - self.low, self.high - self.people]))

    @cached_property
    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The same as shares of those who have a value: estimate, low and high."""
        least, most = max(1, int(self.low[-1])), max(1, int(self.high[-1]))
        return (
            np.minimum(self.people / max(1.0, self.total), 1.0),
            np.minimum(self.low / most, 1.0),
            np.minimum(self.high / least, 1.0),
        )

    def quantile(self, share: float) -> Quantile:
        """The value that this share of the people do not exceed, with the interval that the band gives."""
        share = open_probability("share", share, hint="; 0.5 is the median")
        exact = Fraction(repr(share))
        at = self._first(self.people, float(exact * Fraction(self.total)) - _ROUNDING)
        # who is surely, and who is possibly among those that count
        low = min(at, self._first(self.high, math.ceil(exact * int(self.low[-1]))))
        high = max(at, self._first(self.low, math.ceil(exact * int(self.high[-1]))))
        label, first, last = self.labels[[at, low, high]].tolist()
        if self.edges is None:
            return Quantile(share=share, value=label, label=label, low=first, high=last, edged=False)
        ends = (self._edge(low - 1), self._edge(high))
        return Quantile(share=share, value=self._between(at, share), label=label, low=ends[0], high=ends[1])

    def _first(self, people: NDArray[Any], number: float) -> int:
        """The first label at which there are so many people; the last one where there is none."""
        return min(int(np.searchsorted(people, number)), len(self) - 1)

    def _edge(self, at: int) -> Any:
        """The edge above a label; None where it is open."""
        return self.edges[at] if self.edges is not None and 0 <= at < len(self.edges) else None

    def _between(self, at: int, share: float) -> Any:
        """In an interval as far up as the people in it are in order; the edge of one that is open."""
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
        """Plain columns, in order: the label, the edge above it if there are edges, people and shares with bounds."""
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
        """CSV text with a header."""
        import csv
        import io

        text = io.StringIO()
        columns = self.to_columns()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
        return text.getvalue()

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        try:
            import pandas as library
        except ImportError:
            raise MissingExtraError("pandas", extra="pandas") from None
        return library.DataFrame(self.to_columns())

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        try:
            import pyarrow as library
        except ImportError:
            raise MissingExtraError("pyarrow", extra="arrow") from None
        return library.table(self.to_columns())


_DAYS = timedelta(days=2)
"""In periods at least this long an estimate is a whole day."""

_ROUNDING = 1e-9
"""In people: an estimate that reaches a share but for rounding reaches it."""


def written(value: Any) -> str:
    """An edge, an estimate between edges or a label, in few characters."""
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
"""From here on an estimate is written without digits after the point."""
