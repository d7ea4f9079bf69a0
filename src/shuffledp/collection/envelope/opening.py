"""Opening one layer of very many onions, on all cores.

Opening holds the lock of the Python interpreter, so work is divided among processes. A worker is given whole blocks of
onions and hands back whole blocks: nothing is pickled one by one.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Self

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.collection.blocks import in_blocks
from shuffledp.collection.envelope.hpke import info, unseal

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
