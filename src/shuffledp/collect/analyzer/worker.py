"""Background work of the analyzer: pull batches, count them, keep their tallies, and release them.

A batch counts once, by its id, and a ciphertext once, by its fingerprint: it may come again, for example because a
shuffler's store was restored from a backup. A batch with too few messages is refused permanently: only the refusal is
stored, and the batch is acknowledged. Invalid messages are left out and counted by reason.

Memory: 40 bytes per onion, plus the number of possible messages if there are few. Onions wait in an unnamed file, and
opened messages are stored as numbers. Duplicates are found by their first eight bytes, which honest onions never share.
"""

from __future__ import annotations

import logging
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.analyzer.releases import Releasing
from shuffledp.collect.analyzer.settings import Served, Settings
from shuffledp.collect.crypto.batch import AT_ONCE, Opener, Remembered, chosen, screen, spooled
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.background import StoppedError, TaskHealth, until
from shuffledp.collect.server.observability import Event, log
from shuffledp.collect.server.upstream import BatchPuller
from shuffledp.collect.store.base import Fingerprints
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import layer_of
from shuffledp.errors import BudgetError, DataError, ParameterError
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress

MOST_LISTED = 1 << 22
"""With more possible messages, only those that occur are counted: a count for each would take 32 MB."""

_FEW = 2 * AT_ONCE
"""Fewer onions than this are opened before further processes would have started."""

_WORD = 8
"""Bytes of the numbers that messages become; no message is longer."""


@dataclass(frozen=True, eq=False)
class CountedBatch:
    """The tally of a batch, the number of onions left out, by reason, and the fingerprints of the others."""

    tally: Tally
    refused: Mapping[Reason, int]
    fingerprints: Fingerprints


class BatchCounter:
    """Count the batches of a task with the analyzer's key, in `processes` processes (one per core by default)."""

    def __init__(self, task: Task, key: KeyPair, *, processes: int | None = None) -> None:
        if key.public != task.analyzer.key:
            raise ParameterError(f"key must be the analyzer's key of the task {task.name[:16]}, got another one")
        self._task, self._processes = task, processes
        self._key = key

    def count(
        self, blocks: Iterable[bytes], *, memory: Remembered | None = None, stopping: threading.Event | None = None
    ) -> CountedBatch:
        """Return the tally of a batch's onions, given in blocks cut anywhere; drop those that are in the memory."""
        with tempfile.TemporaryFile() as file:
            layer = layer_of(self._task, self._key)  # made anew: the key may be destroyed between two batches
            onions = spooled(file, blocks, layer.length)
            screened = screen(onions, memory)
            kept, messages = screened.kept, _Messages(self._task)
            processes = 1 if kept.size <= _FEW else self._processes
            with Opener(layer, processes=processes) as opener:
                for opened, _ in opener.opened(until(stopping or threading.Event(), chosen(onions, kept))):
                    messages.add(opened)
        refused = {
            Reason.REPEATED: screened.repeated,
            Reason.REPLAYED: screened.replayed,
            Reason.CANNOT_BE_OPENED: kept.size - messages.number,
            Reason.NOT_A_MESSAGE: messages.invalid,
        }
        counted = {reason: number for reason, number in refused.items() if number}
        return CountedBatch(messages.tally, counted, screened.fingerprints)


def check_noise(task: Task, tally: Tally) -> None:
    """Refuse a batch with fewer messages than its honest users send: its noise is incomplete.

    `honest_users` is the size of a batch unless the task says less. A batch with all of its noise is refused with
    probability at most `accounting.participation.RISK`.
    """
    if task.protocol.most_reports(tally) < task.honest_users:
        raise Refused(Reason.TOO_FEW_MESSAGES)


class _Messages:
    """Opened messages; those in the task's alphabet are counted."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.number, self.invalid = 0, 0
        self._every = np.zeros(task.alphabet, dtype=np.int64) if task.alphabet <= MOST_LISTED else None
        self._kept: list[NDArray[np.uint64]] = []

    def add(self, opened: bytes) -> None:
        """Count messages of the task's width."""
        found = numbers_of(opened, self._task.symbol_bytes)
        messages = found[found < self._task.alphabet]
        self.number += found.size
        self.invalid += int(np.count_nonzero(found >= self._task.symbols))  # between the two is padding
        if self._every is not None:
            self._every += np.bincount(messages.astype(np.int64), minlength=self._every.size)
            return
        self._kept.append(messages)

    @property
    def tally(self) -> Tally:
        """The tally of all messages so far."""
        if self._every is not None:
            symbols = np.flatnonzero(self._every)
            return self._task.protocol.tally(Tally(symbols, self._every[symbols]))
        kept = np.concatenate(self._kept) if self._kept else np.empty(0, dtype=np.uint64)
        self._kept = [kept]
        return self._task.protocol.tally(Tally.of(kept))


def numbers_of(opened: bytes, width: int) -> NDArray[np.uint64]:
    """Decode unsigned big-endian integers of `width` bytes each."""
    written = np.frombuffer(opened, dtype=np.uint8).reshape(-1, width)
    words = np.zeros((len(written), _WORD), dtype=np.uint8)
    words[:, _WORD - width :] = written
    return words.view(">u8")[:, 0].astype(np.uint64)


