"""Moments and lengths of time as people write them: 2027-01-31, 2027-01-31T12:00, 30d, 12h."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from shuffledp.cli.options import shortened
from shuffledp.errors import ParameterError

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_LENGTH = re.compile(r"([1-9][0-9]{0,8})(s|min|h|d|w)")


def length_of(text: str, *, name: str) -> timedelta:
    """A length of time such as 30d, 12h, 45min, 90s or 2w."""
    if (found := _length(text)) is None:
        raise ParameterError(f"{name} must be a length of time such as 30d, 12h, 45min or 90s; got {shortened(text)}")
    return found


def moment_of(text: str, *, name: str, after: datetime) -> datetime:
    """A date or a time, in UTC unless it says otherwise, or a length of time after a moment."""
    try:
        if (later := _length(text)) is not None:
            return after + later
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError):
        raise ParameterError(
            f"{name} must be a time such as 2027-01-31T12:00Z, a date, or a length of time such as 30d; got "
            f"{shortened(text)}"
        ) from None


def _length(text: str) -> timedelta | None:
    found = _LENGTH.fullmatch(text.strip())
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]]) if found else None
