"""What is looked up beside the pages: only while somebody looks, at most every few seconds, and no page waits for it.

Whoever asks is given what was found last, while one thread looks again. What nobody has asked for in a while would
mislead: for that, as for the very first, a page waits a little.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from shuffledp.collection.service.logs import log_error

Found = TypeVar("Found")

MISLEADS_AFTER = 10.0
"""Seconds: pages look every two, so that nobody who goes on looking ever waits."""


class Fresh(Generic[Found]):
    """The last answer of `look`, which is asked again once that is older than `seconds`."""

    def __init__(
        self, look: Callable[[], Found], *, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look, self._seconds, self._clock = look, seconds, clock
        self._found: Found | None = None
        self._at: float | None = None
        self._begun: float | None = None
        self._done = threading.Event()
        self._lock = threading.Lock()

    def latest(self, *, wait: float = 0.0) -> Found | None:
        """What was found last, or within `wait` seconds if that is too old; None if nothing ever was."""
        with self._lock:
            age = math.inf if self._at is None else self._clock() - self._at
            if age >= self._seconds and self._begun is None:
                self._begun = self._clock()
                self._done.clear()
                threading.Thread(target=self._run, daemon=True).start()
        if age >= MISLEADS_AFTER and wait:
            self._done.wait(wait)
        return self._found

    @property
    def busy(self) -> float:
        """For how many seconds it has been looking by now."""
        begun = self._begun
        return 0.0 if begun is None else self._clock() - begun

    def _run(self) -> None:
        try:
            self._found = self._look()
        except Exception as error:  # what was found before is better than nothing
            log_error("what the console shows could not be looked up", error)
        finally:
            with self._lock:
                self._at, self._begun = self._clock(), None
            self._done.set()
