"""Background work of a shuffler: close and mix batches of reports, or pull, open and mix batches of the one before.

A batch has the messages of exactly `users` reports, mixed as a whole; an incomplete batch is never forwarded. Every
step can be interrupted and repeated. One transaction decides which reports are in a batch, and another makes the mixed
batch visible to the next server and, at a later shuffler, remembers its onions.

The first shuffler remembers report ids, not onions. Only it can open a report, so nobody else can copy the onions of a
person into another report, and a copied report has the same id. If its own store is restored from a backup, that would
lose a memory of onions too; the next server notices the repeated onions.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from shuffledp.collect.crypto.batch import Onions, Opener, Screened, chosen, mix, screen, spooled
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.background import LONGEST_PAUSE, TaskHealth, until
from shuffledp.collect.server.observability import Event, log
from shuffledp.collect.server.upstream import BatchPuller, Upstream
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.store import ReportStore
from shuffledp.collect.task import Phase, Task
from shuffledp.collect.task.report import layer_of
from shuffledp.histogram.tally import Tally

LOOKS_BEFORE_HELPING = 1_200
"""Ten minutes of looking at a batch that another machine closed and has not mixed: that machine may be gone."""


def expire(task: Task, store: ReportStore) -> None:
    """Close the last complete batches of a task, and delete the reports that are in none; only the first call logs."""
    if store.expire(task.id):
        log(Event.TASK_CLOSED, task=task.id, short_by=store.standing(task.id).short_by or 0)


NOT_CLOSED = "Complete batches could not be closed: their reports wait here, and it is tried again."
NOT_MIXED = "A batch could not be mixed: it waits here and is tried again."


class BatchCloser:
    """Close and mix the batches of one task at the first shuffler; several may share a store.

    What fails is reported in `health` until it works again, and delays no other batch.
    `closed_early` says whether an operator has closed the task.
    """

    def __init__(
        self,
        task: Task,
        store: ReportStore,
        *,
        clock: Callable[[], float],
        closed_early: Callable[[], bool] = lambda: False,
        health: TaskHealth | None = None,
    ) -> None:
        self._task, self._store, self._clock, self._closed_early = task, store, clock, closed_early
        self.health = health or TaskHealth(task.id, longest=LONGEST_PAUSE)
        self._own = set(store.closing(task.id))  # left behind by a process that was stopped or killed
        self._others: dict[bytes, int] = {}
        self._expired = False

    def step(self, stopping: threading.Event) -> bool:
        """Close complete batches, expire a closed task, mix; return whether a batch was mixed."""
        self.health.attempt("closing", self._close, NOT_CLOSED)
        found = self._to_be_mixed()
        self.health.forget_all_batches_but(found)
        mixed = [self.health.attempt(each, partial(self._mix, each, stopping), NOT_MIXED) for each in found]
        return any(mixed)

    def _close(self) -> bool:
        while (batch_id := self._store.close_batch(self._task.id, self._task.users)) is not None:
            self._own.add(batch_id)
            log(Event.BATCH_CLOSED, task=self._task.id, people=self._task.users)
        if not self._expired and (self._task.phase(self._clock()) is Phase.CLOSED or self._closed_early()):
            self._expire()
        return True

    def _to_be_mixed(self) -> list[bytes]:
        """The batches closed here, and those that another machine closed long ago."""
        found = self._store.closing(self._task.id)
        self._own &= set(found)
        self._others = {batch_id: self._others.get(batch_id, 0) + 1 for batch_id in found}
        abandoned = {batch_id for batch_id, looks in self._others.items() if looks >= LOOKS_BEFORE_HELPING}
        return [batch_id for batch_id in found if batch_id in self._own | abandoned]

    def _mix(self, batch_id: bytes, stopping: threading.Event) -> bool:
        with mix(until(stopping, self._store.onions(batch_id)), self._task.onion_length(0)) as mixed:
            refused = {Reason.REPEATED.value: mixed.repeated} if mixed.repeated else {}
            blocks = until(stopping, mixed.blocks())
            self._store.keep_mixed(self._task.id, batch_id, mixed.number, blocks, refused)
            log(Event.BATCH_MIXED, task=self._task.id, messages=mixed.number, repeated=mixed.repeated)
        return True

    def _expire(self) -> None:
        """Close the last complete batches, and delete the reports that are in none."""
        expire(self._task, self._store)
        self._expired = True
        self._own |= set(self._store.closing(self._task.id))


BATCH = "A batch could not be pulled, mixed or acknowledged: it stays at the previous shuffler and is retried."


class BatchMixer:
    """Pull the batches of one task at a later shuffler, open its layer, mix, and keep them for the next server.

    Onions that were in an earlier batch are dropped. Otherwise a first shuffler that works with the analyzer could put
    one person into two batches, and what both forwarded batches have in common would be that person. A batch with too
    few messages is refused permanently, and its onions are not remembered: nothing of them was forwarded.
    """

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
        self._store, self._processes = store, processes
        self._key = served.key
        self.health = TaskHealth(served.task.id, clock=clock)
        self._puller = BatchPuller(
            served.task,
            upstream,
            store.has_batch,
            self._process,
            position=served.position,
            health=self.health,
            batch_failed=BATCH,
        )

    def step(self, stopping: threading.Event) -> bool:
        """Pull and mix all batches that are ready; return whether one of them succeeded."""
        return not self._key.destroyed and self._puller.step(stopping)

    def _process(self, batch_id: bytes, blocks: Iterator[bytes], stopping: threading.Event) -> None:
        with tempfile.TemporaryFile() as file:
            onions = spooled(file, blocks, self._task.onion_length(self._position))
            screened = screen(onions, self._store.memories.of(self._task.id))
            self._mix(batch_id, onions, screened, stopping)

    def _mix(self, batch_id: bytes, onions: Onions, screened: Screened, stopping: threading.Event) -> None:
        """Open and mix the onions that were kept; remember them in the transaction that stores the mixed batch."""
        task, inside = self._task, self._task.onion_length(self._position + 1)
        not_opened: list[int] = []

        def opened(opener: Opener) -> Iterator[bytes]:
            for block, refused in opener.opened(until(stopping, chosen(onions, screened.kept))):
                not_opened.append(refused)
                yield block

        layer = layer_of(task, self._key)  # made anew: the key may be destroyed between two batches
        with Opener(layer, processes=self._processes) as opener, mix(opened(opener), inside) as mixed:
            refused = {
                Reason.CANNOT_BE_OPENED.value: sum(not_opened),
                Reason.REPEATED.value: screened.repeated + mixed.repeated,
                Reason.REPLAYED.value: screened.replayed,
            }
            counted = {reason: number for reason, number in refused.items() if number}
            numbers = {"refused": sum(refused.values()), "replayed": screened.replayed}
            if most_people(task, mixed.number) < task.honest_users:
                # another process may have stored it meanwhile, with the onions that are replays now
                if self._store.refuse_batch(task.id, batch_id, counted | {Reason.TOO_FEW_MESSAGES.value: 1}):
                    log(Event.BATCH_REFUSED, level=logging.WARNING, task=task.id, **numbers)
                return
            blocks = until(stopping, mixed.blocks())
            self._store.keep_mixed(task.id, batch_id, mixed.number, blocks, counted, fingerprints=screened.fingerprints)
            log(Event.BATCH_MIXED, task=task.id, messages=mixed.number, **numbers)


def most_people(task: Task, number: int) -> float:
    """The largest number of people who could have sent this number of messages.

    The true number is larger only with probability `accounting.participation.RISK`. The analyzer computes the same from
    opened messages, and may refuse a batch that passes here.
    """
    if task.padded:
        return number // task.most_messages
    empty = np.empty(0, dtype=np.int64)
    return task.protocol.most_reports(Tally(empty, empty, messages=number))
