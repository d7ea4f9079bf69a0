"""A histogram as JSON, CSV and tables of other libraries: labels that no spreadsheet runs, one type per column."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np

from shuffledp.errors import MissingExtraError
from shuffledp.histogram.labels import NotAValue
from shuffledp.jsonable import label_kind, plain_label


class Exports(ABC):
    """The formats of an estimate: a record with columns, facts that hold for all rows, and a description."""

    @abstractmethod
    def to_columns(self) -> dict[str, list[Any]]:
        """The histogram as named columns; the first is `label`."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Plain values that hold for the whole histogram."""

    @abstractmethod
    def about_dict(self) -> dict[str, Any]:
        """Everything except the histogram itself."""

    def to_json(self) -> str:
        """Format everything as one JSON object; labels that JSON does not know become strings."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything about the estimate as plain Python values."""
        return {**self.about_dict(), "histogram": self.rows()}

    def rows(self) -> list[dict[str, Any]]:
        """The histogram as plain rows; a label that JSON holds as text has its `kind` beside it."""
        columns = self.to_columns()
        kinds = [label_kind(label) for label in columns["label"]]
        columns["label"] = [plain_label(label) for label in columns["label"]]
        rows = [dict(zip(columns, row, strict=True)) for row in _rows_of(columns)]
        return [row if kind is None else {**row, "kind": kind} for row, kind in zip(rows, kinds, strict=True)]

    def to_csv(self, *, raw: bool = False) -> str:
        """Format the histogram as CSV text with a header; a missing label is an empty field, an empty one is quoted.

        The columns after `high_alone` repeat `facts` in every row, so that the guarantee travels with the numbers. A
        text that a spreadsheet would run as a formula gets a leading apostrophe; `raw` leaves labels unchanged.
        """
        columns = _spread(self.to_columns())
        if not raw:
            columns |= {name: list(map(harmless, columns[name])) for name in columns if name.startswith("label")}
        number = len(next(iter(columns.values())))
        columns |= {name: [value] * number for name, value in self.facts().items()}
        lines = [",".join(columns), *(",".join(map(csv_cell, row)) for row in _rows_of(columns))]
        return "\n".join(lines) + "\n"

    def to_arrow(self) -> Any:
        """Convert to a pyarrow Table, with `about_dict` in its metadata under the key shuffledp."""
        try:
            import pyarrow as library
        except ImportError:
            raise MissingExtraError("pyarrow", extra="arrow") from None
        about = json.dumps({**self.facts(), **self.about_dict()}, allow_nan=False)
        return library.table(_of_one_type(_spread(self.to_columns()))).replace_schema_metadata({"shuffledp": about})

    def to_pandas(self) -> Any:
        """Convert to a pandas DataFrame with `facts` in its `attrs`. Labels of several types become text."""
        try:
            import pandas as library
        except ImportError:
            raise MissingExtraError("pandas", extra="pandas") from None
        columns = _spread(self.to_columns())
        columns |= {name: _sortable(columns[name]) for name in columns if name.startswith("label")}
        frame = library.DataFrame(columns)
        frame.attrs.update(self.facts())
        return frame

    def to_polars(self) -> Any:
        """Convert to a polars DataFrame."""
        try:
            import polars as library
        except ImportError:
            raise MissingExtraError("polars", extra="polars") from None
        return library.DataFrame(_of_one_type(_spread(self.to_columns())))


_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The start of a text that a spreadsheet may run as a formula; the last four are full-width signs."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def harmless(label: Any) -> Any:
    """Return a label that no spreadsheet runs: a leading apostrophe is added if it looks like a formula.

    A label with leading apostrophes gets one more, so that removing one restores the label.
    """
    if not isinstance(label, str) or not _FORMULA.match(label) or _NUMBER.fullmatch(label):
        return label
    return f"'{label}"


def csv_cell(value: Any) -> str:
    """Format a cell of CSV text: a missing value is empty, an empty text is quoted."""
    text = "" if value is None else str(value)
    if (text == "" and value is not None) or any(mark in text for mark in ',;"\t\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _spread(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Split labels of several columns into columns label_1, label_2 and so on; others go into the first."""
    labels = columns["label"]
    widths = {len(label) for label in labels if isinstance(label, tuple)}
    if len(widths) != 1 or not all(isinstance(label, tuple | NotAValue) for label in labels):
        return columns
    width = widths.pop()
    rows = [label if isinstance(label, tuple) else (label, *[None] * (width - 1)) for label in labels]
    parts = {f"label_{at + 1}": [row[at] for row in rows] for at in range(width)}
    return {**parts, **{name: values for name, values in columns.items() if name != "label"}}


def _rows_of(columns: dict[str, list[Any]]) -> Iterator[tuple[Any, ...]]:
    return zip(*columns.values(), strict=True)


_FRACTIONS = ("count", "frequency", "share", "share_low", "share_high")
"""Columns of floats; a share is NaN where there is none."""

_PLAIN_KINDS: tuple[set[type], ...] = ({int}, {float}, {str}, {bool}, {date}, {datetime})


def _of_one_type(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """One type for each column, also without rows: labels of mixed or unusual kinds become strings."""
    return {
        name: _labels_of_one_type(values)
        if name.startswith("label")
        else np.array(values, dtype=np.float64 if name in _FRACTIONS else np.int64)
        for name, values in columns.items()
    }


def _sortable(labels: list[Any]) -> list[Any]:
    """Labels of several types, or of people with fewer values, become text."""
    kinds = {type(label) for label in labels if label is not None}
    if (len(kinds) <= 1 and not any(issubclass(kind, NotAValue) for kind in kinds)) or kinds == {int, float}:
        return labels
    return [None if label is None else str(label) for label in labels]


def _labels_of_one_type(labels: list[Any]) -> Any:
    if {type(label) for label in labels} - {type(None)} == {int, float} and max(
        map(abs, filter(None, labels))
    ) <= 2**53:
        labels = [None if label is None else float(label) for label in labels]  # numbers, some of them whole
    known = [label for label in labels if label is not None]
    kinds = {type(label) for label in known}
    plain = kinds in _PLAIN_KINDS and (kinds != {int} or max(map(abs, known)) < 2**63)
    if not plain:
        labels = [None if label is None else str(label) for label in labels]
    return labels or np.array([], dtype=str)
