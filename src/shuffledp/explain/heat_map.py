"""A histogram of two columns as a heat map: a table of the page itself, and a picture on axes of matplotlib.

In the page, numbers are text, so that they can be read aloud, and the colours are mixed with those of the page, light
or dark; a cell has one of a number of shades as its class, since a style attribute is what a strict content security
policy forbids. On a narrow screen the table scrolls sideways in its frame, with the names of the rows in sight; a
sentence and a shadow at the edge say that there is more.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from shuffledp.errors import MissingExtraError
from shuffledp.formatting import counted, shown, surely
from shuffledp.histogram.cross_table import CrossTable, columns_of, cross_table
from shuffledp.histogram.estimate import Estimate

MOST_ROWS, MOST_COLUMNS = 25, 12
"""As many as can be taken in; the files have all of them."""

_STRONGEST = 62
"""Per cent of colour in the largest cell: with more, letters in the colour of the page could not be read."""

_SHADES = 31
"""Of a cell: each is two per cent of colour stronger than the one before, which nobody can tell apart."""

_NUMBERS_UP_TO = 12
"""Columns of a picture in which the numbers are written."""

_WIDER_THAN_A_TELEPHONE = 3
"""Columns that do not fit 360 pixels with the names of the rows and a total."""

HEAT_STYLE = """
.shuffledp .heat { overflow-x: auto; margin: .4em 0;
  background: linear-gradient(to left, var(--paper, Canvas) 30%, transparent) right / 48px 100% no-repeat local,
    linear-gradient(to left, color-mix(in srgb, var(--ink, CanvasText) 35%, transparent), transparent)
    right / 16px 100% no-repeat scroll; }
.shuffledp .sideways { display: none; margin: 0; font-size: .9em; color: var(--soft, inherit); }
.shuffledp table.heat-map { border-collapse: separate; border-spacing: 2px; font-variant-numeric: tabular-nums;
  font-size: .9em; }
.shuffledp .heat-map th, .shuffledp .heat-map td { padding: .3em .5em; text-align: right; font-weight: normal;
  white-space: nowrap; border: 0; }
.shuffledp .heat-map th { color: var(--soft, inherit); font-size: .92em; }
.shuffledp .heat-map tbody th { text-align: left; position: sticky; left: 0; background: var(--paper, Canvas);
  min-width: 6em; max-width: 11em; white-space: normal; overflow-wrap: anywhere; }
.shuffledp .heat-map thead th { max-width: 7.5em; white-space: normal; vertical-align: bottom;
  overflow-wrap: break-word; }
.shuffledp .heat-map thead th:first-child { text-align: left; }
.shuffledp .heat-map td { border-radius: 3px; min-width: 4em; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
.shuffledp .heat-map td.unsure { color: var(--soft, inherit); }
.shuffledp .heat-map .sum { border-left: 1px solid var(--rule, currentColor); border-radius: 0; }
@media (max-width: 600px) { .shuffledp .heat-map tbody th { max-width: 6.5em; } }
@media screen and (max-width: 600px) { .shuffledp .sideways { display: block; } }
""" + "".join(
    f".shuffledp .heat-map .shade-{shade} {{ background: color-mix(in srgb, var(--bar, #5b8dc9) "
    f"{_STRONGEST * shade / _SHADES:.0f}%, transparent); }}\n"
    for shade in range(1, _SHADES + 1)
)


def can_be_mapped(estimate: Estimate) -> bool:
    """Whether a histogram is one of two columns, of which each has several values, and holds a pair at all."""
    if columns_of(estimate) != 2 or estimate.values_per_person != 1:
        return False
    return any(isinstance(label, tuple) for label in estimate.labels.tolist())


def heat_map(estimate: Estimate, *, column: str) -> str:
    """The table in HTML, with what it shows below it."""
    table = cross_table(estimate, most_rows=MOST_ROWS, most_columns=MOST_COLUMNS)
    largest = float(np.nanmax(table.counts, initial=1.0))
    head = "".join(f'<th scope="col"><bdi>{escape(shown(name, width=24))}</bdi></th>' for name in table.columns)
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escape(shown(name, width=32))}</bdi></th>{_cells(table, at, largest)}'
        f'<td class="sum" title="{total.low:,} to {total.high:,}">{round(total.count):,}</td></tr>\n'
        for at, (name, total) in enumerate(zip(table.rows, table.row_sums, strict=True))
    )
    sums = "".join(
        f'<td title="{total.low:,} to {total.high:,}">{round(total.count):,}</td>' for total in table.column_sums
    )
    return (
        f"<figure>{_sideways(table)}"
        f'<div class="heat" tabindex="0" role="region" aria-label="{escape(shown(column))}">'
        f'<table class="heat-map"><thead><tr><th scope="col"><bdi>{escape(shown(column))}</bdi></th>{head}'
        f'<th scope="col" class="sum">total</th></tr></thead>\n<tbody>{rows}'
        f'<tr><th scope="row">total</th>{sums}<td class="sum">{round(table.total):,}</td></tr></tbody></table></div>\n'
        f"<figcaption>{escape(caption(estimate, table))}</figcaption></figure>"
    )


def _sideways(table: CrossTable) -> str:
    """What a reader of a narrow screen must know, who sees the first columns alone."""
    if len(table.columns) < _WIDER_THAN_A_TELEPHONE:
        return ""
    return f'<p class="sideways">The table has {len(table.columns)} columns and a total: it scrolls sideways.</p>\n'


def _cells(table: CrossTable, row: int, largest: float) -> str:
    cells = []
    for count, low, high in zip(table.counts[row].tolist(), table.low[row], table.high[row], strict=True):
        if np.isnan(count):
            cells.append(f'<td class="unsure" title="not shown: at most {high:,}">-</td>')
            continue
        kinds = " ".join(kind for kind in (_shade(count / largest), "unsure" if low <= 0 else "") if kind)
        named = f' class="{kinds}"' if kinds else ""
        cells.append(f'<td{named} title="{low:,} to {high:,}">{round(count):,}</td>')
    return "".join(cells)


def _shade(share: float) -> str:
    """The class of a cell that holds this share of the largest one; none for what is close to nothing."""
    shade = round(_SHADES * share)
    return f"shade-{shade}" if shade > 0 else ""


def caption(estimate: Estimate, table: CrossTable) -> str:
    """What a reader of the table must know."""
    said = "Estimates of how many people hold each pair: the more people, the stronger the colour."
    if np.isnan(table.counts).any():
        most = counted(estimate.simultaneous.unreported_high, "person", things="people")
        said += f" A pair with a dash was not shown; it is held by at most {most}."
    if estimate.padding_bins:
        said += " People without a pair are not in the table."
    said += (
        " Totals of rows and columns follow from all cells, also from those that are not in the table; their intervals "
        f"and those of the cells hold at once with probability {surely(estimate.beta)}."
    )
    everybody = counted(estimate.people, "person", things="people")
    said += f" The total of all is the sum of their estimates; {everybody} took part."
    rows, columns = (len({*names}) for names in (table.rows, table.columns))
    if rows == MOST_ROWS or columns == MOST_COLUMNS:
        said += f" Of more than {MOST_ROWS} rows or {MOST_COLUMNS} columns, those with the most people are shown."
    return said


def draw_heat_map(estimate: Estimate, axes: Any = None) -> Any:
    """The same as a picture on axes of matplotlib; returns the axes."""
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
