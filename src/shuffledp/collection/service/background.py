"""Work beside the requests: a thread that looks for something to do, again and again, and goes on after errors."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from shuffledp.collection.service.logs import log_error

Item = TypeVar("Item")

LONGEST_PAUSE = 30.0
"""Seconds between attempts at what keeps failing: soon enough for whoever mended it, seldom enough for the log."""


class StoppedError(Exception):
    """The server stops: what is under way is left as it is, and done again by whoever comes next."""


class Work(Protocol):
    """Something with steps, each of which can be interrupted and done again."""

    def step(self, stopping: threading.Event) -> bool:
        """Does what there is to do; whether there was anything."""


class Background:
    """One thread that takes step after step; it ends soon after `stop`."""

    def __init__(self, work: Work, *, every: float, task: bytes | None = None) -> None:
        self._work, self._every, self._task = work, every, task
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Waits until the step under way has noticed."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether somebody is working."""
        return self._thread.is_alive()

    def _run(self) -> None:
        pause = self._every
        while not self._stopping.is_set():
            try:
                worked = self._work.step(self._stopping)
                pause = 0.0 if worked else self._every
            except StoppedError:
                return
            except Exception as error:
                log_error("background work failed", error, task=self._task)
                pause = min(LONGEST_PAUSE, max(2 * pause, self._every))
            self._stopping.wait(pause)


def until(stopping: threading.Event, items: Iterable[Item]) -> Iterator[Item]:
    """The same items, until the server stops."""
    for item in items:
        if stopping.is_set():
            raise StoppedError
        yield item
