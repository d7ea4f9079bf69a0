"""The bins of values in a listed domain, for whole Arrow arrays at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines.kinds import Finder, Kind
from shuffledp.errors import DataError, ParameterError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.labels import label

OTHER = "(other)"
"""The label of all values outside the domain together."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,4})?", re.IGNORECASE | re.ASCII)
_LONGEST_NUMBER = 400
"""Characters of a label that are read as a number: a float has at most 309 digits before its point."""


class Codebook:
    """A listed domain for a column: its labels, then missing (unless dropped), then all other values (if wanted).

    The extra bins are there whether or not anybody needs them, so that they say nothing about the data. Which bin a
    value has depends on that value and on the list alone: the bin of its own label, else of a label that reads like it,
    such as the text "7" for the number 7.
    """

    def __init__(self, labels: Sequence[Any], *, label_type: Any, missing: bool, other: bool) -> None:
        kind = label_type if isinstance(label_type, Kind) else Kind(label_type)
        listed = _labels(labels)
        fits = [kind.can_have(one) for one in listed]
        # where all entries are of one kind, a label of that kind need not stand for others
        unread = [at for at, fit in enumerate(fits) if not (fit and kind.is_plain)]
        alike = [(one, at) for at in unread for one in _readings(listed[at])]
        if kind.declared and not all(fits):
            readable = {at for one, at in alike if kind.can_have(one)}
            if not all(fit or at in readable for at, fit in enumerate(fits)):
                raise ParameterError(f"a label of the domain does not fit the column, whose values are {kind.type}")
        if missing and None not in listed:
            listed.append(None)
        if other and OTHER in listed:
            raise ParameterError(f"the domain has a label {OTHER!r} of its own: rename it, or leave out other")
        self.domain = Domain.of([*listed, OTHER] if other else listed)
        self._rest = len(listed) if other else None
        self._find = Finder(kind, chain(zip(listed, range(len(listed)), strict=True), alike))

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """The bin of every value of an Arrow array."""
        found = self._find(values)
        if self._rest is not None:
            found[found < 0] = self._rest
        elif found.size and found.min() < 0:
            raise DataError(
                "a value is not in the domain (it is not shown, since it may be personal): list every possible value, "
                "or count all others together (other=True in Python, --other on the command line)"
            )
        return found


def _labels(given: Iterable[Any]) -> list[Any]:
    try:
        return [label(one) for one in given]
    except DataError:
        raise ParameterError(
            "a label of the domain is nested or has no text of its own: list text, numbers, truth values, dates or "
            "times"
        ) from None


def _readings(one: Any) -> Iterator[Any]:
    """The other labels that one of the domain stands for, where they have no bin of their own."""
    if one is None:
        return
    if isinstance(one, str):
        yield from _read(one)
        return
    if not isinstance(one, int) or one.bit_length() <= _LONGEST_NUMBER:
        yield str(one)
    if isinstance(one, bool):
        yield int(one)
    elif one in (0, 1):
        yield bool(one)
    if isinstance(one, float):
        yield label(Decimal(repr(one)))
    if isinstance(one, Decimal):
        yield label(float(one))
    if isinstance(one, date) and not isinstance(one, datetime):
        yield datetime(one.year, one.month, one.day)


def _read(text: str) -> Iterator[Any]:
    """What a text can be read as, but for itself."""
    if text.lower() in ("true", "false"):
        yield text.lower() == "true"
    if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text):
        yield label(Decimal(text))
        if math.isfinite(near := float(text)):
            yield label(near)
        if near in (0, 1):
            yield bool(near)
    kinds: tuple[Callable[[str], Any], ...] = (date.fromisoformat, datetime.fromisoformat, time.fromisoformat)
    for read in kinds:
        try:
            yield label(read(text))
        except ValueError:
            continue
