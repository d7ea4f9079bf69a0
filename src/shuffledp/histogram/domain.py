"""Domains of possible values: the mapping between labels and bins, also for universes too large to list.

A listed or a range domain numbers its labels 0 .. size - 1, and protocols work on those numbers. An implicit domain
(all strings up to some length, all permutations) is too large for that: its labels are their own bins, in one spelling
for all that are equal.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import short_repr, shown
from shuffledp.histogram.labels import Absent, MoreThan, NotAValue, symbol
from shuffledp.histogram.tally import as_symbols
from shuffledp.validation import whole


class Domain(ABC):
    """A set of labels, its size, and the bin of each label."""

    size: int
    can_list = True
    """Whether every label can be named, as reporting every bin needs."""

    in_order = False
    """Whether the labels follow each other, as intervals and periods do: tables and files then keep that order."""

    factors: tuple[Domain, ...] = ()
    """The domains of the parts of labels that are tuples."""

    @staticmethod
    def of(labels: Iterable[Hashable], *, in_order: bool = False) -> Domain:
        """A domain of listed labels; with `in_order`, tables and files keep their order."""
        return _Listed(labels, in_order=in_order)

    @staticmethod
    def range(start: int, stop: int | None = None) -> Domain:
        """The integers start .. stop - 1, or 0 .. start - 1 if only one number is given."""
        return _Range(0, start) if stop is None else _Range(start, stop)

    @staticmethod
    def implicit(size: int) -> Domain:
        """Any hashable labels of a universe with `size` members, which is never listed.

        Equal labels, such as True, 1 and 1.0, are one member with one spelling (1).
        """
        return _Implicit(size)

    def with_absent(self, padding_bins: int) -> Domain:
        """Add a label for each number of missing values of people who hold fewer values than they may."""
        return _WithPeople(self, [Absent(most=padding_bins - number) for number in range(1, padding_bins + 1)])

    def with_more_than(self, values: int) -> Domain:
        """Add a label for people who have more than this number of different values."""
        return _WithPeople(self, [MoreThan(values=values)])

    @staticmethod
    def product(factors: Sequence[Domain]) -> ProductDomain:
        """A domain of all tuples of labels of the factors; the last factor changes fastest."""
        return ProductDomain(factors)

    @abstractmethod
    def encode(self, values: Iterable[Hashable] | ArrayLike) -> NDArray[Any]:
        """The bins of many labels."""

    @abstractmethod
    def decode(self, bins: ArrayLike) -> NDArray[Any]:
        """The labels of many bins."""

    @abstractmethod
    def __contains__(self, label: object) -> bool: ...


def _outside() -> DataError:
    return DataError(
        "a value is not in the domain (it is not shown, since it may be personal); "
        "list every possible value in the domain, or use Domain.implicit"
    )


class _Listed(Domain):
    def __init__(self, labels: Iterable[Hashable], *, in_order: bool = False) -> None:
        self.in_order = in_order
        self._labels = as_symbols(_listed(labels))
        try:
            self._bins = {symbol(label): i for i, label in enumerate(self._labels.tolist())}
        except TypeError:
            raise ParameterError(
                "the labels of a domain must be hashable, such as strings, numbers or tuples"
            ) from None
        self.size = len(self._labels)
        if not self.size:
            raise ParameterError("a domain needs at least one label, got an empty list")
        if len(self._bins) != self.size:
            repeated = next(one for at, one in enumerate(self._labels.tolist()) if self._bins[symbol(one)] != at)
            raise ParameterError(f"the labels of a domain must differ: {shown(repeated)} occurs more than once")

    def encode(self, values: Iterable[Hashable] | ArrayLike) -> NDArray[Any]:
        try:
            return np.array([self._bin(value) for value in _listed(values)], dtype=np.int64)
        except (KeyError, TypeError):
            raise _outside() from None

    def decode(self, bins: ArrayLike) -> NDArray[Any]:
        return self._labels[_numbers(bins).astype(np.int64)]

    def _bin(self, value: Any) -> int:
        found = self._bins.get(value)
        return self._bins[symbol(value)] if found is None else found

    def __contains__(self, label: object) -> bool:
        return symbol(label) in self._bins

    def __repr__(self) -> str:
        return f"Domain.of(<{self.size} labels>)"


class _Range(Domain):
    def __init__(self, start: int, stop: int) -> None:
        self._start = whole("start", start, minimum=-(2**62))
        self.size = whole("stop", stop, minimum=self._start + 1) - self._start

    def encode(self, values: Iterable[Hashable] | ArrayLike) -> NDArray[Any]:
        array = values if isinstance(values, np.ndarray) else as_symbols(_listed(values))
        if array.size and (
            array.dtype.kind not in "iu" or array.min() < self._start or array.max() >= self._start + self.size
        ):
            raise _outside()
        return array.astype(np.int64) - self._start

    def decode(self, bins: ArrayLike) -> NDArray[Any]:
        return _numbers(bins) + self._start

    def __contains__(self, label: object) -> bool:
        return isinstance(label, int | np.integer) and 0 <= label - self._start < self.size

    def __repr__(self) -> str:
        return f"Domain.range({short_repr(self._start)}, {short_repr(self._start + self.size)})"


MOST_PAIRS = 2**24
"""The most tuples of a product, since the counts of all tuples take memory."""


class ProductDomain(Domain):
    """The tuples of labels of several listed domains."""

    def __init__(self, factors: Sequence[Domain]) -> None:
        self.factors = tuple(factors)
        if not self.factors or not all(isinstance(one, Domain) and one.can_list for one in self.factors):
            raise ParameterError("a product needs domains that list their labels")
        self._sizes = tuple(one.size for one in self.factors)
        self.size = math.prod(self._sizes)
        if self.size > MOST_PAIRS:
            sizes = " x ".join(f"{size:,}" for size in self._sizes)
            raise ParameterError(
                f"a cross table has at most {MOST_PAIRS:,} cells, and {sizes} = {self.size:,} are more: choose fewer "
                "edges, longer periods or shorter lists"
            )

    def encode(self, values: Iterable[Hashable] | ArrayLike) -> NDArray[Any]:
        """The bins of many tuples."""
        rows: list[Any] = _listed(values)
        if not all(isinstance(row, tuple) and len(row) == len(self.factors) for row in rows):
            raise _outside()
        found = np.zeros(len(rows), dtype=np.int64)
        for at, one in enumerate(self.factors):
            found = found * one.size + one.encode([row[at] for row in rows])
        return found

    def decode(self, bins: ArrayLike) -> NDArray[Any]:
        """The tuples of many bins."""
        numbers = _numbers(bins)
        places = np.unravel_index(numbers.astype(np.int64), self._sizes)
        columns = [one.decode(at).tolist() for one, at in zip(self.factors, places, strict=True)]
        return np.fromiter(zip(*columns, strict=True), dtype=object, count=numbers.size)

    def __contains__(self, label: object) -> bool:
        if not isinstance(label, tuple) or len(label) != len(self.factors):
            return False
        return all(part in one for part, one in zip(label, self.factors, strict=True))

    def __repr__(self) -> str:
        return f"Domain.product([{', '.join(map(repr, self.factors))}])"


class _Implicit(Domain):
    can_list = False

    def __init__(self, size: int) -> None:
        self.size = whole("size", size)

    def encode(self, values: Iterable[Hashable] | ArrayLike) -> NDArray[Any]:
        return as_symbols([symbol(value) for value in _listed(values)])

    def decode(self, bins: ArrayLike) -> NDArray[Any]:
        return bins if isinstance(bins, np.ndarray) else as_symbols(_listed(bins))

    def __contains__(self, label: object) -> bool:
        return isinstance(label, Hashable)

    def __repr__(self) -> str:
        return f"Domain.implicit(<{self.size.bit_length()}-bit size>)"


class _WithPeople(Domain):
    """Another domain, then labels that are not values; in an implicit domain they are their own bins too."""

    def __init__(self, rest: Domain, labels: Sequence[NotAValue]) -> None:
        self._rest, self.can_list, self.factors = rest, rest.can_list, rest.factors
        self.in_order = rest.in_order
        self._labels = as_symbols(list(labels))
        self.size = rest.size + len(labels)

    def encode(self, values: Iterable[Hashable] | ArrayLike) -> NDArray[Any]:
        return self._rest.encode(values)

    def decode(self, bins: ArrayLike) -> NDArray[Any]:
        if not self.can_list:
            return self._rest.decode(bins)
        numbers = np.asarray(bins)
        real = numbers < self._rest.size
        labels = np.empty(numbers.shape, dtype=object)
        labels[real] = self._rest.decode(numbers[real])
        labels[~real] = self._labels[numbers[~real] - self._rest.size]
        return labels

    def __contains__(self, label: object) -> bool:
        return label in self._rest or label in self._labels.tolist()

    def __repr__(self) -> str:
        return f"<{self._rest!r} and {self._labels.size} labels that are not values>"


def _listed(values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(f"many values are needed, in a list or an array; got a single {type(values).__name__}")
    if isinstance(values, np.ndarray) and values.dtype.kind not in "Mm":
        return values.tolist()  # type: ignore[no-any-return]
    return list(values)


def _numbers(bins: ArrayLike) -> NDArray[Any]:
    numbers = np.asarray(bins)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise DataError("counts of labels need an implicit domain: encode the labels of other domains first")
    return numbers
