"""The period of every date or moment of an Arrow array.

| values | what counts |
|---|---|
| dates | their day |
| moments without a time zone | what they say |
| moments with a time zone | what they are in UTC |
| text | the date or moment that it is, see `written_moments`; what is none is missing |
| missing values, and what is no date in data without a type | missing |
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines.bins.thresholds import MISSING, filled, is_text, one_array, reached, with_missing, with_their_bin
from shuffledp.engines.kinds import Kind, as_ticks
from shuffledp.errors import ParameterError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.labels import from_key
from shuffledp.pipeline.periods import Periods
from shuffledp.pipeline.written_moments import AFTER_HOURS, AFTER_MINUTES, DATE, HOUR, ZONE, read_minute

_PER_MINUTE = {"s": 60, "ms": 60_000, "us": 60_000_000, "ns": 60_000_000_000}
_MINUTES_OF_A_DAY = 24 * 60
_FEW = 4096
"""Different texts that are read one by one; more are shortened first, which leaves fewer."""

_SHORTER = (
    # all periods begin with an hour: without a zone, or in UTC, what comes after the hour does not matter
    (f"^ *({DATE}[ T]{HOUR}){AFTER_HOURS}{AFTER_MINUTES}(?:Z|[+-]00(?::?00)?)? *$", r"\1:00"),
    # in other zones what comes after the minute does not
    (f"^ *({DATE}[ T]{HOUR}{AFTER_HOURS}){AFTER_MINUTES}({ZONE}) *$", r"\1\2"),
)
"""Shapes of texts, and what is kept of them."""


class DateBins:
    """Dates and moments in periods, and a bin for missing ones if `missing`.

    `label_type` is the type of the column, or the Kind of its entries. Which bin a value has depends on that value
    and on the periods alone.
    """

    def __init__(self, periods: Periods, *, label_type: Any, missing: bool) -> None:
        self._kind = label_type if isinstance(label_type, Kind) else Kind(label_type)
        self._missing = missing
        if self._kind.declared:
            _check_type(self._kind.type, periods)
        self._minutes = [(edge - _EPOCH) // timedelta(minutes=1) for edge in periods.edges]
        listed = periods.domain
        labels = listed.decode(np.arange(listed.size)).tolist()
        self.domain = Domain.of([*labels, None], in_order=True) if missing else listed

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """The bin of every value of an Arrow array."""
        return with_their_bin(
            self._intervals(one_array(values)),
            missing=len(self._minutes) + 1 if self._missing else None,
            refusal=(
                "a value is missing or is no date (it is not shown, since it may be personal): write dates as "
                "2026-11-16, or count such values as missing, without drop_missing (--drop-missing)"
            ),
        )

    def _intervals(self, values: Any) -> NDArray[np.int64]:
        """The number of each value's period; MISSING where there is none."""
        from pyarrow import types

        kind = self._kind.type
        if kind is None:
            return self._one_by_one(values, _minute_of_key)
        if types.is_timestamp(kind):
            return self._of_ticks(values, [minute * _PER_MINUTE[kind.unit] for minute in self._minutes])
        if types.is_date(kind):
            days = [-(-minute // _MINUTES_OF_A_DAY) for minute in self._minutes]
            per_day = 1 if types.is_date32(kind) else _PER_MINUTE["ms"] * _MINUTES_OF_A_DAY
            return self._of_ticks(values, [day * per_day for day in days])
        if is_text(kind):
            return self._of_text(values)
        return np.full(len(values), MISSING)  # found in data without a type, whose other values could be dates

    def _of_ticks(self, values: Any, thresholds: list[int]) -> NDArray[np.int64]:
        """Dates or moments, which may come as the whole numbers that they are kept as."""
        from pyarrow import types

        numbers, missing = filled(values if types.is_integer(values.type) else as_ticks(values))
        return with_missing(reached(numbers, thresholds), missing)

    def _of_text(self, values: Any) -> NDArray[np.int64]:
        import pyarrow
        import pyarrow.compute as compute

        texts = values.cast(pyarrow.large_string())
        for shape, kept in _SHORTER:
            if len(texts) > _FEW and len(compute.unique(texts)) > _FEW:
                texts = compute.replace_substring_regex(texts, shape, kept)
        return self._one_by_one(texts, read_minute)

    def _one_by_one(self, values: Any, read: Callable[[str], int | None]) -> NDArray[np.int64]:
        coded = values.dictionary_encode()
        minutes = [read(one) for one in coded.dictionary.to_pylist()]
        known = np.array([0 if one is None else one for one in minutes], dtype=np.int64)
        found = with_missing(reached(known, self._minutes), np.array([one is None for one in minutes], dtype=bool))
        at = np.asarray(coded.indices.fill_null(len(found)), dtype=np.int64)
        return np.append(found, MISSING)[at]


def _check_type(kind: Any, periods: Periods) -> None:
    """Refuses a column that holds neither dates nor text."""
    from pyarrow import types

    if kind is not None and types.is_date(kind) and periods.by == "hour":
        raise ParameterError("by=hour needs times, and the values of the column are dates: count them by day")
    if kind is None or types.is_timestamp(kind) or types.is_date(kind) or types.is_null(kind) or is_text(kind):
        return
    raise ParameterError(
        f"{periods.by}s are for dates and times, and the values of the column are {kind}: give numbers edges (--edges, "
        "Edges in Python), and other values a list (--domain)"
    )


def _minute_of_key(key: str) -> int | None:
    """The minute of the date whose label has this key, in data of any kinds; text is read as elsewhere."""
    known = from_key(key)
    if isinstance(known, str):
        return read_minute(known)
    if isinstance(known, datetime):
        at = known if known.tzinfo is None else known.astimezone(UTC).replace(tzinfo=None)
        return (at - _EPOCH) // timedelta(minutes=1)
    if isinstance(known, date):
        return (known - _EPOCH.date()).days * _MINUTES_OF_A_DAY
    return None


_EPOCH = datetime(1970, 1, 1)
