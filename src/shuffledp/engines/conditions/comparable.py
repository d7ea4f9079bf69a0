"""Columns in memory as a condition compares them.

Data whose type was declared is compared as what it is. In other data the type can come from people's values: one of
them would make fractions of everybody's whole numbers, or text. There, each value is its own text, as in a CSV file.
"""

from __future__ import annotations

from typing import Any

from shuffledp.engines.kinds import Kind
from shuffledp.engines.sources.stored import Stored, arrow
from shuffledp.pipeline.labels import key


def comparable(column: Stored) -> Any:
    """The entries of a column for a condition, each from its value alone."""
    pa, entries, kind = arrow(), column.entries, column.kind
    if kind is None and (column.declared or pa.types.is_string(entries.type)):
        return entries
    if kind is None and pa.types.is_integer(entries.type):
        return entries.cast(pa.string())
    coded = (entries.combine_chunks() if isinstance(entries, pa.ChunkedArray) else entries).dictionary_encode()
    texts = map(_text, (kind or Kind(entries.type)).labels(coded.dictionary))
    return pa.array(texts, pa.string()).take(coded.indices)


def _text(label: Any) -> str | None:
    """A label as its text; truth values as JSON writes them."""
    if label is None:
        return None
    if isinstance(label, bool):
        return "true" if label else "false"
    return key(label)[1:] if isinstance(label, int) else str(label)  # str() refuses very long numbers
