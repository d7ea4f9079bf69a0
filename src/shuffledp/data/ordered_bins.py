"""Numbers in intervals between edges, and dates in periods: the bin of every entry of an Arrow array, compared exactly.

| numbers | compared as |
|---|---|
| whole numbers of any width | exactly |
| decimal numbers | exactly |
| floats | the shortest decimal number that reads back as the same float: 0.3 reaches an edge at 0.3 |
| text | the decimal number it spells, see `read_number` in `histogram.edges`; any other text is missing |
| infinite floats | below or above all edges |
| missing values, NaN, and values of other types in data without a type | missing |

| dates | compared as |
|---|---|
| dates | their day |
| timestamps without a time zone | their own clock |
| timestamps with a time zone | their time in UTC |
| text | the date or time it spells, see `Periods.read_minute`; any other text is missing |
| whole numbers, with a format such as %Y%m%d | their text |
| missing values, and values of other types in data without a type | missing |
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
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


def reached(numbers: NDArray[Any], thresholds: Sequence[int]) -> NDArray[np.int64]:
    """Return how many thresholds each number of an integer array reaches, for integers of any width.

    Thresholds outside that width are not converted to it.
    """
    width = np.iinfo(numbers.dtype)
    always = sum(threshold <= width.min for threshold in thresholds)
    within = [threshold for threshold in thresholds if width.min < threshold <= width.max]
    return always + np.searchsorted(np.array(within, dtype=numbers.dtype), numbers, side="right").astype(np.int64)


def filled(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the numbers of an Arrow array, 0 where one is missing, and which are missing; None if none is."""
    import pyarrow
    import pyarrow.compute as compute

    if not values.null_count:
        return values.to_numpy(zero_copy_only=False), None
    zero = pyarrow.scalar(0).cast(values.type)
    numbers = compute.fill_null(values, zero).to_numpy(zero_copy_only=False)
    return numbers, compute.is_null(values).to_numpy(zero_copy_only=False)


