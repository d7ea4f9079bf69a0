"""The order of released labels: numbers by size, dates and times by time.

Whether labels have an order follows from the released labels alone, so it reveals nothing beyond the release. All of
them must be numbers, or all dates, or all times of day; labels of a text file, such as "39" and "2026-01-31", count as
what they say. Missing values, "(other)" and people with fewer values come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.histogram.labels import NotAValue
from shuffledp.histogram.labels import label as canonical

_NUMBER = re.compile(r"[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,3})?", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?)?", re.ASCII)
_CLOCK = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII)

_LAST = ("(other)", "(none)")
"""Labels of other answers and of no answer, which come after all values."""


class Kind(Enum):
    """What a label says."""

    NUMBER = "a number"
    MOMENT = "a date or a time"
    CLOCK = "a time of day"
    DURATION = "a duration"
    TRUTH = "True or False"


class Reading(NamedTuple):
    """A label as the number, date or truth value that it says. Labels that read alike have equal readings."""

    kind: Kind
    value: Any


def reading(label: Any) -> Reading | None:
    """Return what a label says; None if it is a text that says none of these, or no value."""
    if isinstance(label, np.generic):
        label = canonical(label)
    if isinstance(label, str):
        return _read(label)
    if isinstance(label, bool):
        return Reading(Kind.TRUTH, label)
    if isinstance(label, int | float | Decimal):
        return Reading(Kind.NUMBER, label) if label == label else None
    if isinstance(label, datetime):
        return Reading(Kind.MOMENT, label)
    if isinstance(label, date):
        return Reading(Kind.MOMENT, datetime(label.year, label.month, label.day))
    if isinstance(label, time):
        return Reading(Kind.CLOCK, label)
    return Reading(Kind.DURATION, label) if isinstance(label, timedelta) else None


def _read(text: str) -> Reading | None:
    if _NUMBER.fullmatch(text):
        return Reading(Kind.NUMBER, Decimal(text))
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return Reading(Kind.TRUTH, text[0] in "tT")
    try:
        if _MOMENT.fullmatch(text):
            return Reading(Kind.MOMENT, datetime.fromisoformat(text if len(text) > len("2026-01") else f"{text}-01"))
        return Reading(Kind.CLOCK, time.fromisoformat(text)) if _CLOCK.fullmatch(text) else None
    except ValueError:  # such as the 30th of February
        return None


def is_last(label: Any) -> bool:
    """Tell whether a label stands for no value, or for all other values: it comes after every value."""
    return label is None or isinstance(label, NotAValue) or label in _LAST


def increasing(labels: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the positions of labels in their order; None if they are not all numbers, or all dates or times."""
    if labels.dtype.kind in "iuf":
        return np.argsort(labels, kind="stable") if labels.size > 1 else None
    values, last, kinds = [], [], set()
    for at, label in enumerate(labels.tolist()):
        if is_last(label):
            last.append(at)
            continue
        found = reading(label)
        kinds.add(None if found is None else found.kind)
        if found is None or found.kind is Kind.TRUTH or len(kinds) > 1:
            return None
        try:
            values.append((_comparable(found.value), at))
        except OverflowError:  # before the year 1 or after 9999 in UTC
            return None
    if len(values) < 2:
        return None
    return np.array([at for _, at in sorted(values)] + last, dtype=np.int64)


def _comparable(value: Any) -> Any:
    """Return a value that compares with the others of its kind: a date with a time zone in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def regular_places(labels: Iterable[Any], *, most: int) -> NDArray[np.int64] | None:
    """Return where ordered labels lie on a grid of equal steps; None if the grid has more than `most` places.

    The places between labels show which values are missing there.
    """
    values = []
    for label in labels:
        found = reading(label)
        if found is None or found.kind not in (Kind.NUMBER, Kind.MOMENT):
            return None
        moment = found.kind is Kind.MOMENT
        try:
            values.append((_comparable(found.value) - datetime.min).total_seconds() if moment else float(found.value))
        except OverflowError:
            return None
    steps = np.diff(values)
    if not steps.size or not np.isfinite(steps).all() or steps.min() <= 0 or steps.sum() >= most * steps.min():
        return None
    counts = steps / steps.min()
    regular = np.allclose(counts, counts.round(), atol=1e-6)
    return np.append(0, np.cumsum(counts.round())).astype(np.int64) if regular else None
