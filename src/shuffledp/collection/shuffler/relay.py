"""A later shuffler: pulls whole batches from the one before it, opens its layer, mixes, and keeps them for the next.

The one before it deletes a batch when it is acknowledged, so that happens only when the mixed batch is on this disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from shuffledp.collection.envelope.hops import layer_of
from shuffledp.collection.envelope.mixing import mix
from shuffledp.collection.envelope.opening import Opener
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
        self._layer = layer_of(served.task, served.key)

    def step(self, stopping: threading.Event) -> bool:
        """Takes all batches that wait upstream; one that is here already is only acknowledged."""
        ready = self._upstream.ready(self._task)
        for batch in until(stopping, ready):
            if not self._store.has_batch(batch.batch_id):
                self._take(batch, stopping)
            self._upstream.acknowledge(self._task, batch.batch_id)
        return bool(ready)

    def _take(self, batch: ReadyBatch, stopping: threading.Event) -> None:
        task, inside = self._task, self._task.onion_length(self._position + 1)
        not_opened: list[int] = []

        def opened(blocks: Iterator[bytes], opener: Opener) -> Iterator[bytes]:
            for block, refused in opener.opened(until(stopping, blocks)):
                not_opened.append(refused)
                yield block

        with (
            self._upstream.batch(task, batch.batch_id, position=self._position) as blocks,
            Opener(self._layer, processes=self._processes) as opener,
            mix(opened(blocks, opener), inside) as mixed,
        ):
            refused = {Reason.CANNOT_BE_OPENED.value: sum(not_opened), Reason.REPEATED.value: mixed.repeated}
            counted = {reason: number for reason, number in refused.items() if number}
            self._store.keep_mixed(task.id, batch.batch_id, mixed.number, until(stopping, mixed.blocks()), counted)
            log("batch mixed", task=task.id, messages=mixed.number, refused=sum(refused.values()))
