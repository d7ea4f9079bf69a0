"""From possible values to bins: a public list, intervals or periods for each column, and what maps entries to them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.labels import Finder, Kind
from shuffledp.data.ordered_bins import DateBins, NumberBins
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import readable
from shuffledp.histogram.domain import Domain, ProductDomain
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.labels import label
from shuffledp.histogram.periods import Periods


class Encoder(Protocol):
    """Maps an Arrow array to bins: of listed values, intervals of numbers, periods, or several of them crossed."""

    @property
    def domain(self) -> Domain:
        """The labels of the bins."""

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """Return the bin of every value."""


OTHER = "(other)"
"""The label of all values outside the domain together."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,4})?", re.IGNORECASE | re.ASCII)
_LONGEST_NUMBER = 400
"""Characters of a label that are read as a number: a float has at most 309 digits before its point."""


class Codebook:
    """A listed domain for a column: its labels, then missing (unless dropped), then all other values (if wanted).

    The extra bins exist whether or not a value needs them, so that they reveal nothing. A value's bin depends on the
    value and the list alone: the bin of its own label, else of one that reads like it, such as the text "7" for the
    number 7.
    """

    def __init__(self, labels: Sequence[Any], *, kind: Kind, missing: bool, other: bool) -> None:
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
        """Return the bin of every value of an Arrow array."""
        found = self._find(values)
        if self._rest is not None:
            found[found < 0] = self._rest
        elif found.size and found.min() < 0:
            raise DataError(
                "a value is not in the domain (it is not shown, since it may be personal): list every possible value, "
                "or count all others together with other"
            )
        return found


def _labels(given: Iterable[Any]) -> list[Any]:
    try:
        return [label(one) for one in given]
    except DataError:
        raise ParameterError(
            "domain must have labels of text, numbers, truth values, dates or times: one is nested or has no text"
        ) from None


def _readings(one: Any) -> Iterator[Any]:
    """Other labels that a label stands for, where they have no bin of their own."""
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
    """Labels of other kinds that a text reads like."""
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


class CrossBins:
    """Rows of several columns, as an Arrow array of structs.

    The bins of its values give the bin of a row; the last column changes fastest.
    """

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        if len(encoders) < 2:
            raise ParameterError("a cross table needs at least two columns")
        self._encoders = tuple(encoders)
        self.domain = Domain.product([encode.domain for encode in self._encoders])

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """Return the bin of every row of an Arrow array of structs."""
        import pyarrow

        whole = values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values
        found = np.zeros(len(whole), dtype=np.int64)
        for encode, column in zip(self._encoders, whole.flatten(), strict=True):
            found = found * encode.domain.size + encode(column)
        return found


PossibleValues = Domain | Edges | Periods | Iterable[Any] | Mapping[Any, Any]
"""The types of a `domain` parameter."""

Possible = list[Any] | Edges | Periods
"""The possible values of one column: labels, intervals of numbers or periods of time."""


def possible_values(domain: Any, names: Sequence[str]) -> list[Possible | None] | None:
    """Return the possible values of each column; None where anything is possible.

    For several columns, `domain` is a list with an entry for each, or a dictionary by their names. An entry that is
    None, or missing in the dictionary, stands for any value.
    """
    if domain is None or (isinstance(domain, Domain) and not domain.can_list):
        return None
    if len(names) == 1:
        return [_possible(_of_the_only_column(domain, names[0]))]
    if isinstance(domain, ProductDomain):
        parts: list[Any] = list(domain.factors)
    elif isinstance(domain, Mapping):
        if not set(domain) <= set(names):
            raise ParameterError(
                f"domain must have entries for columns of the table only: {', '.join(map(repr, names))}"
            )
        parts = [domain.get(name) for name in names]
    elif isinstance(domain, list | tuple):
        parts = list(domain)
    else:
        raise ParameterError(
            f"domain must be a list with an entry for each of {len(names)} columns, or a dictionary by their names, "
            f"got {type(domain).__name__}"
        )
    if len(parts) != len(names):
        raise ParameterError(f"domain must have an entry for each of {len(names)} columns, got {len(parts)}")
    found = [None if part is None else _possible(part) for part in parts]
    return None if all(part is None for part in found) else found


def _of_the_only_column(domain: Any, name: str) -> Any:
    """The only column can also have its domain under its name, or in a list with one entry."""
    if isinstance(domain, Mapping) and list(domain) == [name]:
        return domain[name]
    if isinstance(domain, list | tuple) and len(domain) == 1 and isinstance(domain[0], Domain | Edges | Periods):
        return domain[0]
    return domain


MOST_LISTED = 1 << 26
"""The most values of a listed domain: each takes about a hundred bytes of memory."""


def _few_enough(size: int) -> None:
    if size > MOST_LISTED:
        raise ParameterError(
            f"domain must list at most {MOST_LISTED:,} values, got {readable(size)}: leave it out to count any value"
        )


def _possible(domain: Any) -> Possible:
    if isinstance(domain, Edges | Periods):
        return domain
    if isinstance(domain, Domain) and domain.can_list:
        _few_enough(domain.size)
        labels: list[Any] = domain.decode(np.arange(domain.size)).tolist()
        return labels
    if isinstance(domain, range):
        _few_enough(max(0, -((domain.start - domain.stop) // domain.step)))  # len() fails for long ones
    if not hasattr(domain, "__len__"):  # the type of a column of categories
        domain = getattr(domain, "categories", domain)
    if hasattr(getattr(domain, "dtype", None), "categories"):
        raise ParameterError(
            "domain must be known without the data, and the categories of a column may come from it: give a list, or "
            "pd.CategoricalDtype([...])"
        )
    if isinstance(domain, str | bytes) or not isinstance(domain, Iterable):
        raise ParameterError(
            f"domain must be a list of labels, Edges, Periods or a Domain, got {type(domain).__name__}"
        )
    if not (labels := list(domain)):
        raise ParameterError("a domain needs at least one label, got an empty list")
    return labels


def encoders_of(
    possible: Sequence[Possible | None], kinds: Sequence[Kind], *, missing: bool, other: bool, refuses: bool
) -> list[Encoder | None]:
    """Return the encoder of each column, None where any value is possible; `other` is for columns with a list.

    Unless it `refuses` values without a bin, those outside a list are counted together, and those that are no number or
    date as missing.
    """
    listed = [not isinstance(part, Edges | Periods | None) for part in possible]
    if other and not any(listed):
        raise ParameterError("other must be left out: intervals and periods have a bin for every value")
    return [
        None
        if part is None
        else _encoder(part, one, missing=missing or not (refuses or is_list), other=(other or not refuses) and is_list)
        for part, one, is_list in zip(possible, kinds, listed, strict=True)
    ]


def _encoder(possible: Possible, kind: Kind, *, missing: bool, other: bool) -> Encoder:
    if isinstance(possible, Edges):
        return NumberBins(possible, kind=kind, missing=missing)
    if isinstance(possible, Periods):
        return DateBins(possible, kind=kind, missing=missing)
    return Codebook(possible, kind=kind, missing=missing, other=other)
