"""Canonical labels: the label of a value is a function of that value alone.

No function here looks at a second value. One person therefore cannot change how the values of others are named, for
example with a text among numbers or an invalid date.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from enum import Enum
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np

from shuffledp.errors import DataError

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
_SECONDS = {"h": 3600, "m": 60}
_WHOLE_DAYS = ("Y", "M", "W", "D")
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1)
_FIRST_SECOND = (datetime.min - _EPOCH) // timedelta(seconds=1)
_LAST_SECOND = (datetime.max - _EPOCH) // timedelta(seconds=1)
_MOST_SECONDS = timedelta.max // timedelta(seconds=1)

LONGEST_NUMBER = 14_000
"""The most bits of a whole number that Python writes in base 10 (4,300 digits); a longer one is written in base 16."""

_EQUAL_ACROSS_TYPES = (np.datetime64, np.timedelta64, Number, date, time, timedelta)
"""Types with values that equal values of other types, or of another spelling."""


class NotAValue:
    """The label of people by the number of their values. It equals no value."""


@dataclass(frozen=True, order=True)
class Absent(NotAValue):
    """The label of people who hold fewer values than they may, for a number of missing values."""

    most: int

    def __str__(self) -> str:
        if self.most == 0:
            return "(no value)"
        return f"(at most {self.most} value{'' if self.most == 1 else 's'})"

    @classmethod
    def from_text(cls, text: str) -> Absent:
        """Parse the label."""
        number = text.strip("()").split()[-2]
        return cls(most=0 if number == "no" else int(number))


@dataclass(frozen=True, order=True)
class MoreThan(NotAValue):
    """The label of people who have more different values than count."""

    values: int

    def __str__(self) -> str:
        return f"(more than {self.values} value{'' if self.values == 1 else 's'})"

    @classmethod
    def from_text(cls, text: str) -> MoreThan:
        """Parse the label."""
        return cls(values=int(text.strip("()").split()[-2]))


@dataclass(frozen=True, order=True)
class NoText(NotAValue):
    """The label of people whose answer is not a text that is shown: (other), (none) or (hidden)."""

    reason: str

    def __str__(self) -> str:
        return f"({self.reason})"

    @classmethod
    def from_text(cls, text: str) -> NoText:
        """Parse the label."""
        return cls(reason=text.strip("()"))


OTHER_TEXT, NO_TEXT, HIDDEN = NoText("other"), NoText("none"), NoText("hidden")
"""People whose text cannot be cut into pieces, people without a text, and people whose text is not shown."""


def text_label(text: str) -> str:
    """Return the label of a text that people wrote; one that reads like a `NoText` is put in quotes."""
    return f'"{text}"' if text.strip('"') in map(str, (OTHER_TEXT, NO_TEXT, HIDDEN)) else text


_FAR = 4_000
"""The number of digits before or after the point beyond which a decimal number keeps its spelling."""


def label(value: Any) -> Any:
    """Return the label of a value: text, a number, a truth value, a date or a time; None if it is missing.

    Equal numbers have one label for all types: 1.0, Decimal("1.00") and 1 are 1, and -0.0 is 0. A value without a
    Python type, such as a date after the year 9999 or an interval, becomes its text.
    """
    if value is None or type(value) is int or type(value) is bool or isinstance(value, NotAValue):
        return value
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, np.datetime64):
        return moment(value)
    if isinstance(value, np.timedelta64):
        return _step(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Number):
        return number(value)
    if isinstance(value, Enum):
        return label(value.value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "backslashreplace")
    if type(value).__name__ in ("NAType", "NaTType"):  # missing values of pandas
        return None
    if isinstance(value, date | time | timedelta):
        return _calendar(value)
    if hasattr(value, "as_py"):  # a scalar of Arrow
        return label(value.as_py())
    return _own_text(value)


def number(value: Any) -> Any:
    """Return a number as an int if it is whole, as a float if that is exact, and otherwise as a Decimal or text."""
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, np.floating) and not isinstance(value, float):
        return _narrow(value)
    if isinstance(value, complex | np.complexfloating):
        if value != value:
            return None
        return number(float(value.real)) if value.imag == 0 else str(complex(value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, Fraction):
        return _fraction(value)
    if not isinstance(value, float):
        return _own_text(value)
    if value != value:
        return None
    return int(value) if value.is_integer() else float(value)


def moment(value: np.datetime64, *, aware: bool = False) -> Any:
    """Return a date or a datetime; `aware` says that it is in UTC instead of local time."""
    if np.isnat(value):
        return None
    unit, steps = np.datetime_data(value.dtype)
    if unit in _WHOLE_DAYS:
        try:
            days = int(value.astype("datetime64[D]").astype(np.int64))
        except OverflowError:
            return str(value)
        if 1 <= days + _EPOCH_DAY <= date.max.toordinal():
            return date.fromordinal(days + _EPOCH_DAY)
        return str(np.datetime64(days, "D"))
    ticks = int(value.astype(np.int64)) * steps * _SECONDS.get(unit, 1)
    seconds, rest = divmod(ticks, _PER_SECOND.get(unit, 1))
    micro, finer = divmod(rest * 10**6, _PER_SECOND.get(unit, 1))
    zone = UTC if aware else None
    if not finer and _FIRST_SECOND <= seconds <= _LAST_SECOND:
        return (_EPOCH + timedelta(seconds=seconds, microseconds=micro)).replace(tzinfo=zone)
    day = np.datetime64(seconds // 86400, "D")
    return f"{day} {_clock(seconds % 86400)}{_after_the_point(rest, _PER_SECOND.get(unit, 1))}{'+00:00' * aware}"


def time_of_day(ticks: int, unit: str) -> Any:
    """Return a time of day, from the ticks since midnight."""
    seconds, rest = divmod(ticks, _PER_SECOND[unit])
    micro, finer = divmod(rest * 10**6, _PER_SECOND[unit])
    if not finer and 0 <= seconds < 86400:
        return time.fromisoformat(_clock(seconds)).replace(microsecond=micro)
    return _clock(seconds) + _after_the_point(rest, _PER_SECOND[unit])


def duration(ticks: int, unit: str) -> Any:
    """Return a duration."""
    seconds, rest = divmod(ticks * _SECONDS.get(unit, 1), _PER_SECOND.get(unit, 1))
    micro, finer = divmod(rest * 10**6, _PER_SECOND.get(unit, 1))
    if not finer and abs(seconds) < _MOST_SECONDS:
        return timedelta(seconds=seconds, microseconds=micro)
    return f"{seconds}{_after_the_point(rest, _PER_SECOND.get(unit, 1))} seconds"


def symbol(value: Any) -> Any:
    """Return one spelling of all hashable values that compare equal: True, 1 and 1.0 become 1.

    Unlike `label`, it keeps values of unknown types.
    """
    if type(value) is str or type(value) is int:
        return value
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, tuple):
        return tuple(map(symbol, value))
    if isinstance(value, frozenset):
        return frozenset(map(symbol, value))
    if isinstance(value, str):
        return str.__str__(value)
    return label(value) if isinstance(value, _EQUAL_ACROSS_TYPES) else value


class Places:
    """The positions of labels in a list. A value of another type is found by its label.

    The number 1 and the truth value True are distinguished, unless only one of them is listed.
    """

    def __init__(self, labels: Iterable[Any]) -> None:
        self._places = {(isinstance(one, bool), one): at for at, one in enumerate(labels)}

    def __contains__(self, wanted: object) -> bool:
        return self.find(wanted) is not None

    def find(self, wanted: Any) -> int | None:
        """The position of a value's label; None if it is not in the list."""
        found = self._find(wanted)
        if found is not None:
            return found
        try:
            return self._find(label(wanted))
        except DataError:  # the value has no label
            return None

    def _find(self, wanted: Any) -> int | None:
        truth = isinstance(wanted, bool)
        found = self._places.get((truth, wanted))
        return self._places.get((not truth, wanted)) if found is None else found


