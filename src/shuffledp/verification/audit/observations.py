"""What an observer may look at in many outputs of a mechanism: one number per output and per question.

An output is either the flat array of messages in the order seen, or a mapping from names to numbers (a tally, a
released histogram). Of messages, the questions are how many there are of each kind and together, and which one is at
some places, so that a shuffler that keeps order is noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError

_MOST_SYMBOLS = 64
"""The most frequent ones are counted one by one: of a rare one there are too few to show anything."""
_ENDS = 16
"""Places looked at from either end, where the first and the last person's messages are if order is kept."""
_WRONG = "an output must be a flat array of messages, or a mapping from names to numbers"


@dataclass(frozen=True)
class Observer:
    """The questions, fixed once: which symbols and which places."""

    symbols: tuple[Any, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, outputs: Sequence[Any], *, row: int) -> Observer:
        """The most frequent symbols of the given outputs; places at both ends, and that of the person who differs."""
        if _are_mappings(outputs):
            names = Counter(name for output in outputs for name in output)
            return cls(tuple(name for name, _ in names.most_common(_MOST_SYMBOLS)), ())
        try:
            symbols = Counter(_joined(outputs))
        except TypeError:
            raise DataError(_WRONG) from None
        longest = max(len(output) for output in outputs)
        ends = [*range(min(_ENDS, longest)), *range(-min(_ENDS, longest), 0)]
        if row < longest:
            ends.append(row)
        return cls(tuple(symbol for symbol, _ in symbols.most_common(_MOST_SYMBOLS)), tuple(dict.fromkeys(ends)))

    @property
    def questions(self) -> tuple[str, ...]:
        """In words, without the symbols themselves, which may be people's values."""
        counts = [f"the number at symbol {at}" for at in range(len(self.symbols))]
        places = [f"the symbol at place {place}" for place in self.places]
        return (*counts, "how many there are", *places)

    @property
    def numbers(self) -> int:
        """How many of the questions, the first ones, have numbers as answers and not names."""
        return len(self.symbols) + 1

    def answers(self, outputs: Sequence[Any]) -> NDArray[np.float64]:
        """One row per output, one column per question."""
        if _are_mappings(outputs):
            rows = [[*(output.get(symbol, 0) for symbol in self.symbols), len(output)] for output in outputs]
            return _numbers(rows)
        kinds, sizes = len(self.symbols) + 1, np.array([len(output) for output in outputs])
        index = {symbol: at for at, symbol in enumerate(self.symbols)}
        codes = np.array([index.get(message, kinds - 1) for message in _joined(outputs)], dtype=np.int64)
        trial = np.repeat(np.arange(sizes.size), sizes)
        counts = np.bincount(trial * kinds + codes, minlength=sizes.size * kinds).reshape(sizes.size, kinds)
        columns = [*counts[:, :-1].T, sizes]
        ends = np.cumsum(sizes)
        for place in self.places:
            there = np.where(place >= 0, ends - sizes + place, ends + place)
            inside = (place < sizes) & (-place <= sizes)
            columns.append(np.where(inside, np.append(codes, -1)[np.where(inside, there, -1)], -1))
        return np.column_stack(columns).astype(np.float64)


def _joined(outputs: Sequence[Any]) -> list[Any]:
    """The messages of all outputs as hashable objects."""
    try:
        arrays = [np.asarray(output) for output in outputs]
    except ValueError:  # ragged
        raise DataError(_WRONG) from None
    if any(array.ndim != 1 for array in arrays):
        raise DataError(_WRONG)
    flat = np.concatenate(arrays)
    if flat.dtype.kind == "f" and np.isnan(flat).any():
        raise DataError("a message is not a number (NaN), which equals no other message")
    return [message.tobytes() for message in flat] if flat.dtype.kind == "V" else flat.tolist()


def _are_mappings(outputs: Sequence[Any]) -> bool:
    kinds = {isinstance(output, Mapping) for output in outputs}
    if len(kinds) != 1:
        raise DataError("outputs must be all mappings, or all arrays of messages")
    return kinds.pop()


def _numbers(rows: list[list[Any]]) -> NDArray[np.float64]:
    """A table of finite numbers."""
    try:
        numbers = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the values of a mapping must be numbers") from None
    if not np.isfinite(numbers).all():
        raise DataError("the values of a mapping must be finite numbers")
    return numbers