def with_missing(found: NDArray[np.int64], missing: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Return numbers of intervals, with `MISSING` where there is no value."""
    if missing is not None:
        found[missing] = MISSING
    return found


def with_their_bin(found: NDArray[np.int64], *, missing: int | None, refusal: str) -> NDArray[np.int64]:
    """Return numbers of intervals, with the bin of missing values instead of `MISSING`; refuse them without one."""
    absent = found == MISSING
    if absent.any():
        if missing is None:
            raise DataError(refusal)
        found[absent] = missing
    return found


def one_array(values: Any) -> Any:
    """Return an Arrow array in one chunk, with its entries themselves instead of dictionary codes."""
    import pyarrow

    if isinstance(values, pyarrow.ChunkedArray):
        values = values.combine_chunks()
    if pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


_FEW = 4096
"""Up to this many different texts are read one by one; more are read together."""

_EXACT = 2**53
"""All whole numbers up to here are floats."""


class NumberBins:
    """Numbers in the intervals between edges, and a bin for missing ones if `missing`."""

    def __init__(self, edges: Edges, *, label_type: Any, missing: bool) -> None:
        self._kind = label_type if isinstance(label_type, Kind) else Kind(label_type)
        self._edges, self._missing = edges, missing
        if self._kind.declared and not _can_hold_numbers(self._kind.type):
            raise ParameterError(
                f"domain must not be Edges for a column of {self._kind.type}: use Periods for dates and times, and a "
                "list for other values"
            )
        listed = edges.domain
        labels = listed.decode(np.arange(listed.size)).tolist()
        self.domain = Domain.of([*labels, None], in_order=True) if missing else listed
        self._thresholds: dict[Any, Any] = {}

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """Return the bin of every value of an Arrow array."""
        return with_their_bin(
            self._intervals(one_array(values)),
            missing=len(self._edges.edges) + 1 if self._missing else None,
            refusal=(
                "a value is missing or is no number (it is not shown, since it may be personal): correct the data, "
                "or count such values as missing, without drop_missing"
            ),
        )

    def _intervals(self, values: Any) -> NDArray[np.int64]:
        from pyarrow import types

        kind = self._kind.type
        if kind is None:
            return self._one_by_one(values, _number_of_key)
        if types.is_integer(kind):
            numbers, missing = filled(values)
            return with_missing(reached(numbers, self._units(0)), missing)
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
            self._thresholds[places] = [scaled(edge, places) for edge in self._edges.edges]
        found: list[int] = self._thresholds[places]
        return found

    def _of_floats(self, values: Any, width: np.dtype[Any]) -> NDArray[np.int64]:
        """16-bit floats are converted to 32 bits, which is exact."""
        if width not in self._thresholds:
            self._thresholds[width] = np.array([_smallest(edge, width.type) for edge in self._edges.edges], width)
        numbers, missing = filled(values)
        numbers = numbers.astype(width, copy=False)
        found = np.searchsorted(self._thresholds[width], numbers, side="right").astype(np.int64)
        return with_missing(with_missing(found, np.isnan(numbers)), missing)

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
        found = reached(low, self._units(places) if places >= 0 else self._multiples(places))
        large = (high != low >> 63) & ~missing
        if large.any():
            found[large] = self._one_by_one(values.filter(pyarrow.array(large)), Decimal)
        return with_missing(found, missing)

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
            numbers, missing = filled(compute.cast(trimmed, pyarrow.float64()))
            # rounding to floats keeps the order, so only numbers that are rounded to an edge's float are in doubt
            near = np.array([float(edge) for edge in self._edges.edges])
            found = with_missing(np.searchsorted(near, numbers, side="right").astype(np.int64), missing)
            doubtful = (found != MISSING) & (np.searchsorted(near, numbers, side="left") != found)
            found[doubtful] = self._one_by_one(texts.filter(pyarrow.array(doubtful)), read_number)
        at = np.asarray(compute.fill_null(coded.indices, len(texts)), dtype=np.int64)
        return np.append(found, MISSING)[at]

    def _one_by_one(self, values: Any, read: Callable[[Any], Decimal | int | None]) -> NDArray[np.int64]:
        coded = values.dictionary_encode()
        numbers = [None if one is None else read(one) for one in coded.dictionary.to_pylist()]
        found = [MISSING if one is None else bisect_right(self._edges.edges, one) for one in numbers]
        at = np.asarray(coded.indices.fill_null(len(found)), dtype=np.int64)
        return np.array([*found, MISSING], dtype=np.int64)[at]


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

_FEW_DATES = 4096
"""Up to this many different texts are read one by one; more are shortened first, which leaves fewer."""

_SHORTER = (
    # all periods begin with an hour: without a zone, or in UTC, what comes after the hour does not matter
    (f"^ *({DATE}[ T]{HOUR}){AFTER_HOURS}{AFTER_MINUTES}(?:Z|[+-]00(?::?00)?)? *$", r"\1:00"),
    # in other zones what comes after the minute does not
    (f"^ *({DATE}[ T]{HOUR}{AFTER_HOURS}){AFTER_MINUTES}({ZONE}) *$", r"\1\2"),
)
"""Patterns of texts, and the part that is kept."""


class DateBins:
    """Dates and timestamps in periods, and a bin for missing ones if `missing`."""

    def __init__(self, periods: Periods, *, label_type: Any, missing: bool) -> None:
        self._kind = label_type if isinstance(label_type, Kind) else Kind(label_type)
        self._missing, self._periods = missing, periods
        if self._kind.declared:
            _check_type(self._kind.type, periods)
        self._minutes = [(edge - _EPOCH) // timedelta(minutes=1) for edge in periods.edges]
        listed = periods.domain
        labels = listed.decode(np.arange(listed.size)).tolist()
        self.domain = Domain.of([*labels, None], in_order=True) if missing else listed

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """Return the bin of every value of an Arrow array."""
        return with_their_bin(
            self._intervals(one_array(values)),
            missing=len(self._minutes) + 1 if self._missing else None,
            refusal=(
                "a value is missing or is no date (it is not shown, since it may be personal): write dates as "
                "2026-11-16, or count such values as missing, without drop_missing"
            ),
        )

    def _intervals(self, values: Any) -> NDArray[np.int64]:
        from pyarrow import types

        kind = self._kind.type
        if kind is None:
            return self._one_by_one(values, self._minute_of_key)
        if types.is_timestamp(kind):
            return self._of_ticks(values, [minute * _PER_MINUTE[kind.unit] for minute in self._minutes])
        if types.is_date(kind):
            days = [-(-minute // _MINUTES_OF_A_DAY) for minute in self._minutes]
            per_day = 1 if types.is_date32(kind) else _PER_MINUTE["ms"] * _MINUTES_OF_A_DAY
            return self._of_ticks(values, [day * per_day for day in days])
        if is_text(kind):
            return self._of_text(values)
        if self._periods.date_format is not None and (types.is_integer(kind) or types.is_floating(kind)):
            return self._of_numbers(values)
        return np.full(len(values), MISSING)  # in data without a type, other values can be dates

    def _of_ticks(self, values: Any, thresholds: list[int]) -> NDArray[np.int64]:
        from pyarrow import types

        numbers, missing = filled(values if types.is_integer(values.type) else as_ticks(values))
        return with_missing(reached(numbers, thresholds), missing)

    def _of_text(self, values: Any) -> NDArray[np.int64]:
        import pyarrow
        import pyarrow.compute as compute

        texts = values.cast(pyarrow.large_string())
        for shape, kept in _SHORTER if self._periods.date_format is None else ():
            if len(texts) > _FEW_DATES and len(compute.unique(texts)) > _FEW_DATES:
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

    def _one_by_one(self, values: Any, read: Callable[[str], int | None]) -> NDArray[np.int64]:
        coded = values.dictionary_encode()
        minutes = [read(one) for one in coded.dictionary.to_pylist()]
        known = np.array([0 if one is None else one for one in minutes], dtype=np.int64)
        found = with_missing(reached(known, self._minutes), np.array([one is None for one in minutes], dtype=bool))
        at = np.asarray(coded.indices.fill_null(len(found)), dtype=np.int64)
        return np.append(found, MISSING)[at]


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
