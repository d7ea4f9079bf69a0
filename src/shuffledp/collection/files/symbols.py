"""Messages as bytes of fixed width, counted many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.pipeline.tally import Tally

_AT_ONCE = 1 << 20
"""Messages that wait until they are counted together."""


class SymbolCounter:
    """Counts the numbers below `alphabet` that blocks of bytes hold; `strange` others were left out."""

    def __init__(self, *, width: int, alphabet: int) -> None:
        self._width, self._alphabet = width, alphabet
        self._tally, self._waiting, self._size = Tally.of(np.empty(0, dtype=np.int64)), [np.empty(0, np.int64)], 0
        self.strange = 0

    def add(self, block: bytes) -> None:
        """Counts one more block."""
        symbols = numbers_in(block, self._width)
        known = symbols[symbols < np.uint64(self._alphabet)].astype(np.int64)
        self.strange += symbols.size - known.size
        self._waiting.append(known)
        self._size += known.size
        if self._size >= _AT_ONCE:
            self._count()

    def tally(self) -> Tally:
        """How often each number was there."""
        self._count()
        return self._tally

    def _count(self) -> None:
        self._tally += Tally.of(np.concatenate(self._waiting))
        self._waiting, self._size = [np.empty(0, np.int64)], 0


def numbers_in(block: bytes, width: int) -> NDArray[np.uint64]:
    """Numbers of at most eight bytes each, the most significant first."""
    rows = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
    wide = np.zeros((len(rows), 8), dtype=np.uint8)
    wide[:, 8 - width :] = rows
    return wide.view(">u8")[:, 0].astype(np.uint64)
