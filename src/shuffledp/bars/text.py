"""A histogram as a small table of text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from shuffledp.bars.scale import Bar, Scale
from shuffledp.words import shown

_LONGEST_BAR = 24
"""In characters: with a label and the numbers it fits a terminal of 80."""


def text_bars(bars: Sequence[Bar], *, column: str) -> str:
    """A line for each bar: label, estimate, interval, and the bar; the scale is said if it is not linear."""
    scale = Scale.of(bars)
    cells = [[shown(column, width=30), "people", "interval", "logarithmic scale" if scale.logarithmic else ""]]
    cells += [[shown(bar.label, width=30), people(bar.count), interval(bar), _drawn(bar, scale)] for bar in bars]
    widths = [max(_width(row[at]) for row in cells) for at in range(3)]
    return "\n".join(
        f"{_padded(label, widths[0])}  {number:>{widths[1]}}  {ends:>{widths[2]}}  {drawn}".rstrip()
        for label, number, ends, drawn in cells
    )


def people(count: float) -> str:
    """An estimate, which can be below zero, as a whole number."""
    return f"{round(count):,}"


def interval(bar: Bar) -> str:
    """The ends of an interval."""
    return f"{bar.low:,} to {bar.high:,}"


def _drawn(bar: Bar, scale: Scale) -> str:
    return "█" * round(_LONGEST_BAR * scale.place(bar.count))


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(mark) else 2 if unicodedata.east_asian_width(mark) in "WF" else 1 for mark in text
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
