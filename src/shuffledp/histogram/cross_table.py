"""Histograms of pairs of values: margins (the counts of one column), and a table of rows and columns.

Both are computed from the published estimate, so they cost no privacy. Each person holds one pair (or none, a value of
its own), so all cells add up to all people. If the simultaneous intervals of all cells hold, so do those of all
margins: the sum of the bounds of the cells of the margin, also of those not reported, and all people less the bounds of
all other cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.estimate import Estimate, Row
from shuffledp.histogram.labels import NotAValue


@dataclass(frozen=True, eq=False)
class CrossTable:
    """A histogram of pairs as a table: a row for each value of the first column, a column for each of the second.

    A pair that was not reported has `counts` NaN and `low` 0. `row_sums` and `column_sums` are the margins of the
    values in the table; `total` counts the people with any pair, including those outside the table. All intervals hold
    at once.
    """

    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    counts: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    row_sums: tuple[Row, ...]
    column_sums: tuple[Row, ...]
    total: Row


def columns_of(estimate: Estimate) -> int:
    """The number of columns of the labels of a histogram; 1 if they are not tuples."""
    if estimate.domain is not None and estimate.domain.factors:
        return len(estimate.domain.factors)
    return max((len(label) for label in estimate.labels.tolist() if isinstance(label, tuple)), default=1)


def margin(estimate: Estimate, *columns: int) -> list[Row]:
    """Count the people with each value of a column (numbered from 0) of a histogram of pairs or longer rows.

    All intervals hold at once, together with those of the histogram. Several columns give rows of tuples. Values are in
    the order of their list or, without a list, the most frequent first. People without a pair are a row of their own.
    """
    width = columns_of(estimate)
    if width < 2:
        raise DataError("a margin needs a histogram of several columns, got one column")
    if not columns or any(isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < width for at in columns):
        raise ParameterError(f"columns must be numbers from 0 to {width - 1}, got {columns}")
    if estimate.values_per_person > 1:
        raise DataError("values_per_person must be 1 for a margin: with several pairs, a person would count twice")

    def group(label: Any) -> Any:
        if not isinstance(label, tuple):
            return label  # of people without a pair
        return label[columns[0]] if len(columns) == 1 else tuple(label[at] for at in columns)

    factors = estimate.domain.factors if estimate.domain is not None else ()
    cells = _Cells(estimate, [group(label) for label in estimate.labels.tolist()])
    if not factors:
        return sorted((cells.row(name, size=math.inf) for name in cells.names), key=lambda row: -row.count)
    chosen = [factors[at].decode(np.arange(factors[at].size)).tolist() for at in columns]
    names = chosen[0] if len(columns) == 1 else _tuples(chosen)
    size = math.prod(factor.size for factor in factors) // math.prod(map(len, chosen))
    listed = set(names)
    alone = [name for name in cells.names if name not in listed]
    cells.hidden = len(names) * size + estimate.padding_bins - len(estimate)
    return [cells.row(name, size=size) for name in names] + [cells.row(name, size=1) for name in alone]


class _Cells:
    """The cells of a histogram, summed by group."""

    def __init__(self, estimate: Estimate, groups: Sequence[Any]) -> None:
        bounds = estimate.simultaneous
        self._people, self._unseen = estimate.people, bounds.unreported_high
        self.reported: dict[Any, int] = {}
        self._sums: dict[Any, tuple[float, int, int]] = {}
        cells = zip(groups, estimate.counts.tolist(), bounds.low.tolist(), bounds.high.tolist(), strict=True)
        for name, count, low, high in cells:
            total, lows, highs = self._sums.get(name, (0.0, 0, 0))
            self._sums[name] = (total + count, lows + max(low, 0), highs + max(high, 0))
            self.reported[name] = self.reported.get(name, 0) + 1
        self._low, self._high = (sum(one[end] for one in self._sums.values()) for end in (1, 2))
        self.hidden: float = math.inf
        """The number of cells that are not reported."""

    @property
    def names(self) -> list[Any]:
        return list(self._sums)

    def row(self, name: Any, *, size: float) -> Row:
        """The sum of a group of this many cells."""
        count, low, high = self._sums.get(name, (0.0, 0, 0))
        hidden = size - self.reported.get(name, 0)
        most = min(_times(hidden, self._unseen) + high, self._people - (self._low - low))
        others = self._high - high + _times(self.hidden - hidden if hidden < math.inf else math.inf, self._unseen)
        least = max(low, self._people - others)
        return _row(name, count, least, most)


def _row(name: Any, count: float, least: float, most: float) -> Row:
    """The interval contains the estimate, unless noise makes it negative."""
    return Row(name, count, math.floor(min(least, most, max(count, 0))), math.ceil(max(most, least, count)))


def _times(cells: float, most: int) -> float:
    return 0 if most == 0 or cells == 0 else cells * most


def _tuples(parts: Sequence[list[Any]]) -> list[tuple[Any, ...]]:
    grid = np.indices(tuple(map(len, parts))).reshape(len(parts), -1)
    return list(zip(*([part[at] for at in row] for part, row in zip(parts, grid.tolist(), strict=True)), strict=True))


def cross_table(estimate: Estimate, *, most_rows: int | None = None, most_columns: int | None = None) -> CrossTable:
    """Return the histogram of two columns as a table, limited to the rows and columns with the most people."""
    if columns_of(estimate) != 2:
        raise DataError("a table of rows and columns needs a histogram of two columns")
    sums = [
        _largest([row for row in margin(estimate, at) if not _no_pair(estimate, row.label)], most)
        for at, most in enumerate((most_rows, most_columns))
    ]
    places = [{row.label: at for at, row in enumerate(rows)} for rows in sums]
    shape = (len(sums[0]), len(sums[1]))
    counts, low = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    high = np.full(shape, estimate.simultaneous.unreported_high, dtype=np.int64)
    bounds = estimate.simultaneous.possible(estimate.people)
    for at, label in enumerate(estimate.labels.tolist()):
        if isinstance(label, tuple) and label[0] in places[0] and label[1] in places[1]:
            cell = (places[0][label[0]], places[1][label[1]])
            counts[cell] = estimate.counts[at]
            low[cell], high[cell] = bounds.low[at], bounds.high[at]
    rows, columns = (tuple(row.label for row in part) for part in sums)
    return CrossTable(rows, columns, counts, low, high, tuple(sums[0]), tuple(sums[1]), _total(estimate))


def _total(estimate: Estimate) -> Row:
    """The number of people with a pair: all but those without one, who may be hidden."""
    labels, bounds = estimate.labels.tolist(), estimate.simultaneous
    pairs = np.array([not _no_pair(estimate, label) for label in labels], dtype=bool)
    hidden = estimate.padding_bins - int((~pairs).sum())
    least = estimate.people - int(bounds.high[~pairs].clip(0).sum()) - hidden * bounds.unreported_high
    most = estimate.people - int(bounds.low[~pairs].clip(0).sum())
    least = max(least, int(bounds.low[pairs].clip(0).sum()))
    return _row("total", float(estimate.counts[pairs].sum()), least, most)


def _no_pair(estimate: Estimate, label: Any) -> bool:
    return isinstance(label, NotAValue) and estimate.padding_bins > 0


def _largest(rows: list[Row], most: int | None) -> list[Row]:
    if most is None or len(rows) <= most:
        return rows
    kept = set(sorted(range(len(rows)), key=lambda at: -rows[at].count)[:most])
    return [row for at, row in enumerate(rows) if at in kept]