def stopped_by(stopping: threading.Event) -> Progress:
    """Return the progress of a release, which stops it once the server stops; it is made again after the next start."""

    def report(what: str, share: float) -> None:
        if stopping.is_set():
            raise StoppedError

    return report


BATCH = "A batch could not be pulled, counted or acknowledged: it stays at the last shuffler and is retried."
STOPPED = (
    "More people were counted than the first shuffler says have reported, so releases are stopped. Was the store of a "
    "shuffler restored from a backup?"
)
LIMIT = "A release of this task would exceed the budget of the ledger: nothing is published."
RELEASE = "A release could not be made, entered in the ledger or kept: it is retried."


LOOKS_EVERY = 60.0
"""Seconds between looks at the number of reports while there is nothing to release."""


class MoreCountedError(DataError):
    """More people were counted than have reported: some of them must have been counted twice."""


def _why_not_released(error: Exception) -> tuple[str, Event]:
    """The public sentence and the event of a release that was not made."""
    if isinstance(error, MoreCountedError):
        return STOPPED, Event.RELEASES_STOPPED
    return (LIMIT, Event.BUDGET_EXCEEDED) if isinstance(error, BudgetError) else (RELEASE, Event.RELEASE_FAILED)


class BatchAnalyzer:
    """Pull the batches of one task, count them, and release what was counted.

    `ask_reported` asks the first shuffler for the number of reports that it has accepted, and returns None if it does
    not answer. While more people than that are counted, nothing is released. If the number is unknown, releases go on:
    a shuffler that is taken down after the task must not stop them.
    """

    def __init__(
        self,
        served: Served,
        settings: Settings,
        *,
        ask_reported: Callable[[], int | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._task, self._store = served.task, settings.store
        self._ask_reported, self._clock = ask_reported, clock
        self.reported: int | None = None
        """The number of reports that the first shuffler has accepted; None if unknown."""
        self.stopped = False
        """Whether more people were counted than have reported."""
        self.over_budget = False
        """Whether the next release would exceed the budget of the ledger."""
        self.withheld = False
        """Whether what was counted last cannot be released: releases are stopped, or the ledger's limit is reached."""
        self._next_look = -math.inf
        self._key = served.key
        self._counter = BatchCounter(served.task, served.key, processes=settings.processes)
        self._releasing = Releasing(
            served.task, settings.store, ledger=settings.ledger, joined=settings.joined, processes=settings.processes
        )
        self.health = TaskHealth(served.task.id, clock=clock)
        self._puller = BatchPuller(
            served.task,
            served.upstream,
            settings.store.has_batch,
            self._count,
            position=len(served.task.shufflers),
            health=self.health,
            batch_failed=BATCH,
        )
        self._has_new_tallies = True  # an earlier process may have been stopped before a release

    def step(self, stopping: threading.Event) -> bool:
        """Count all batches that are ready, then release; return whether anything was done."""
        worked = not self._key.destroyed and self._puller.step(stopping)
        return self._release(stopping) or worked

    def _count(self, batch_id: bytes, blocks: Iterator[bytes], stopping: threading.Event) -> None:
        task = self._task
        counted = self._counter.count(blocks, memory=self._store.memories.of(task.id), stopping=stopping)
        refused = {reason.value: number for reason, number in counted.refused.items()}
        tally, problem = to_bytes(counted.tally), None
        fingerprints: Fingerprints | None = counted.fingerprints
        try:
            check_noise(task, counted.tally)
        except Refused as too_few:
            tally, problem = b"", too_few.reason.value  # a tally without its noise must not be kept
            fingerprints = None  # nobody in it was counted
        kept = self._store.keep_tally(task.id, batch_id, tally, task.users, refused, problem, fingerprints=fingerprints)
        # if not kept, another process has counted it meanwhile, and may have been killed before the release
        self._has_new_tallies = self._has_new_tallies or problem is None or not kept
        if kept:
            event, level = (
                (Event.BATCH_COUNTED, logging.INFO) if problem is None else (Event.BATCH_REFUSED, logging.WARNING)
            )
            log(event, level=level, task=task.id, messages=counted.tally.messages or 0, refused=sum(refused.values()))

    def _check_reported(self) -> None:
        """Raise an error while more people are counted than have reported."""
        self._next_look = self._clock() + LOOKS_EVERY
        counted = self._store.standing(self._task.id).people  # before asking: reports only become more
        if not counted:
            return
        self.reported = self._ask_reported()
        if self.reported is not None:  # otherwise as before: a shuffler that does not answer must not end a stop
            self.stopped = counted > self.reported
        if self.stopped:
            raise MoreCountedError(f"people counted must be at most the reports, got {counted} of {self.reported}")

    def _release(self, stopping: threading.Event) -> bool:
        due = self._has_new_tallies or self._clock() >= self._next_look
        if not due or not self.health.may_try("release"):
            return False
        try:
            self._check_reported()
            released = self._releasing.release(stopped_by(stopping)) if self._has_new_tallies else 0
        except StoppedError:
            raise
        except Exception as error:  # also of the operating system
            self.health.failed("release", error, *_why_not_released(error))
            self.over_budget = isinstance(error, BudgetError)
            self.withheld = self.over_budget or isinstance(error, MoreCountedError)
            return False
        self.health.succeeded("release")
        self.over_budget = self.withheld = False
        self._has_new_tallies = False
        return released > 0
