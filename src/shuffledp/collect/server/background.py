"""Background work: a thread that takes step after step until the server stops, and goes on after errors."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from shuffledp.collect.server.events import Event
from shuffledp.collect.server.observability import log_error

Item = TypeVar("Item")

LONGEST_PAUSE = 30.0
"""Seconds between the steps of a thread that keeps failing."""


class StoppedError(Exception):
    """The server stops; the step in flight is left as it is and done again after the next start."""


class Work(Protocol):
    """Background work in steps, each of which can be interrupted and repeated."""

    def step(self, stopping: threading.Event) -> bool:
        """Do what there is to do; return whether there was anything."""


class Background:
    """A thread that takes step after step until `stop`, and goes on after errors."""

    def __init__(self, work: Work, *, every: float, task: bytes | None = None) -> None:
        self._work, self._every, self._task = work, every, task
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def interrupt(self) -> None:
        """Interrupt the step in flight; the thread ends soon."""
        self._stopping.set()

    def stop(self) -> None:
        """Interrupt the step in flight and wait for the thread to end."""
        self.interrupt()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
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
                log_error(Event.BACKGROUND_FAILED, error, task=self._task)
                pause = min(LONGEST_PAUSE, max(2 * pause, self._every))
            self._stopping.wait(pause)


def until(stopping: threading.Event, items: Iterable[Item]) -> Iterator[Item]:
    """Yield the same items; raise StoppedError once the server stops."""
    for item in items:
        if stopping.is_set():
            raise StoppedError
        yield item
