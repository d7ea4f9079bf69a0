"""Making what anybody may ask for, such as files of releases: each once, one at a time, kept within so many bytes.

Whoever asks for many different ones in turn, on many connections, uses one thread that computes and no more memory.
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
"""Requests that wait for something to be made, with the one for which it is made: a file of 20,000 answers takes a
quarter of a second, so that nobody waits much longer than two, and most threads are free for all other requests."""

BUSY = "Too much is asked for at once that has to be made first: try again in a few seconds."

_EACH = 1_000
"""Bytes that are counted beside what was made: its key, and its place among the others."""


class Turns:
    """One at a time, since Python computes one at a time anyway; of more than `most` at once the others are refused."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._places = threading.Semaphore(most)
        self._turn = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[None]:
        """A turn, in a thread that may wait for it."""
        if not self._places.acquire(blocking=False):
            raise Refused(Reason.UNAVAILABLE, BUSY)
        try:
            with self._turn:
                yield
        finally:
            self._places.release()


class MadeOnce(Generic[Made]):
    """What was made and asked for last, as far as it fits into `most_bytes`; `size` is that of one, in bytes."""

    def __init__(self, *, most_bytes: int, size: Callable[[Made], int], most_at_once: int = MOST_AT_ONCE) -> None:
        self._most, self._size, self._turns = most_bytes, size, Turns(most_at_once)
        self._kept: OrderedDict[Hashable, tuple[Made, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """How many are kept at the moment."""
        return self._bytes

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What belongs to a key, which is always the same; it is made if it is not there, or refused if many wait."""
        found = self._found(key)
        if found is None:
            with self._turns.one():
                found = self._found(key) or self._keep(key, make())  # somebody else may have had it made meanwhile
        return found[0]

    def _found(self, key: Hashable) -> tuple[Made, int] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Hashable, made: Made) -> tuple[Made, int]:
        entry = made, self._size(made) + _EACH
        with self._lock:
            if entry[1] <= self._most:  # what is larger than all would only drive out all others
                self._kept[key] = entry
                self._bytes += entry[1]
            while self._bytes > self._most:
                _, (_, size) = self._kept.popitem(last=False)
                self._bytes -= size
        return entry
