"""A bounded cache for content that a server computes on request, such as files of releases.

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

Value = TypeVar("Value")

MOST_WAITING = 8
"""Requests that compute an entry or wait to. A file of 20,000 answers takes a quarter of a second. So a request waits
for about two seconds at most, and most threads stay free for other requests."""

BUSY = "Too many requests wait for files to be computed: try again in a few seconds."

_OVERHEAD = 1_000
"""Bytes counted for the key and the bookkeeping of an entry."""


class BoundedLock:
    """A lock with a limit on the threads that hold it or wait for it; more are refused."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._slots = threading.Semaphore(most)
        self._lock = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; refuse the request at once if too many wait."""
        if not self._slots.acquire(blocking=False):
            raise Refused(Reason.UNAVAILABLE, BUSY)
        try:
            with self._lock:
                yield
        finally:
            self._slots.release()


class BoundedCache(Generic[Value]):
    """A least-recently-used cache of up to `most_bytes`, which computes one entry at a time.

    `size` gives the bytes of an entry.
    """

    def __init__(self, *, most_bytes: int, size: Callable[[Value], int], most_waiting: int = MOST_WAITING) -> None:
        self._most, self._size, self._computing = most_bytes, size, BoundedLock(most_waiting)
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The current size of the cache."""
        return self._bytes

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the entry of a key; compute it if it is missing, or refuse the request if many wait."""
        found = self._lookup(key)
        if found is None:
            with self._computing.held():
                found = self._lookup(key) or self._store(key, compute())  # another thread may have computed it
        return found[0]

    def _lookup(self, key: Hashable) -> tuple[Value, int] | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def _store(self, key: Hashable, value: Value) -> tuple[Value, int]:
        entry = value, self._size(value) + _OVERHEAD
        with self._lock:
            if entry[1] <= self._most:  # a larger entry would evict all others
                self._entries[key] = entry
                self._bytes += entry[1]
            while self._bytes > self._most:
                _, (_, size) = self._entries.popitem(last=False)
                self._bytes -= size
        return entry
