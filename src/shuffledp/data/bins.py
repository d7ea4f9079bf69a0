"""From the possible values of a column to the bins of its entries, for whole Arrow arrays at once.

The bins of values in a listed domain, for whole Arrow arrays at once.

The bins of pairs, or of longer rows, of values: one encoder for each column.

The possible values that somebody lists, for one column or for several.

From the possible values of a column, or of several, to what makes bins of them.
"""

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

from shuffledp.data.labels import CrossKind, Finder, Kind
from shuffledp.data.ordered_bins import DateBins, NumberBins
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.domain import Domain, ProductDomain
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.labels import label
from shuffledp.histogram.periods import Periods


class Encoder(Protocol):
    """What makes bins of an Arrow array: a list of values, intervals of numbers, periods, or all of them crossed."""

    @property
    def domain(self) -> Domain:
        """The labels of the bins."""

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """The bin of every value."""


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


class CrossBins:
    """Rows of several columns, as an Arrow array of structs whose fields are the columns in their order.

    The bin of a row follows from those of its values, the last of which changes fastest; its label is their tuple.
    """

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        if len(encoders) < 2:
            raise ParameterError("a cross table needs at least two columns")
        self._encoders = tuple(encoders)
        self.domain = Domain.product([encode.domain for encode in self._encoders])

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """The bin of every row of an Arrow array of structs."""
        import pyarrow

        whole = values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values
        found = np.zeros(len(whole), dtype=np.int64)
        for encode, column in zip(self._encoders, whole.flatten(), strict=True):
            found = found * encode.domain.size + encode(column)
        return found


PossibleValues = Domain | Edges | Periods | Iterable[Any] | Mapping[Any, Any]
"""What somebody may give as a domain."""

Possible = list[Any] | Edges | Periods
"""Of one column: labels, intervals of numbers or periods of time."""


def possible_values(domain: Any, names: Sequence[str]) -> list[Possible] | None:
    """What each column can hold; None where anything is possible.

    Of several columns, `domain` is a list with an entry for each, in their order, or a dictionary by their names.
    """
    if domain is None or (isinstance(domain, Domain) and not domain.can_list):
        return None
    if len(names) == 1:
        return [_possible(_of_the_only_column(domain, names[0]))]
    if isinstance(domain, ProductDomain):
        parts: list[Any] = list(domain.factors)
    elif isinstance(domain, Mapping):
        if set(domain) != set(names):
            raise ParameterError(f"domain must have an entry for each column, under {', '.join(map(repr, names))}")
        parts = [domain[name] for name in names]
    elif isinstance(domain, list | tuple):
        parts = list(domain)
    else:
        raise ParameterError(
            f"domain must be a list with an entry for each of {len(names)} columns, or a dictionary by their names, "
            f"got {type(domain).__name__}"
        )
    if len(parts) != len(names):
        raise ParameterError(f"domain must have an entry for each of {len(names)} columns, got {len(parts)}")
    return [_possible(part) for part in parts]


def _of_the_only_column(domain: Any, name: str) -> Any:
    """What is said of it, also where that is said as for several: under its name, or as a list with one entry."""
    if isinstance(domain, Mapping) and list(domain) == [name]:
        return domain[name]
    if isinstance(domain, list | tuple) and len(domain) == 1 and isinstance(domain[0], Domain | Edges | Periods):
        return domain[0]
    return domain


def _possible(domain: Any) -> Possible:
    """The labels of a listed domain, or what stands for them."""
    if isinstance(domain, Edges | Periods):
        return domain
    if isinstance(domain, Domain) and domain.can_list:
        labels: list[Any] = domain.decode(np.arange(domain.size)).tolist()
        return labels
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
    return list(domain)


def encoder_of(
    possible: Sequence[Possible], kind: Kind | CrossKind, *, missing: bool, other: bool, refuses: bool = True
) -> Encoder:
    """What makes bins of one column or of several; `other` is for those with a list.

    Unless it `refuses` what has no bin, everything has one: what is outside a list is counted together, and what is no
    number or date as missing.
    """
    listed = [not isinstance(part, Edges | Periods) for part in possible]
    if other and not any(listed):
        raise ParameterError("other is for lists of values: intervals and periods leave no value out")
    kinds = kind.kinds if isinstance(kind, CrossKind) else (kind,)
    encoders = [
        _encoder(part, one, missing=missing or not (refuses or is_list), other=(other or not refuses) and is_list)
        for part, one, is_list in zip(possible, kinds, listed, strict=True)
    ]
    return CrossBins(encoders) if isinstance(kind, CrossKind) else encoders[0]


def _encoder(possible: Possible, kind: Kind, *, missing: bool, other: bool) -> Encoder:
    """The bins of one column, from a list of labels, edges of numbers or periods of time."""
    if isinstance(possible, Edges):
        return NumberBins(possible, label_type=kind, missing=missing)
    if isinstance(possible, Periods):
        return DateBins(possible, label_type=kind, missing=missing)
    return Codebook(possible, label_type=kind, missing=missing, other=other)
