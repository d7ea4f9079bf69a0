"""Long contents on their way, as blocks of bytes one after another.

A batch on its way from one hop to the next: a head that says what it is, then the onions.

Opening one layer of very many onions, on all cores.

Opening holds the lock of the Python interpreter, so work is divided among processes. A worker is given whole blocks of
onions and hands back whole blocks: nothing is pickled one by one.

The shuffler's one deed: all onions of a batch in a uniformly random order, each once.

An honest ciphertext never repeats, so a second copy is somebody's replay and is left out. The order is the uniform
cryptographic permutation of histogram/shuffle.py over the whole batch, not over parts of it. Onions wait in a file
without a name, which is gone whatever happens to the process, so memory does not grow with them beyond 16 bytes each.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import BinaryIO, Self

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from shuffledp.collect.crypto.hpke import info, unseal
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.errors import DataError
from shuffledp.histogram.shuffle import shuffle


def in_blocks(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes cut anew into blocks of this size, of which the last may be shorter."""
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        whole = len(rest) - len(rest) % size
        for at in range(0, whole, size):
            yield bytes(rest[at : at + size])
        del rest[:whole]
    if rest:
        yield bytes(rest)


_MAGIC = b"shuffledp batch 1\n"
_SIZES = (32, 16, 1, 8)
HEAD_BYTES = len(_MAGIC) + sum(_SIZES)


@dataclass(frozen=True)
class BatchHead:
    """Of which task a batch is, its id, the position of the hop that is to open it, and how many onions follow."""

    task_id: bytes
    batch_id: bytes
    position: int
    number: int

    def to_bytes(self) -> bytes:
        """As it travels."""
        return _MAGIC + self.task_id + self.batch_id + bytes([self.position]) + self.number.to_bytes(8)

    @classmethod
    def from_bytes(cls, content: bytes) -> BatchHead:
        """The head that some bytes begin with."""
        if len(content) < HEAD_BYTES or not content.startswith(_MAGIC):
            raise Refused(Reason.MALFORMED, "this is no batch")
        parts, at = [], len(_MAGIC)
        for size in _SIZES:
            parts.append(content[at : at + size])
            at += size
        return cls(parts[0], parts[1], parts[2][0], int.from_bytes(parts[3]))


AT_ONCE = 4096
"""Onions in a block: a quarter of a second of work, far more than handing it over costs."""

_WAITING = 3
"""Blocks that wait for each process, so that none is idle and memory stays bounded."""


@dataclass(frozen=True)
class Layer:
    """The layer that one hop opens: for which task and position, with which key, around how many bytes."""

    task_id: bytes
    position: int
    length: int
    private_bytes: bytes

    def open_block(self, block: bytes) -> tuple[bytes, int]:
        """What is inside the onions of a block, in their order, and how many could not be opened and are left out."""
        private, context = X25519PrivateKey.from_private_bytes(self.private_bytes), info(self.task_id, self.position)
        found = (unseal(block[at : at + self.length], private, context) for at in range(0, len(block), self.length))
        opened = [inside for inside in found if inside is not None]
        return b"".join(opened), -(-len(block) // self.length) - len(opened)

    def __repr__(self) -> str:
        return f"<Layer {self.position} of task {self.task_id.hex()[:8]}>"


class Opener:
    """Processes that open a layer; one process is this one."""

    def __init__(self, layer: Layer, *, processes: int | None = None) -> None:
        self._layer = layer
        self._processes = processes or os.cpu_count() or 1
        self._pool = None
        if self._processes > 1:
            # started anew and not forked: servers have threads, whose locks a fork would copy as they are
            context = get_context("forkserver")
            context.set_forkserver_preload([__name__])  # read once, and not again by every process of every batch
            self._pool = ProcessPoolExecutor(self._processes, mp_context=context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def opened(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
        """What is inside the onions of all blocks, in their order, and how many of each could not be opened."""
        pieces = in_blocks(blocks, self._layer.length * AT_ONCE)
        if self._pool is None:
            yield from map(self._layer.open_block, pieces)
            return
        waiting: deque[Future[tuple[bytes, int]]] = deque()
        for piece in pieces:
            waiting.append(self._pool.submit(self._layer.open_block, piece))
            if len(waiting) >= _WAITING * self._processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


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
