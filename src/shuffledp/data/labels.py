"""From the entries of Arrow arrays to labels: how entries of a type are read, and where labels are found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.labels import duration, from_key, key, label, moment, time_of_day

_MILLISECONDS_OF_A_DAY = 86_400_000


@dataclass(frozen=True)
class Kind:
    """How the entries of one column are read.

    `type` is the Arrow type of the entries, None where each entry is the key of a label of any kind. Dates and times
    may be stored as whole numbers, since Arrow has years that Python and DuckDB lack. `declared` says that the type
    cannot come from people's values.
    """

    type: Any = None
    declared: bool = True

    def labels(self, entries: Any) -> list[Any]:
        """Return the label of every entry of an Arrow array, each from its entry alone."""
        if self.type is None:
            return [None if text is None else from_key(text) for text in entries.to_pylist()]
        if self.is_direct:
            found: list[Any] = entries.to_pylist()
            return found
        if self._is_time:
            stored = as_ticks(entries).to_pylist()
            return [None if ticks is None else self._in_time(ticks) for ticks in stored]
        narrow = {16: np.float16, 32: np.float32}.get(self.type.bit_width) if self._is_float else None
        if narrow is not None:
            return [None if value is None else label(narrow(value)) for value in entries.to_pylist()]
        return [label(value) for value in entries.to_pylist()]

    def can_have(self, known: Any) -> bool:
        """Whether an entry could have this label."""
        if known is None or self.type is None or (type(known) is str and self.own is str):
            return True
        if not isinstance(known, self.own) or (isinstance(known, bool) and self.own is not bool):
            return False
        if self.own is not int:
            return True
        lowest, highest = self._range
        return bool(lowest <= known <= highest)

    @cached_property
    def own(self) -> Any:
        """The Python types of the labels."""
        import pyarrow

        types, kind = pyarrow.types, self.type
        for is_of, own in (
            (types.is_boolean, bool),
            (types.is_integer, int),
            (types.is_floating, int | float),
            (types.is_decimal, int | float | Decimal),
            (types.is_timestamp, datetime | str),
            (types.is_date, date | str),
            (types.is_time, time | str),
            (types.is_duration, timedelta | str),
            (types.is_null, type(None)),
        ):
            if kind is not None and is_of(kind):
                return own
        return object if kind is None else str

    @cached_property
    def is_direct(self) -> bool:
        """Whether entries are the labels themselves, or their keys, so that Arrow can look them up."""
        return self.type is None or self.own in (str, bool, int)

    @cached_property
    def is_plain(self) -> bool:
        """Whether entries are the labels themselves, all of one type of Python."""
        return self.is_direct and self.type is not None

    @cached_property
    def _is_float(self) -> bool:
        import pyarrow

        return bool(pyarrow.types.is_floating(self.type))

    @cached_property
    def _is_time(self) -> bool:
        import pyarrow

        return bool(pyarrow.types.is_temporal(self.type) and not pyarrow.types.is_interval(self.type))

    @cached_property
    def _range(self) -> tuple[int, int]:
        import pyarrow

        width = self.type.bit_width
        signed = pyarrow.types.is_signed_integer(self.type)
        return (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)

    def _in_time(self, ticks: int) -> Any:
        import pyarrow

        types, kind = pyarrow.types, self.type
        if types.is_timestamp(kind):
            return moment(np.datetime64(ticks, kind.unit), aware=kind.tz is not None)
        if types.is_date(kind):
            return moment(np.datetime64(ticks if types.is_date32(kind) else ticks // _MILLISECONDS_OF_A_DAY, "D"))
        return (time_of_day if types.is_time(kind) else duration)(ticks, kind.unit)


class Finder:
    """Maps entries to the numbers of known labels; among equal labels the first counts."""

    def __init__(self, kind: Kind, known: Iterable[tuple[Any, int]]) -> None:
        import pyarrow

        self._kind = kind
        self._numbers: dict[Any, int] = {}
        for one, at in known:
            if kind.can_have(one):
                self._numbers.setdefault(one if kind.is_plain else _key(one), at)
        self._listed, self._at = None, np.array([*self._numbers.values(), -1], dtype=np.int64)
        if kind.is_direct:
            self._listed = pyarrow.array(list(self._numbers), kind.type or pyarrow.string())

    def __call__(self, entries: Any) -> NDArray[np.int64]:
        """Return the number of every entry's label; -1 for unknown ones."""
        import pyarrow.compute as compute

        if self._listed is None:
            coded = entries.dictionary_encode()
            numbers = [self._numbers.get(key(found), -1) for found in self._kind.labels(coded.dictionary)]
            at = np.asarray(compute.fill_null(coded.indices, len(numbers)), dtype=np.int64)
            return np.array([*numbers, self._numbers.get(None, -1)], dtype=np.int64)[at]
        found = compute.index_in(entries, value_set=self._listed.cast(entries.type))
        return self._at[np.asarray(compute.fill_null(found, len(self._listed)), dtype=np.int64)]


