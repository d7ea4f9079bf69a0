"""The shuffler's one deed: all onions of a batch in a uniformly random order, each once.

An honest ciphertext never repeats, so a second copy is somebody's replay and is left out. The order is the uniform
cryptographic permutation of pipeline/shuffler.py over the whole batch, not over parts of it. Onions wait in a file
without a name, which is gone whatever happens to the process, so memory does not grow with them beyond 16 bytes each.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.pipeline.shuffler import shuffle

_AT_ONCE = 1 << 20
"""Bytes that are handed on at once, about."""

Onions = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Mixed:
    """The onions of a batch in their new order; `repeated` copies were left out."""

    onions: Onions
    order: NDArray[np.int64]
    repeated: int

    @property
    def number(self) -> int:
        """How many there are."""
        return self.order.size

    def blocks(self) -> Iterator[bytes]:
        """The onions one after another, in blocks of whole ones."""
        each = max(1, _AT_ONCE // self.onions.shape[1])
        for start in range(0, self.number, each):
            yield self.onions[self.order[start : start + each]].tobytes()


@contextmanager
def mix(blocks: Iterable[bytes], width: int) -> Iterator[Mixed]:
    """All onions of the given width, mixed; usable until the end of the `with`."""
    with tempfile.TemporaryFile() as file:
        onions = spooled(file, blocks, width)
        kept = first_copies(onions)
        order = shuffle(kept)
        yield Mixed(onions=onions, order=order.astype(np.int64), repeated=len(onions) - kept.size)


def spooled(file: BinaryIO, blocks: Iterable[bytes], width: int) -> Onions:
    """All onions of the given width, written to a file and read from there as they are needed."""
    size = sum(file.write(block) for block in blocks)
    file.flush()
    if size % width:
        raise DataError(f"onions of {width} bytes do not fill {size} bytes")
    if not size:
        return np.empty((0, width), dtype=np.uint8)
    return np.memmap(file, dtype=np.uint8, mode="r", shape=(size // width, width))


def first_copies(onions: Onions) -> NDArray[np.int64]:
    """Which onions are kept: all but the second and later copies of the same bytes.

    Copies begin with the same eight bytes, which are random in honest ones: only onions that share them are compared.
    """
    if not len(onions):
        return np.empty(0, dtype=np.int64)
    starts = np.ascontiguousarray(onions[:, :8]).view(np.uint64)[:, 0]
    ordered = np.sort(starts)
    shared = ordered[1:][ordered[1:] == ordered[:-1]]
    del ordered  # so that 16 bytes for each onion are enough
    if not shared.size:
        return np.arange(len(onions))
    suspects = np.flatnonzero(np.isin(starts, shared))
    seen, copies = set(), []
    for at in suspects.tolist():
        onion = onions[at].tobytes()
        if onion in seen:
            copies.append(at)
        seen.add(onion)
    return np.delete(np.arange(len(onions)), copies)
