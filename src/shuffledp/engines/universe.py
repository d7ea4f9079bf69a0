"""The universe of all values by name, where nobody lists the possible ones."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from shuffledp.engines.cross_kinds import CrossKind
from shuffledp.engines.kinds import Kind
from shuffledp.errors import DataError
from shuffledp.pipeline.labels import LONGEST_NUMBER
from shuffledp.pipeline.tally import as_symbols

LONGEST_VALUE = 8192
EVERYTHING = 2 ** (8 * LONGEST_VALUE)
"""How many values of up to LONGEST_VALUE bytes there are: the universe where no domain is given."""


def names_of(kind: Kind | CrossKind, entries: Any) -> NDArray[Any]:
    """The labels of some entries as symbols."""
    named = as_symbols(kind.labels(entries))
    if named.dtype == object and any(map(_too_long, named)):
        raise DataError(f"a value is longer than {LONGEST_VALUE:,} bytes: shorten the values before they are counted")
    return named


def _too_long(label: Any) -> bool:
    """Whether a label is none of the values that EVERYTHING counts, or too long to be written."""
    if isinstance(label, tuple):
        return any(map(_too_long, label))
    if isinstance(label, int):
        return label.bit_length() > LONGEST_NUMBER
    return isinstance(label, str) and len(label.encode()) > LONGEST_VALUE
