"""Reports become batches: exactly `users` of them at a time, mixed as a whole, and never an incomplete one.

Every step can be interrupted and is then done again: which reports are in a batch is decided in one transaction, and
what was mixed becomes visible in another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from shuffledp.collection.envelope.mixing import mix
from shuffledp.collection.reasons import Reason
from shuffledp.collection.service.background import until
from shuffledp.collection.service.logs import log
from shuffledp.collection.stores import ReportStore
from shuffledp.collection.task import Task

LOOKS_BEFORE_HELPING = 1_200
"""Ten minutes of looking at a batch that another machine closed and has not mixed: then it may be gone."""


class Closing:
    """The batches of one task at the first shuffler; safe beside others who do the same with the same store."""

    def __init__(self, task: Task, store: ReportStore, *, clock: Callable[[], float]) -> None:
        self._task, self._store, self._clock = task, store, clock
        self._own = set(store.closing(task.id))  # left behind by whoever was stopped or killed
        self._others: dict[bytes, int] = {}
        self._expired = False

    def step(self, stopping: threading.Event) -> bool:
        """Closes batches that are complete, ends a task that is closed, and mixes; whether anything was to mix."""
        while (batch_id := self._store.close_batch(self._task.id, self._task.users)) is not None:
            self._own.add(batch_id)
            log("batch closed", task=self._task.id, people=self._task.users)
        if not self._expired and self._clock() >= self._task.closes.timestamp():
            self._expire()
        found = self._to_be_mixed()
        for batch_id in found:
            self._mix(batch_id, stopping)
        return bool(found)

    def _to_be_mixed(self) -> list[bytes]:
        """Those that were closed here, and those that whoever closed them seems to have forgotten."""
        found = self._store.closing(self._task.id)
        self._own &= set(found)
        self._others = {batch_id: self._others.get(batch_id, 0) + 1 for batch_id in found}
        forgotten = {batch_id for batch_id, looks in self._others.items() if looks >= LOOKS_BEFORE_HELPING}
        return [batch_id for batch_id in found if batch_id in self._own | forgotten]

    def _mix(self, batch_id: bytes, stopping: threading.Event) -> None:
        with mix(until(stopping, self._store.onions(batch_id)), self._task.onion_length(0)) as mixed:
            refused = {Reason.REPEATED.value: mixed.repeated} if mixed.repeated else {}
            blocks = until(stopping, mixed.blocks())
            self._store.keep_mixed(self._task.id, batch_id, mixed.number, blocks, refused)
            log("batch mixed", task=self._task.id, messages=mixed.number, repeated=mixed.repeated)

    def _expire(self) -> None:
        """Closes the last batches that are complete, and deletes what is in none."""
        short_by = self._store.expire(self._task.id)
        self._expired = True
        self._own |= set(self._store.closing(self._task.id))
        log("task closed", task=self._task.id, short_by=short_by)
