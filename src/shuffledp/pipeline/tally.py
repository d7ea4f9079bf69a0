"""A multiset as counts per symbol: all that a shuffler's output says, and the part of the analyzer that scales."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import DataError

_AT_ONCE = 1 << 20
"""Messages counted at a time, so that widening them to machine integers stays in the cache."""


_BINS_PER_VALUE = 4
"""Counting every number up to the largest pays while there are at most this many of them for each value."""


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each symbol occurs. Symbols are bins (integers) or, in an implicit domain, the labels themselves.

    `complete` says that a symbol that is not listed occurred 0 times. It is False for a draw of `sample_tally` that
    left empty bins out; their counts then exist but were not drawn. `messages` is how many there were, where one
    message can count for several symbols or none, so that their number is not the sum of the counts.
    """

    symbols: NDArray[Any]
    counts: NDArray[np.int64]
    complete: bool = True
    messages: int | None = None

    def __post_init__(self) -> None:
        if self.symbols.shape != self.counts.shape or self.counts.ndim != 1:
            raise DataError("a tally needs one count per symbol, in two flat arrays of equal length")

    @classmethod
    def of(cls, values: ArrayLike | Iterable[Hashable]) -> Tally:
        """Counts values or messages of any hashable kind."""
        array = values if isinstance(values, np.ndarray) else as_symbols(list(values))  # type: ignore[arg-type]
        if array.dtype == object:
            return cls.from_mapping(Counter(array.tolist()))
        if array.size and array.dtype.kind in "iu" and array.min() >= 0 and array.max() < _BINS_PER_VALUE * array.size:
            everything = cls.of_bins(array, bins=int(array.max()) + 1).counts
            symbols = np.flatnonzero(everything)
            return cls(symbols.astype(array.dtype), everything[symbols])
        symbols, counts = np.unique(array, return_counts=True)
        return cls(symbols, counts.astype(np.int64))

    @classmethod
    def of_bins(cls, messages: NDArray[Any], *, bins: int) -> Tally:
        """Counts integers in 0 .. bins - 1, with an entry for every bin."""
        counts = np.zeros(bins, dtype=np.int64)
        for start in range(0, messages.size, _AT_ONCE):
            counts += np.bincount(messages[start : start + _AT_ONCE], minlength=bins)
        return cls(np.arange(bins), counts)

    @classmethod
    def join(cls, parts: Iterable[Tally]) -> Tally:
        """Parts of one draw that list different bins, as one partly drawn tally."""
        listed = list(parts)
        if not listed:
            return cls(np.empty(0, dtype=object), np.empty(0, dtype=np.int64), complete=False)
        symbols, counts = ([getattr(part, name) for part in listed] for name in ("symbols", "counts"))
        return cls(np.concatenate(symbols), np.concatenate(counts), complete=False)

    @classmethod
    def from_mapping(cls, counts: Mapping[Any, int], *, complete: bool = True) -> Tally:
        """The tally of a dictionary from symbol to count."""
        numbers = list(counts.values())
        if not all(isinstance(number, int | np.integer) for number in numbers):
            raise DataError("counts must be whole numbers")
        return cls(as_symbols(list(counts)), np.array(numbers, dtype=np.int64), complete)

    def __add__(self, other: Tally) -> Tally:
        """The tally of both sets of messages together."""
        if not isinstance(other, Tally):
            return NotImplemented
        complete = self.complete and other.complete
        if np.array_equal(self.symbols, other.symbols):
            both = None if self.messages is None or other.messages is None else self.messages + other.messages
            return Tally(self.symbols, self.counts + other.counts, complete, both)
        if not complete:
            raise DataError("partly drawn tallies of different bins cannot be added: the bins left out are not 0")
        if object in (self.symbols.dtype, other.symbols.dtype):
            return Tally.from_mapping(Counter(self.as_dict()) + Counter(other.as_dict()), complete=complete)
        symbols, where = np.unique(np.concatenate([self.symbols, other.symbols]), return_inverse=True)
        counts = np.zeros(symbols.size, dtype=np.int64)
        np.add.at(counts, where, np.concatenate([self.counts, other.counts]))
        return Tally(symbols, counts, complete)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return self.complete == other.complete and _without_zeros(self) == _without_zeros(other)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self.symbols.size

    def pick(self, at: NDArray[np.int64], *, named: NDArray[Any]) -> Tally:
        """Some of the entries under other names; a partly drawn tally."""
        return Tally(named, self.counts[at], complete=False)

    def dense(self, *, bins: int) -> Tally:
        """The same counts with an entry for every bin in 0 .. bins - 1."""
        counts = np.zeros(bins, dtype=np.int64)
        np.add.at(counts, self.symbols, self.counts)
        return Tally(np.arange(bins), counts, self.complete)

    @property
    def total(self) -> int:
        """How many messages were counted."""
        return int(self.counts.sum())

    def as_dict(self) -> dict[Any, int]:
        """From symbol to count, as plain Python objects."""
        return dict(zip(self.symbols.tolist(), self.counts.tolist(), strict=True))


def as_symbols(labels: list[Any]) -> NDArray[Any]:
    """A flat array of labels that keeps them apart: integers where all are, else the Python objects themselves."""
    if labels and all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in labels):
        try:
            return np.array(labels, dtype=np.int64)
        except OverflowError:
            pass
    return np.fromiter(labels, dtype=object, count=len(labels))


def increasing(symbols: NDArray[Any]) -> bool:
    """Whether the symbols are numbers in strictly increasing order, as most tallies have them."""
    return symbols.dtype.kind in "iu" and bool((symbols[1:] > symbols[:-1]).all())


def sorted_order(symbols: NDArray[Any]) -> NDArray[np.int64] | slice:
    """An order of the symbols that says nothing about the order of the data: by value, or by type and spelling."""
    if increasing(symbols):
        return slice(None)
    if symbols.dtype != object:
        return np.argsort(symbols, kind="stable")
    keys = symbols.tolist()
    if {type(symbol) for symbol in keys} != {str}:
        keys = [(type(symbol).__name__, repr(symbol)) for symbol in keys]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _without_zeros(tally: Tally) -> dict[Any, int]:
    return {symbol: count for symbol, count in tally.as_dict().items() if count}
