"""The result: estimated counts with intervals.

`low` and `high` are the ends of the simultaneous intervals, in every table and file; `low_alone` and `high_alone` are
the ends of intervals that hold for one value by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp import __version__
from shuffledp.accounting.curve import Guarantee
from shuffledp.errors import LabelError, MissingExtraError
from shuffledp.formatting import printable, readable, shown
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.export import Exports
from shuffledp.histogram.facts import Cap, Detection, ProtocolFacts
from shuffledp.histogram.intervals import Intervals, Passing, Share, nearest_possible
from shuffledp.histogram.labels import Absent, MoreThan, NotAValue, Places
from shuffledp.histogram.order import Lookup, increasing
from shuffledp.jsonable import label_with_kind, plain
from shuffledp.validation import whole

MOST_BARS = 25
"""The most bars in a page or a notebook cell."""

MOST_IN_ORDER = 62
"""The most ordered values that a table shows without a limit: months of five years, with the time before and after."""

_MOST_ROWS = 15
"""The rows of a table of other values."""


@dataclass(frozen=True)
class Row:
    """One bin of an estimate; the interval is the simultaneous one."""

    label: Any
    count: float
    low: int
    high: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate(Exports):
    """A private histogram.

    Only reported bins are stored; the others have the estimate 0 and at most `simultaneous.unreported_high` people.
    Each interval of `per_bin` covers its true count with probability at least 1 - beta; those of `simultaneous` cover
    all at once. Each person holds `values_per_person` values; the last `padding_bins` bins stand for missing values.
    `adjusted` is True after `consistent`. `about` returns the facts about the protocol. With a `cap`, true counts are
    the capped ones. `where` is the condition on rows. `detection` tells how values were selected if only those are
    reported that stand out from the noise.
    """

    symbols: NDArray[Any]
    counts: NDArray[np.float64]
    per_bin: Intervals
    simultaneous: Intervals
    people: int
    bins: int
    beta: float
    estimator: str
    guarantee: Guarantee | None
    about: Callable[..., ProtocolFacts] = field(repr=False)
    domain: Domain | None = None
    values_per_person: int = 1
    padding_bins: int = 0
    adjusted: bool = False
    cap: Cap | None = None
    where: str | None = None
    detection: Detection | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", printable(self.bins))

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The label of each reported bin; its number if there is no domain."""
        return self.symbols if self.domain is None else self.domain.decode(self.symbols)

    @property
    def reports_all(self) -> bool:
        """Whether every possible value is reported, and not only frequent ones."""
        return self.estimator != "truncated" and self.detection is None

    @property
    def possible(self) -> int:
        """The number of possible values."""
        return printable(self.bins - self.padding_bins - (self.cap is not None and self.cap.counted))

    @cached_property
    def values_shown(self) -> int:
        """The number of reported values; bins of people with fewer values are not values."""
        return values_among(self.labels.tolist()) if self._has_others else len(self)

    @property
    def _has_others(self) -> bool:
        """Only labels of the type object are of several kinds."""
        return self.padding_bins > 0 or self.labels.dtype == object

    @property
    def more_than_cap(self) -> Row | None:
        """The people who have more values than count; None unless they are counted."""
        if self.cap is None or not self.cap.counted:
            return None
        label = MoreThan(values=self.cap.values)
        return Row(label, self[label], *self.interval(label))

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Estimated counts as shares of all people: the paper's normalised histogram."""
        return self.counts / self.people

    @property
    def largest_distance(self) -> float:
        """The error bound of all reported counts: the largest distance to an end of a simultaneous interval."""
        bounds = self.simultaneous
        return float(np.max([self.counts - bounds.low, bounds.high - self.counts], initial=0.0))

    def __repr__(self) -> str:
        most = ", ".join(f"{shown(row.label, width=20)}: {round(row.count):,}" for row in self.top(3))
        more = ", ..." if len(self) > 3 else ""
        return f"<Estimate: {self.summary()}; {{{most}{more}}}>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str | None:
        """None without Jinja2 shows the repr."""
        try:
            return self.bars_html()
        except MissingExtraError:
            return None

    def __len__(self) -> int:
        return self.counts.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def keys(self) -> list[Any]:
        """The reported labels, in the order of `counts`."""
        return list(self.labels.tolist())

    def values(self) -> list[float]:
        """The estimated counts of the reported labels."""
        return list(self.counts.tolist())

    def items(self) -> list[tuple[Any, float]]:
        """The reported labels with their estimated counts."""
        return list(zip(self.keys(), self.values(), strict=True))

    def get(self, label: Any, default: float | None = None) -> float | None:
        """The estimated count of a label; `default` if it was not reported."""
        try:
            at = self.find(label)
        except LabelError:
            at = None
        return default if at is None else float(self.counts[at])

    def __contains__(self, label: object) -> bool:
        try:
            return self.find(label) is not None
        except LabelError:
            return False

    def __getitem__(self, label: Any) -> float:
        """The estimated count of a label; 0 if it is possible and was not reported.

        A label that reads like a reported one is found: 39 finds the text "39".
        """
        at = self.find(label)
        return 0.0 if at is None else float(self.counts[at])

    def frequency(self, label: Any) -> float:
        """The estimated share of people who hold a label."""
        return self[label] / self.people

    def interval(self, label: Any, *, simultaneous: bool = True) -> tuple[int, int]:
        """Bounds on the true count of a label, reported or not."""
        intervals = (self.simultaneous if simultaneous else self.per_bin).possible(self.people)
        at = self.find(label)
        if at is None:
            return 0, intervals.unreported_high
        return int(intervals.low[at]), int(intervals.high[at])

    @cached_property
    def passing(self) -> Passing | None:
        """The people who hold a value in a row that satisfies the condition; None without a condition."""
        if self.where is None or not self.padding_bins:
            return None
        bounds, nobody = self.simultaneous, Absent(most=0)
        at = next((at for at, label in enumerate(self.labels.tolist()) if label == nobody), None)
        if at is None:
            return Passing.of(people=self.people, without=0.0, low=0, high=bounds.unreported_high)
        low, high = int(bounds.low[at]), int(bounds.high[at])
        return Passing.of(people=self.people, without=float(self.counts[at]), low=low, high=high)

    def share(self, label: Any) -> Share | None:
        """The share of a label among the people who satisfy the condition, with its interval; None without one.

        All intervals of counts and shares hold at once.
        """
        if self.passing is None:
            return None
        low, high = self.interval(label)
        return self.passing.share(self[label], low=low, high=high)

    def top(self, limit: int | None = None) -> list[Row]:
        """The bins with the largest estimates, largest first."""
        if limit is not None:
            limit = whole("limit", limit, minimum=0)
        return self._rows_at(self._largest_first[:limit])

    @cached_property
    def _largest_first(self) -> NDArray[np.int64]:
        """Bins that are not values come last, padding bins in their own order."""
        labels = self.labels.tolist() if self._has_others else [None] * len(self)
        last = np.array([isinstance(label, NotAValue) for label in labels], dtype=bool)
        padding = np.array([1 + label.most if isinstance(label, Absent) else 0 for label in labels], dtype=np.int64)
        return np.lexsort((-self.counts, -padding, padding > 0, last))

    def _rows_at(self, order: NDArray[np.int64]) -> list[Row]:
        bounds = self.simultaneous.possible(self.people)
        columns = (self.labels, self.counts, bounds.low, bounds.high)
        return [Row(*row) for row in zip(*(column[order].tolist() for column in columns), strict=True)]

    def consistent(self) -> Self:
        """Return the nearest possible counts: none negative, with a possible total, inside their intervals.

        The new counts can be slightly biased. Intervals that contradict the number of people, as rare as intervals that
        fail, are ignored.
        """
        held = self.people * self.values_per_person
        everything = len(self) == self.bins
        per_bin, simultaneous = (bounds.possible(self.people) for bounds in (self.per_bin, self.simultaneous))
        low, high = (end.astype(np.float64) for end in (simultaneous.low, simultaneous.high))
        if low.sum() > held or (everything and high.sum() < held):
            low, high = np.zeros(len(self)), np.full(len(self), float(self.people))
        least = held if everything else 0
        counts = nearest_possible(self.counts, low=low, high=high, least=least, most=held)
        return replace(self, counts=counts, per_bin=per_bin, simultaneous=simultaneous, adjusted=True)

    @cached_property
    def order(self) -> NDArray[np.int64] | None:
        """The positions of the reported bins in the order of their values; None if the values have no order.

        Intervals, periods and ranges have one. So do labels that are all numbers, or all dates or times.
        """
        if self.domain is not None and self.domain.in_order:
            return np.argsort(self.symbols, kind="stable")
        return increasing(self.labels)

    @property
    def in_order(self) -> bool:
        """Whether the values have an order."""
        return self.order is not None

    def rows_to_show(self, limit: int | None = None, *, most_in_order: int = MOST_IN_ORDER) -> list[Row]:
        """The largest bins, 15 or `most_in_order` ordered ones without a limit, in the order of their values if they
        have one.
        """
        if self.order is None:
            return self.top(_MOST_ROWS if limit is None else limit)
        limit = most_in_order if limit is None else whole("limit", limit, minimum=0)
        return self._rows_at(self.order[np.isin(self.order, self._largest_first[:limit])])

    def rows_in_order(self) -> list[Row]:
        """All bins in the order of their values, or the largest first if they have none."""
        return self._rows_at(self._largest_first if self.order is None else self.order)

    def explain(self) -> str:
        """Explain the result in short paragraphs with titles."""
        from shuffledp.explain.protocols import joined
        from shuffledp.explain.release import estimate_paragraphs

        return joined(estimate_paragraphs(self))

    def summary(self) -> str:
        """Summarize the estimate in one line."""
        from shuffledp.explain.release import summary

        return summary(self)

    def to_text(self, limit: int | None = None, *, column: str = "value") -> str:
        """Format the largest values as a small table of text with bars."""
        from shuffledp.explain.release import text_table

        return text_table(self, limit=limit, column=column)

    def bars_html(self, limit: int = MOST_BARS, *, column: str = "value", title: str = "") -> str:
        """Format the largest values as an HTML table with bars, without scripts."""
        from shuffledp.explain.release import html_table

        return html_table(self, limit=limit, column=column, title=title)

    def plot(self, ax: Any = None, *, limit: int | None = None, log: bool = False) -> Any:
        """Draw the values with intervals on matplotlib axes, and return the axes.

        Ordered values are columns from left to right, all of them unless there is a limit; others are bars, the 25
        largest. `log` makes the axis of people logarithmic.
        """
        from shuffledp.explain.release import plot

        return plot(self, ax, limit=limit, log=log)

    def to_columns(self) -> dict[str, list[Any]]:
        """The histogram as named columns of plain Python values: largest estimate first, or in the order of the values.

        `low` and `high` hold for all values at once, `low_alone` and `high_alone` for one by itself, each with
        probability 1 - beta. They are possible counts, also where noise makes the estimate negative. With a condition,
        `share` to `share_high` are of the people who satisfy it, and hold with `low` and `high`.
        """
        order = self._largest_first if self.order is None else self.order
        together, alone = (bounds.possible(self.people) for bounds in (self.simultaneous, self.per_bin))
        found: dict[str, list[Any]] = {
            "label": self.labels[order].tolist(),
            "count": self.counts[order].tolist(),
            "frequency": self.frequencies[order].tolist(),
            "low": together.low[order].tolist(),
            "high": together.high[order].tolist(),
            "low_alone": alone.low[order].tolist(),
            "high_alone": alone.high[order].tolist(),
        }
        if self.passing is not None:
            rows = zip(*(found[name] for name in ("label", "count", "low", "high")), strict=True)
            shares = [
                None if isinstance(label, NotAValue) else self.passing.share(count, low=low, high=high)
                for label, count, low, high in rows
            ]
            found |= {
                "share": [one and one.share for one in shares],
                "share_low": [one and one.low for one in shares],
                "share_high": [one and one.high for one in shares],
            }
        return found

    def facts(self) -> dict[str, Any]:
        """Plain values that hold for the whole histogram."""
        guarantee = self.guarantee
        return {
            "people": self.people,
            "epsilon": None if guarantee is None else guarantee.epsilon,
            "delta": None if guarantee is None else guarantee.delta,
            "beta": self.beta,
            "estimator": self.estimator,
            "unreported_high": self.simultaneous.unreported_high,
            "bounded": self.cap is not None,
            "cap": None if self.cap is None else self.cap.values,
            "shuffledp_version": __version__,
            **self._facts_of_detection(),
            **self._facts_of_condition(),
        }

    def _facts_of_detection(self) -> dict[str, Any]:
        found = self.detection
        return {} if found is None else {"detection_limit": found.limit, "false_positive_risk": found.risk}

    def _facts_of_condition(self) -> dict[str, Any]:
        if self.where is None or self.passing is None:
            return {}
        found = self.passing
        return {"where": self.where, "passing": found.count, "passing_low": found.low, "passing_high": found.high}

    def about_dict(self) -> dict[str, Any]:
        """Everything except the histogram itself, as plain Python values."""
        return {
            "guarantee": plain(self.guarantee),
            "people": self.people,
            "bins": self.bins if self.bins.bit_length() <= 64 else None,
            "log2_bins": math.log2(self.bins),
            "estimator": self.estimator,
            "adjusted": self.adjusted,
            "in_order": self.in_order,
            "beta": self.beta,
            "bounded": self.cap is not None,
            "cap": None if self.cap is None else self.cap.values,
            "more_than_cap": self._more_than_cap(),
            "unreported_high": self.simultaneous.unreported_high,
            "unreported_high_alone": self.per_bin.unreported_high,
            "explanation": self.explain(),
            **({} if self.detection is None else {"detection": plain(self.detection)}),
            **self._facts_of_condition(),
            **self._labels_of_columns(),
        }

    def _more_than_cap(self) -> dict[str, Any] | None:
        more = self.more_than_cap
        return None if more is None else {"count": more.count, "low": more.low, "high": more.high}

    def _labels_of_columns(self) -> dict[str, Any]:
        """The possible labels of each column of a cross table, in order, if they are listed."""
        factors = self.domain.factors if self.domain is not None else ()
        labels = (factor.decode(np.arange(factor.size)).tolist() for factor in factors)
        return {"labels_of_columns": [list(map(label_with_kind, one)) for one in labels]} if factors else {}

    @cached_property
    def _positions(self) -> Places:
        return Places(self.labels.tolist())

    @cached_property
    def _lookup(self) -> Lookup:
        assert self.domain is not None
        return Lookup.of(self.domain, self.labels.tolist())

    def find(self, label: Any) -> int | None:
        """The position of a label, or of the one that reads like it; None if it was not reported."""
        if self.domain is not None:
            return self._positions.find(self._lookup.known(label))
        at = self._positions.find(label) if isinstance(label, Hashable) else None
        if at is None and not (isinstance(label, int) and 0 <= label < self.bins):
            raise LabelError(
                f"label must be a bin between 0 and {readable(self.bins - 1)}; give estimate a domain to look up labels"
            )
        return at


def values_among(labels: Iterable[Any]) -> int:
    """Count the labels that are values; a label of people by the number of their values is not."""
    return sum(not isinstance(label, NotAValue) for label in labels)
