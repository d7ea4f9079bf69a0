"""Current failures of the work on one task, with their public sentences, and when what failed is tried again."""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shuffledp.collect.reaching import Cause
from shuffledp.collect.server.background import StoppedError
from shuffledp.collect.server.events import Event
from shuffledp.collect.server.observability import log_error
from shuffledp.collect.server.upstream import UpstreamError
from shuffledp.collect.store.database import Fault, StoreError

FIRST_PAUSE, LONGEST_BACK_OFF = 1.0, 600.0
"""Seconds before something that failed is tried again; the pause doubles each time."""

LONGEST_UPSTREAM_PAUSE = 30.0
"""The same for the server upstream as a whole: a list of batches is a small request, and nothing is fetched before."""

UPSTREAM = "upstream"
"""The name of failures of the server upstream as a whole."""


@dataclass(frozen=True)
class _Failure:
    """A current failure: a public sentence, when it may be tried again and the pause until then, and its cause."""

    message: str
    retry: float
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
        """Why batches cannot be fetched from the server upstream; None while they can."""
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
        """Record and log a failure. Only errors of the server upstream, of the store and of the operating system have a
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


def store_fault(tasks: Iterable[TaskHealth]) -> Fault | None:
    """Why the store of this server cannot be used for one of these tasks; None while it can."""
    return next((fault for health in tasks if (fault := health.store_fault) is not None), None)


def _level_of(what: bytes | str, error: Exception) -> int:
    """The level of the log line of a failure: no error while an operator has added a task here and not yet upstream."""
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
