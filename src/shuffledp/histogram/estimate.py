"""Estimates that could be true: none negative, together as many as people hold, each inside its interval.

They are the nearest such numbers, by the sum of squares. Where the intervals hold the truth, the truth is among those
numbers, and so no farther from them than from the estimates as they were.

The result: estimated counts with intervals, which explains itself, shows itself and exports itself.

`low` and `high` are the ends of the simultaneous intervals, in every table and file; `low_alone` and `high_alone`
those of intervals that hold for one value looked at alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp import __version__
from shuffledp.accounting.curve import Guarantee
from shuffledp.errors import DataError, MissingExtraError
from shuffledp.formatting import (
    ShortRepr,
    counted,
    in_paragraphs,
    paragraphs,
    people_at_most,
    percent_at_most,
    readable,
    share_at_most,
    shown,
    surely,
)
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.export import csv_cell, exportable, harmless, rows_of, spread
from shuffledp.histogram.labels import Absent, Places
from shuffledp.jsonable import label_kind, label_with_kind, plain, plain_label
from shuffledp.validation import whole

_HALVINGS = 200
"""Of the range in which the common shift is looked for: beyond the precision of floats."""


def nearest_possible(
    counts: NDArray[np.float64],
    *,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    least: float,
    most: float,
) -> NDArray[np.float64]:
    """The numbers between `low` and `high` that add up to `least` up to `most`, nearest to the counts.

    Shifting all alike and cutting off at the ends gives the nearest numbers of every total, which falls as the shift
    grows. Totals that the ends do not allow come as near as they can.
    """

    def shifted(shift: float) -> NDArray[np.float64]:
        return np.clip(counts - shift, low, high)

    total = float(shifted(0.0).sum())
    if least <= total <= most or not counts.size:
        return shifted(0.0)
    wanted = most if total > most else least
    reach = float(np.max(high - low) + np.max(np.abs(counts)) + np.max(np.abs([low, high])))
    below, above = -reach, reach
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        if float(shifted(middle).sum()) > wanted:
            below = middle
        else:
            above = middle
    return shifted(above)


MOST_BARS = 25
"""As many as fit a page or the answer of a notebook."""

_MOST_IN_ORDER = 60
"""Values that follow each other are all shown up to this number: hours of two days, months of five years."""

_BARS_IN_TEXT = 10
"""Enough to see what a release is about."""

_MOST_BITS = 64
"""A larger number of possible values says nothing to anybody."""


@dataclass(frozen=True, eq=False)
class Intervals(ShortRepr):
    """Bounds on the true count of every reported bin, and of every bin that was not reported.

    Around an unbiased estimate below 0 the lower end is below 0 too, so that the estimate lies in its interval.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    unreported_high: int

    def possible(self, people: int) -> Intervals:
        """The part that true counts of this many people can lie in."""
        return replace(self, low=np.clip(self.low, 0, people), high=np.clip(self.high, 0, people))


