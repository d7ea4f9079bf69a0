"""Reports become batches: exactly `users` of them at a time, mixed as a whole, and never an incomplete one.

Every step can be interrupted and is then done again: which reports are in a batch is decided in one transaction, and
what was mixed becomes visible in another.

A later shuffler: pulls whole batches from the one before it, opens its layer, mixes, and keeps them for the next.

The one before it deletes a batch when it is acknowledged, so that happens only when the mixed batch is on this disk. A
batch with too few messages is refused for good: it is acknowledged, and nothing is kept of it but that. One that fails
in another way is left where it is, tried again after longer and longer pauses, and holds up no other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from shuffledp.collect.crypto.batch import Opener, mix
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.observability import log
from shuffledp.collect.server.pull import StoppedError, Troubles, Upstream, until
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.store import ReadyBatch, ReportStore
from shuffledp.collect.task import Task
from shuffledp.collect.task.servers import layer_of
from shuffledp.histogram.tally import Tally

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
