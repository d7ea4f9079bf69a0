"""What commands print: results on stdout, as tables and sentences or as JSON; notes on stderr.

Tables fit the terminal, or COLUMNS where that is set. A pipe or a file has no edge: nothing is left out there.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shuffledp.jsonable import to_json

_READABLE_WIDTH = 100
"""Longer lines of text are hard to read."""

_UNLIMITED = 10_000

C = TypeVar("C")


class Screen(Console):
    """Standard output. A reader who goes away is told as by print: rich alone would exit with a code of its own."""

    def on_broken_pipe(self) -> None:
        """Called where rich catches the error."""
        raise BrokenPipeError


def has_edge() -> bool:
    """Whether lines have a width that they should not exceed."""
    return Screen().is_terminal or "COLUMNS" in os.environ


def width() -> float:
    """Columns that a table may have."""
    return Screen().width if has_edge() else math.inf


def new_table(**more: Any) -> Table:
    """An empty table with a line under its head."""
    return Table(box=SIMPLE_HEAD, **more)


def natural_width(table: Table) -> int:
    """Columns that a table takes where there is no edge."""
    console = Screen(width=_UNLIMITED)
    return Measurement.get(console, console.options, table).maximum


def least_width(table: Table) -> int:
    """Columns that a table takes with every cell wrapped that may be."""
    console = Screen(width=_UNLIMITED)
    return Measurement.get(console, console.options, table).minimum


def print_table(table: Table) -> None:
    """A table, whose cells are wrapped where it would be too wide."""
    Screen().print(table)


def print_whole(table: Table) -> None:
    """A table that may be as wide as it likes where there is no edge."""
    console = Screen()
    if not has_edge():
        console.width = max(console.width, natural_width(table))
    console.print(table)


def print_in_parts(make: Callable[[Sequence[C]], Table], columns: Sequence[C]) -> None:
    """A table with many columns: below each other, as many at a time as fit."""
    at_once = next(
        (
            number
            for number in range(len(columns), 1, -1)
            if all(natural_width(make(part)) <= width() for part in _parts(columns, number))
        ),
        1,
    )
    for part in _parts(columns, at_once):
        print_whole(make(part))


def _parts(columns: Sequence[C], number: int) -> list[Sequence[C]]:
    return [columns[start : start + number] for start in range(0, len(columns), number)]


def print_title(text: str) -> None:
    """A line above a table."""
    print_sentence(Text(text, style="bold"))


def print_sentence(text: str | Text) -> None:
    """A sentence, wrapped between words on a terminal."""
    console = Screen()
    if has_edge():
        console.width = min(console.width, _READABLE_WIDTH)
    console.print(text, soft_wrap=not has_edge(), highlight=False, markup=False)


def print_paragraphs(parts: Mapping[str, str]) -> None:
    """Paragraphs by title, with an empty line before each."""
    for title, body in parts.items():
        print_sentence("")
        print_sentence(Text.assemble((f"{title}: ", "bold"), body))


def print_indented(text: str) -> None:
    """A sentence below a table, where its first column is."""
    if has_edge():
        console = Screen()
        console.width = min(console.width, _READABLE_WIDTH)
        console.print(Padding(Text(text), (0, 0, 0, 2)), highlight=False)
    else:
        print_sentence(f"  {text}")


def print_json(result: Any) -> None:
    """A result for machines."""
    print(to_json(result))


def print_note(text: str) -> None:
    """A line on stderr."""
    print(text, file=sys.stderr)


def note_written(path: Path) -> None:
    """Says that a file was written."""
    print_note(f"wrote {path}")