@dataclass(frozen=True)
class Row:
    """One bin of an estimate; the interval is the simultaneous one."""

    label: Any
    count: float
    low: int
    high: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate:
    """A private histogram.

    Only reported bins are stored. A bin that is not reported is estimated to be 0, and holds at most
    `simultaneous.unreported_high` people. Each interval of `per_bin` covers its true count with probability at least
    1 - beta; those of `simultaneous` cover all of them at once with that probability. Everybody holds
    `values_per_person` values; the last `fillers` bins stand for missing ones. `adjusted` says that the counts
    were made `consistent`.
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
    about: Callable[..., str] = field(repr=False)
    domain: Domain | None = None
    values_per_person: int = 1
    padding_bins: int = 0
    adjusted: bool = False

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The label of each reported bin; its number if there is no domain."""
        return self.symbols if self.domain is None else self.domain.decode(self.symbols)

    @property
    def possible(self) -> int:
        """How many values are possible."""
        return self.bins - self.padding_bins

    @cached_property
    def values_shown(self) -> int:
        """How many values are reported: people without so many values are reported too, and are no value."""
        return values_among(self.labels.tolist()) if self.padding_bins else len(self)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Estimated counts as shares of all people: the paper's normalised histogram."""
        return self.counts / self.people

    @property
    def largest_distance(self) -> float:
        """From a reported estimate to an end of its simultaneous interval: by how many people it can be off."""
        bounds = self.simultaneous
        return float(np.max([self.counts - bounds.low, bounds.high - self.counts], initial=0.0))

    def __repr__(self) -> str:
        most = ", ".join(f"{shown(row.label, width=20)}: {round(row.count):,}" for row in self.top(3))
        more = ", ..." if len(self) > 3 else ""
        return f"<Estimate: {self.summary()}; {{{most}{more}}}>"

    def __str__(self) -> str:
        """The largest values as a table of text."""
        return self.to_text()

    def _repr_html_(self) -> str | None:
        """What a notebook shows: bars, or the repr if Jinja2 is not installed."""
        try:
            return self.bars_html()
        except MissingExtraError:
            return None

    def __len__(self) -> int:
        return self.counts.size

    def __iter__(self) -> Iterator[Any]:
        """The reported labels."""
        return iter(self.labels.tolist())

    def __contains__(self, label: object) -> bool:
        """Whether a label is reported."""
        return label in self._positions

    def __getitem__(self, label: Any) -> float:
        """The estimated count of a label; 0 if it was not reported."""
        at = self._find(label)
        return 0.0 if at is None else float(self.counts[at])

    def frequency(self, label: Any) -> float:
        """The estimated share of people who hold a label."""
        return self[label] / self.people

    def interval(self, label: Any, *, simultaneous: bool = True) -> tuple[int, int]:
        """Bounds on the true count of a label, reported or not."""
        intervals = self.simultaneous if simultaneous else self.per_bin
        at = self._find(label)
        if at is None:
            return 0, intervals.unreported_high
        return int(intervals.low[at]), int(intervals.high[at])

    def top(self, limit: int | None = None) -> list[Row]:
        """The bins with the largest estimates, largest first."""
        if limit is not None:
            limit = whole("limit", limit, minimum=0)
        return self._rows_at(self._largest_first[:limit])

    @cached_property
    def _largest_first(self) -> NDArray[np.int64]:
        """Values by their estimates; behind them people without so many values, who are no value."""
        absent = (
            [isinstance(label, Absent) for label in self.labels.tolist()] if self.padding_bins else [False] * len(self)
        )
        return np.lexsort((-self.counts, np.array(absent, dtype=bool)))

    def _rows_at(self, order: NDArray[np.int64]) -> list[Row]:
        return [Row(*row) for row in zip(
            self.labels[order].tolist(),
            self.counts[order].tolist(),
            self.simultaneous.low[order].tolist(),
            self.simultaneous.high[order].tolist(),
            strict=True,
        )]  # fmt: skip

    def consistent(self) -> Self:
        """The nearest counts that could be true: none negative, together as many as people hold, in their intervals.

        The intervals are cut to possible numbers, which leaves out no truth. Counts that are not biased as they are can
        be a little off on average afterwards. Where the intervals contradict the number of people, which is as rare as
        that they fail, they are left aside.
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

    @property
    def in_order(self) -> bool:
        """Whether the values follow each other, as intervals and periods do."""
        return self.domain is not None and self.domain.in_order

    def rows_to_show(self, limit: int) -> list[Row]:
        """The largest bins, or, where they follow each other and fit, all of them in that order."""
        if not self.in_order or len(self) > max(limit, _MOST_IN_ORDER):
            return self.top(limit)
        return self._rows_at(np.arange(len(self)))

    def explain(self) -> str:
        """What its reader must know, in short paragraphs with titles: what is promised, by whom, how sure it is."""
        return in_paragraphs(self.story())

    def story(self) -> dict[str, str]:
        """The paragraphs of `explain`, by title."""
        about = paragraphs(self.about())
        about.pop("How sure", None)  # before the release; now more is known
        return {"Result": self._found(), "How sure": self._how_sure(), **about}

    def _found(self) -> str:
        """How many values are shown, of how many."""
        people = counted(self.people, "person", things="people")
        each = (
            f" with up to {self.values_per_person} values each"
            if self.values_per_person > 1 and self.padding_bins
            else ""
        )
        shown = counted(self.values_shown, "value")
        if self.possible.bit_length() > _MOST_BITS:
            return f"{shown} shown, for {people}{each}; any other value is possible too."
        return f"{shown} shown, of {readable(self.possible)} possible, for {people}{each}."

    def _how_sure(self) -> str:
        """What holds at once with the probability of the intervals, of shown values and of all others."""
        off, said = self.largest_distance, []
        if len(self):
            share = percent_at_most(off, self.people)
            said.append(f"an estimate that is shown is off by at most {people_at_most(off)} ({share} of all)")
        if self.estimator == "truncated":
            most = counted(self.simultaneous.unreported_high, "person", things="people")
            said.append(f"a value that is not shown is held by at most {most}")
        text = f"With probability at least {surely(self.beta)} all intervals hold the true numbers at once"
        text += f": {', and '.join(said)}." if said else "."
        if self.adjusted:
            text += " " + _ADJUSTED
        if self.estimator == "truncated":
            return f"{text} A value that nobody holds is never reported."
        return f"{text} Every possible value is shown, also those that nobody holds." if self.bins > 1 else text

    def summary(self) -> str:
        """What this is, in a line."""
        promise = ""
        if self.guarantee is not None:
            bounds = (share_at_most(bound, digits=4) for bound in (self.guarantee.epsilon, self.guarantee.delta))
            promise = f", ({', '.join(bounds)}) private"
        return f"{counted(self.values_shown, 'value')} of {counted(self.people, 'person', things='people')}{promise}"

    def to_text(self, limit: int = _BARS_IN_TEXT, *, column: str = "value") -> str:
        """The largest values as a small table of text, with bars."""
        from shuffledp.explain.bars import text_bars

        rows = self.rows_to_show(limit)
        lines = [text_bars(rows, column=column)] if rows else []
        return "\n".join([*lines, *self._below(values_among(row.label for row in rows))])

    def bars_html(
        self, limit: int = MOST_BARS, *, column: str = "value", title: str = "", cautions: Iterable[str] = ()
    ) -> str:
        """Return the largest values as an HTML table with bars: a part of a page, without scripts."""
        from shuffledp.explain.bars import notebook

        rows = self.rows_to_show(limit)
        below = self._below(values_among(row.label for row in rows))
        return notebook(rows, column=column, title=title, summary=self.summary(), cautions=cautions, below=below)

    def plot(self, ax: Any = None, *, limit: int = MOST_BARS) -> Any:
        """The largest values as bars, with intervals, on axes of matplotlib; returns the axes."""
        from shuffledp.explain.bars import draw_bars, new_axes

        rows = self.rows_to_show(limit)
        return draw_bars(new_axes(len(rows)) if ax is None else ax, rows)

    def _below(self, drawn: int) -> Iterator[str]:
        """What a reader of the first values must know of the rest."""
        if not self.values_shown:
            yield "No value is frequent enough to be reported."
        elif (more := self.values_shown - drawn) > 0:
            yield f"and {counted(more, 'more value', things='more values')}"
        yield f"All intervals hold at once with probability {surely(self.beta)}."

    def to_columns(self) -> dict[str, list[Any]]:
        """The histogram as named columns of plain Python values, largest estimate first, or in the order of the values.

        `low` and `high` hold for all values at once, `low_alone` and `high_alone` for one value that is looked at
        alone, each with probability 1 - beta.
        """
        order = np.arange(len(self)) if self.in_order else self._largest_first
        return {
            "label": self.labels[order].tolist(),
            "count": self.counts[order].tolist(),
            "frequency": self.frequencies[order].tolist(),
            "low": self.simultaneous.low[order].tolist(),
            "high": self.simultaneous.high[order].tolist(),
            "low_alone": self.per_bin.low[order].tolist(),
            "high_alone": self.per_bin.high[order].tolist(),
        }

    def facts(self) -> dict[str, Any]:
        """What holds for the whole histogram, as plain values: people, promise, and what a missing value can have."""
        promise = self.guarantee
        return {
            "people": self.people,
            "epsilon": None if promise is None else promise.epsilon,
            "delta": None if promise is None else promise.delta,
            "beta": self.beta,
            "estimator": self.estimator,
            "unreported_high": self.simultaneous.unreported_high,
            "shuffledp_version": __version__,
        }

    def to_json(self) -> str:
        """Everything about the release as one JSON object; labels that JSON does not know become strings."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything about the release as plain Python values."""
        return {**self.about_dict(), "histogram": self.rows()}

    def about_dict(self) -> dict[str, Any]:
        """Everything but the histogram itself, as plain Python values."""
        return {
            "guarantee": plain(self.guarantee),
            "people": self.people,
            "bins": self.bins if self.bins.bit_length() <= 64 else None,
            "log2_bins": math.log2(self.bins),
            "estimator": self.estimator,
            "adjusted": self.adjusted,
            "in_order": self.in_order,
            "beta": self.beta,
            "unreported_high": self.simultaneous.unreported_high,
            "unreported_high_alone": self.per_bin.unreported_high,
            "explanation": self.explain(),
            **self._labels_of_columns(),
        }

    def _labels_of_columns(self) -> dict[str, Any]:
        """What each column of a cross table can hold, in order, where that is listed."""
        factors = self.domain.factors if self.domain is not None else ()
        labels = (factor.decode(np.arange(factor.size)).tolist() for factor in factors)
        return {"labels_of_columns": [list(map(label_with_kind, one)) for one in labels]} if factors else {}

    def rows(self) -> list[dict[str, Any]]:
        """The histogram as a list of plain rows; a label that JSON holds as text has its `kind` beside it."""
        columns = self.to_columns()
        kinds = [label_kind(label) for label in columns["label"]]
        columns["label"] = [plain_label(label) for label in columns["label"]]
        rows = [dict(zip(columns, row, strict=True)) for row in rows_of(columns)]
        return [row if kind is None else {**row, "kind": kind} for row, kind in zip(rows, kinds, strict=True)]

    def to_csv(self, *, raw: bool = False) -> str:
        """The histogram as CSV text with a header; a missing label is an empty field, an empty one is quoted.

        The columns after `high_alone` say the same in every row, so that the promise travels with the numbers. A text
        that a spreadsheet would take for a formula, such as =HYPERLINK(...), gets an apostrophe in front; `raw` leaves
        labels as they are.
        """
        columns = spread(self.to_columns())
        if not raw:
            columns |= {name: list(map(harmless, columns[name])) for name in columns if name.startswith("label")}
        facts = {name: [value] * len(self) for name, value in self.facts().items()}
        columns = {**columns, **facts}
        lines = [",".join(columns), *(",".join(map(csv_cell, row)) for row in rows_of(columns))]
        return "\n".join(lines) + "\n"

    def to_arrow(self) -> Any:
        """The histogram as a pyarrow Table; the metadata of its schema hold `about_dict` under the key shuffledp."""
        try:
            import pyarrow as library
        except ImportError:
            raise MissingExtraError("pyarrow", extra="arrow") from None
        about = json.dumps({**self.facts(), **self.about_dict()}, allow_nan=False)
        return library.table(exportable(spread(self.to_columns()))).replace_schema_metadata({"shuffledp": about})

    def to_pandas(self) -> Any:
        """The histogram as a pandas DataFrame; its `attrs` hold `facts`."""
        try:
            import pandas as library
        except ImportError:
            raise MissingExtraError("pandas", extra="pandas") from None
        frame = library.DataFrame(spread(self.to_columns()))
        frame.attrs.update(self.facts())
        return frame

    def to_polars(self) -> Any:
        """The histogram as a polars DataFrame."""
        try:
            import polars as library
        except ImportError:
            raise MissingExtraError("polars", extra="polars") from None
        return library.DataFrame(exportable(spread(self.to_columns())))

    @cached_property
    def _positions(self) -> Places:
        return Places(self.labels.tolist())

    def _find(self, label: Any) -> int | None:
        """Where a label is stored; None if it was not reported."""
        at = self._positions.find(label)
        if at is None and self.domain is None and not (isinstance(label, int) and 0 <= label < self.bins):
            raise DataError(
                f"that is not a bin between 0 and {readable(self.bins - 1)}; give estimate a domain to look up labels"
            )
        if at is None and self.domain is not None and label not in self.domain:
            raise DataError("that label is not in the domain of this histogram")
        return at


_ADJUSTED = (
    "The estimates were adjusted to numbers that are possible: none is negative, and together they fit the number of "
    "people."
)


def values_among(labels: Iterable[Any]) -> int:
    """How many labels are values, not people without so many of them."""
    return sum(not isinstance(label, Absent) for label in labels)
