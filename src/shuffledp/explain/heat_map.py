"""A histogram of two columns as a heat map: a table in the page.

Numbers are text, so that they can be read aloud. A cell has one of several shades as its class, because a
strict content security policy forbids style attributes; the shades mix with the colours of the page, light or dark. On
a narrow screen the table scrolls sideways and the row names stay visible; a sentence and a shadow say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shuffledp.explain.html import render
from shuffledp.explain.protocols import cap_sentences
from shuffledp.formatting import confidence_level, counted
from shuffledp.histogram.cross_table import CrossTable, columns_of, cross_table
from shuffledp.histogram.estimate import Estimate

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_ROWS, MOST_COLUMNS = 25, 12
"""Rows and columns of the largest readable table; the files have all of them."""

_SHADES = 31
"""Shades of a cell in the style sheet, in steps of two per cent of colour that look continuous. The strongest has 62
per cent: with more, text would not have enough contrast."""

_WIDER_THAN_A_PHONE = 3
"""Fewest columns that do not fit 360 pixels together with row names and a total."""


def can_be_mapped(estimate: Estimate) -> bool:
    """Tell whether a histogram counts pairs of two columns, and holds a pair at all."""
    if columns_of(estimate) != 2 or estimate.values_per_person != 1:
        return False
    return any(isinstance(label, tuple) for label in estimate.labels.tolist())


def heat_map(estimate: Estimate, *, column: str) -> Markup:
    """Render the table with its caption."""
    table = cross_table(estimate, most_rows=MOST_ROWS, most_columns=MOST_COLUMNS)
    largest = float(np.nanmax(table.counts, initial=1.0))
    return render(
        "heat_map.html",
        column=column,
        columns=table.columns,
        rows=[
            {"label": name, "cells": _cells(table, at, largest), "total": total}
            for at, (name, total) in enumerate(zip(table.rows, table.row_sums, strict=True))
        ],
        column_sums=table.column_sums,
        grand_total=table.total,
        scrolls=len(table.columns) >= _WIDER_THAN_A_PHONE,
        caption=caption(estimate, table),
    )


def _cells(table: CrossTable, row: int, largest: float) -> list[dict[str, Any]]:
    """The cells of a row: the count, None if it is not shown, its interval, and the classes of the cell."""
    cells = []
    for count, low, high in zip(*(part[row].tolist() for part in (table.counts, table.low, table.high)), strict=True):
        hidden = np.isnan(count)
        shade = 0 if hidden else round(_SHADES * count / largest)
        kinds = [*([f"shade-{shade}"] if shade > 0 else []), *(["unsure"] if hidden or low <= 0 else [])]
        cells.append({"count": None if hidden else count, "low": low, "high": high, "kinds": " ".join(kinds)})
    return cells


def caption(estimate: Estimate, table: CrossTable) -> str:
    """Return what a reader of the table must know."""
    text = "Each cell is the estimated number of people with that pair. A stronger colour means more people."
    if np.isnan(table.counts).any():
        most = counted(estimate.simultaneous.unreported_high, "person")
        have = "have it" if estimate.cap is None else "are counted with it"
        text += f" A pair with a dash is not shown: at most {most} {have}."
    if estimate.padding_bins:
        text += " People without a pair are not in the table."
    text += (
        " Totals are sums of estimates; the intervals below them include people with pairs that are not shown. All "
        f"intervals, of cells and of totals, hold at once with probability {confidence_level(estimate.beta)}."
    )
    text += "".join(f" {sentence}" for sentence in cap_sentences(estimate.cap))
    everybody = counted(estimate.people, "person")
    text += f" {everybody} took part."
    rows, columns = (len({*names}) for names in (table.rows, table.columns))
    if rows == MOST_ROWS or columns == MOST_COLUMNS:
        text += f" The table shows at most {MOST_ROWS} rows and {MOST_COLUMNS} columns: those with the most people."
    return text
