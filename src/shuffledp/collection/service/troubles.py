"""What does not work at the moment: told until it works again, and tried again after longer and longer pauses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from shuffledp.collection.service.logs import log_error
from shuffledp.collection.service.pulling import UpstreamError
from shuffledp.collection.stores import ReadyBatch
from shuffledp.collection.task import Task
from shuffledp.errors import DataError

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 600.0
"""Seconds before something that failed is tried again: twice as long each time."""


class HasBatches(Protocol):
    """Whoever is asked for batches."""

    def ready(self, task: Task, /) -> Sequence[ReadyBatch]:
        """The batches of a task that wait."""


class Troubles:
    """What failed of the work on one task, by a batch's id or a word; `clock` gives seconds."""

    def __init__(self, task: bytes, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._clock = task, clock
        self._pauses: dict[bytes | str, tuple[float, float]] = {}
        self._told: dict[bytes | str, str] = {}

    def ready_now(self, upstream: HasBatches, task: Task, *, otherwise: str) -> list[ReadyBatch]:
        """The batches that wait upstream and are to be tried now; none while it fails, which is told as `otherwise`."""
        if not self.is_time("upstream"):
            return []
        try:
            ready = upstream.ready(task)
        except DataError as error:
            self.fails("upstream", error, otherwise)
            return []
        self.works("upstream")
        self.keep_of(batch.batch_id for batch in ready)
        return [batch for batch in ready if self.is_time(batch.batch_id)]

    @property
    def told(self) -> list[str]:
        """What does not work, for everybody to read."""
        return sorted(set(self._told.copy().values()))

    def is_time(self, what: bytes | str) -> bool:
        """Whether something may be tried: at once unless it failed."""
        return self._clock() >= self._pauses.get(what, (0.0, 0.0))[0]

    def works(self, what: bytes | str) -> None:
        """It was tried, and did not fail."""
        self._pauses.pop(what, None)
        self._told.pop(what, None)

    def keep_of(self, batches: Iterable[bytes]) -> None:
        """Forgets all other batches: those that do not wait any longer cannot fail."""
        waiting = set(batches)
        for what in [each for each in self._told if isinstance(each, bytes) and each not in waiting]:
            self.works(what)

    def fails(self, what: bytes | str, error: Exception, words: str) -> None:
        """It was tried and failed. Only what a hop upstream did is told: other errors may hold data."""
        _, last = self._pauses.get(what, (0.0, FIRST_PAUSE / 2))
        pause = min(2 * last, LONGEST_PAUSE)
        self._pauses[what] = self._clock() + pause, pause
        why = str(error) if isinstance(error, UpstreamError) else None
        self._told[what] = words if why is None else f"{words} What happened: {why}."
        log_error(words, error, task=self._task, why=why)
