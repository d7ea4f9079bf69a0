"""The tally of messages: counts per symbol, which hold all information of a shuffled batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import DataError
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.labels import symbol

_AT_ONCE = 1 << 20
"""Messages counted at a time, so that they stay in the cache as machine integers."""


_BINS_PER_VALUE = 4
"""The most numbers per value for which counting every number up to the largest is worthwhile."""


@dataclass(frozen=True, eq=False)
class Tally(ShortRepr):
    """Counts per symbol. Symbols are bins (integers) or, in an implicit domain, the labels themselves.

    `counts` has one number for each symbol or, if a bin has several kinds of messages (+j and -j), a row with one for
    each kind. `complete` says that symbols that are not listed occurred 0 times; those of a sample without empty bins
    were not sampled. `messages` is the number of counted messages, None if it is unknown; it is not the sum of the
    counts if a message counts for several symbols or for none. `drawn` says that `sample_tally` sampled the counts for
    all people at once, so that no messages can be missing.
    """

    symbols: NDArray[Any]
    counts: NDArray[np.int64]
    complete: bool = True
    messages: int | None = None
    drawn: bool = False

    def __post_init__(self) -> None:
        if self.symbols.ndim != 1 or self.counts.ndim not in (1, 2) or self.symbols.size != self.counts.shape[0]:
            raise DataError("a tally needs one count, or one row of counts, for each symbol of a flat array")

    @classmethod
    def of(cls, values: ArrayLike | Iterable[Hashable]) -> Tally:
        """Count hashable values or messages; equal ones are one symbol with one spelling."""
        array = values if isinstance(values, np.ndarray) else as_symbols(list(values))  # type: ignore[arg-type]
        if array.dtype.kind not in "iuU":
            # numpy dates stay numpy dates, since some are plain numbers as Python objects
            listed = list(array) if array.dtype.kind in "Mm" else array.tolist()
            return replace(cls.from_mapping(Counter(listed)), messages=array.size)
        if array.size and array.dtype.kind in "iu" and array.min() >= 0 and array.max() < _BINS_PER_VALUE * array.size:
            everything = cls.of_bins(array, bins=int(array.max()) + 1).counts
            symbols = np.flatnonzero(everything)
            return cls(symbols.astype(array.dtype), everything[symbols], messages=array.size)
        symbols, counts = np.unique(array, return_counts=True)
        return cls(symbols, counts.astype(np.int64), messages=array.size)

    @classmethod
    def of_bins(cls, messages: NDArray[Any], *, bins: int) -> Tally:
        """Count integers in 0 .. bins - 1, with an entry for every bin."""
        counts = np.zeros(bins, dtype=np.int64)
        for start in range(0, messages.size, _AT_ONCE):
            counts += np.bincount(messages[start : start + _AT_ONCE], minlength=bins)
        return cls(np.arange(bins), counts, messages=messages.size)

    @classmethod
    def join(cls, parts: Iterable[Tally]) -> Tally:
        """Join parts of one sample that list different bins."""
        listed = list(parts)
        if not listed:
            return cls(np.empty(0, dtype=object), np.empty(0, dtype=np.int64), complete=False, drawn=True)
        symbols, counts = [part.symbols for part in listed], [part.counts for part in listed]
        drawn = all(part.drawn for part in listed)
        return cls(np.concatenate(symbols), np.concatenate(counts), complete=False, drawn=drawn)

    @classmethod
    def from_mapping(cls, counts: Mapping[Any, int], *, complete: bool = True) -> Tally:
        """Create a tally from a mapping of symbols to counts; symbols with the same spelling are added."""
        if not all(isinstance(number, int | np.integer) for number in counts.values()):
            raise DataError("counts must be whole numbers")
        together: dict[Any, int] = {}
        for name, number in counts.items():
            spelled = symbol(name)
            together[spelled] = together.get(spelled, 0) + int(number)
        return cls(as_symbols(list(together)), np.array(list(together.values()), dtype=np.int64), complete)

    def __add__(self, other: Tally) -> Tally:
        """Add the counts of two tallies."""
        if not isinstance(other, Tally):
            return NotImplemented
        if self.counts.ndim != other.counts.ndim or self.kinds != other.kinds:
            raise DataError("tallies of different kinds of messages cannot be added")
        complete = self.complete and other.complete
        messages = None if self.messages is None or other.messages is None else self.messages + other.messages
        if np.array_equal(self.symbols, other.symbols):
            return Tally(self.symbols, self.counts + other.counts, complete, messages)
        if not complete:
            raise DataError("partly sampled tallies of different bins cannot be added: the bins left out are not 0")
        symbols, where = _distinct(self.symbols, other.symbols)
        together = np.concatenate([self.counts, other.counts])
        counts = np.zeros((symbols.size, *together.shape[1:]), dtype=np.int64)
        np.add.at(counts, where, together)
        return Tally(symbols, counts, complete, messages)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return self.complete == other.complete and _without_zeros(self) == _without_zeros(other)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self.symbols.size

    def pick(self, at: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Tally:
        """Select entries in the given order; the others are unknown, not 0."""
        return replace(self, symbols=self.symbols[at], counts=self.counts[at], complete=False)

    def renamed(self, symbols: NDArray[Any]) -> Tally:
        """Rename the symbols."""
        return replace(self, symbols=symbols)

    def dense(self, *, bins: int) -> Tally:
        """Add an entry for every bin in 0 .. bins - 1."""
        counts = np.zeros((bins, *self.counts.shape[1:]), dtype=np.int64)
        np.add.at(counts, self.symbols, self.counts)
        return replace(self, symbols=np.arange(bins), counts=counts)

    def by_kind(self, kinds: int) -> Tally:
        """Split counts of messages bin * kinds + kind into a row of `kinds` counts for each bin."""
        bins, where = np.unique(self.symbols // kinds, return_inverse=True)
        counts = np.zeros((bins.size, kinds), dtype=np.int64)
        np.add.at(counts, (where, (self.symbols % kinds).astype(np.int64)), self.counts)
        return replace(self, symbols=bins.astype(np.int64), counts=counts)

    @property
    def kinds(self) -> int:
        """The number of counts of each symbol."""
        return 1 if self.counts.ndim == 1 else self.counts.shape[1]

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    def as_dict(self) -> dict[Any, Any]:
        """The counts, or lists of counts, by symbol, as plain Python objects."""
        return dict(zip(self.symbols.tolist(), self.counts.tolist(), strict=True))


def as_symbols(labels: list[Any]) -> NDArray[Any]:
    """Labels as a flat array: integers if all are, otherwise objects."""
    if labels and all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in labels):
        try:
            return np.array(labels, dtype=np.int64)
        except OverflowError:
            pass
    return np.fromiter(labels, dtype=object, count=len(labels))


def increasing(symbols: NDArray[Any]) -> bool:
    """Whether the symbols are numbers in strictly increasing order."""
    return symbols.dtype.kind in "iu" and bool((symbols[1:] > symbols[:-1]).all())


def sorted_order(symbols: NDArray[Any]) -> NDArray[np.int64] | slice:
    """Sort the symbols by value, or by type and spelling: the order of the data is not revealed."""
    if increasing(symbols):
        return slice(None)
    if symbols.dtype != object:
        return np.argsort(symbols, kind="stable")
    keys = symbols.tolist()
    if {type(name) for name in keys} != {str}:
        keys = [(type(name).__name__, repr(name)) for name in keys]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _distinct(one: NDArray[Any], other: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct symbols of two arrays, and the place of each entry of both among them."""
    if one.dtype.kind == other.dtype.kind != "O":  # numpy would convert different types to other numbers or text
        return np.unique(np.concatenate([one, other]), return_inverse=True)
    places: dict[Any, int] = {}
    where = [places.setdefault(symbol(name), len(places)) for name in (*one.tolist(), *other.tolist())]
    return as_symbols(list(places)), np.array(where, dtype=np.int64)


def _without_zeros(tally: Tally) -> dict[Any, Any]:
    return {name: count for name, count in tally.as_dict().items() if np.any(count)}
