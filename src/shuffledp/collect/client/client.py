"""The client of one person: check the guarantee, the pinned id and the time of a task, and answer it once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shuffledp.collect.client.budget import BudgetUse, claimed, limit_of, use_of
from shuffledp.collect.client.journal import Entry, Journal
from shuffledp.collect.client.making import new_versions
from shuffledp.collect.client.transport import (
    SECONDS,
    Invitation,
    Receipt,
    RefusedTimeError,
    check_admission,
    check_seconds,
    fetch,
    post,
)
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task import (
    AnswersElsewhere,
    Phase,
    Promise,
    Series,
    SeriesPromise,
    Task,
    read_task_or_series,
)
from shuffledp.collect.task.public_file import is_hexadecimal, moment_in_text
from shuffledp.collect.task.series import task_or_series_of
from shuffledp.errors import (
    BrokenPromiseError,
    DataError,
    ParameterError,
    RefusedError,
    TaskError,
    UnreachableError,
)
from shuffledp.formatting import length_of_time, privacy_figure
from shuffledp.ledger.budget import Budget

AT_MOST = (10.0, 0.01)
"""The default limit on (epsilon, delta). A weaker guarantee says almost nothing: a release may become 22,000 times as
likely because of one answer, or reveal an answer outright with probability 1 in 100."""

_MOST_LIST_BYTES = 1 << 28
"""Bytes of an external list of answers, which the client holds in memory."""

_MOST_REMEMBERED = 1000
"""Cached guarantees: far more tasks than a process answers, in little memory."""

_checked: dict[tuple[bytes, tuple[float, float] | None], Promise] = {}
"""The task id determines all parameters."""


def checked(task: Task | Series, at_most: tuple[float, float] | None = None) -> Promise:
    """Return the cached guarantee of a task, or of all rounds of a series; refuse one weaker than it claims or than
    `at_most`.
    """
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
            found = task.check(at_most)
            known = _checked[task.id, at_most] = found.total if isinstance(found, SeriesPromise) else found
        except BrokenPromiseError as error:
            raise BrokenPromiseError(f"{error}: do not answer") from None
    return known


def allowed(task: Task | Series, at_most: tuple[float, float] | None) -> Promise:
    """Return the guarantee of a task if the person allows it; the default limit is `AT_MOST`."""
    if at_most is not None:
        return checked(task, at_most)
    try:
        return checked(task, AT_MOST)
    except BrokenPromiseError:
        claimed = checked(task)  # raises its own error if the claim is false
    raise BrokenPromiseError(
        f"the task guarantees only epsilon {privacy_figure(claimed.epsilon)} and delta "
        f"{privacy_figure(claimed.delta)}, weaker than the default "
        f"limit of epsilon {AT_MOST[0]:g} and delta {AT_MOST[1]:g}. To allow it, set at_most to "
        f"{privacy_figure(claimed.epsilon)},{privacy_figure(claimed.delta)}"
    )


def check_pin(task: Task | Series, pin: str | bytes | None) -> None:
    """Refuse a task whose id is not the pinned one."""
    if pin is None:
        return
    text = pin.hex() if isinstance(pin, bytes) else pin
    if not isinstance(text, str) or not is_hexadecimal(text.lower()):
        raise ParameterError("pin must be the whole id of a task, 64 hexadecimal digits")
    if text.lower() != task.name:
        raise TaskError(f"the id of the task must be the pinned {text.lower()}, got {task.name}: do not answer")


def open_task(asked: Task | Series) -> Task:
    """Return the task that is open by the clock of this machine: the task itself, or the round of a series."""
    now = time.time()
    phase, clock = asked.phase(now), f"by this device's clock it is {moment_in_text(datetime.fromtimestamp(now, UTC))}"
    if phase is Phase.BEFORE:
        text = f"the task opens at {moment_in_text(asked.opens)}; {clock}"
        raise UnreachableError(text, reason=Reason.NOT_YET_OPEN)
    if phase is Phase.CLOSED:
        raise RefusedError(f"the task was closed at {moment_in_text(asked.closes)}; {clock}", reason=Reason.CLOSED)
    if isinstance(asked, Task):
        return asked
    number = asked.round_at(now)
    assert number is not None
    return asked.task(number)


def fetch_answers(task: Task, *, beside: Path | None, timeout: float = SECONDS) -> bytes | None:
    """Fetch an external list of answers and check its SHA-256; return None if the task has its answers.

    A copy in the folder `beside`, with the file name of its address, is used instead: no server then learns that this
    person takes part.
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
"""After these refusals the same bytes are never accepted, and are dropped. After others, such as a wrong token or a
server that does not know the task, they are kept, since the cause may be fixed."""


