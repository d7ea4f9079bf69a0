"""One person's messages: the randomizer of the task's protocol, as the one person it is made for.

What a person checks before they answer: the promise, whether it is the task they were told of, its time.

One person's side of a task: they check what it promises, and answer it once.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.client.journal import Entry, Journal
from shuffledp.collect.client.transport import SECONDS, Receipt, check_admission, check_seconds, fetch, post
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task import AnswersElsewhere, Promise, Task, moment_in_text, read_task
from shuffledp.collect.task.report import ID_BYTES, seal_report
from shuffledp.collect.task.schema import is_hexadecimal
from shuffledp.errors import (
    BrokenPromiseError,
    DataError,
    ParameterError,
    RefusedError,
    ShuffledpError,
    TaskError,
    UnreachableError,
)
from shuffledp.histogram.shuffle import shuffle
from shuffledp.randomness import generator

_MOST_TRIES = 100
"""Drawing again is expected once in 10^13 people: whoever gets here has another task than was checked."""


def messages_of(task: Task, answer: Any, *, rng: np.random.Generator | None = None) -> list[int]:
    """The messages for an answer, in random order: drawn anew where they are more than a report may hold.

    Where reports are padded, some of them count for nothing.
    """
    place, source = task.bin_of(answer), generator(rng)
    for _ in range(_MOST_TRIES):
        messages = task.protocol.randomize(place, rng=source).astype(np.int64)
        if messages.size <= task.most_messages:
            return [int(message) for message in shuffle(_padded(task, messages), rng=source)]
    raise ShuffledpError("the randomizer always makes more messages than the task allows: the task was not checked")


def _padded(task: Task, messages: NDArray[np.int64]) -> NDArray[np.int64]:
    """As many messages as every report of the task holds."""
    missing = task.most_messages - messages.size if task.padded else 0
    return np.append(messages, np.full(missing, task.nothing))


AT_MOST = (10.0, 0.01)
"""The (epsilon, delta) that a person allows who says nothing else: beyond it a promise says next to nothing, since what
is published may be 22,000 times as likely because of one answer, or tell it outright to one of a hundred."""

_MOST_LIST_BYTES = 1 << 28
"""Of a list of answers that is kept elsewhere: a person's machine holds it in memory."""

_MOST_REMEMBERED = 1000
"""Far more tasks than a process answers, and little memory."""

_checked: dict[tuple[bytes, tuple[float, float] | None], Promise] = {}
"""Promises by the task's id, which stands for all that they are computed from: each is computed once in a process."""


def checked(task: Task, at_most: tuple[float, float] | None = None) -> Promise:
    """The promise of a task, computed once; refused where it is not kept or is less than is allowed."""
    if at_most is not None:
        try:
            epsilon, delta = at_most
            at_most = (float(epsilon), float(delta))
        except (TypeError, ValueError):
            raise ParameterError("at_most must be an epsilon and a delta, such as (1, 1e-6)") from None
    known = _checked.get((task.id, at_most))
    if known is None:
        if len(_checked) >= _MOST_REMEMBERED:
            _checked.clear()
        try:
            known = _checked[task.id, at_most] = task.check(at_most)
        except BrokenPromiseError as error:
            raise BrokenPromiseError(f"{error}: do not answer") from None
    return known


def allowed(task: Task, at_most: tuple[float, float] | None) -> Promise:
    """The promise of a task if it is within what a person allows; who says nothing allows `AT_MOST`."""
    if at_most is not None:
        return checked(task, at_most)
    try:
        return checked(task, AT_MOST)
    except BrokenPromiseError:
        claimed = checked(task)  # where not even that is kept, it says so
    raise BrokenPromiseError(
        f"the task promises only epsilon {claimed.epsilon:g} and delta {claimed.delta:g}, and without your word "
        f"nothing weaker than epsilon {AT_MOST[0]:g} and delta {AT_MOST[1]:g} is answered: if you want to, allow it "
        f"with  --at-most {claimed.epsilon:g},{claimed.delta:g}  (in Python at_most)"
    )


def check_pin(task: Task, pin: str | bytes | None) -> None:
    """Refuses a task that is another than somebody was told of."""
    if pin is None:
        return
    text = pin.hex() if isinstance(pin, bytes) else pin
    if not isinstance(text, str) or not is_hexadecimal(text.lower()):
        raise ParameterError("pin must be the id of a task: 64 hexadecimal digits, all of them")
    if text.lower() != task.name:
        raise TaskError(f"this is the task {task.name}, and not {text.lower()}, the one that is pinned: do not answer")


def check_open(task: Task) -> None:
    """Refuses a task that is not open by the clock of this machine."""
    now = datetime.now(UTC)
    if now < task.opens:
        raise UnreachableError(f"the task opens at {moment_in_text(task.opens)}", reason=Reason.NOT_YET_OPEN)
    if now >= task.closes:
        raise RefusedError(f"the task was closed at {moment_in_text(task.closes)}", reason=Reason.CLOSED)


def fetch_answers(task: Task, *, beside: Path | None, timeout: float = SECONDS) -> bytes | None:
    """Fetches the list of answers where it is kept elsewhere, and checks its fingerprint.

    A copy in the folder `beside`, of the name that its address ends with, is as good, and tells nobody that this person
    takes part. Returns the list, or None where the task has its answers.
    """
    if task.has_answers:
        return None
    assert isinstance(task.answers, AnswersElsewhere)
    content = None if beside is None else _copy(task.answers, beside / task.answers.address.rpartition("/")[2])
    if content is None:
        content = fetch(task.answers.address, most=_MOST_LIST_BYTES, timeout=timeout)
    task.with_answers(content)
    return content


def _copy(answers: AnswersElsewhere, path: Path) -> bytes | None:
    """A file that is the list."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_LIST_BYTES + 1)
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == answers.sha256 else None


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
