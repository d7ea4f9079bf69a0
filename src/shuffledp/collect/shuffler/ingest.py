"""Many requests, one commit: whoever arrives while the disk is busy shares the next write with all others who did.

A report is acknowledged only when the commit that holds it has ended; if it fails, nobody in it is acknowledged.

What was refused, counted in memory and written down now and then: refusing must not cost a commit.

A report on its way in: checked, opened, stored, and only then acknowledged.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.observability import log_error
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.store import Arrival, Outcome, ReportStore, Standing
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import OpenedReport, open_report

MOST_REPORTS = 500
"""In one commit: beyond some hundreds the disk is no longer what takes the time."""

MOST_BYTES = 32 * 2**20
"""In one commit, so that others of the same store need not wait long."""

Waiting = tuple[Arrival, "asyncio.Future[Outcome]"]


class GroupCommit:
    """Gathers arrivals and adds them together, one commit at a time, in a thread of its own."""

    def __init__(self, add: Callable[[Sequence[Arrival]], list[Outcome]]) -> None:
        self._add = add
        self._waiting: deque[Waiting] = deque()
        self._working: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commits")

    async def add(self, arrival: Arrival) -> Outcome:
        """What became of the arrival, once it is on the disk; refused if it could not be written."""
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((arrival, outcome))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._commit_all())
        return await outcome

    async def close(self) -> None:
        """Waits for all that was gathered."""
        if self._working is not None:
            await self._working
        self._thread.shutdown()

    async def _commit_all(self) -> None:
        while self._waiting:
            await self._commit(self._next_group())

    def _next_group(self) -> list[Waiting]:
        group: list[Waiting] = []
        size = 0
        while self._waiting and len(group) < MOST_REPORTS and size < MOST_BYTES:
            group.append(self._waiting.popleft())
            size += len(group[-1][0].onions)
        return group

    async def _commit(self, group: list[Waiting]) -> None:
        arrivals = [arrival for arrival, _ in group]
        loop = asyncio.get_running_loop()
        try:
            outcomes = await loop.run_in_executor(self._thread, self._add, arrivals)
        except Exception as error:  # whatever it is, nothing is acknowledged
            log_error("reports could not be stored", error, reports=len(arrivals))
            for _, waiting in group:
                if not waiting.done():
                    waiting.set_exception(Refused(Reason.UNAVAILABLE))
            return
        for (_, waiting), outcome in zip(group, outcomes, strict=True):
            if not waiting.done():
                waiting.set_result(outcome)


class Refusals:
    """Counters by task and reason; those of requests for no task at all are only of this process."""

    def __init__(self, store: ReportStore) -> None:
        self._store = store
        self._counts: dict[bytes, Counter[str]] = {}
        self._counting = threading.Lock()
        self._writing = threading.Lock()
        self.of_no_task = 0

    def count(self, task_id: bytes | None, reason: Reason) -> None:
        """Counts one."""
        with self._counting:
            if task_id is None:
                self.of_no_task += 1
            else:
                self._counts.setdefault(task_id, Counter())[reason.value] += 1

    def standing(self, task_id: bytes) -> Standing:
        """The store's counters of a task, with what this process has not written yet."""
        with self._writing:  # so that nothing is counted twice or not at all
            standing = self._store.standing(task_id)
            with self._counting:
                refused = Counter(standing.refused) + self._counts.get(task_id, Counter())
        return replace(standing, refused=dict(refused))

    def step(self, stopping: threading.Event) -> bool:
        """As work in the background."""
        self.write()
        return False

    def write(self) -> None:
        """Hands all counts to the store; those that it does not take are tried again."""
        with self._writing:
            with self._counting:
                counts, self._counts = self._counts, {}
            while counts:
                task_id, reasons = counts.popitem()
                try:
                    self._store.count_refusals(task_id, reasons)
                except BaseException:
                    self._take_back(counts | {task_id: reasons})
                    raise

    def _take_back(self, counts: dict[bytes, Counter[str]]) -> None:
        with self._counting:
            for task_id, reasons in counts.items():
                self._counts.setdefault(task_id, Counter()).update(reasons)


_REFUSED = {
    Outcome.OTHER_BYTES: Reason.OTHER_BYTES,
    Outcome.NOT_ADMITTED: Reason.NOT_ADMITTED,
    Outcome.CLOSED: Reason.CLOSED,
}


class Ingestion:
    """Takes the reports of the first shuffler; `clock` gives seconds since 1970."""

    def __init__(self, commits: GroupCommit, *, clock: Callable[[], float]) -> None:
        self._commits, self._clock = commits, clock

    def check_open(self, served: Served) -> None:
        """Refuses reports to a later shuffler, and outside the task's time, before anything of them is read."""
        if served.position:
            raise Refused(Reason.CANNOT_BE_OPENED, "Reports go to the first shuffler of the task.")
        now = self._clock()
        if now < served.task.opens.timestamp():
            raise Refused(Reason.NOT_YET_OPEN)
        if now >= served.task.closes.timestamp():
            raise Refused(Reason.CLOSED)

    async def take(self, served: Served, sealed: bytes, token: str | None) -> None:
        """Returns when the report is on the disk, now or since an earlier time; otherwise it is refused."""
        self.check_open(served)
        spent = served.admission.spends(token)
        opened = open_report(served.task, sealed, served.key)
        check_time(served.task, opened.time, now=self._clock())
        outcome = await self._commits.add(_arrival(served.task, opened, spent))
        if outcome in _REFUSED:
            raise Refused(_REFUSED[outcome])


def check_time(task: Task, time: int, *, now: float) -> None:
    """Refuses the time of a report that is outside the task, or ahead of now by more than one step of its precision.

    Times are rounded down, so the first one is the step in which the task opens.
    """
    first = task.opens.timestamp() // task.time_precision * task.time_precision
    if not first <= time < task.closes.timestamp() or time > now + task.time_precision:
        raise Refused(Reason.WRONG_TIME)


def _arrival(task: Task, opened: OpenedReport, spent: bytes | None) -> Arrival:
    return Arrival(
        task_id=task.id,
        report_id=opened.report_id,
        digest=opened.digest,
        onions=opened.onions,
        number=opened.number,
        admission_hash=spent,
    )