NOT_USED = "the report that was made before was used, and the answer that was given now was not"
"""A note for a second attempt, which may have another answer: the content of a report cannot be seen any more."""


class Client:
    """Answers a task for one person, once; or each round of a series once, the one that is open now.

    `task` is a task or a series, its file or its bytes; `pin` is the id that it must have, as 64 hexadecimal digits.
    For a series, the guarantee and `at_most` are of all rounds together, and a person may join in any round. The client
    computes the guarantee from the task's parameters. It refuses a task that is weaker than it claims or than
    `at_most`, the (epsilon, delta) that this person allows (default `AT_MOST`). `journal` is a folder of this person,
    `admission` the secret or token that the task requires, `timeout` the seconds to wait for a server.

    `budget` is the (epsilon, delta) that all answers in the journal together may have, by default the limit that is
    stored there. An answer beyond it is refused with AnswerBudgetError, and so is a report that was made before and not
    sent, while all answers together are over the limit. With `by_results` the limit also holds if the noise of a task
    is chosen after earlier results.
    """

    def __init__(
        self,
        task: Task | Series | str | Path | bytes,
        *,
        at_most: tuple[float, float] | None = None,
        pin: str | bytes | None = None,
        journal: str | Path | None = None,
        admission: str | None = None,
        timeout: float = SECONDS,
        budget: tuple[float, float] | None = None,
        by_results: bool = False,
    ) -> None:
        self._asked = task if isinstance(task, (Task, Series)) else read_task_or_series(_source(task))
        self._beside = Path(task).parent if isinstance(task, (str, Path)) else None
        check_pin(self._asked, pin)
        self.promise = allowed(self._asked, at_most)
        self.task = open_task(self._asked)
        self.journal = Journal(journal)
        self._budget, self._by_results = budget, by_results
        _ = self.limit  # refuses a wrong one before anything is answered
        self._admission = check_admission(self.task, admission)
        self._timeout = check_seconds("timeout", timeout)

    @classmethod
    def from_invitation(
        cls,
        link: str,
        *,
        at_most: tuple[float, float] | None = None,
        pin: str | bytes | None = None,
        journal: str | Path | None = None,
        timeout: float = SECONDS,
        budget: tuple[float, float] | None = None,
        by_results: bool = False,
    ) -> Client:
        """Fetch the task or series of an invitation link, and answer it with the token of the link.

        The link pins its task. The token goes only to the first shuffler that the task names.
        """
        invitation = Invitation.read(link)
        asked = task_or_series_of(invitation.fetch(timeout=check_seconds("timeout", timeout)))
        check_pin(asked, invitation.id)
        return cls(
            asked,
            at_most=at_most,
            pin=pin,
            journal=journal,
            admission=invitation.admission,
            timeout=timeout,
            budget=budget,
            by_results=by_results,
        )

    @property
    def series(self) -> Series | None:
        """The series whose open round is answered; None for a single task."""
        return self._asked if isinstance(self._asked, Series) else None

    @property
    def limit(self) -> Budget | None:
        """The limit that holds now: the given one, else the stored one, which may change; None if there is none."""
        return limit_of(self.journal, self._budget, by_results=self._by_results)

    @property
    def spending(self) -> BudgetUse | None:
        """What this answer uses of the limit, after all others in the journal; None without a limit."""
        limit = self.limit
        if limit is None:
            return None
        return use_of(self.journal, self.task if self.series is None else open_task(self.series), limit)

    def report(self, answer: Any) -> bytes:
        """Return the report to send, after it is durable in the journal.

        Once there is a report, it is always the same, whatever the answer: randomizing again would weaken the privacy.
        None is no answer; an answer that the task does not list counts as (other).
        """
        return _ready(self._entered(answer)[0])

    def send(self, answer: Any) -> Receipt:
        """Send the report to the first shuffler; after a failure, send the same bytes again.

        Raises UnreachableError if it should be sent again later, and RefusedError if that does not help.
        """
        started = time.perf_counter()
        entry, made_before = self._entered(answer)
        if entry.state == "sent":
            return Receipt(state="already sent", milliseconds=_milliseconds_since(started), bytes=0, made_before=True)
        report = _ready(entry)
        try:
            clock_ahead = self._post(report, entry)
        except (RefusedError, UnreachableError) as error:
            if isinstance(error, RefusedError) and error.reason in _ENDS_A_REPORT:
                self.journal.settle(self.task, "refused", error.reason)
            if made_before:
                error.add_note(NOT_USED)
            raise
        try:
            self.journal.settle(self.task, "sent")
        except DataError as error:
            error.add_note("the report was accepted; sending it again sends the same bytes, which count once")
            raise
        return Receipt(
            state="sent",
            milliseconds=_milliseconds_since(started),
            bytes=len(report),
            made_before=made_before,
            clock_ahead=clock_ahead,
        )

    def _post(self, report: bytes, entry: Entry) -> int | None:
        """Send a report, and its fallback if the server refuses the time; return how far the clock is ahead then.

        The fallback has the id and the messages of the report: it is no other sample, and a server accepts one of both.
        So it is also sent if the server has other bytes with this id: those of a fallback whose answer was lost. If a
        server that refuses the time of the report has other bytes than the fallback, it accepted the report before its
        clock was set back: the report is kept.
        """
        ahead, wrong_time = None, None
        try:
            post(self.task, report, admission=self._admission, timeout=self._timeout)
        except RefusedTimeError as error:
            ahead, wrong_time = _clock_ahead(self.task, error.server_time), error
            if error.reason != Reason.WRONG_TIME or not entry.fallback:
                for note in _clock_notes(error, ahead, entry):
                    error.add_note(note)
                raise
        except RefusedError as error:
            if error.reason != Reason.OTHER_BYTES or not entry.fallback:
                raise
        else:
            return None
        try:
            post(self.task, entry.fallback, admission=self._admission, timeout=self._timeout)
        except RefusedError as error:
            if wrong_time is not None and error.reason == Reason.OTHER_BYTES:
                raise wrong_time from None
            raise
        return ahead

    def counts_as_other(self, answer: Any) -> bool:
        """Whether an answer is not in the task's list, or is no text that it counts; checked on this machine."""
        self.fetch_answers()
        return self.task.is_other(answer)

    def fetch_answers(self) -> None:
        """Fetch the list of answers, if it is not in the task itself."""
        fetch_answers(self.task, beside=self._beside, timeout=self._timeout)

    def _entered(self, answer: Any) -> tuple[Entry, bool]:
        """Return the journal's entry for this task, new if there was none, and whether it existed before."""
        if self.series is not None:
            self.task = open_task(self.series)  # another round may be open by now
        entry = self.journal.read(self.task)
        if entry is not None and entry.state != "ready":
            return entry, True
        if entry is None:
            _ = open_task(self.task)
            self.fetch_answers()
        with claimed(self.journal, self.task, lambda: self.limit):
            if entry is not None:
                return entry, True
            made = new_versions(self.task, answer)
            entry = self.journal.keep(self.task, made.report, made.fallback)
        return entry, entry.report != made.report  # another process of this person may have been faster

    def __repr__(self) -> str:
        return f"<Client of task {self.task.name}>"