# labels as text that preserves their type -------------------------------------------------------------------------


def key(known: Any) -> str:
    """Return a label as text, different for any two labels: 1, "1" and True differ."""
    if known is None:
        return ""
    if isinstance(known, str):
        return "t" + known
    if isinstance(known, bool):
        return "b1" if known else "b"
    if isinstance(known, int):
        return f"n{known}" if known.bit_length() <= LONGEST_NUMBER else f"x{known:x}"
    if isinstance(known, float):
        return f"f{known!r}"
    if isinstance(known, Decimal):
        return f"d{known}"
    if isinstance(known, datetime):
        return ("z" if known.tzinfo else "m") + known.replace(tzinfo=None).isoformat()
    if isinstance(known, date):
        return "D" + known.isoformat()
    if isinstance(known, time):
        return "h" + known.isoformat()
    return f"l{known // timedelta(microseconds=1)}"


def from_key(text: str) -> Any:
    """Return the label of a key."""
    return _FROM_KEY[text[:1]](text[1:])


_FROM_KEY: dict[str, Any] = {
    "": lambda text: None,
    "t": str,
    "b": bool,
    "n": int,
    "x": lambda text: int(text, 16),
    "f": float,
    "d": Decimal,
    "m": datetime.fromisoformat,
    "z": lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),
    "D": date.fromisoformat,
    "h": time.fromisoformat,
    "l": lambda text: timedelta(microseconds=int(text)),
}


