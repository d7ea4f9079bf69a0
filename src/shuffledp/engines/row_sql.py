"""The rows of a table in DuckDB's SQL: what they say, whose they are and whether they count."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shuffledp.engines.column import Column
from shuffledp.engines.sql import quoted_name
from shuffledp.errors import DataError

_UNSUPPORTED = re.compile(r"STRUCT|MAP|UNION|BLOB|BIT\b|INTERVAL|VARIANT|GEOMETRY|\[")
_AS_TEXT = re.compile(r"ENUM|UUID|U?HUGEINT|BIGNUM|JSON|TIME WITH TIME ZONE")

LISTS = (
    "column {name!r} holds lists: write one row for each of their values, choose one of text, numbers, truth values, "
    "dates or times in each, and say whose row it is in another column (user)"
)
"""What is wrong with a column of lists."""


def select_rows(
    source: str, column: Column, *, fields: Sequence[str], user: str | None, types: Mapping[str, str]
) -> str:
    """A query that gives the `value` of every row, and of which `person` it is if that is said.

    The source calls the values `fields`, in the order of the column's names. Rows without a value are left out if they
    are to be. Of sets every row is there, and `kept` says whether it counts.
    """
    values = [_value(name, field, types[field]) for name, field in zip(column.names, fields, strict=True)]
    crossed = ", ".join(f"'{at}': {value}" for at, value in enumerate(values))
    value = values[0] if len(values) == 1 else f"{{{crossed}}}"
    person = "" if user is None else f", {_number(quoted_name(user), types[user])} AS person"
    required = [f"({one}) IS NOT NULL" for one in values] if column.drop_missing else []
    if column.in_sets:
        if column.where is not None:
            required.append(f"coalesce(({column.where.to_duckdb(types=types)}), false)")
        return f"SELECT {value} AS value, ({' AND '.join(required) or 'true'}) AS kept{person} FROM ({source})"
    left = f" WHERE {' AND '.join(required)}" if required else ""
    return f"SELECT {value} AS value{person} FROM ({source}){left}"


def _value(name: str, field: str, kind: str) -> str:
    """The values of a column, equal where they are to be counted together."""
    if kind.endswith("]"):
        raise DataError(LISTS.format(name=name))
    if _UNSUPPORTED.search(kind):
        raise DataError(
            f"column {name!r} holds {kind.split('(')[0]} values: choose one of text, numbers, truth values, dates or "
            "times"
        )
    value = f"CAST({quoted_name(field)} AS VARCHAR)" if _AS_TEXT.search(kind) else quoted_name(field)
    return _number(value, kind)


def _number(value: str, kind: str) -> str:
    """Where it is a float: 0.0 and -0.0 are one value, and what is no number is missing."""
    return f"CASE WHEN NOT isnan({value}) THEN {value} + 0.0::{kind} END" if kind in ("FLOAT", "DOUBLE") else value
