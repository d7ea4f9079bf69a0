"""Names and texts in DuckDB's SQL."""

from __future__ import annotations


def quoted_name(column: str) -> str:
    """A column, whatever its name."""
    return '"' + column.replace('"', '""') + '"'


def quoted_text(value: str) -> str:
    """A text, whatever is in it."""
    return "'" + value.replace("'", "''") + "'"
