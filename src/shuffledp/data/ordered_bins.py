"""Numbers in intervals between edges, and dates in periods: the bin of every entry of an Arrow array, compared exactly.

A float is the shortest decimal number that reads back as it: 0.3 reaches an edge at 0.3. Infinite floats are below or
above all edges. Times with a zone count in UTC, others by their own clock. Missing values, NaN, other text and, in data
without a type, values of other types are missing. docs/reference/values-and-labels.md has the tables.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.labels import Kind, as_ticks
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.edges import LONGEST, NUMBER, Edges, read_number, scaled
from shuffledp.histogram.labels import from_key, label
from shuffledp.histogram.periods import AFTER_HOURS, AFTER_MINUTES, DATE, HOUR, ZONE, Periods

MISSING = -1
"""Stands for the interval of a missing value."""


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _reached(numbers: NDArray[Any], thresholds: Sequence[int]) -> NDArray[np.int64]:
    """How many thresholds each integer reaches; those outside the width of the integers are not converted to it."""
    width = np.iinfo(numbers.dtype)
    always = sum(threshold <= width.min for threshold in thresholds)
    within = [threshold for threshold in thresholds if width.min < threshold <= width.max]
    return always + np.searchsorted(np.array(within, dtype=numbers.dtype), numbers, side="right").astype(np.int64)


def _filled(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The numbers of an Arrow array, 0 where one is missing, and which are missing; None if none is."""
    import pyarrow
    import pyarrow.compute as compute

    if not values.null_count:
        return values.to_numpy(zero_copy_only=False), None
    zero = pyarrow.scalar(0).cast(values.type)
    numbers = compute.fill_null(values, zero).to_numpy(zero_copy_only=False)
    return numbers, compute.is_null(values).to_numpy(zero_copy_only=False)


