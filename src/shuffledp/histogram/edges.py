"""Numbers as text, and the intervals of numbers between public edges.

A number has the digits 0 to 9, at most one decimal point, an optional sign and an optional exponent. Nothing else is
one: not "1,000" (which is ambiguous between countries), "0x10", "inf" or digits of other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from shuffledp.errors import ParameterError
from shuffledp.formatting import counted
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.labels import number

NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4})?"
"""The pattern works in the regular expressions of Python, RE2 and Java."""

LONGEST = 400
"""The most characters of a number, including spaces: a float has at most 309 digits before its point."""

_NUMBER = re.compile(f" *{NUMBER} *")


def read_number(text: str) -> Decimal | None:
    """Return the exact number of a text; None if it is not a number."""
    return Decimal(text.strip(" ")) if len(text) <= LONGEST and _NUMBER.fullmatch(text) else None


MOST_EDGES = 1_000_000
"""The most edges, which takes about a second."""

_MOST_DIGITS = 300
"""The most digits before and after the point of an edge, so that it fits a float."""

_HOW = 'write them as "0,18,30,65", as "0:120:5" (from, to, step) or as a list of numbers'


@dataclass(frozen=True, init=False, repr=False)
class Edges:
    """Public edges between intervals of numbers, such as `Edges("0,18,30,65")` or `Edges("0:120:5")`.

    An edge belongs to the interval above it: the edges 0, 18 and 65 give the intervals below 0, from 0 to below 18,
    from 18 to below 65, and 65 and above. Edges must be chosen without looking at the data. They are stored exactly, as
    whole or decimal numbers; a float becomes the shortest decimal number that converts back to it.
    """

    edges: tuple[int | Decimal, ...]

    def __init__(self, edges: str | Iterable[Any]) -> None:
        found = _written(edges) if isinstance(edges, str) else _listed(edges)
        if not found:
            raise ParameterError(f"edges must be at least one number, got none: {_HOW}")
        if any(above <= below for below, above in pairwise(found)):
            raise ParameterError("edges must increase from each to the next: sort them, and leave out repeated ones")
        object.__setattr__(self, "edges", found)

    def __str__(self) -> str:
        """Format the edges as a text that `Edges` accepts."""
        step = self._step
        if step is not None and len(self.edges) > 3:
            return ":".join(map(written, (self.edges[0], self.edges[-1], step)))
        return ",".join(map(written, self.edges))

    def __repr__(self) -> str:
        text = str(self)
        return f"Edges({text!r})" if len(text) <= 60 else f"Edges(<{counted(len(self.edges), 'edge')}>)"

    @cached_property
    def domain(self) -> Domain:
        """The labels of all intervals, from the lowest to the highest."""
        texts = list(map(written, self.edges))
        between = (f"{below} to below {above}" for below, above in pairwise(texts))
        return Domain.of([f"below {texts[0]}", *between, f"{texts[-1]} and above"], in_order=True)

    def interval(self, number: int) -> tuple[int | Decimal | None, int | Decimal | None]:
        """The ends of an interval, numbered from 0, with its lower end; None if it is open."""
        if not 0 <= number <= len(self.edges):
            raise ParameterError(f"number must lie between 0 and {len(self.edges)}, got {number}")
        below = self.edges[number - 1] if number else None
        return below, (self.edges[number] if number < len(self.edges) else None)

    @cached_property
    def _step(self) -> int | Decimal | None:
        places = max(map(_places, self.edges))
        units = [scaled(edge, places) for edge in self.edges]
        steps = {above - below for below, above in pairwise(units)}
        return _unscaled(steps.pop(), places) if len(steps) == 1 else None


def written(edge: int | Decimal) -> str:
    """Format an edge."""
    plain = f"{edge:f}" if isinstance(edge, Decimal) else str(edge)
    return plain if len(plain) <= 21 else str(edge)


def _written(text: str) -> tuple[int | Decimal, ...]:
    parts = text.split(":") if ":" in text else text.split(",")
    numbers = [read_number(part) for part in parts]
    if len(parts) > MOST_EDGES:
        raise _too_many(len(parts))
    if any(found is None for found in numbers) or (":" in text and len(parts) != 3):
        shown = text if len(text) <= 60 else text[:60] + "..."
        raise ParameterError(f"edges must be numbers, got {shown!r}: {_HOW}")
    exact = [_checked(found) for found in numbers if found is not None]
    return tuple(exact) if ":" not in text else _steps(*exact)


def _steps(start: int | Decimal, stop: int | Decimal, step: int | Decimal) -> tuple[int | Decimal, ...]:
    """From start to stop, both included, in whole numbers of the smallest decimal place."""
    places = max(_places(given) for given in (start, stop, step))
    low, high, by = (scaled(given, places) for given in (start, stop, step))
    if by <= 0 or high <= low:
        raise ParameterError(f"edges from:to:step go up, by a step above 0, got {start}:{stop}:{step}")
    if (high - low) // by >= MOST_EDGES:
        raise _too_many((high - low) // by + 1)
    if (high - low) % by:
        last = high - (high - low) % by
        ends = " or ".join(written(_unscaled(end, places)) for end in (last, last + by))
        raise ParameterError(
            f"edges from {written(start)} in steps of {written(step)} do not meet {written(stop)}: end at {ends}"
        )
    return tuple(_unscaled(at, places) for at in range(low, high + 1, by))


def scaled(edge: int | Decimal, places: int) -> int:
    """An edge times 10^places, rounded up to a whole number.

    A whole number of units of 10^-places reaches the edge exactly if it reaches this.
    """
    if isinstance(edge, int):
        return int(edge * 10**places)
    sign, digits, exponent = edge.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    power = exponent + places
    return whole * int(10**power) if power >= 0 else -(-whole // int(10**-power))


def _unscaled(units: int, places: int) -> int | Decimal:
    """The inverse, exactly, without trailing zeros."""
    while places and units % 10 == 0:
        units, places = units // 10, places - 1
    return Decimal(f"{units}e-{places}") if places else units


def _listed(edges: Any) -> tuple[int | Decimal, ...]:
    if isinstance(edges, bytes | dict | set | frozenset) or not isinstance(edges, Iterable):
        raise ParameterError(f"edges must be text or a list of numbers, got {type(edges).__name__}: {_HOW}")
    if isinstance(edges, np.ndarray) and edges.ndim != 1:
        raise ParameterError(f"edges must be a flat array of numbers, got {edges.ndim} dimensions")
    listed = list(edges)
    if len(listed) > MOST_EDGES:
        raise _too_many(len(listed))
    return tuple(map(_of_number, listed))


def _of_number(given: Any) -> int | Decimal:
    found = None if isinstance(given, bool | np.bool_ | str | complex) else number(given)
    if isinstance(found, float):
        found = Decimal(repr(found))
    if not isinstance(found, int | Decimal) or not Decimal(found).is_finite():
        raise ParameterError(f"edges must be finite numbers, got one that is not ({type(given).__name__}): {_HOW}")
    return _checked(Decimal(found))


def _checked(found: Decimal) -> int | Decimal:
    if found and (found.adjusted() >= _MOST_DIGITS or _places(found) > _MOST_DIGITS):
        raise ParameterError(f"an edge must have at most {_MOST_DIGITS} digits before and after its point")
    return _unscaled(scaled(found, _places(found)), _places(found))


def _places(found: int | Decimal) -> int:
    exponent = 0 if isinstance(found, int) else found.as_tuple().exponent
    assert isinstance(exponent, int)
    return max(0, -exponent)


def _too_many(number: int) -> ParameterError:
    return ParameterError(f"edges may be at most {MOST_EDGES:,}, got {number:,}: choose fewer")
