"""Records in one short line: no array in full, and no whole number with thousands of digits, which Python refuses.

`Brief` is written once in the base of a family of records. Whoever derives from it, dataclass or not, has a short repr
too: a dataclass keeps a `__repr__` that its class already has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from shuffledp.words import counted, readable

_MOST_PARTS = 4
"""Of a list or tuple that is shown in full."""

_MOST_MARKS = 60
"""Of a text that is shown in full."""


class Brief:
    """A record, that is a dataclass, whose repr is one short line."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # else the dataclass would write its own

    def __repr__(self) -> str:
        return _record(self)


def brief(value: Any) -> str:
    """A value, or a record with its fields, in a few words."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= 64 else readable(value)
    if isinstance(value, np.ndarray):
        return f"<{counted(value.size, 'number' if value.dtype.kind in 'iufb' else 'value')}>"
    if isinstance(value, Mapping):
        return f"<{counted(len(value), 'entry', things='entries')}>"
    if isinstance(value, list | tuple | AbstractSet):
        if len(value) > _MOST_PARTS:
            return f"<{counted(len(value), 'part')}>"
        return f"({', '.join(map(brief, value))})"
    if isinstance(value, Brief):
        return repr(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    text = value.__name__ if isinstance(value, type) else repr(value)
    return text if len(text) <= _MOST_MARKS else f"{text[: _MOST_MARKS - 1]}…"


def _record(record: Any) -> str:
    """The name of its class and the fields that it shows."""
    shown = (f"{each.name}={brief(getattr(record, each.name))}" for each in dataclasses.fields(record) if each.repr)
    return f"{type(record).__name__}({', '.join(shown)})"
