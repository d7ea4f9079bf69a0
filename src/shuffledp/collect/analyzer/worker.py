"""Counting a batch: its messages are opened on all cores, and whatever is no message of the task is left out.

Onions wait in a file without a name. Copies are found by their first eight bytes, of which honest ones share none, and
only numbers are kept of what is opened: memory grows by 16 bytes for every onion, and with the possible messages.

What the analyzer does beside answering: pulls batches, counts them, keeps their tallies, and releases them.

A batch counts once, by its id: its tally is on the disk before the shuffler may delete it, and a batch that is there
already is only acknowledged. One that has too few messages is refused for good: nothing is kept of it but that, and it
is acknowledged. One that cannot be read at all, since the shuffler sends something else than a batch for this hop, is
left where it is, since the fault may be mended: it is asked for again after longer and longer pauses, and holds up no
other.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.analyzer.releases import Releasing
from shuffledp.collect.analyzer.settings import Served, Settings
from shuffledp.collect.crypto.batch import AT_ONCE, Onions, Opener, first_copies, spooled
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.observability import log
from shuffledp.collect.server.pull import StoppedError, Troubles, until
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.collect.task import Task
from shuffledp.collect.task.servers import layer_of
from shuffledp.errors import BudgetError, ParameterError, ShuffledpError
from shuffledp.histogram.tally import Tally

MOST_LISTED = 1 << 22
"""With more possible messages than this, only those that occur are counted: a count for each would take 32 MB."""

_AT_ONCE = 1 << 20
"""Messages that are counted together where only those that occur are."""

_FEW = 2 * AT_ONCE
"""So few onions are opened before further processes would have started."""

_WORD = 8
"""Bytes of the numbers that messages are read as; no message is longer."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The tally of a batch, and how many onions were left out, by reason."""

    tally: Tally
    refused: Mapping[Reason, int]


class Counting:
    """How the analyzer that holds `key` counts the batches of a task; `processes` of them, one for each core."""

    def __init__(self, task: Task, key: KeyPair, *, processes: int | None = None) -> None:
        if key.public != task.analyzer.key:
            raise ParameterError(f"the key is not the analyzer's in the task {task.name[:16]}: it could open nothing")
        self._task, self._processes = task, processes
        self._layer = layer_of(task, key)

    def count(self, blocks: Iterable[bytes], *, stopping: threading.Event | None = None) -> Counted:
        """The tally of a batch's onions, given in blocks cut anywhere; nothing if it is told to stop."""
        with tempfile.TemporaryFile() as file:
            onions = spooled(file, blocks, self._layer.length)
            kept = first_copies(onions)
            messages = _Messages(self._task)
            processes = 1 if kept.size <= _FEW else self._processes
            with Opener(self._layer, processes=processes) as opener:
                for opened, _ in opener.opened(until(stopping or threading.Event(), _whole(onions, kept))):
                    messages.add(opened)
        refused = {
            Reason.REPEATED: len(onions) - kept.size,
            Reason.CANNOT_BE_OPENED: kept.size - messages.number,
            Reason.NOT_A_MESSAGE: messages.strange,
        }
        return Counted(messages.tally, {reason: number for reason, number in refused.items() if number})


def check_noise(task: Task, tally: Tally) -> None:
    """Refuses a batch with fewer messages than the people send who are counted on: the guarantee was not reached.

    Those are all people of a batch, unless the task says fewer. A batch that has all of its noise is refused with a
    probability of at most `accounting.turnout.RISK`.
    """
    if task.protocol.most_reports(tally) < task.honest_users:
        raise Refused(Reason.TOO_FEW_MESSAGES)


def _whole(onions: Onions, kept: NDArray[np.int64]) -> Iterator[bytes]:
    """The onions that are kept, in blocks."""
    for start in range(0, kept.size, AT_ONCE):
        yield onions[kept[start : start + AT_ONCE]].tobytes()


