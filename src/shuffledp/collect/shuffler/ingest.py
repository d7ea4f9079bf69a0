"""Ingest a report at the first shuffler: admit, open, store, and only then acknowledge.

Admission limits who may send a report. Without it an attacker can fill a batch with its own reports and single out one
person. The guarantee assumes that `honest_users` people of a batch follow the protocol.

Reports that arrive while the disk is busy share the next commit. A report is acknowledged when the commit that holds
it has ended; if a commit fails, none of its reports is acknowledged. Refusals are counted in memory and written now and
then, since refusing must not cost a commit.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.auth import Accepted, hash_of
from shuffledp.collect.server.observability import Event, log_error
from shuffledp.collect.server.storage import KEY_GONE
from shuffledp.collect.store import Arrival, Outcome, ReportStore, Standing
from shuffledp.collect.task import Phase, Task
from shuffledp.collect.task.report import OpenedReport, open_report


@dataclass(frozen=True)
class OpenAdmission:
    """Everybody may send reports."""

    def spends(self, token: str | None) -> None:
        """Return the hash of the one-time token that a report spends, if any; refuse a missing or wrong token."""


@dataclass(frozen=True)
class SharedSecret:
    """Everybody who knows the secret may send reports, without a limit.

    `until_own`: the secret is that of the server, which holds for a task that an operator added until it has its own.
    """

    secret: Accepted
    until_own: bool = False

    def spends(self, token: str | None) -> None:
        """Accept reports with the secret."""
        if token not in self.secret:
            raise Refused(Reason.NOT_ADMITTED)


@dataclass(frozen=True)
class OneTimeTokens:
    """One report per token; the store spends the token in the transaction that stores the report."""

    def spends(self, token: str | None) -> bytes:
        """Return the hash of the token; only the store knows whether it is unspent."""
        if token is None:
            raise Refused(Reason.NOT_ADMITTED)
        return hash_of(token)


Admission = OpenAdmission | SharedSecret | OneTimeTokens
"""Decides about a report by the token that came with it."""

MOST_REPORTS = 500
"""Reports per commit: beyond some hundreds the disk is no longer the bottleneck."""

MOST_BYTES = 32 * 2**20
"""Bytes per commit, so that other users of the store need not wait long."""

Waiting = tuple[Arrival, "asyncio.Future[Outcome]"]


class GroupCommit:
    """Collect arrivals and add them together, one commit at a time, in one thread."""

    def __init__(self, add: Callable[[Sequence[Arrival]], list[Outcome]]) -> None:
        self._add = add
        self._waiting: deque[Waiting] = deque()
        self._working: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commits")

    def add(self, arrival: Arrival) -> asyncio.Future[Outcome]:
        """Return a future with the outcome once the arrival is durable; it is refused if it could not be written."""
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((arrival, outcome))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._commit_all())
        return outcome

    async def close(self) -> None:
        """Wait for all arrivals."""
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
            log_error(Event.REPORTS_NOT_STORED, error, reports=len(arrivals))
            for _, waiting in group:
                if not waiting.done():
                    waiting.set_exception(Refused(Reason.UNAVAILABLE))
            return
        for (_, waiting), outcome in zip(group, outcomes, strict=True):
            if not waiting.done():
                waiting.set_result(outcome)


class Refusals:
    """Counters by task and reason; requests for unknown tasks are counted for this process only."""

    def __init__(self, store: ReportStore) -> None:
        self._store = store
        self._counts: dict[bytes, Counter[str]] = {}
        self._counting = threading.Lock()
        self._writing = threading.Lock()
        self.of_no_task = 0

    def count(self, task_id: bytes | None, reason: Reason) -> None:
        """Count one refusal."""
        with self._counting:
            if task_id is None:
                self.of_no_task += 1
            else:
                self._counts.setdefault(task_id, Counter())[reason.value] += 1

    def standing(self, task_id: bytes) -> Standing:
        """The store's counters of a task, with those that this process has not written yet."""
        with self._writing:  # so that nothing is counted twice or not at all
            standing = self._store.standing(task_id)
            with self._counting:
                refused = Counter(standing.refused) + self._counts.get(task_id, Counter())
        return replace(standing, refused=dict(refused))

    def step(self, stopping: threading.Event) -> bool:
        """Write the counts, as background work."""
        self.write()
        return False

    def write(self) -> None:
        """Write all counts to the store; those that fail are kept and tried again."""
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
    """Ingest the reports of one task; `clock` gives seconds since 1970."""

    def __init__(
        self, task: Task, key: KeyPair, admission: Admission, commits: GroupCommit, *, clock: Callable[[], float]
    ) -> None:
        self._task, self._key, self.admission = task, key, admission
        self._commits, self._clock = commits, clock
        self.closed_early = False
        """Whether an operator has closed the task."""

    def check_open(self) -> None:
        """Refuse reports outside the task's opening hours, and while there is no key; before and after one is read."""
        now = self._clock()
        phase = Phase.CLOSED if self.closed_early else self._task.phase(now)
        if phase is Phase.BEFORE:
            raise Refused(Reason.NOT_YET_OPEN, server_time=self._task.time_step(now))
        if phase is Phase.CLOSED:
            raise Refused(Reason.CLOSED)
        if self._key.destroyed:  # not `closed`, which ends a report: the file of the key may come back
            raise Refused(Reason.UNAVAILABLE, KEY_GONE)

    async def ingest(self, sealed: bytes, token: str | None) -> None:
        """Return when the report is durable, from now or from an earlier request; otherwise refuse it.

        Call `check_open` first.
        """
        spent = self.admission.spends(token)
        opened = open_report(self._task, sealed, self._key)
        if opened.time not in self._task.report_times(self._clock()):
            raise Refused(Reason.WRONG_TIME, server_time=self._task.time_step(self._clock()))
        outcome = await self._commits.add(_arrival(self._task, opened, spent))
        if outcome in _REFUSED:
            raise Refused(_REFUSED[outcome])


def _arrival(task: Task, opened: OpenedReport, spent: bytes | None) -> Arrival:
    return Arrival(
        task_id=task.id,
        report_id=opened.report_id,
        digest=opened.digest,
        onions=opened.onions,
        number=opened.number,
        admission_hash=spent,
    )
