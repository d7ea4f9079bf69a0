"""What the analyzer does beside answering: pulls batches, counts them, keeps their tallies, and releases them.

A batch counts once, by its id: its tally is on the disk before the shuffler may delete it, and a batch that is there
already is only acknowledged. One that has too few messages is refused for good: nothing is kept of it but that, and it
is acknowledged. One that cannot be read at all, since the shuffler sends something else than a batch for this hop, is
left where it is, since the fault may be mended: it is asked for again after longer and longer pauses, and holds up no
other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from shuffledp.collection.analyzer.counting import Counting, check_noise
from shuffledp.collection.analyzer.releasing import Releasing
from shuffledp.collection.analyzer.settings import Served, Settings
from shuffledp.collection.analyzer.tally_bytes import to_bytes
from shuffledp.collection.reasons import Refused
from shuffledp.collection.service.background import StoppedError, until
from shuffledp.collection.service.logs import log
from shuffledp.collection.service.troubles import Troubles
from shuffledp.errors import BudgetError, ShuffledpError

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
