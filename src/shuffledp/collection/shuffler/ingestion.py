"""A report on its way in: checked, opened, stored, and only then acknowledged."""

from __future__ import annotations

from collections.abc import Callable

from shuffledp.collection.envelope.report import OpenedReport, open_report
from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.shuffler.group_commit import GroupCommit
from shuffledp.collection.shuffler.settings import Served
from shuffledp.collection.stores import Arrival, Outcome
from shuffledp.collection.task import Task

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
