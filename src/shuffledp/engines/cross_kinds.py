"""What the rows of several columns stand for: tuples of labels, in Arrow arrays of structs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines.kinds import Finder, Kind
from shuffledp.pipeline.labels import key


@dataclass(frozen=True)
class CrossKind:
    """How entries of several columns are read, each by itself."""

    kinds: tuple[Kind, ...]

    def labels(self, entries: Any) -> list[tuple[Any, ...]]:
        """The tuple of labels of every struct of an Arrow array."""
        columns = (kind.labels(column) for kind, column in zip(self.kinds, entries.flatten(), strict=True))
        return list(zip(*columns, strict=True))


class CrossFinder:
    """Where the tuples of entries are among known ones, each of which has a number."""

    def __init__(self, kind: CrossKind, known: Iterable[tuple[tuple[Any, ...], int]]) -> None:
        self._kind, self._numbers = kind, {tuple(map(key, row)): at for row, at in known}

    def __call__(self, entries: Any) -> NDArray[np.int64]:
        """The number of every entry's tuple; -1 where it is not known."""
        found = (self._numbers.get(tuple(map(key, row)), -1) for row in self._kind.labels(entries))
        return np.fromiter(found, dtype=np.int64, count=len(entries))


def finder(kind: Kind | CrossKind, known: Iterable[tuple[Any, int]]) -> Finder | CrossFinder:
    """What finds entries of this kind among known labels."""
    return CrossFinder(kind, known) if isinstance(kind, CrossKind) else Finder(kind, known)
