"""The interval of every number of an Arrow array, compared exactly with the edges.

| values | what they are compared as |
|---|---|
| whole numbers of any width | exactly |
| decimal numbers | exactly |
| floats | the shortest decimal number that reads back as the same float: 0.3 reaches an edge at 0.3 |
| text | the decimal number that it is, see `written_numbers`; what is no number is missing |
| infinite floats | below or above all edges |
| missing values, NaN, and what is no number in data without a type | missing |
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines.bins.thresholds import MISSING, filled, is_text, one_array, reached, with_missing, with_their_bin
from shuffledp.engines.kinds import Kind
from shuffledp.errors import ParameterError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.edges import Edges, scaled
from shuffledp.pipeline.labels import from_key, label
from shuffledp.pipeline.written_numbers import LONGEST, NUMBER, read_number

_FEW = 4096
"""Different texts that are read one by one; more are read together."""

_EXACT = 2**53
"""Whole numbers up to here are floats."""


class NumberBins:
    """Numbers in the intervals between edges, and a bin for missing ones if `missing`.

    `label_type` is the type of the column, or the Kind of its entries. Which bin a value has depends on that value
    and on the edges alone.
    """

    def __init__(self, edges: Edges, *, label_type: Any, missing: bool) -> None:
        self._kind = label_type if isinstance(label_type, Kind) else Kind(label_type)
        self._edges, self._missing = edges, missing
        if self._kind.declared and not _can_hold_numbers(self._kind.type):
            raise ParameterError(
                f"edges are for numbers, and the values of the column are {self._kind.type}: count dates and times by "
                "hour, day, week, month or year (--by, Periods in Python), other values by a list (--domain)"
            )
        listed = edges.domain
        labels = listed.decode(np.arange(listed.size)).tolist()
        self.domain = Domain.of([*labels, None], in_order=True) if missing else listed
        self._thresholds: dict[Any, Any] = {}

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """The bin of every value of an Arrow array."""
        return with_their_bin(
            self._intervals(one_array(values)),
            missing=len(self._edges.edges) + 1 if self._missing else None,
            refusal=(
                "a value is missing or is no number (it is not shown, since it may be personal): correct the data, "
                "or count such values as missing, without drop_missing (--drop-missing)"
            ),
        )

    def _intervals(self, values: Any) -> NDArray[np.int64]:
        """The number of each value's interval; MISSING where there is none."""
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
        return np.full(len(values), MISSING)  # found in data without a type, whose other values could be numbers

    def _units(self, places: int) -> list[int]:
        """The edges as whole numbers of units of 10^-places, rounded up."""
        if places not in self._thresholds:
            self._thresholds[places] = [scaled(edge, places) for edge in self._edges.edges]
        found: list[int] = self._thresholds[places]
        return found

    def _of_floats(self, values: Any, width: np.dtype[Any]) -> NDArray[np.int64]:
        """Floats of any width; those of 16 bits come as 32, which changes none of them."""
        if width not in self._thresholds:
            self._thresholds[width] = np.array([_smallest(edge, width.type) for edge in self._edges.edges], width)
        numbers, missing = filled(values)
        numbers = numbers.astype(width, copy=False)
        found = np.searchsorted(self._thresholds[width], numbers, side="right").astype(np.int64)
        return with_missing(with_missing(found, np.isnan(numbers)), missing)

    def _of_decimals(self, values: Any) -> NDArray[np.int64]:
        """Decimal numbers in units of their last place: most fit 64 bits, the others are compared one by one."""
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
        """Texts, the same ones once: few one by one, many as floats, but for those too close to an edge for that."""
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
    """The number whose label has this key, in data of any kinds; text is read as elsewhere."""
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
    """The decimal number that a float stands for, as its label."""
    known = label(one)
    return Decimal(repr(known)) if isinstance(known, float) else Decimal(known)
