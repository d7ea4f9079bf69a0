"""Batches of onions: their header on the wire, opening one layer, mixing, and recognising onions of earlier batches.

- On the wire a batch is a header and then the onions.
- Opening holds Python's global lock, so the work is divided among processes. They exchange whole blocks of onions.
- Mixing puts all onions of a batch in a uniformly random order, each once. An honest ciphertext never repeats, so a
  second copy is a replay and is dropped. The order is the cryptographic permutation of histogram/shuffle.py over the
  whole batch. Onions are spooled to an unnamed temporary file, which never survives the process; memory grows by 16
  bytes for each onion.
- A keyed fingerprint recognises a ciphertext that a server has accepted before. It is BLAKE2b with a random secret of
  one server and one task, cut to 16 bytes. Without the secret nobody can tell whether a ciphertext has a fingerprint in
  a list, nor find two ciphertexts with the same fingerprint. Among 10^9 ciphertexts of a task, two honest ones share a
  fingerprint with probability below 2e-21.
"""

from __future__ import annotations

import os
import secrets
import struct
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from multiprocessing import get_context
from typing import BinaryIO, Protocol, Self, TypeVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from shuffledp.collect.crypto.keys import info, unseal
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.shuffle import shuffle

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def in_blocks(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Cut a stream of bytes into blocks of this size; the last may be shorter."""
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
_HEAD = struct.Struct(f">{len(_MAGIC)}s32s16sBQ")
HEAD_BYTES = _HEAD.size


@dataclass(frozen=True)
class BatchHead:
    """The header of a batch: its task and id, the position of the server that opens it, and the number of onions."""

    task_id: bytes
    batch_id: bytes
    position: int
    number: int

    def to_bytes(self) -> bytes:
        """Return the header as on the wire."""
        return _HEAD.pack(_MAGIC, self.task_id, self.batch_id, self.position, self.number)

    @classmethod
    def from_bytes(cls, content: bytes) -> BatchHead:
        """Read the header at the start of some bytes."""
        if len(content) < HEAD_BYTES or not content.startswith(_MAGIC):
            raise Refused(Reason.MALFORMED, "this is no batch")
        return cls(*_HEAD.unpack_from(content)[1:])


AT_ONCE = 4096
"""Onions in a block: 0.25 s of work, far more than the exchange between processes costs."""

_WAITING = 3
"""Calls queued for each process: none is idle, and memory stays bounded."""


@dataclass(frozen=True)
class Layer:
    """The layer that one server opens: its task, position and key, and the length of an onion with this layer."""

    task_id: bytes
    position: int
    length: int
    private_bytes: bytes

    def open_block(self, block: bytes) -> tuple[bytes, int]:
        """Open the onions of a block in order; return their content, and the number that could not be opened."""
        private, context = X25519PrivateKey.from_private_bytes(self.private_bytes), info(self.task_id, self.position)
        found = (unseal(block[at : at + self.length], private, context) for at in range(0, len(block), self.length))
        opened = [inside for inside in found if inside is not None]
        return b"".join(opened), -(-len(block) // self.length) - len(opened)

    def __repr__(self) -> str:
        return f"<Layer {self.position} of task {self.task_id.hex()[:8]}>"


def in_flight(
    pool: Executor, function: Callable[[Argument], Result], arguments: Iterable[Argument], *, processes: int
) -> Iterator[Result]:
    """Yield the results of a function in order; few calls wait for each process, so that memory stays bounded."""
    waiting: deque[Future[Result]] = deque()
    for each in arguments:
        waiting.append(pool.submit(function, each))
        if len(waiting) >= _WAITING * processes:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


class Opener:
    """Processes that open a layer; with one, the current process does it."""

    def __init__(self, layer: Layer, *, processes: int | None = None) -> None:
        self._layer = layer
        self._processes = processes or os.cpu_count() or 1
        self._pool = None
        if self._processes > 1:
            # not forked: servers have threads, whose locks a fork would copy
            context = get_context("forkserver")
            context.set_forkserver_preload([__name__])  # imported once, not by every process of every batch
            self._pool = ProcessPoolExecutor(self._processes, mp_context=context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def opened(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
        """Open the onions of all blocks in order; yield their content and the number that could not be opened."""
        pieces = in_blocks(blocks, self._layer.length * AT_ONCE)
        if self._pool is None:
            return map(self._layer.open_block, pieces)
        return in_flight(self._pool, self._layer.open_block, pieces, processes=self._processes)


_BLOCK = 1 << 20
"""Bytes of onions that are copied at a time, about: the array may be a file of many gigabytes."""

Onions = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Mixed:
    """The onions of a batch in their new order; `repeated` copies were dropped."""

    onions: Onions
    order: NDArray[np.int64]
    repeated: int

    @property
    def number(self) -> int:
        """The number of onions."""
        return self.order.size

    def blocks(self) -> Iterator[bytes]:
        """Iterate over the onions in blocks of whole ones."""
        return chosen(self.onions, self.order)


def chosen(onions: Onions, order: NDArray[np.int64]) -> Iterator[bytes]:
    """Iterate over some onions, given by their indices, in blocks of whole ones."""
    each = max(1, _BLOCK // onions.shape[1])
    for start in range(0, order.size, each):
        yield onions[order[start : start + each]].tobytes()


@contextmanager
def mix(blocks: Iterable[bytes], width: int) -> Iterator[Mixed]:
    """Mix all onions of the given width; the result is valid until the end of the `with`."""
    with tempfile.TemporaryFile() as file:
        onions = spooled(file, blocks, width)
        kept = first_copies(onions)
        order = shuffle(kept)
        yield Mixed(onions=onions, order=order.astype(np.int64), repeated=len(onions) - kept.size)


def spooled(file: BinaryIO, blocks: Iterable[bytes], width: int) -> Onions:
    """Write all onions of the given width to a file, and map the file as an array."""
    size = sum(file.write(block) for block in blocks)
    file.flush()
    if size % width:
        raise DataError(f"onions of {width} bytes do not fill {size} bytes")
    if not size:
        return np.empty((0, width), dtype=np.uint8)
    return np.memmap(file, dtype=np.uint8, mode="r", shape=(size // width, width))


def first_copies(onions: Onions) -> NDArray[np.int64]:
    """Return the indices of the onions to keep: all but the second and later copies of the same bytes.

    Only onions whose first eight bytes agree are compared; in honest onions these bytes are random.
    """
    if not len(onions):
        return np.empty(0, dtype=np.int64)
    starts = np.ascontiguousarray(onions[:, :8]).view(np.uint64)[:, 0]
    ordered = np.sort(starts)
    shared = ordered[1:][ordered[1:] == ordered[:-1]]
    del ordered  # so that 16 bytes for each onion suffice
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


FINGERPRINT_BYTES = 16
SECRET_BYTES = 32


def new_secret() -> bytes:
    """Return a random secret, for one server and one task."""
    return secrets.token_bytes(SECRET_BYTES)


def fingerprints(onions: Onions, secret: bytes, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return the fingerprints of some rows, by default of all, as an array with 16 columns."""
    if len(secret) != SECRET_BYTES:
        raise ParameterError(f"secret must have {SECRET_BYTES} bytes, got {len(secret)}")
    if onions.ndim != 2 or onions.dtype != np.uint8:
        raise ParameterError(
            f"onions must be rows of bytes, got an array of {onions.dtype} with {onions.ndim} dimensions"
        )
    blocks = chosen(onions, np.arange(len(onions)) if rows is None else rows)
    digests = b"".join(b"".join(_digests(block, onions.shape[1], secret)) for block in blocks)
    return np.frombuffer(digests, dtype=np.uint8).reshape(-1, FINGERPRINT_BYTES)


def _digests(block: bytes, width: int, secret: bytes) -> Iterator[bytes]:
    keyed = blake2b(digest_size=FINGERPRINT_BYTES, key=secret)
    for at in range(0, len(block), width):
        one = keyed.copy()  # a third faster than a new one, which would hash the key again
        one.update(block[at : at + width])
        yield one.digest()


class Remembered(Protocol):
    """The ciphertexts of a task that this server has accepted in earlier batches."""

    @property
    def secret(self) -> bytes:
        """The key of their fingerprints."""

    def known(self, fingerprints: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which of these fingerprints are remembered."""


@dataclass(frozen=True, eq=False)
class Screened:
    """The indices of the onions of a batch to keep, and their fingerprints.

    `repeated` further copies within the batch were dropped, and `replayed` onions of earlier batches.
    """

    kept: NDArray[np.int64]
    fingerprints: NDArray[np.uint8]
    repeated: int
    replayed: int


def screen(onions: Onions, memory: Remembered | None) -> Screened:
    """Keep each ciphertext once, and only if no earlier batch had it: an honest ciphertext never repeats."""
    first = first_copies(onions)
    if memory is None:
        return Screened(first, np.empty((0, FINGERPRINT_BYTES), dtype=np.uint8), len(onions) - first.size, 0)
    found = fingerprints(onions, memory.secret, first)
    new = ~memory.known(found)
    if new.all():
        return Screened(first, found, len(onions) - first.size, 0)
    kept = first[new]
    return Screened(kept, found[new], len(onions) - first.size, first.size - kept.size)
