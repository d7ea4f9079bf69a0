"""Dates and times as text, their formats, and the periods of a calendar.

A date is written 2026-11-16 and a time 2026-11-16 13:45, with optional seconds and zone. No other format is accepted
unless it is given (`date_format`): in 03/04/2026, for example, the month is ambiguous.

A `DateFormat` reads text as `datetime.strptime` does in the C locale, but only ASCII digits and spaces count,
surrounding spaces are ignored, zones have no seconds, and the locale has no influence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from shuffledp.errors import ParameterError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.labels import moment
from shuffledp.validation import one_of

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = 3
"""Letters of a short name."""


def _any_of(names: tuple[str, ...], letters: int | None = None) -> str:
    return "|".join(sorted((name[:letters] for name in names), key=len, reverse=True))


_DIRECTIVES = {
    "Y": ("year", r"\d{4}"),
    "y": ("year", r"\d{2}"),
    "m": ("month", "1[0-2]|0[1-9]|[1-9]"),
    "b": ("month", _any_of(_MONTHS, _SHORT)),
    "B": ("month", _any_of(_MONTHS)),
    "d": ("day", r"3[01]|[12]\d|0[1-9]|[1-9]| [1-9]"),
    "a": ("weekday", _any_of(_WEEKDAYS, _SHORT)),
    "A": ("weekday", _any_of(_WEEKDAYS)),
    "H": ("hour", r"2[0-3]|[01]\d|\d"),
    "I": ("hour", "1[0-2]|0[1-9]|[1-9]"),
    "p": ("half", "am|pm"),
    "M": ("minute", r"[0-5]\d|\d"),
    "S": ("second", r"6[01]|[0-5]\d|\d"),
    "f": ("fraction", r"\d{1,6}"),
    "z": ("zone", r"[+-](?:[01]\d|2[0-3]):?[0-5]\d|(?-i:Z)"),
}
"""What a directive stands for, and the pattern of its text: the alternatives of `strptime`, in its order."""

_PIVOT = 69
"""Two digits of a year from here on mean the 20th century, as in POSIX."""

_LONGEST = 100
_EPOCH = datetime(1970, 1, 1)
_FORMAT_EXAMPLE = "such as %m/%d/%Y for 10/31/2026 or %b %d %Y for Oct 31 2026"


@dataclass(frozen=True)
class DateFormat:
    """A format of dates and times."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ParameterError(f"date_format must be text, {_FORMAT_EXAMPLE}, got {type(self.text).__name__}")
        if len(self.text) > _LONGEST:
            raise ParameterError(f"date_format must have at most {_LONGEST} characters, got {len(self.text)}")
        for directive in self._directives:
            if directive != "%" and directive not in _DIRECTIVES:
                known = ", ".join(f"%{one}" for one in _DIRECTIVES)
                raise ParameterError(
                    f"date_format must have directives among {known} and %%, got {self.text!r} with %{directive}"
                )
        if repeated := next((part for part in self.parts if self.parts.count(part) > 1), None):
            raise ParameterError(f"date_format must have the {repeated} once, got {self.text!r}")
        if "year" not in self.parts:
            raise ParameterError(f"date_format must have a year, {_FORMAT_EXAMPLE}, got {self.text!r}")

    def __str__(self) -> str:
        return self.text

    @property
    def parts(self) -> list[str]:
        """What a text in this format has, such as a year, in its order."""
        return [_DIRECTIVES[directive][0] for directive in self._directives if directive in _DIRECTIVES]

    @property
    def _directives(self) -> list[str]:
        return re.findall(r"%(.?)", self.text, flags=re.DOTALL)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        def written(found: re.Match[str]) -> str:
            if found["directive"] in _DIRECTIVES:
                return f"(?P<{found['directive']}>{_DIRECTIVES[found['directive']][1]})"
            return r"\s+" if found["space"] else re.escape("%" if found["directive"] else found[0])

        pieces = re.compile(r"%(?P<directive>.)|(?P<space>\s+)|.", re.DOTALL)
        return re.compile(pieces.sub(written, self.text.strip(" ")), re.IGNORECASE | re.ASCII)

    def read_minute(self, text: str) -> int | None:
        """Return the minute of a text's time, counted from 1970 in UTC or local time; None if it has another format."""
        trimmed = text.strip(" ")
        found = self._pattern.match(trimmed)
        if found is None or found.end() != len(trimmed):  # not fullmatch: strptime takes the first match, too
            return None
        part = found.groupdict()
        try:
            at = datetime(_year(part), _month(part), int(part.get("d") or 1), _hour(part), int(part.get("M") or 0))
            at = at.replace(second=int(part.get("S") or 0))
        except ValueError:  # the 30th of February, or a leap second
            return None
        return (at - _EPOCH - _ahead(part.get("z"))) // timedelta(minutes=1)