class _Messages:
    """Messages as they are opened: counted where they are numbers of the task's alphabet."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.number, self.strange = 0, 0
        self._every = np.zeros(task.alphabet, dtype=np.int64) if task.alphabet <= MOST_LISTED else None
        self._waiting: list[NDArray[np.uint64]] = []
        self._listed = Tally(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64), messages=0)

    def add(self, opened: bytes) -> None:
        """Counts messages of the task's width."""
        found = numbers_of(opened, self._task.symbol_bytes)
        messages = found[found < self._task.alphabet]
        self.number += found.size
        self.strange += int(np.count_nonzero(found >= self._task.symbols))  # what is left counts for nothing
        if self._every is not None:
            self._every += np.bincount(messages.astype(np.int64), minlength=self._every.size)
            return
        self._waiting.append(messages)
        if sum(part.size for part in self._waiting) >= _AT_ONCE:
            self._list()

    @property
    def tally(self) -> Tally:
        """The tally of all messages so far."""
        if self._every is not None:
            symbols = np.flatnonzero(self._every)
            return self._task.protocol.tally(Tally(symbols, self._every[symbols]))
        self._list()
        return self._task.protocol.tally(self._listed)

    def _list(self) -> None:
        if self._waiting:
            self._listed += Tally.of(np.concatenate(self._waiting))
            self._waiting = []


def numbers_of(opened: bytes, width: int) -> NDArray[np.uint64]:
    """Whole numbers that are written one after another, each in the same number of bytes, the highest first."""
    written = np.frombuffer(opened, dtype=np.uint8).reshape(-1, width)
    words = np.zeros((len(written), _WORD), dtype=np.uint8)
    words[:, _WORD - width :] = written
    return words.view(">u8")[:, 0].astype(np.uint64)


UPSTREAM = "The last shuffler cannot be reached, or refuses: no further batches arrive."
BATCH = "A batch could not be pulled, counted or acknowledged: it is left at the last shuffler, and tried again."
LIMIT = "The release of this task is over the limit of the ledger: nothing is published."
RELEASE = "The release could not be made, entered in the ledger or kept: it is tried again."


class Collecting:
    """The batches of one task, from the last shuffler to the releases."""

    def __init__(self, served: Served, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._upstream, self._store = served.task, served.upstream, settings.store
        self._counting = Counting(served.task, served.key, processes=settings.processes)
        self._releasing = Releasing(served.task, settings.store, ledger=settings.ledger, joined=settings.joined)
        self._troubles = Troubles(served.task.id, clock=clock)
        self._news = True  # whoever was stopped before a release makes it now

    @property
    def problems(self) -> list[str]:
        """What does not work at the moment, for everybody to read."""
        return self._troubles.told

    def step(self, stopping: threading.Event) -> bool:
        """Takes all batches that wait upstream, and releases what is counted."""
        worked = self._pull(stopping)
        return self._release() or worked

    def _pull(self, stopping: threading.Event) -> bool:
        worked = False
        for batch in until(stopping, self._troubles.ready_now(self._upstream, self._task, otherwise=UPSTREAM)):
            worked |= self._take(batch.batch_id, stopping)
        return worked

    def _take(self, batch_id: bytes, stopping: threading.Event) -> bool:
        """Counts a batch, unless that was done before, and acknowledges it; whether that succeeded."""
        try:
            if not self._store.has_batch(batch_id):
                self._count(batch_id, stopping)
            self._upstream.acknowledge(self._task, batch_id)
        except StoppedError:
            raise
        except Exception as error:  # whatever it is, other batches must not wait for it
            self._troubles.fails(batch_id, error, BATCH)
            return False
        self._troubles.works(batch_id)
        return True

    def _count(self, batch_id: bytes, stopping: threading.Event) -> None:
        task, position = self._task, len(self._task.shufflers)
        with self._upstream.batch(task, batch_id, position=position) as blocks:
            counted = self._counting.count(until(stopping, blocks), stopping=stopping)
        refused = {reason.value: number for reason, number in counted.refused.items()}
        tally, problem = to_bytes(counted.tally), None
        try:
            check_noise(task, counted.tally)
        except Refused as short:
            tally, problem = b"", short.reason.value  # without its noise it must not be kept
        self._store.keep_tally(task.id, batch_id, tally, task.users, refused, problem)
        event = "batch counted" if problem is None else "batch refused, too few messages"
        log(event, task=task.id, messages=counted.tally.messages or 0, refused=sum(refused.values()))
        self._news = self._news or problem is None

    def _release(self) -> bool:
        if not self._news or not self._troubles.is_time("release"):
            return False
        try:
            released = self._releasing.release()
        except BudgetError as error:
            self._troubles.fails("release", error, LIMIT)
            return False
        except ShuffledpError as error:
            self._troubles.fails("release", error, RELEASE)
            return False
        self._troubles.works("release")
        self._news = False
        return released > 0
