"""Queries on lines of JSON, each an object by itself: what a value is called depends on its own line alone.

The lines come from `TextScan`, as a table `scanned`. Text is counted without its quotes, truth values as JSON writes
them, numbers as DuckDB does: 1.50 as 1.5, 1e3 as 1000.0, -0 as 0 (Spark keeps the spelling of the file). null or no
such key is a missing value. Objects and arrays are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.engines.sources.text_scan import LINE, NUMBER
from shuffledp.engines.sql import quoted_name, quoted_text

_TRIMMED = f"ltrim({LINE}, ' ' || chr(9) || chr(10) || chr(13))"
_IS_OBJECT = f"(starts_with({LINE}, '{{') OR starts_with({_TRIMMED}, '{{'))"
"""Of a line that is JSON at all: an object begins with a brace, and nothing else does."""

NOT_AN_OBJECT = "is not a JSON object: one object per line is needed"
ARRAY = "begins a JSON array: one object per line is needed, such as jq -c '.[]' writes"


def nested(column: str) -> str:
    """What is wrong with a line whose value is an object or an array."""
    return f"has a nested value in column {column!r}: only text, numbers and truth values are counted"


def values_of_lines(columns: Sequence[str]) -> str:
    """A query that gives the columns as text, and fails at a line that cannot be read."""
    texts = ", ".join(f"{LINE} ->> {_path(name)} AS text{at}" for at, name in enumerate(columns))
    values = ", ".join(
        f"CASE WHEN NOT {_IS_OBJECT} OR {_is_nested(f'text{at}', name)} THEN error('wrong line') ELSE text{at} END "
        f"AS {quoted_name(name)}"
        for at, name in enumerate(columns)
    )
    return f"SELECT {values} FROM (SELECT {LINE}, {texts} FROM scanned)"


def has_key(column: str) -> str:
    """A query that gives a row if some line has the key."""
    return f"SELECT 1 FROM scanned WHERE json_valid({LINE}) AND json_exists({LINE}, {_path(column)}) LIMIT 1"


def wrong_line(columns: Sequence[str]) -> str:
    """A query that gives the number of the first line that cannot be read and what is wrong with it."""
    wrong = f"NOT json_valid({LINE}) OR NOT {_IS_OBJECT}"
    array = f"starts_with({_TRIMMED}, '[')"
    reasons = [f"WHEN {array} THEN {quoted_text(ARRAY)}", f"WHEN {wrong} THEN {quoted_text(NOT_AN_OBJECT)}"]
    for name in columns:
        text = f"({LINE} ->> {_path(name)})"
        reasons.append(f"WHEN {_is_nested(text, name)} THEN {quoted_text(nested(name))}")
    query = f"SELECT {NUMBER}, CASE {' '.join(reasons)} END AS reason FROM scanned"
    return f"SELECT {NUMBER}, reason FROM ({query}) WHERE reason IS NOT NULL ORDER BY {NUMBER} LIMIT 1"


def _path(name: str) -> str:
    return quoted_text('$."' + name.replace('"', '\\"') + '"')


def _is_nested(text: str, name: str) -> str:
    """Whether the value with this text is an object or an array; only text that looks like one is looked at again."""
    looks = f"(starts_with({text}, '{{') OR starts_with({text}, '['))"
    return f"coalesce({looks} AND json_type({LINE}, {_path(name)}) IN ('OBJECT', 'ARRAY'), false)"