def _year(part: dict[str, Any]) -> int:
    if part.get("Y"):
        return int(part["Y"])
    year = int(part["y"])
    return year + (1900 if year >= _PIVOT else 2000)


def _month(part: dict[str, Any]) -> int:
    if name := part.get("b") or part.get("B"):
        return 1 + [month[:_SHORT] for month in _MONTHS].index(name.lower()[:_SHORT])
    return int(part.get("m") or 1)


def _hour(part: dict[str, Any]) -> int:
    if not part.get("I"):
        return int(part.get("H") or 0)
    return int(part["I"]) % 12 + (12 if (part.get("p") or "").lower() == "pm" else 0)


def _ahead(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    sign = -1 if zone[0] == "-" else 1
    return sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))


_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
"""The years 0001 to 9999; other years differ between calendars."""

DATE = f"{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
HOUR = "(?:[01][0-9]|2[0-3])"
AFTER_HOURS = ":[0-5][0-9]"
AFTER_MINUTES = "(?::[0-5][0-9](?:[.][0-9]{1,12})?)?"
ZONE = f"(?:Z|[+-]{HOUR}(?::?[0-5][0-9])?)?"
MOMENT = f"{DATE}(?:[ T]{HOUR}{AFTER_HOURS}{AFTER_MINUTES}{ZONE})?"
"""The pattern works in the regular expressions of Python, RE2 and Java; invalid days of a month are refused later."""

_MOMENT = re.compile(f" *{MOMENT} *")


def read_minute(text: str) -> int | None:
    """Return the minute of a text's time, counted from 1970 in UTC or local time; None if the text is not a time.

    A date is its midnight.
    """
    if not _MOMENT.fullmatch(text):
        return None
    try:
        at = datetime.fromisoformat(text.strip(" "))
    except ValueError:  # the 30th of February
        return None
    return (at.replace(tzinfo=None) - _EPOCH - (at.utcoffset() or timedelta())) // timedelta(minutes=1)


LENGTHS = ("hour", "day", "week", "month", "year")

MOST_PERIODS = 1_000_000
"""The most periods: the hours of a century."""

_EXAMPLE = "such as 2026-01-01 or 2026-01-01 13:00"


@dataclass(frozen=True, init=False, repr=False)
class Periods:
    """All hours, days, weeks, months or years from `start` to `stop`, the time before and the time after.

    The first period contains `start`; the last one ends at `stop`, or is the first to end after it. Weeks follow ISO
    8601: they begin on Mondays. The list is public and must be chosen without looking at the data. Times with a time
    zone are counted in UTC, others as they are; so `start` and `stop` are in UTC or have no zone.

    `date_format` is the format of dates that are text, such as "%m/%d/%Y"; dates in any other format are missing.
    """

    by: str
    start: datetime
    stop: datetime
    date_format: DateFormat | None

    def __init__(self, by: str, *, start: Any, stop: Any, date_format: str | DateFormat | None = None) -> None:
        length = one_of("by", by, LENGTHS)
        dates = _date_format(length, date_format)
        first = _floor(length, _moment("start", start))
        last = _moment("stop", stop)
        if last <= first:
            raise ParameterError(
                f"stop must be after {plain_moment(first)}, the beginning of the first {length}, got "
                f"{last.isoformat(' ', 'minutes')}"
            )
        if _floor(length, last) < last:
            last = _after(length, _floor(length, last))
        if (last - first) / timedelta(hours=1) > MOST_PERIODS * _HOURS[length]:
            raise ParameterError(f"there may be at most {MOST_PERIODS:,} periods: choose longer ones, or a later start")
        for name, value in (("by", length), ("start", first), ("stop", last), ("date_format", dates)):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return f"{self.by} from {plain_moment(self.start)} to {plain_moment(self.stop)}"

    def __repr__(self) -> str:
        dates = "" if self.date_format is None else f", date_format={self.date_format.text!r}"
        return f"Periods({self.by!r}, start={plain_moment(self.start)!r}, stop={plain_moment(self.stop)!r}{dates})"

    def read_minute(self, text: str) -> int | None:
        """Return the minute of a text's time, counted from 1970; None if the text is not a time in the format."""
        return read_minute(text) if self.date_format is None else self.date_format.read_minute(text)

    @cached_property
    def edges(self) -> tuple[datetime, ...]:
        """The beginning of each period, and the end of the last one."""
        found = [self.start]
        while found[-1] < self.stop:
            found.append(_after(self.by, found[-1]))
        return tuple(found)

    @cached_property
    def domain(self) -> Domain:
        """The labels of all periods in order, between the time before and the time after."""
        names = [_name(self.by, edge) for edge in self.edges]
        return Domain.of([f"before {names[0]}", *names[:-1], f"{names[-1]} and later"], in_order=True)

    def interval(self, number: int) -> tuple[datetime | None, datetime | None]:
        """The ends of a period, numbered from 0, with its earlier end; None if it is open."""
        if not 0 <= number <= len(self.edges):
            raise ParameterError(f"number must lie between 0 and {len(self.edges)}, got {number}")
        return self.edges[number - 1] if number else None, (self.edges[number] if number < len(self.edges) else None)


