"""A histogram of two columns as a small table on the terminal."""

from __future__ import annotations

import numpy as np
from rich.table import Table
from rich.text import Text

from shuffledp.pipeline.cross_table import cross_table
from shuffledp.pipeline.estimate import Estimate
from shuffledp.words import shown

MOST_ROWS, MOST_COLUMNS = 15, 10
"""Of a table that is small enough to be taken in; for a larger one there is the page."""


def two_way(estimate: Estimate, *, column: str) -> Table | None:
    """The table with sums of rows and columns; None where it would be too large."""
    table = cross_table(estimate, most_rows=MOST_ROWS + 1, most_columns=MOST_COLUMNS + 1)
    if len(table.rows) > MOST_ROWS or len(table.columns) > MOST_COLUMNS:
        return None
    caption = "- was not shown; totals follow from all pairs, also from those" if np.isnan(table.counts).any() else None
    found = Table(caption=caption, caption_justify="left")
    found.add_column(Text(shown(column, width=24)), overflow="fold")
    for name in (*table.columns, "total"):
        found.add_column(Text(shown(name, width=16)), justify="right", overflow="fold")
    for name, counts, total in zip(table.rows, table.counts.tolist(), table.row_sums, strict=True):
        cells = ["-" if np.isnan(count) else f"{round(count):,}" for count in counts]
        found.add_row(Text(shown(name, width=24)), *cells, f"{round(total.count):,}")
    found.add_section()
    found.add_row("total", *(f"{round(total.count):,}" for total in table.column_sums), "")
    return found
