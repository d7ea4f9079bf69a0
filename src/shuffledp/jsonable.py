"""Conversion of results to values that JSON can hold; all JSON of this package is made here.

- A number that is infinite or undefined is null.
- A whole number of more than 64 bits is text, such as "about 2^200", since JSON readers do not keep its digits.
- A result (a dataclass) is an object of the fields that its repr shows.
- An enumeration is its value; a date, and any other type that JSON does not know, is its text.

Labels are not numbers, even if they are digits: `plain_label` keeps them unchanged.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

import numpy as np

from shuffledp.formatting import readable

_MOST_BITS = 64
"""The widest integers that common JSON readers keep exactly."""


def plain(value: Any) -> Any:
    """Convert a result, or a part of one, to values for json.dumps(..., allow_nan=False)."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MOST_BITS else readable(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | AbstractSet):
        return [plain(part) for part in value]
    return str(value)


def plain_label(label: Any) -> Any:
    """Convert a label to a JSON value with every digit; other types, such as dates, become text, and columns a list."""
    if isinstance(label, tuple):
        return [plain_label(part) for part in label]
    if isinstance(label, float) and not math.isfinite(label):
        return str(label)
    return label if label is None or isinstance(label, str | bool | int | float) else str(label)


def label_kind(label: Any) -> Any:
    """The name of the type of a label, or of each column, that JSON holds only as text; None if JSON keeps the type."""
    if isinstance(label, tuple):
        return [label_kind(part) for part in label]
    if isinstance(label, float) and not math.isfinite(label):
        return "float"
    return None if label is None or isinstance(label, str | bool | int | float) else type(label).__name__


def label_with_kind(label: Any) -> dict[str, Any]:
    """A label, with its kind if JSON does not keep it."""
    kind = label_kind(label)
    return {"label": plain_label(label), **({} if kind is None else {"kind": kind})}


def to_json(value: Any) -> str:
    """Format a result as one line of JSON."""
    return json.dumps(plain(value), allow_nan=False)