def _clock_ahead(task: Task, server_time: int | None) -> int:
    """The seconds by which the clock of this device is ahead, in steps of the task; 0 if it is not, or not known."""
    return 0 if server_time is None else max(0, task.time_step(time.time()) - server_time)


def _clock_notes(error: RefusedTimeError, ahead: int, entry: Entry) -> Iterator[str]:
    """What a person can do about a refused time; a report of an earlier version has no fallback."""
    if ahead:
        yield f"this device's clock is ahead by about {length_of_time(ahead)}: correct it"
    if error.reason == Reason.WRONG_TIME and entry.spending is not None:
        yield f"the report that was made before can be sent from {entry.spending.day} on"


def _ready(entry: Entry) -> bytes:
    if entry.state == "sent":
        raise DataError("the report for this task was sent already, and only that is kept of it")
    if entry.state == "refused":
        reason = entry.reason or "refused"
        raise RefusedError(f"the report for this task was refused before ({reason})", reason=reason)
    return entry.report


def _source(task: Any) -> str | Path | bytes:
    if not isinstance(task, (str, Path, bytes)):
        raise ParameterError(
            f"task must be a Task or a Series, the name of its file, or its bytes; got {type(task).__name__}"
        )
    return task


def _milliseconds_since(started: float) -> float:
    return 1e3 * (time.perf_counter() - started)
