"""A cache for what visitors may request and a server must compute first, such as files of releases.

Each entry is computed once, one at a time, and the cache has a limit in bytes. A visitor who requests many different
entries on many connections uses one computing thread and bounded memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from shuffledp.collect.reasons import Reason, Refused

Made = TypeVar("Made")

MOST_AT_ONCE = 8
"""Requests that compute or wait for it. A file of 20,000 answers takes a quarter of a second, so that a request waits
for about two seconds at most, and most threads stay free for other requests."""

BUSY = "Too many requests wait for files to be computed: try again in a few seconds."

_EACH = 1_000
"""Bytes counted for the key and the bookkeeping of an entry."""


class Turns:
    """Let one thread compute at a time, as Python does anyway; refuse more than `most` requests."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._places = threading.Semaphore(most)
        self._turn = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Wait for a turn."""
        if not self._places.acquire(blocking=False):
            raise Refused(Reason.UNAVAILABLE, BUSY)
        try:
            with self._turn:
                yield
        finally:
            self._places.release()


class MadeOnce(Generic[Made]):
    """The entries that were used last, up to `most_bytes`; `size` gives the bytes of an entry."""

    def __init__(self, *, most_bytes: int, size: Callable[[Made], int], most_at_once: int = MOST_AT_ONCE) -> None:
        self._most, self._size, self._turns = most_bytes, size, Turns(most_at_once)
        self._kept: OrderedDict[Hashable, tuple[Made, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The current size of the cache."""
        return self._bytes

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the entry of a key; compute it if it is missing, or refuse the request if many wait."""
        found = self._found(key)
        if found is None:
            with self._turns.one():
                found = self._found(key) or self._keep(key, make())  # another thread may have computed it
        return found[0]

    def _found(self, key: Hashable) -> tuple[Made, int] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Hashable, made: Made) -> tuple[Made, int]:
        entry = made, self._size(made) + _EACH
        with self._lock:
            if entry[1] <= self._most:  # a larger entry would evict all others
                self._kept[key] = entry
                self._bytes += entry[1]
            while self._bytes > self._most:
                _, (_, size) = self._kept.popitem(last=False)
                self._bytes -= size
        return entry