def _key(known: Any) -> str | None:
    return None if known is None else key(known)


def as_ticks(entries: Any) -> Any:
    """Return dates and times of an Arrow array, which may be stored as whole numbers, as these."""
    import pyarrow

    if pyarrow.types.is_integer(entries.type):
        return entries
    width = pyarrow.int32() if entries.type.bit_width == 32 else pyarrow.int64()
    if isinstance(entries, pyarrow.ChunkedArray):
        return pyarrow.chunked_array([part.view(width) for part in entries.chunks], width)
    return entries.view(width)


@dataclass(frozen=True)
class BinKind:
    """How the bins of a column are read whose values were replaced by them."""

    domain: Domain

    def labels(self, entries: Any) -> list[Any]:
        """Return the label of every bin of an Arrow array."""
        found: list[Any] = self.domain.decode(entries.to_numpy()).tolist()
        return found


@dataclass(frozen=True)
class CrossKind:
    """How the entries of several columns, which are structs, are read as tuples."""

    kinds: tuple[Kind | BinKind, ...]

    def labels(self, entries: Any) -> list[tuple[Any, ...]]:
        """Return the labels of every struct of an Arrow array."""
        columns = (kind.labels(column) for kind, column in zip(self.kinds, entries.flatten(), strict=True))
        return list(zip(*columns, strict=True))


class CrossFinder:
    """Maps structs to the numbers of known tuples of labels."""

    def __init__(self, kind: CrossKind, known: Iterable[tuple[tuple[Any, ...], int]]) -> None:
        self._kind, self._numbers = kind, {tuple(map(key, row)): at for row, at in known}

    def __call__(self, entries: Any) -> NDArray[np.int64]:
        """Return the number of every entry's tuple; -1 for unknown ones."""
        found = (self._numbers.get(tuple(map(key, row)), -1) for row in self._kind.labels(entries))
        return np.fromiter(found, dtype=np.int64, count=len(entries))


def finder(kind: Kind | CrossKind, known: Iterable[tuple[Any, int]]) -> Finder | CrossFinder:
    """Return what finds entries of this kind among known labels."""
    return CrossFinder(kind, known) if isinstance(kind, CrossKind) else Finder(kind, known)


def check_countable(kind: Kind, *, listed: bool, name: str) -> None:
    """Refuse a column of continuous values without a list of intervals, periods or values.

    Its type alone decides, before anything is counted; one that may come from people's values decides nothing.
    """
    from pyarrow import types

    if listed or not kind.declared or kind.type is None:
        return
    if types.is_floating(kind.type) or (types.is_decimal(kind.type) and kind.type.scale > 0):
        raise ParameterError(
            f"domain must be given: column {name!r} holds numbers with fractions ({kind.type}), which hardly ever "
            "repeat. Count them in intervals (Edges) with edges such as 0,18,30,65 or 0:120:5, or list the possible "
            "values"
        )
    if types.is_timestamp(kind.type):
        raise ParameterError(
            f"domain must be given: column {name!r} holds timestamps ({kind.type}), which hardly ever repeat. Count "
            "them by hour, day, week, month or year (Periods), such as by month from 2026-01-01 to 2027-01-01, or list "
            "the possible values"
        )
