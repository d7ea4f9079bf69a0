"""What a person checks before they answer: the promise, whether it is the task they were told of, its time."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from shuffledp.collection.client.sending import SECONDS, fetch
from shuffledp.collection.reasons import Reason
from shuffledp.collection.task import AnswersElsewhere, Promise, Task, moment_in_text
from shuffledp.collection.task.exact import is_hexadecimal
from shuffledp.errors import BrokenPromiseError, ParameterError, RefusedError, TaskError, UnreachableError

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