def _with_missing(found: NDArray[np.int64], missing: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    if missing is not None:
        found[missing] = MISSING
    return found


def _spread(found: Iterable[int], coded: Any) -> NDArray[np.int64]:
    """The interval of every entry, from those of the different ones."""
    each = np.array([*found, MISSING], dtype=np.int64)
    return each[np.asarray(coded.indices.fill_null(each.size - 1), dtype=np.int64)]


_FEW = 4096
"""Up to this many different texts are read one by one; more are read together, or shortened first."""

_EXACT = 2**53
"""All whole numbers up to here are floats."""


class _OrderedBins(ABC):
    """Values between ordered edges, and a bin for missing ones if `missing`.

    The bin of a value depends on that value and on the edges alone.
    """

    _refusal: str

    def __init__(self, listed: Domain, edges: Sequence[Any], *, kind: Kind, missing: bool) -> None:
        self._kind, self._edges, self._missing = kind, edges, missing
        labels = listed.decode(np.arange(listed.size)).tolist()
        self.domain = Domain.of([*labels, None], in_order=True) if missing else listed

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """Return the bin of every value of an Arrow array."""
        import pyarrow

        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        found = self._intervals(values.dictionary_decode() if pyarrow.types.is_dictionary(values.type) else values)
        absent = found == MISSING
        if absent.any() and not self._missing:
            raise DataError(self._refusal)
        found[absent] = len(self._edges) + 1
        return found

    @abstractmethod
    def _intervals(self, values: Any) -> NDArray[np.int64]:
        """The number of each value's interval; MISSING where there is none."""

    def _one_by_one(self, values: Any, read: Callable[[Any], Decimal | int | None]) -> NDArray[np.int64]:
        coded = values.dictionary_encode()
        numbers = (None if one is None else read(one) for one in coded.dictionary.to_pylist())
        return _spread((MISSING if one is None else bisect_right(self._edges, one) for one in numbers), coded)


class NumberBins(_OrderedBins):
    """Numbers in the intervals between edges, and a bin for missing ones if `missing`."""

    _refusal = (
        "a value is missing or is no number (it is not shown, since it may be personal): correct the data, or count "
        "such values as missing, without drop_missing"
    )

    def __init__(self, edges: Edges, *, kind: Kind, missing: bool) -> None:
        if kind.declared and not _can_hold_numbers(kind.type):
            raise ParameterError(
                f"domain must not be Edges for a column of {kind.type}: use Periods for dates and times, and a list "
                "for other values"
            )
        super().__init__(edges.domain, edges.edges, kind=kind, missing=missing)
        self._thresholds: dict[Any, Any] = {}

    def _intervals(self, values: Any) -> NDArray[np.int64]:
        from pyarrow import types

        kind = self._kind.type
        if kind is None:
            return self._one_by_one(values, _number_of_key)
        if types.is_integer(kind):
            numbers, missing = _filled(values)
            return _with_missing(_reached(numbers, self._units(0)), missing)
        if types.is_floating(kind):
            return self._of_floats(values, np.dtype(f"f{kind.bit_width // 8}"))
        if types.is_decimal(kind):
            return self._of_decimals(values)
        if is_text(kind):
            return self._of_text(values)
        return np.full(len(values), MISSING)  # in data without a type, other values can be numbers

    def _units(self, places: int) -> list[int]:
        """The edges in units of 10^-places, rounded up."""
        if places not in self._thresholds:
            self._thresholds[places] = [scaled(edge, places) for edge in self._edges]
        found: list[int] = self._thresholds[places]
        return found

    def _of_floats(self, values: Any, width: np.dtype[Any]) -> NDArray[np.int64]:
        """16-bit floats are converted to 32 bits, which is exact."""
        if width not in self._thresholds:
            self._thresholds[width] = np.array([_smallest(edge, width.type) for edge in self._edges], width)
        numbers, missing = _filled(values)
        numbers = numbers.astype(width, copy=False)
        found = np.searchsorted(self._thresholds[width], numbers, side="right").astype(np.int64)
        return _with_missing(_with_missing(found, np.isnan(numbers)), missing)

    def _of_decimals(self, values: Any) -> NDArray[np.int64]:
        """Most decimal numbers fit 64 bits in units of their last place; others are compared one by one."""
        import pyarrow
        import pyarrow.compute as compute

        places, size = values.type.scale, len(values)
        if values.type.bit_width > 128:
            return self._one_by_one(values, Decimal)
        values = values.cast(pyarrow.decimal128(values.type.precision, places))
        halves = np.frombuffer(values.buffers()[1] or b"", dtype="<i8")[2 * values.offset :][: 2 * size].reshape(-1, 2)
        low, high = halves[:, 0], halves[:, 1]
        missing = compute.is_null(values).to_numpy(zero_copy_only=False)
        found = _reached(low, self._units(places) if places >= 0 else self._multiples(places))
        large = (high != low >> 63) & ~missing
        if large.any():
            found[large] = self._one_by_one(values.filter(pyarrow.array(large)), Decimal)
        return _with_missing(found, missing)

    def _multiples(self, places: int) -> list[int]:
        """The edges in units of 10^-places where that is a multiple of ten, rounded up."""
        return [-(-units // 10**-places) for units in self._units(0)]

    def _of_text(self, values: Any) -> NDArray[np.int64]:
        """Different texts: few are read one by one, many as floats, except for those too close to an edge."""
        import pyarrow
        import pyarrow.compute as compute

        coded = values.cast(pyarrow.large_string()).dictionary_encode()
        texts = coded.dictionary
        if len(texts) <= _FEW:
            found = self._one_by_one(texts, read_number)
        else:
            right = compute.match_substring_regex(texts, f"^ *{NUMBER} *$")
            right = compute.and_(right, compute.less_equal(compute.utf8_length(texts), LONGEST))
            trimmed = compute.utf8_trim(compute.if_else(right, texts, None), " ")
            numbers, missing = _filled(compute.cast(trimmed, pyarrow.float64()))
            # rounding to floats keeps the order, so only numbers that are rounded to an edge's float are in doubt
            near = np.array([float(edge) for edge in self._edges])
            found = _with_missing(np.searchsorted(near, numbers, side="right").astype(np.int64), missing)
            doubtful = (found != MISSING) & (np.searchsorted(near, numbers, side="left") != found)
            found[doubtful] = self._one_by_one(texts.filter(pyarrow.array(doubtful)), read_number)
        return _spread(found, coded)


def _can_hold_numbers(kind: Any) -> bool:
    from pyarrow import types

    is_number = kind is None or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(is_number or is_text(kind) or types.is_null(kind))


def _number_of_key(key: str) -> Decimal | int | None:
    known = from_key(key)
    if isinstance(known, str):
        return read_number(known)
    if isinstance(known, float):
        return Decimal(repr(known))
    return known if isinstance(known, int | Decimal) and not isinstance(known, bool) else None


def _smallest(edge: int | Decimal, width: Callable[[Any], Any]) -> Any:
    """The smallest float of a width whose decimal number reaches the edge."""
    if width is np.float64 and isinstance(edge, int) and abs(edge) <= _EXACT:
        return float(edge)
    with np.errstate(over="ignore"):
        near = width(float(edge))
        below, above = (np.nextafter(near, width(end)) for end in (-math.inf, math.inf))
    return next(one for one in (below, near, above) if _decimal(one) >= edge)


def _decimal(one: Any) -> Decimal:
    """The decimal number of a float, as its label spells it."""
    known = label(one)
    return Decimal(repr(known)) if isinstance(known, float) else Decimal(known)


_PER_MINUTE = {"s": 60, "ms": 60_000, "us": 60_000_000, "ns": 60_000_000_000}
_MINUTES_OF_A_DAY = 24 * 60
_LONGEST_DATE = 64
"""Bits of a whole number that can be a date."""

_SHORTER = (
    # all periods begin with an hour: without a zone, or in UTC, what comes after the hour does not matter
    (f"^ *({DATE}[ T]{HOUR}){AFTER_HOURS}{AFTER_MINUTES}(?:Z|[+-]00(?::?00)?)? *$", r"\1:00"),
    # in other zones what comes after the minute does not
    (f"^ *({DATE}[ T]{HOUR}{AFTER_HOURS}){AFTER_MINUTES}({ZONE}) *$", r"\1\2"),
)
"""Patterns of texts, and the part that is kept."""


class DateBins(_OrderedBins):
    """Dates and timestamps in periods, and a bin for missing ones if `missing`."""

    _refusal = (
        "a value is missing or is no date (it is not shown, since it may be personal): write dates as 2026-11-16, or "
        "count such values as missing, without drop_missing"
    )

    def __init__(self, periods: Periods, *, kind: Kind, missing: bool) -> None:
        if kind.declared:
            _check_type(kind.type, periods)
        minutes = [(edge - _EPOCH) // timedelta(minutes=1) for edge in periods.edges]
        super().__init__(periods.domain, minutes, kind=kind, missing=missing)
        self._periods = periods

    def _intervals(self, values: Any) -> NDArray[np.int64]:
        from pyarrow import types

        kind = self._kind.type
        if kind is None:
            return self._one_by_one(values, self._minute_of_key)
        if types.is_timestamp(kind):
            return self._of_ticks(values, [minute * _PER_MINUTE[kind.unit] for minute in self._edges])
        if types.is_date(kind):
            days = [-(-minute // _MINUTES_OF_A_DAY) for minute in self._edges]
            per_day = 1 if types.is_date32(kind) else _PER_MINUTE["ms"] * _MINUTES_OF_A_DAY
            return self._of_ticks(values, [day * per_day for day in days])
        if is_text(kind):
            return self._of_text(values)
        if self._periods.date_format is not None and (types.is_integer(kind) or types.is_floating(kind)):
            return self._of_numbers(values)
        return np.full(len(values), MISSING)  # in data without a type, other values can be dates

    def _of_ticks(self, values: Any, thresholds: list[int]) -> NDArray[np.int64]:
        numbers, missing = _filled(as_ticks(values))
        return _with_missing(_reached(numbers, thresholds), missing)

    def _of_text(self, values: Any) -> NDArray[np.int64]:
        import pyarrow
        import pyarrow.compute as compute

        texts = values.cast(pyarrow.large_string())
        for shape, kept in _SHORTER if self._periods.date_format is None else ():
            if len(texts) > _FEW and len(compute.unique(texts)) > _FEW:
                texts = compute.replace_substring_regex(texts, shape, kept)
        return self._one_by_one(texts, self._periods.read_minute)

    def _of_numbers(self, values: Any) -> NDArray[np.int64]:
        """Whole numbers such as 20261016, also stored as floats."""
        import pyarrow

        coded = values.dictionary_encode()
        texts = [str(one) if isinstance(one, int) else None for one in self._kind.labels(coded.dictionary)]
        return self._of_text(pyarrow.array(texts, pyarrow.large_string()).take(coded.indices))

    def _minute_of_key(self, key: str) -> int | None:
        known = from_key(key)
        if isinstance(known, int) and not isinstance(known, bool) and self._periods.date_format is not None:
            known = str(known) if known.bit_length() <= _LONGEST_DATE else None
        if isinstance(known, str):
            return self._periods.read_minute(known)
        if isinstance(known, datetime):
            at = known if known.tzinfo is None else known.astimezone(UTC).replace(tzinfo=None)
            return (at - _EPOCH) // timedelta(minutes=1)
        if isinstance(known, date):
            return (known - _EPOCH.date()).days * _MINUTES_OF_A_DAY
        return None


def _check_type(kind: Any, periods: Periods) -> None:
    from pyarrow import types

    if kind is not None and types.is_date(kind) and periods.by == "hour":
        raise ParameterError("by must be at least a day for a column of dates, got hour")
    if kind is None or types.is_timestamp(kind) or types.is_date(kind) or types.is_null(kind) or is_text(kind):
        return
    if periods.date_format is not None and types.is_integer(kind):
        return
    raise ParameterError(
        f"domain must not be Periods for a column of {kind}: use Edges for numbers, and a list for other values"
    )


_EPOCH = datetime(1970, 1, 1)
