"""A protocol as plain values, and back: the name of its class and its parameters, every digit kept.

Only classes that are known here are ever made, whatever a file names: the protocols of the catalogue, ranges, and what
they are made of. A whole number of more than 64 bits is {"integer": "2^65536"}, an infinite one {"number": "inf"}.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from shuffledp.accounting.guarantee import Guarantee
from shuffledp.brief import brief
from shuffledp.errors import DataError, ShuffledpError
from shuffledp.noise.binomial import Binomial
from shuffledp.noise.compound_poisson import CompoundPoisson
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.ranges import Ranges

_PARTS = (Guarantee, Binomial, CompoundPoisson, DiscreteLaplace)
_MOST_BITS = 64
_MOST_POWER = 10**6
"""Of a power of two in a file: more would fill the memory."""


def to_record(value: Any) -> Any:
    """A protocol, or a parameter of one, as what JSON holds; what no file can hold is {"text": ...}."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        number = int(value)
        return number if number.bit_length() <= _MOST_BITS else {"integer": _written(number)}
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"number": repr(float(value))}
    if isinstance(value, tuple | list):
        return [to_record(part) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {each.name: to_record(getattr(value, each.name)) for each in dataclasses.fields(value) if each.init}
        return {"class": type(value).__name__, **fields}
    return {"text": brief(value)}


def from_record(record: Any) -> HistogramProtocol:
    """The protocol that a record describes; refused if it is of an unknown kind, or if its parameters are wrong."""
    made = _value(record)
    if not isinstance(made, _protocols()):
        raise DataError("the protocol of this release cannot be made anew from its record")
    return made


def _protocols() -> tuple[type[HistogramProtocol], ...]:
    """Those of the catalogue, and what counts ranges with one of them."""
    return (*(entry.kind for entry in CATALOGUE.values()), Ranges)


def _value(record: Any) -> Any:
    if isinstance(record, list):
        return tuple(_value(part) for part in record)
    if not isinstance(record, dict):
        return record
    if set(record) == {"integer"}:
        return _integer(str(record["integer"]))
    if set(record) == {"number"}:
        return _number(str(record["number"]))
    kinds = {kind.__name__: kind for kind in (*_PARTS, *_protocols())}
    kind = kinds.get(str(record.get("class")))
    if kind is None:
        raise DataError(f"{str(record.get('class', 'this'))[:60]!r} is no protocol or law that this version knows")
    try:
        return kind(**{name: _value(part) for name, part in record.items() if name != "class"})
    except (TypeError, ValueError, ShuffledpError) as reason:
        raise DataError(f"{kind.__name__} cannot be made from what the file says: {str(reason)[:200]}") from None


def _written(number: int) -> str:
    """Short for a power of two; else every digit, to base 16, since Python refuses thousands of decimal ones."""
    power = number.bit_length() - 1
    return f"2^{power}" if number == 1 << power else hex(number)


def _integer(text: str) -> int:
    base, _, power = text.partition("^")
    try:
        if base == "2" and power and int(power) <= _MOST_POWER:
            return 1 << int(power)
        return int(text, base=16)
    except ValueError:
        raise DataError(f"a whole number cannot be read: {text[:60]!r}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"a number cannot be read: {text[:60]!r}") from None
