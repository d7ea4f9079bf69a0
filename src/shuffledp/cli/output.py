"""What commands print: results on stdout, as tables and sentences or as JSON; notes on stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from shuffledp.plain import to_json


def new_table(*, title: str | None = None, caption: str | None = None, **more: Any) -> Table:
    """An empty table with a line under its head."""
    return Table(title=title, caption=caption, box=SIMPLE_HEAD, title_justify="left", caption_justify="left", **more)


def print_table(table: Table, *, least_width: int = 0) -> None:
    """A table, which may be wider than a terminal that is too narrow for it."""
    _console(least_width).print(table)


def print_sentence(text: Any) -> None:
    """A sentence as one line, which the terminal wraps."""
    Console().print(text, soft_wrap=True, highlight=False)


def print_below(text: str, *, least_width: int = 0) -> None:
    """A sentence below a table, wrapped where the table ends."""
    _console(least_width).print(text, highlight=False)


def _console(least_width: int) -> Console:
    console = Console()
    console.width = max(console.width, least_width)
    return console


def print_json(result: Any) -> None:
    """A result for machines."""
    print(to_json(result))


def print_note(text: str) -> None:
    """A line on stderr."""
    print(text, file=sys.stderr)


def note_written(path: Path) -> None:
    """Says that a file was written."""
    print_note(f"wrote {path}")
