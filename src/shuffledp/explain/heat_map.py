"""A histogram of two columns as a heat map: a table in the page, and a picture on matplotlib axes.

In the page, numbers are text, so that they can be read aloud. A cell has one of several shades as its class, because a
strict content security policy forbids style attributes; the shades mix with the colours of the page, light or dark. On
a narrow screen the table scrolls sideways and the row names stay visible; a sentence and a shadow say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shuffledp.errors import MissingExtraError
from shuffledp.explain.html import render
from shuffledp.explain.protocols import cap_sentences
from shuffledp.formatting import confidence_level, counted, shown
from shuffledp.histogram.cross_table import CrossTable, columns_of, cross_table
from shuffledp.histogram.estimate import Estimate

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_ROWS, MOST_COLUMNS = 25, 12
"""Rows and columns of the largest readable table; the files have all of them."""

_SHADES = 31
"""Shades of a cell in the style sheet, in steps of two per cent of colour that look continuous. The strongest has 62
per cent: with more, text would not have enough contrast."""

_NUMBERS_UP_TO = 12
"""Most columns of a picture with numbers in its cells."""

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
        most = counted(estimate.simultaneous.unreported_high, "person", things="people")
        have = "have it" if estimate.cap is None else "are counted with it"
        text += f" A pair with a dash is not shown: at most {most} {have}."
    if estimate.padding_bins:
        text += " People without a pair are not in the table."
    text += (
        " Totals are sums of estimates; the intervals below them include people with pairs that are not shown. All "
        f"intervals, of cells and of totals, hold at once with probability {confidence_level(estimate.beta)}."
    )
    text += "".join(f" {sentence}" for sentence in cap_sentences(estimate.cap))
    everybody = counted(estimate.people, "person", things="people")
    text += f" {everybody} took part."
    rows, columns = (len({*names}) for names in (table.rows, table.columns))
    if rows == MOST_ROWS or columns == MOST_COLUMNS:
        text += f" The table shows at most {MOST_ROWS} rows and {MOST_COLUMNS} columns: those with the most people."
    return text


def draw_heat_map(estimate: Estimate, axes: Any = None) -> Any:
    """Draw the heat map on matplotlib axes; return the axes."""
    table = cross_table(estimate, most_rows=MOST_ROWS, most_columns=2 * MOST_COLUMNS)
    axes = _new_axes(table) if axes is None else axes
    shades = axes.imshow(np.nan_to_num(np.maximum(table.counts, 0.0)), cmap="Blues", aspect="auto", vmin=0)
    axes.set_xticks(
        range(len(table.columns)), [shown(name, width=20) for name in table.columns], rotation=40, ha="right"
    )
    axes.set_yticks(range(len(table.rows)), [shown(name, width=32) for name in table.rows])
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        text.set_parse_math(False)  # a label such as $5 is not a formula
    if len(table.columns) <= _NUMBERS_UP_TO:
        half = float(np.nanmax(table.counts, initial=1.0)) / 2
        for (row, column), count in np.ndenumerate(table.counts):
            text = "-" if np.isnan(count) else f"{round(count):,}"
            colour = "white" if count > half else "#1f2933"
            axes.text(column, row, text, ha="center", va="center", fontsize="small", color=colour)
    axes.figure.colorbar(shades, ax=axes, label="people")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return axes


def _new_axes(table: CrossTable) -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    size = (2.5 + 0.75 * len(table.columns), 1.5 + 0.36 * len(table.rows))
    return pyplot.subplots(figsize=size, layout="constrained")[1]
