"""The columns of a histogram as files and tables take them: labels that no spreadsheet runs, one type each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np

from shuffledp.histogram.labels import Absent

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet may take for a formula; the last four are wide signs of East Asian scripts."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def harmless(label: Any) -> Any:
    """A text that no spreadsheet runs: with an apostrophe in front where it looks like a formula and is no number.

    Apostrophes that stand there already are counted, so that leaving one out gives the label back.
    """
    if not isinstance(label, str) or not _FORMULA.match(label) or _NUMBER.fullmatch(label):
        return label
    return f"'{label}"


def csv_cell(value: Any) -> str:
    """A cell of CSV text: a missing value is empty, an empty text is quoted."""
    text = "" if value is None else str(value)
    if (text == "" and value is not None) or any(mark in text for mark in ',;"\t\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def spread(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Labels of several columns as columns label_1, label_2 and so on; another label stands in the first."""
    labels = columns["label"]
    widths = {len(label) for label in labels if isinstance(label, tuple)}
    if len(widths) != 1 or not all(isinstance(label, tuple | Absent) for label in labels):
        return columns
    width = widths.pop()
    rows = [label if isinstance(label, tuple) else (label, *[None] * (width - 1)) for label in labels]
    parts = {f"label_{at + 1}": [row[at] for row in rows] for at in range(width)}
    return {**parts, **{name: values for name, values in columns.items() if name != "label"}}


def rows_of(columns: dict[str, list[Any]]) -> Iterator[tuple[Any, ...]]:
    """The rows of named columns."""
    return zip(*columns.values(), strict=True)


_PLAIN_KINDS: tuple[set[type], ...] = ({int}, {float}, {str}, {bool}, {date}, {datetime})


def exportable(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Columns of one type each, also when there are no rows: labels of mixed or unusual kinds become strings."""
    return {
        name: _labels_of_one_type(values)
        if name.startswith("label")
        else np.array(values, dtype=np.float64 if name in ("count", "frequency") else np.int64)
        for name, values in columns.items()
    }


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
