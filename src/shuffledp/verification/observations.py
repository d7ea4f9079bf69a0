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
_ENDS = 16
"""Places looked at from either end."""


@dataclass(frozen=True)
class Observer:
    """The questions, fixed once: which symbols and which places."""

    symbols: tuple[Any, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, outputs: Sequence[Any], *, row: int) -> Observer:
        """The most frequent symbols of the given outputs; places at both ends, and that of the person who differs."""
        if isinstance(outputs[0], Mapping):
            names = Counter(name for output in outputs for name in output)
            return cls(tuple(name for name, _ in names.most_common(_MOST_SYMBOLS)), ())
        symbols = Counter(_joined(outputs))
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
        if isinstance(outputs[0], Mapping):
            rows = [[*(output.get(symbol, 0) for symbol in self.symbols), len(output)] for output in outputs]
            return np.array(rows, dtype=np.float64)
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
    arrays = [np.asarray(output) for output in outputs]
    if any(array.ndim != 1 for array in arrays):
        raise DataError("an output must be a flat array of messages, or a mapping from names to numbers")
    flat = np.concatenate(arrays)
    return [message.tobytes() for message in flat] if flat.dtype.kind == "V" else flat.tolist()
