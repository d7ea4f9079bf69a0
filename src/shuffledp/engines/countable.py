"""Which columns can be counted value by value: not those of numbers or moments that hardly ever repeat."""

from __future__ import annotations

from typing import Any

from shuffledp.engines.kinds import Kind
from shuffledp.errors import ParameterError


def check_countable(label_type: Any, *, listed: bool, name: str | None = None) -> None:
    """Refuses a column of continuous values that has no list of intervals, periods or values.

    `label_type` is the type of the column, or the Kind of its entries; of several columns, a struct type. The type
    alone decides, before anything is counted: types that may come from people's values say nothing. `name` is that of
    the column, for the error.
    """
    from pyarrow import types

    kind = label_type if isinstance(label_type, Kind) else Kind(label_type)
    if listed or not kind.declared or kind.type is None:
        return
    if types.is_struct(kind.type):
        for part in kind.type:
            check_countable(part.type, listed=False, name=name)
        return
    column = "the column" if name is None else f"column {name!r}"
    if types.is_floating(kind.type) or (types.is_decimal(kind.type) and kind.type.scale > 0):
        raise ParameterError(
            f"{column} holds numbers with fractions ({kind.type}), which hardly ever repeat: count them in intervals, "
            "such as --edges 0,18,30,65 or --edges 0:120:5 (domain=Edges(...) in Python), or list the possible values "
            "with --domain"
        )
    if types.is_timestamp(kind.type):
        raise ParameterError(
            f"{column} holds moments ({kind.type}), which hardly ever repeat: count them by hour, day, week, month or "
            "year, such as --by month --from 2026-01-01 --to 2027-01-01 (domain=Periods(...) in Python), or list the "
            "possible values with --domain"
        )
