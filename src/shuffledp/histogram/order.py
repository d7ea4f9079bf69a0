"""What labels say: their order, numbers by size and dates by time, and how one is found in another spelling.

Whether labels have an order follows from the released labels alone, so it reveals nothing beyond the release. All of
them must be numbers, or all dates, or all times of day; text such as "39" and "2026-01-31" counts as what it says.

A label is found if it is equal (1.0 finds 1) or reads alike: 39 finds the text "39" of a CSV file. It must read like
exactly one label. A histogram whose possible values are listed knows all its labels; any other wrong label is an error
that names the nearest ones, which are public. Otherwise a label that was not reported is a possible value with few
people, unless it is of another kind than every reported label.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import LabelError
from shuffledp.formatting import counted, shown
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.labels import NotAValue, Places, symbol
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
    """The number, date or truth value that a label says; equal for labels that read alike."""

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
    """Tell whether a label stands for no value, or for all other values."""
    return label is None or isinstance(label, NotAValue) or label in _LAST


def increasing(labels: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the positions of labels in order; None if they are not all numbers, or all dates or times."""
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
    """A date with a time zone compares in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def regular_places(labels: Iterable[Any], *, most: int) -> NDArray[np.int64] | None:
    """Return where ordered labels lie on a grid of equal steps; None if it has more than `most` places."""
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


_MOST_LISTED = 2**20
"""The most possible values that are listed to find one of them."""

_MOST_COMPARED = 20_000
"""The most labels among which near ones are searched: each comparison takes some microseconds."""

_NEAR = 3
"""The number of labels that an error names."""


class Lookup:
    """The labels of a histogram, or of one column of it.

    `closed` says that no other label is possible. `columns` are the parts of labels that are tuples; by default, of
    these labels. Other labels are possible if they are in `domain`.
    """

    def __init__(
        self,
        labels: Sequence[Any],
        *,
        closed: bool = False,
        columns: Sequence[Lookup] = (),
        domain: Domain | None = None,
        name: str = "label",
    ) -> None:
        self._labels, self._closed, self._domain, self._name = labels, closed, domain, name
        self._given_columns = columns
        self._places = Places(labels)

    @classmethod
    def of(cls, domain: Domain, reported: Sequence[Any]) -> Lookup:
        """Return the possible labels of a domain, or the reported ones if they are too many to list."""
        if domain.factors:
            names = (f"part {at + 1} of label" for at in range(len(domain.factors)))
            listed = (one.decode(np.arange(one.size)).tolist() for one in domain.factors)
            columns = [cls(labels, closed=True, name=name) for labels, name in zip(listed, names, strict=True)]
            return cls(reported, columns=columns)
        if domain.can_list and domain.size <= _MOST_LISTED:
            return cls(domain.decode(np.arange(domain.size)).tolist(), closed=True)
        return cls(reported, domain=domain)

    def known(self, wanted: Any) -> Any:
        """The wanted label as it is spelled here; an error if the histogram cannot have it."""
        if not isinstance(wanted, Hashable) or isinstance(wanted, slice):
            kind = type(wanted).__name__
            raise LabelError(f"{self._name} must be one value, got a {kind}; top() returns the largest values")
        at = self._find(wanted)
        if at is not None:
            return self._labels[at]
        if (wanted is None and not self._closed) or isinstance(wanted, NotAValue):
            return wanted
        if self._columns:
            width = len(self._columns)
            if not isinstance(wanted, tuple) or len(wanted) != width:
                got = counted(len(wanted), "part") if isinstance(wanted, tuple) else "one value"
                raise LabelError(f"{self._name} must have {width} parts{self._example()}, got {got}")
            return tuple(column.known(part) for column, part in zip(self._columns, wanted, strict=True))
        if self._closed:
            number = counted(len(self._labels), "possible value")
            raise LabelError(f"{self._name} must be in the domain of {number}{self._near(wanted)}")
        return self._unreported(wanted)

    def _find(self, wanted: Any) -> int | None:
        """The position of the label that equals the wanted one or reads like it."""
        at = self._places.find(wanted)
        if at is not None or wanted is None or isinstance(wanted, tuple):
            return at
        alike = [at for at in self._alike.get(_key(wanted), []) if type(self._labels[at]) is not type(wanted)]
        same = [at for at in alike if str(self._labels[at]) == str(wanted)]
        if len(same or alike) > 1:
            names = " and ".join(repr(self._labels[at]) for at in alike[:_NEAR])
            raise LabelError(f"{self._name} must read like one label only, got one that reads like {names}")
        return next(iter(same or alike), None)

    def _unreported(self, wanted: Any) -> Any:
        """A possible label that was not reported, because few people hold it."""
        said = reading(wanted)
        ways = [symbol(wanted), *([] if said is None else [canonical(said.value)])]
        found = next((way for way in ways if self._domain is None or way in self._domain), None)
        if found is None:
            raise LabelError(f"{self._name} must be a possible value of this histogram{self._near(wanted)}")
        if not self._is_of_a_known_kind(wanted):
            near = self._near(wanted)
            raise LabelError(f"{self._name} must be of the same kind as the reported labels{near}; see also top()")
        return found

    @cached_property
    def _columns(self) -> Sequence[Lookup]:
        width = max((len(label) for label in self._labels if isinstance(label, tuple)), default=0)
        rows = [label for label in self._labels if isinstance(label, tuple) and len(label) == width]
        parts = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
        return self._given_columns or [Lookup(part, name=f"part {at + 1} of label") for at, part in enumerate(parts)]

    @cached_property
    def _alike(self) -> dict[Any, list[int]]:
        """The positions of labels by what they say."""
        found: dict[Any, list[int]] = {}
        for at, label in enumerate(self._labels):
            if label is not None and not isinstance(label, tuple):
                found.setdefault(_key(label), []).append(at)
        return found

    @cached_property
    def _kinds(self) -> set[Kind | None]:
        """The kinds of the labels that are values; None stands for text."""
        readings = [reading(label) for label in self._labels if not is_last(label)]
        return {None if one is None else one.kind for one in readings}

    def _is_of_a_known_kind(self, wanted: Any) -> bool:
        """Whether a label is of the type of a reported one, or says the same kind of thing as all of them."""
        if is_last(wanted) or not self._kinds:
            return True
        if any(type(label) is type(wanted) for label in self._labels):
            return True
        said = reading(wanted)
        return said is not None and self._kinds == {said.kind}

    def _example(self) -> str:
        label = next((label for label in self._labels if isinstance(label, tuple)), None)
        return "" if label is None else f" such as {label!r}"

    def _near(self, wanted: Any) -> str:
        """The nearest labels, as the end of a sentence."""
        texts = {str(label): label for label in self._labels[:_MOST_COMPARED] if not is_last(label)}
        near = get_close_matches(str(wanted), list(texts), n=_NEAR) if isinstance(wanted, str) else []
        some = [texts[text] for text in near] or list(texts.values())[:_NEAR]
        names = ", ".join(repr(shown(label)) if isinstance(label, str) else str(label) for label in some)
        return f"; {'the nearest are' if near else 'for example'} {names}" if names else ""


def _key(label: Any) -> Any:
    """What a label says, or else its text: equal for labels that read alike. A month is not its first day."""
    said = reading(label)
    if said is None or (said.kind is Kind.MOMENT and isinstance(label, str) and len(label) < len("2026-01-31")):
        return str(label)
    return said
