"""Which texts are dates and moments: one strict reading, wherever they come as text.

A date is written 2026-11-16, a moment 2026-11-16 13:45, with seconds and their fractions or without, with a space or a
T between; a zone behind it is Z or an offset such as +02:00. Spaces around it do not matter. Nothing else is read: in
03/04/2026 nobody knows which is the month.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
"""From 0001 to 9999: other years are not the same in all calendars."""

DATE = f"{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
HOUR = "(?:[01][0-9]|2[0-3])"
AFTER_HOURS = ":[0-5][0-9]"
AFTER_MINUTES = "(?::[0-5][0-9](?:[.][0-9]{1,12})?)?"
ZONE = f"(?:Z|[+-]{HOUR}(?::?[0-5][0-9])?)?"
MOMENT = f"{DATE}(?:[ T]{HOUR}{AFTER_HOURS}{AFTER_MINUTES}{ZONE})?"
"""For the regular expressions of Python, RE2 and Java alike; days that a month has not are refused after it."""

_MOMENT = re.compile(f" *{MOMENT} *")
_PARTS = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)[0-9:.]*(?:Z|([+-])(\d\d):?(\d\d)?)?)?", re.ASCII)


def read_minute(text: str) -> int | None:
    """The minute in which a text's moment lies, counted from 1970 in UTC or on the clock; None where it is no moment.

    A date is its midnight.
    """
    if not _MOMENT.fullmatch(text):
        return None
    found = _PARTS.fullmatch(text.strip(" "))
    assert found is not None
    year, month, day, hour, minute, sign, hours, minutes = found.groups()
    try:
        midnight = datetime(int(year), int(month), int(day))
    except ValueError:  # the 30th of February
        return None
    at = (midnight - _EPOCH) // timedelta(minutes=1) + int(hour or 0) * 60 + int(minute or 0)
    behind = int(hours or 0) * 60 + int(minutes or 0)
    return at + behind if sign == "-" else at - behind


_EPOCH = datetime(1970, 1, 1)
