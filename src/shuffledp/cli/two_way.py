"""A histogram of two columns as a small table on the terminal."""

from __future__ import annotations

import numpy as np
from rich.table import Table
from rich.text import Text

from shuffledp.cli.output import natural_width, print_sentence, print_whole, width
from shuffledp.pipeline.cross_table import cross_table
from shuffledp.pipeline.estimate import Estimate
from shuffledp.report.heat_map import can_be_mapped
from shuffledp.words import shown

MOST_ROWS, MOST_COLUMNS = 15, 10
"""Of a table that is small enough to be taken in; for a larger one there is the page."""


def show_two_way(estimate: Estimate, *, column: str) -> None:
    """Prints the table of a histogram of two columns, or where to find it if it has no room."""
    if not can_be_mapped(estimate):
        return
    table = two_way(estimate, column=column)
    if table is None:
        print_sentence("Both columns at once are too large a table for a terminal: --out FILE.html writes a page.")
    elif (needed := natural_width(table)) > width():
        print_sentence(
            f"Both columns at once are a table that needs a terminal of {needed} columns; it is also in the page that "
            "--out FILE.html writes."
        )
    else:
        print_whole(table)


def two_way(estimate: Estimate, *, column: str) -> Table | None:
    """The table with sums of rows and columns; None where it would be too large."""
    table = cross_table(estimate, most_rows=MOST_ROWS + 1, most_columns=MOST_COLUMNS + 1)
    if len(table.rows) > MOST_ROWS or len(table.columns) > MOST_COLUMNS:
        return None
    caption = "totals are sums of estimates"
    if np.isnan(table.counts).any():
        caption = "- was not shown; totals are sums of all estimates that were"
    found = Table(caption=caption, caption_justify="left")
    found.add_column(Text(shown(column, width=24)), overflow="fold")
    for name in (*table.columns, "total"):
        found.add_column(Text(shown(name, width=16)), justify="right", overflow="fold")
    for name, counts, total in zip(table.rows, table.counts.tolist(), table.row_sums, strict=True):
        cells = ["-" if np.isnan(count) else f"{round(count):,}" for count in counts]
        found.add_row(Text(shown(name, width=24)), *cells, f"{round(total.count):,}")
    found.add_section()
    found.add_row("total", *(f"{round(total.count):,}" for total in table.column_sums), f"{round(table.total):,}")
    return found
