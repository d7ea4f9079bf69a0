"""A later shuffler: pulls whole batches from the one before it, opens its layer, mixes, and keeps them for the next.

The one before it deletes a batch when it is acknowledged, so that happens only when the mixed batch is on this disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from shuffledp.collection.envelope.mixing import mix
from shuffledp.collection.envelope.opening import Layer, Opener
from shuffledp.collection.reasons import Reason
from shuffledp.collection.service.background import until
from shuffledp.collection.service.logs import log
from shuffledp.collection.service.pulling import Upstream
from shuffledp.collection.shuffler.settings import Served
from shuffledp.collection.stores import ReadyBatch, ReportStore


class Relay:
    """The batches of one task at a shuffler that is not the first."""

    def __init__(self, served: Served, upstream: Upstream, store: ReportStore, *, processes: int | None) -> None:
        self._task, self._position = served.task, served.position
        self._upstream, self._store, self._processes = upstream, store, processes
        length = self._task.onion_length(self._position)
        self._layer = Layer(self._task.id, self._position, length, served.key.private_bytes)

    def step(self, stopping: threading.Event) -> bool:
        """Takes all batches that wait upstream; one that is here already is only acknowledged."""
        ready = self._upstream.ready(self._task)
        for batch in until(stopping, ready):
            if not self._store.has_batch(batch.batch_id):
                self._take(batch, stopping)
            self._upstream.acknowledge(self._task, batch.batch_id)
        return bool(ready)

    def _take(self, batch: ReadyBatch, stopping: threading.Event) -> None:
        refused = 0
        inside = self._task.onion_length(self._position + 1)

        def opened() -> Iterator[bytes]:
            nonlocal refused
            with (
                self._upstream.batch(self._task, batch.batch_id, position=self._position) as blocks,
                Opener(self._layer, processes=self._processes) as opener,
            ):
                for block, not_opened in opener.opened(until(stopping, blocks)):
                    refused += not_opened
                    yield block

        with mix(opened(), inside) as mixed:
            counts = {Reason.CANNOT_BE_OPENED.value: refused, Reason.REPEATED.value: mixed.repeated}
            reasons = {reason: number for reason, number in counts.items() if number}
            blocks = until(stopping, mixed.blocks())
            self._store.keep_mixed(self._task.id, batch.batch_id, mixed.number, blocks, reasons)
            log("batch mixed", task=self._task.id, messages=mixed.number, refused=refused, repeated=mixed.repeated)
