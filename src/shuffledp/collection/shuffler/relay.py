"""A later shuffler: pulls whole batches from the one before it, opens its layer, mixes, and keeps them for the next.

The one before it deletes a batch when it is acknowledged, so that happens only when the mixed batch is on this disk. A
batch with too few messages is refused for good: it is acknowledged, and nothing is kept of it but that. One that fails
in another way is left where it is, tried again after longer and longer pauses, and holds up no other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from shuffledp.collection.envelope.hops import layer_of
from shuffledp.collection.envelope.mixing import mix
from shuffledp.collection.envelope.opening import Opener
from shuffledp.collection.reasons import Reason
from shuffledp.collection.service.background import StoppedError, until
from shuffledp.collection.service.logs import log
from shuffledp.collection.service.pulling import Upstream
from shuffledp.collection.service.troubles import Troubles
from shuffledp.collection.shuffler.settings import Served
from shuffledp.collection.stores import ReadyBatch, ReportStore
from shuffledp.collection.task import Task
from shuffledp.pipeline.tally import Tally

UPSTREAM = "The shuffler before this one cannot be reached, or refuses: no further batches arrive."
BATCH = "A batch could not be pulled, mixed or acknowledged: it is left at the shuffler before, and tried again."


class Relay:
    """The batches of one task at a shuffler that is not the first."""

    def __init__(
        self,
        served: Served,
        upstream: Upstream,
        store: ReportStore,
        *,
        processes: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._task, self._position = served.task, served.position
        self._upstream, self._store, self._processes = upstream, store, processes
        self._layer = layer_of(served.task, served.key)
        self._troubles = Troubles(served.task.id, clock=clock)

    @property
    def problems(self) -> list[str]:
        """What does not work at the moment, for everybody to read."""
        return self._troubles.told

    def step(self, stopping: threading.Event) -> bool:
        """Takes all batches that wait upstream; whether there was one that could be taken."""
        worked = False
        for batch in until(stopping, self._troubles.ready_now(self._upstream, self._task, otherwise=UPSTREAM)):
            worked |= self._taken_over(batch, stopping)
        return worked

    def _taken_over(self, batch: ReadyBatch, stopping: threading.Event) -> bool:
        """Whether a batch is safe here and acknowledged; one that is here already is only acknowledged."""
        try:
            if not self._store.has_batch(batch.batch_id):
                self._take(batch, stopping)
            self._upstream.acknowledge(self._task, batch.batch_id)
        except StoppedError:
            raise
        except Exception as error:  # whatever it is, other batches must not wait for it
            self._troubles.fails(batch.batch_id, error, BATCH)
            return False
        self._troubles.works(batch.batch_id)
        return True

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
            if most_people(task, mixed.number) < task.honest_users:
                self._store.refuse_batch(task.id, batch.batch_id, counted | {Reason.TOO_FEW_MESSAGES.value: 1})
                log("batch refused, too few messages", task=task.id, refused=sum(refused.values()))
                return
            self._store.keep_mixed(task.id, batch.batch_id, mixed.number, until(stopping, mixed.blocks()), counted)
            log("batch mixed", task=task.id, messages=mixed.number, refused=sum(refused.values()))


def most_people(task: Task, number: int) -> float:
    """The most people who send so few messages, but for `accounting.turnout.RISK`, as the analyzer reckons.

    It sees what is inside, and so may still refuse a batch that passes here.
    """
    if task.padded:
        return number // task.most_messages
    empty = np.empty(0, dtype=np.int64)
    return task.protocol.most_reports(Tally(empty, empty, messages=number))
