"""Pull whole batches from the server upstream, in a background thread.

Later shufflers and the analyzer use one loop (`BatchPuller`): list the batches that are ready upstream, fetch each,
process it, acknowledge it. The server upstream deletes a batch when it is acknowledged, so that happens only when the
result is durable here. A batch that is here already is only acknowledged. What fails is left upstream, reported in
`TaskHealth` until it works again, and retried with growing pauses; it delays no other batch.

Until it is acknowledged, a batch is the same bytes every time, so every step can be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

from shuffledp.collect.server.background import until
from shuffledp.collect.server.events import Event
from shuffledp.collect.server.task_health import UPSTREAM, TaskHealth
from shuffledp.collect.store import ReadyBatch
from shuffledp.collect.task import Task
from shuffledp.errors import DataError


class BatchSource(Protocol):
    """Where batches come from: `Upstream` over the network."""

    def ready(self, task: Task) -> Sequence[ReadyBatch]:
        """The batches that are ready to be pulled."""

    def left(self, task: Task) -> int | None:
        """The number of batches that were not pulled yet; None if the task is not closed there."""

    def batch(self, task: Task, batch_id: bytes, *, position: int) -> AbstractContextManager[Iterator[bytes]]:
        """The onions of a batch whose head matches the request, in blocks cut anywhere."""

    def acknowledge(self, task: Task, batch_id: bytes) -> None:
        """Report that a batch is durable here; idempotent."""

    def close(self) -> None:
        """Close the connections."""


class ProcessedBatches(Protocol):
    """The store of the server that pulls."""

    def has_batch(self, batch_id: bytes) -> bool:
        """Whether the batch was processed here."""


ProcessBatch = Callable[[bytes, Iterator[bytes], threading.Event], None]
"""Process a batch, given its id and the blocks of its onions; its result is durable when this returns."""


class BatchPuller:
    """Pull the batches of one task for the server at `position`; `process` makes their result durable.

    `source_failed` and `batch_failed` are the public sentences for failures.
    """

    def __init__(
        self,
        task: Task,
        source: BatchSource,
        store: ProcessedBatches,
        process: ProcessBatch,
        *,
        position: int,
        health: TaskHealth,
        source_failed: str,
        batch_failed: str,
    ) -> None:
        self._task, self._source, self._store, self._process = task, source, store, process
        self._position, self._health = position, health
        self._source_failed, self._batch_failed = source_failed, batch_failed

    def step(self, stopping: threading.Event) -> bool:
        """Pull all batches that are ready; return whether one of them succeeded."""
        pulled = [
            self._health.attempt(
                batch.batch_id, partial(self._pull, batch.batch_id, stopping), message=self._batch_failed
            )
            for batch in until(stopping, self._ready())
        ]
        return any(pulled)

    def _ready(self) -> Sequence[ReadyBatch]:
        """The batches upstream; none while the list cannot be fetched."""
        if not self._health.may_try(UPSTREAM):
            return []
        try:
            ready = self._source.ready(self._task)
        except DataError as error:
            self._health.failed(UPSTREAM, error, self._source_failed, Event.UPSTREAM_FAILED)
            return []
        self._health.succeeded(UPSTREAM)
        self._health.forget_all_batches_but(batch.batch_id for batch in ready)
        return ready

    def _pull(self, batch_id: bytes, stopping: threading.Event) -> bool:
        """Fetch, process and acknowledge a batch; return True."""
        if not self._store.has_batch(batch_id):
            with self._source.batch(self._task, batch_id, position=self._position) as blocks:
                self._process(batch_id, until(stopping, blocks), stopping)
        self._source.acknowledge(self._task, batch_id)
        return True