_NEEDED = {"year": ["year"], "month": ["year", "month"], "hour": ["year", "month", "day", "hour"]}
"""What a format must have to count by a length; days and weeks need year, month and day."""


def _date_format(by: str, given: str | DateFormat | None) -> DateFormat | None:
    """The format must say in which period a date lies."""
    if given is None:
        return None
    found = given if isinstance(given, DateFormat) else DateFormat(given)
    if absent := [part for part in _NEEDED.get(by, ["year", "month", "day"]) if part not in found.parts]:
        raise ParameterError(f"date_format must have the {absent[0]} to count by {by}, got {found.text!r}")
    return found


_HOURS = {"hour": 1, "day": 24, "week": 7 * 24, "month": 28 * 24, "year": 365 * 24}
"""The shortest duration of each kind."""


def _name(by: str, at: datetime) -> str:
    day = at.date().isoformat()
    if by == "hour":
        return f"{day} {at.hour:02}:00"
    if by == "week":
        year, week, _ = at.isocalendar()
        return f"{year:04}-W{week:02}"
    return day[: {"day": 10, "month": 7, "year": 4}[by]]


def _floor(by: str, at: datetime) -> datetime:
    """The beginning of the period that contains a time."""
    if by == "hour":
        return at.replace(minute=0, second=0, microsecond=0)
    day = datetime(at.year, 1 if by == "year" else at.month, 1 if by in ("year", "month") else at.day)
    return day - timedelta(days=day.weekday()) if by == "week" else day


def _after(by: str, begin: datetime) -> datetime:
    try:
        if by == "year":
            return begin.replace(year=begin.year + 1)
        if by == "month":
            return _floor("month", begin + timedelta(days=31))
        return begin + timedelta(hours=_HOURS[by])
    except (ValueError, OverflowError):
        raise ParameterError("stop must be before the year 9999") from None


def plain_moment(at: datetime) -> str:
    """Format a start or a stop."""
    return at.date().isoformat() if at == _floor("day", at) else _name("hour", at)


def _moment(name: str, given: Any) -> datetime:
    """Other zones than UTC are refused: periods would begin at other times."""
    found = given
    if isinstance(given, str):
        text = given.strip()
        text += {4: "-01-01", 7: "-01"}.get(len(text), "") if re.fullmatch(r"[0-9]{4}(-[0-9]{2})?", text) else ""
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            shown = given if len(given) <= 40 else given[:40] + "..."
            raise ParameterError(f"{name} must be a date or a time, {_EXAMPLE}, got {shown!r}") from None
    elif isinstance(given, np.datetime64):
        found = moment(given)
    if isinstance(found, date) and not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day)
    if not isinstance(found, datetime):
        raise ParameterError(f"{name} must be a date or a time, {_EXAMPLE}, got {type(given).__name__}")
    try:
        elsewhere = bool(found.utcoffset())
        at = datetime(found.year, found.month, found.day, found.hour, found.minute, found.second, found.microsecond)
        _floor("week", at)
    except (OverflowError, ValueError):
        raise ParameterError(f"{name} must lie between the years 1 and 9999") from None
    if elsewhere:
        raise ParameterError(
            f"{name} must be in UTC or have no time zone, got {found.isoformat(' ', 'minutes')}: moments with a zone "
            f"are counted in UTC, so leave out the zone, or write the moment in UTC{_in_utc(found)}"
        )
    return at


def _in_utc(at: datetime) -> str:
    """A hint; empty at the ends of the calendar."""
    try:
        return f", {at.astimezone(UTC).replace(tzinfo=None).isoformat(' ', 'minutes')}"
    except OverflowError:
        return ""
