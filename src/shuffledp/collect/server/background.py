"""Background work: threads that go on after errors, the failures that they report, and the rounds of a series."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from shuffledp.collect.reaching import Cause, UpstreamError
from shuffledp.collect.server.observability import Event, log_error
from shuffledp.collect.store.database import Fault, StoreError
from shuffledp.collect.task import Phase, Task

Item = TypeVar("Item")

LONGEST_PAUSE = 30.0
"""Seconds between the steps of a thread that keeps failing."""


class StoppedError(Exception):
    """The server stops; the step in flight is left as it is and done again after the next start."""


class Work(Protocol):
    """Background work in steps, each of which can be interrupted and repeated."""

    def step(self, stopping: threading.Event) -> bool:
        """Do what there is to do; return whether there was anything."""


class Background:
    """A thread that takes step after step until `stop`, and goes on after errors."""

    def __init__(self, work: Work, *, every: float, task: bytes | None = None) -> None:
        self._work, self._every, self._task = work, every, task
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def interrupt(self) -> None:
        """Interrupt the step in flight; the thread ends soon."""
        self._stopping.set()

    def stop(self) -> None:
        """Interrupt the step in flight and wait for the thread to end."""
        self.interrupt()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def _run(self) -> None:
        pause = self._every
        while not self._stopping.is_set():
            try:
                worked = self._work.step(self._stopping)
                pause = 0.0 if worked else self._every
            except StoppedError:
                return
            except Exception as error:
                log_error(Event.BACKGROUND_FAILED, error, task=self._task)
                pause = min(LONGEST_PAUSE, max(2 * pause, self._every))
            self._stopping.wait(pause)


def until(stopping: threading.Event, items: Iterable[Item]) -> Iterator[Item]:
    """Yield the same items; raise StoppedError once the server stops."""
    for item in items:
        if stopping.is_set():
            raise StoppedError
        yield item


FIRST_PAUSE, LONGEST_BACK_OFF = 1.0, 600.0
"""Seconds before something that failed is tried again; the pause doubles each time."""

LONGEST_UPSTREAM_PAUSE = 30.0
"""The same for the previous server as a whole: a list of batches is a small request, and nothing is fetched before."""

UPSTREAM = "upstream"
"""The name of failures of the previous server as a whole."""


@dataclass(frozen=True)
class _Failure:
    message: str  # public
    retry: float  # when it may be tried again
    pause: float
    cause: Cause | None = None
    fault: Fault | None = None


class TaskHealth:
    """Current failures of the work on one task, by batch id or name; `clock` gives seconds."""

    def __init__(
        self, task: bytes, *, clock: Callable[[], float] = time.monotonic, longest: float = LONGEST_BACK_OFF
    ) -> None:
        self._task, self._clock, self._longest = task, clock, longest
        self._failures: dict[bytes | str, _Failure] = {}

    @property
    def problems(self) -> list[str]:
        """Public sentences about current failures."""
        return sorted({failure.message for failure in self._failures.copy().values()})

    @property
    def upstream_cause(self) -> Cause | None:
        """Why batches cannot be fetched from the previous server; None while they can."""
        failure = self._failures.get(UPSTREAM)
        return None if failure is None else failure.cause

    @property
    def store_fault(self) -> Fault | None:
        """Why the store of this server cannot be used for this task; None while it can."""
        faults = (failure.fault for failure in self._failures.copy().values())
        return next((fault for fault in faults if fault is not None), None)

    def may_try(self, what: bytes | str) -> bool:
        """Whether something may be tried now: at once unless it failed."""
        failure = self._failures.get(what)
        return failure is None or self._clock() >= failure.retry

    def succeeded(self, what: bytes | str) -> None:
        """Forget earlier failures of something."""
        self._failures.pop(what, None)

    def forget_all_batches_but(self, batches: Iterable[bytes]) -> None:
        """Forget failures of batches that no longer wait."""
        waiting = set(batches)
        for what in [each for each in self._failures if isinstance(each, bytes) and each not in waiting]:
            self.succeeded(what)

    def failed(self, what: bytes | str, error: Exception, message: str, event: Event = Event.BATCH_FAILED) -> None:
        """Record and log a failure. Only errors of the previous server, of the store and of the operating system have a
        cause: others may contain data.
        """
        before = self._failures.get(what)
        longest = min(self._longest, LONGEST_UPSTREAM_PAUSE) if what == UPSTREAM else self._longest
        pause = FIRST_PAUSE if before is None else min(2 * before.pause, longest)
        why = _public_cause(error)
        self._failures[what] = _Failure(
            message=message if why is None else f"{message} Cause: {why}.",
            retry=self._clock() + pause,
            pause=pause,
            cause=error.reason if isinstance(error, UpstreamError) else None,
            fault=error.fault if isinstance(error, StoreError) else None,
        )
        log_error(event, error, task=self._task, why=why, level=_level_of(what, error))

    def attempt(self, what: bytes | str, work: Callable[[], bool], message: str) -> bool:
        """Do something unless it failed a moment ago; return its result, or False if it fails."""
        if not self.may_try(what):
            return False
        try:
            result = work()
        except StoppedError:
            raise
        except Exception as error:  # whatever it is, other batches must not wait for it
            self.failed(what, error, message)
            return False
        self.succeeded(what)
        return result


def _level_of(what: bytes | str, error: Exception) -> int:
    # no error while an operator has added a task here and not yet upstream
    expected = what == UPSTREAM and isinstance(error, UpstreamError) and error.reason is Cause.UNKNOWN_TASK
    return logging.INFO if expected else logging.ERROR


def _public_cause(error: Exception) -> str | None:
    """The cause of a failure as part of a sentence; None if it may contain data."""
    if isinstance(error, UpstreamError):
        return str(error)
    if isinstance(error, StoreError):
        return error.fault.meaning
    if isinstance(error, OSError) and error.errno is not None:  # without its message, which may name files
        means = os.strerror(error.errno)
        return f"{FOLDER} cannot be written ({means})" if error.errno in _OF_A_FOLDER else means
    return None


FOLDER = "a folder of this server, usually the temporary one,"
"""Batches are mixed and counted in files of the temporary folder."""

_OF_A_FOLDER = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT}
"""Errors of a folder that is full, read-only or missing."""


_SHARE = 0.05
"""The pause between looks at a closed round, as a share of the time since it closed."""


class SeriesWork:
    """The work on all rounds of a series in one thread, each begun when it opens: no restart is needed.

    `begin` makes the work on a round; `clock` gives seconds since 1970 and `every` the pause between looks at the open
    round. The last batches of a closed round may still be on their way: it is looked at less and less often, and never
    less than every ten minutes. An error in one round delays only that round.
    """

    def __init__(
        self, tasks: Sequence[Task], begin: Callable[[Task], Work], *, every: float, clock: Callable[[], float]
    ) -> None:
        self._begin, self._every, self._clock = begin, every, clock
        self._waiting = sorted(tasks, key=lambda task: task.opens, reverse=True)
        self._opened: list[Task] = []
        self._begun: list[_Round] = []

    def step(self, stopping: threading.Event) -> bool:
        """Take a step of every round that is due; return whether there was anything to do."""
        now = self._clock()
        while self._waiting and self._waiting[-1].phase(now) is not Phase.BEFORE:
            self._opened.append(self._waiting.pop())
        self._opened = [task for task in self._opened if not self._begins(task)]
        worked = False
        for each in self._begun:
            if stopping.is_set():
                raise StoppedError
            if each.due <= now:
                worked = self._step(each, now, stopping) or worked
        return worked

    def _begins(self, task: Task) -> bool:
        try:
            self._begun.append(_Round(task, self._begin(task)))
        except Exception as error:  # such as a store that does not answer now
            log_error(Event.BACKGROUND_FAILED, error, task=task.id)
            return False
        return True

    def _step(self, each: _Round, now: float, stopping: threading.Event) -> bool:
        closed_for = max(0.0, now - each.task.closes.timestamp())
        pause = min(LONGEST_BACK_OFF, max(self._every, _SHARE * closed_for))
        try:
            worked = each.work.step(stopping)
        except StoppedError:
            raise
        except Exception as error:  # of this round only: the others go on
            log_error(Event.BACKGROUND_FAILED, error, task=each.task.id)
            worked = False
        each.due = 0.0 if worked else now + (pause if closed_for else 0.0)
        return worked


class _Round:
    def __init__(self, task: Task, work: Work) -> None:
        self.task, self.work, self.due = task, work, 0.0