# kinds of values --------------------------------------------------------------------------------------------------


def _text(value: str) -> str:
    """Lone surrogates, which no file can hold, are escaped."""
    if value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()


def _own_text(value: Any) -> str:
    nested = isinstance(value, list | tuple | Mapping | AbstractSet | np.ndarray | np.void)
    kind: Any = type(value)
    if nested or (kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__):
        raise DataError(
            "a value is nested or cannot be written as text (it is not shown, since it may be personal): choose one of "
            "text, numbers, truth values, dates or times for each person"
        )
    try:
        return _text(str(value))
    except Exception:  # an exception of its class could quote the value
        raise DataError("a value cannot be written as text (it is not shown, since it may be personal)") from None


def _narrow(value: Any) -> Any:
    """A float of another width has the digits that its width needs."""
    wide = float(value)
    if wide != wide or wide.is_integer() or wide in (float("inf"), float("-inf")):
        return number(wide)
    return number(float(str(value)))


def _decimal(value: Decimal) -> Any:
    if value.is_nan():
        return None
    if value.is_infinite():
        return float(value)
    if not value:
        return 0
    digits = value.as_tuple().digits
    value = value.normalize(Context(prec=len(digits), Emax=10**18 - 1, Emin=-(10**18) + 1))  # no trailing zeros
    exponent = value.as_tuple().exponent
    if abs(value.adjusted()) > _FAR:
        return str(value)
    if isinstance(exponent, int) and exponent >= 0:
        return int(value)
    near = float(value)
    return near if Decimal(near) == value else value


def _fraction(value: Fraction) -> Any:
    if value.denominator == 1:
        return value.numerator
    try:
        near = float(value)
    except OverflowError:
        return str(value)
    return near if Fraction(near) == value else str(value)


def _calendar(value: Any) -> Any:
    """The label of a date, time or duration of Python or pandas, which counts nanoseconds."""
    if hasattr(value, "asm8"):
        exact = value.asm8
        return moment(exact, aware=value.tzinfo is not None) if isinstance(exact, np.datetime64) else _step(exact)
    if isinstance(value, timedelta):
        return timedelta(value.days, value.seconds, value.microseconds)
    if isinstance(value, time):
        clock = time(value.hour, value.minute, value.second, value.microsecond)
        return clock if value.tzinfo is None else value.isoformat()
    if not isinstance(value, datetime):
        return date(value.year, value.month, value.day)
    try:
        there = value if value.utcoffset() is None else value.astimezone(UTC)
    except Exception:  # outside of the years 1 to 9999 in UTC, or an invalid time zone
        return value.replace(tzinfo=None).isoformat(" ") + " in its time zone"
    zone = None if value.utcoffset() is None else UTC
    parts = (there.year, there.month, there.day, there.hour, there.minute, there.second, there.microsecond)
    return datetime(*parts, tzinfo=zone)


def _step(value: np.timedelta64) -> Any:
    if np.isnat(value):
        return None
    unit, steps = np.datetime_data(value.dtype)
    if unit in ("W", "D"):
        return duration(int(value.astype("timedelta64[D]").astype(np.int64)) * 24, "h")
    if unit not in _PER_SECOND and unit not in _SECONDS:
        return str(value)  # months differ in length
    return duration(int(value.astype(np.int64)) * steps, unit)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _after_the_point(rest: int, per_second: int) -> str:
    digits = str(per_second + rest)[1:].rstrip("0")
    return f".{digits}" if digits else ""
