"""One person's side of a task: they check what it promises, and answer it once."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Any

from shuffledp.collection.client.checking import allowed, check_open, check_pin, fetch_answers
from shuffledp.collection.client.journal import Entry, Journal
from shuffledp.collection.client.randomized import messages_of
from shuffledp.collection.client.sending import (
    SECONDS,
    Receipt,
    check_admission,
    check_seconds,
    post,
)
from shuffledp.collection.envelope.report import ID_BYTES, seal_report
from shuffledp.collection.reasons import Reason
from shuffledp.collection.task import Task, read_task
from shuffledp.errors import DataError, ParameterError, RefusedError, UnreachableError

_ENDS_A_REPORT = frozenset(
    {
        Reason.CLOSED,
        Reason.CANNOT_BE_OPENED,
        Reason.MALFORMED,
        Reason.TOO_MANY_MESSAGES,
        Reason.OTHER_BYTES,
        Reason.TOO_LARGE,
    }
)
"""After these the same bytes are never taken, and are dropped. After other refusals, of an admission or of a server
that does not know the task, they are kept: somebody may put that right."""


NOT_USED = "the report that was made before was used, and the answer that was given now was not"
"""Whoever sends again may have given another answer; what the report holds nobody can see any more."""


class Client:
    """Answers a task for one person, once.

    `task` is a task, its file or its bytes; `pin` the id that it must have, as 64 hexadecimal digits. The privacy is
    computed from the task's parameters here, and a task that gives less than it claims, or than `at_most`, the
    (epsilon, delta) that this person allows (`checking.AT_MOST` unless given), is refused. `journal` is a folder of
    this person's, `admission` what the task asks of people whom it admits, `timeout` the seconds that a server may take
    to answer.
    """

    def __init__(
        self,
        task: Task | str | Path | bytes,
        *,
        at_most: tuple[float, float] | None = None,
        pin: str | bytes | None = None,
        journal: str | Path | None = None,
        admission: str | None = None,
        timeout: float = SECONDS,
    ) -> None:
        self.task = task if isinstance(task, Task) else read_task(_source(task))
        self._beside = Path(task).parent if isinstance(task, (str, Path)) else None
        check_pin(self.task, pin)
        self.promise = allowed(self.task, at_most)
        check_open(self.task)
        self.journal = Journal(journal)
        self._admission = check_admission(self.task, admission)
        self._timeout = check_seconds("timeout", timeout)

    def report(self, answer: Any) -> bytes:
        """The report to send, durably in the journal before it is handed out.

        Once there is one, it is always the same, whatever the answer: randomizing again would tell more. None is no
        answer, and an answer that the task does not list is counted as other.
        """
        return _ready(self._entered(answer)[0])

    def send(self, answer: Any) -> Receipt:
        """Hands the report to the shuffler; what failed before is sent again as the same bytes.

        Raises UnreachableError where it should be sent again later, and RefusedError where that does not help.
        """
        started = time.perf_counter()
        entry, made_before = self._entered(answer)
        if entry.state == "sent":
            return Receipt(state="already sent", milliseconds=_milliseconds_since(started), bytes=0, made_before=True)
        report = _ready(entry)
        try:
            post(self.task, report, admission=self._admission, timeout=self._timeout)
        except (RefusedError, UnreachableError) as error:
            if isinstance(error, RefusedError) and error.reason in _ENDS_A_REPORT:
                self.journal.settle(self.task, "refused", error.reason)
            if made_before:
                error.add_note(NOT_USED)
            raise
        try:
            self.journal.settle(self.task, "sent")
        except DataError as error:
            error.add_note("the report was taken; if it is sent again, then as the same bytes, which count once")
            raise
        return Receipt(
            state="sent",
            milliseconds=_milliseconds_since(started),
            bytes=len(report),
            made_before=made_before,
        )

    def counts_as_other(self, answer: Any) -> bool:
        """Whether an answer is not in the task's list; found out on this machine, for whoever may have mistyped it."""
        fetch_answers(self.task, beside=self._beside, timeout=self._timeout)
        return self.task.bin_of(answer) == self.task.answers.size

    def _entered(self, answer: Any) -> tuple[Entry, bool]:
        """What the journal has of this task, a new report if it had nothing; and whether it was made before."""
        entry = self.journal.read(self.task)
        if entry is not None:
            return entry, True
        check_open(self.task)
        fetch_answers(self.task, beside=self._beside, timeout=self._timeout)
        report = new_report(self.task, answer)
        entry = self.journal.keep(self.task, report)
        return entry, entry.report != report  # another program of this person may have been faster

    def __repr__(self) -> str:
        return f"<Client of task {self.task.name}>"


def new_report(task: Task, answer: Any) -> bytes:
    """A report with new messages: every one is another draw, so that nobody may send two."""
    now = int(time.time())
    return seal_report(
        task,
        messages_of(task, answer),
        report_id=secrets.token_bytes(ID_BYTES),
        time=now - now % task.time_precision,
    )


def _ready(entry: Entry) -> bytes:
    """A report that can be sent."""
    if entry.state == "sent":
        raise DataError("the report for this task was sent already, and only that is kept of it")
    if entry.state == "refused":
        reason = entry.reason or "refused"
        raise RefusedError(f"the report for this task was refused before ({reason})", reason=reason)
    return entry.report


def _source(task: Any) -> str | Path | bytes:
    if not isinstance(task, (str, Path, bytes)):
        raise ParameterError(f"task must be a Task, the name of its file, or its bytes; got {type(task).__name__}")
    return task


def _milliseconds_since(started: float) -> float:
    return 1e3 * (time.perf_counter() - started)
