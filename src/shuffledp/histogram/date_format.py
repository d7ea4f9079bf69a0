"""Dates in a given format such as %m/%d/%y or %b %d %Y, with the directives of Python's `strptime`.

A text is read as `datetime.strptime` reads it in the C locale: months and weekdays have English names in any case, and
two digits of a year stand for 1969 to 2068. In contrast to `strptime`, only ASCII digits and spaces count, surrounding
spaces are ignored, zones have no seconds, and the locale has no influence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from shuffledp.errors import ParameterError

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = 3
"""Letters of a short name."""


def _any_of(names: tuple[str, ...], letters: int | None = None) -> str:
    return "|".join(sorted((name[:letters] for name in names), key=len, reverse=True))


_PARTS = {
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
_EXAMPLE = "such as %m/%d/%Y for 10/31/2026 or %b %d %Y for Oct 31 2026"


@dataclass(frozen=True)
class DateFormat:
    """A format of dates and times; `parts` are what it has of year, month, day, hour and so on."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ParameterError(f"date_format must be text, {_EXAMPLE}, got {type(self.text).__name__}")
        if len(self.text) > _LONGEST:
            raise ParameterError(f"date_format must have at most {_LONGEST} characters, got {len(self.text)}")
        for directive in self._directives:
            if directive != "%" and directive not in _PARTS:
                known = ", ".join(f"%{one}" for one in _PARTS)
                raise ParameterError(
                    f"date_format must have directives among {known} and %%, got {self.text!r} with %{directive}"
                )
        if repeated := next((part for part in self.parts if self.parts.count(part) > 1), None):
            raise ParameterError(f"date_format must have the {repeated} once, got {self.text!r}")
        if "year" not in self.parts:
            raise ParameterError(f"date_format must have a year, {_EXAMPLE}, got {self.text!r}")

    def __str__(self) -> str:
        return self.text

    @property
    def parts(self) -> list[str]:
        """What a text in this format has, in its order."""
        return [_PARTS[directive][0] for directive in self._directives if directive in _PARTS]

    @property
    def _directives(self) -> list[str]:
        return re.findall(r"%(.?)", self.text, flags=re.DOTALL)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        def written(found: re.Match[str]) -> str:
            if found["directive"] in _PARTS:
                return f"(?P<{found['directive']}>{_PARTS[found['directive']][1]})"
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
    """How far the clock of a zone is ahead of UTC."""
    if zone is None or zone == "Z":
        return timedelta()
    sign = -1 if zone[0] == "-" else 1
    return sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
