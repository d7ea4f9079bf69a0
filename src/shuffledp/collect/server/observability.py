"""Logs of a server, which cannot say who sent what: docs/reference/endpoints.md, "Logs".

A log line has a task id, whole numbers, and names that this package chose. No field can hold an address, a user agent,
a token or a value. Errors are logged by type and place in the code, without their message; only errors of other servers
have a sentence, which this package writes itself.

Some lines are written when one report arrives, such as the one that completes a batch, and must not say when a person
reported: times are the full hour, or what reports of the task say about theirs if that is less. A flood of lines would
say when each report arrived, and fill the disk, so lines of the same kind are limited.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePath


class Event(StrEnum):
    """The name of a log line, which never changes its meaning: alerts and log searches may rely on it."""

    READY = "ready"
    STOPPED = "stopped"
    CANNOT_START = "cannot-start"
    PROCESS_RESTARTED = "process-restarted"
    LIBRARY_MESSAGE = "library-message"
    UNEXPECTED_ERROR = "unexpected-error"
    BACKGROUND_FAILED = "background-failed"
    STORE_FAILED = "store-failed"
    STORE_RECOVERED = "store-recovered"
    REPORTS_NOT_STORED = "reports-not-stored"
    REFUSALS_NOT_COUNTED = "refusals-not-counted"
    KEY_SHARED = "key-shared"
    KEY_DESTROYED = "key-destroyed"
    TOKENS_SPENT = "tokens-spent"
    BATCH_CLOSED = "batch-closed"
    BATCH_MIXED = "batch-mixed"
    BATCH_COUNTED = "batch-counted"
    BATCH_REFUSED = "batch-refused"
    BATCH_FAILED = "batch-failed"
    UPSTREAM_FAILED = "upstream-failed"
    TASK_CLOSED = "task-closed"
    TASK_ADDED = "task-added"
    TASK_NOT_SERVED = "task-not-served"
    TASK_CLOSED_EARLY = "task-closed-early"
    TASK_REMOVED = "task-removed"
    HASHES_ADDED = "admission-hashes-added"
    RELEASED = "released"
    RELEASE_FAILED = "release-failed"
    RELEASES_STOPPED = "releases-stopped"
    BUDGET_EXCEEDED = "budget-exceeded"
    LEDGER_NOT_MARKED = "ledger-not-marked"
    TREND_FAILED = "trend-failed"
    CONSOLE_FAILED = "console-failed"


Fields = dict[str, str | int]

TIME_PRECISION = 3600
"""Seconds to which the times of log lines are rounded down, at least."""

_precisions: dict[str, int] = {}
"""Seconds for lines about tasks whose reports have a coarser time, by the id in the line; never evicted."""

_WINDOW = 60.0
"""Seconds in which lines of the same kind are limited."""

_MOST_LINES = {logging.INFO: 30, logging.WARNING: 1, logging.ERROR: 1}
"""Lines of one kind within a window: an error that repeats says nothing new, batches are few."""

_LIBRARIES = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "httpx", "httpcore", "asyncio")


def round_times(task: bytes, precision: int) -> None:
    """Round the times of lines about a task as its reports do, to this number of seconds."""
    if precision > TIME_PRECISION:
        _precisions[task.hex()] = precision


def rounded_time(seconds: float, precision: int = TIME_PRECISION) -> str:
    """A time in seconds since 1970, rounded down, as ISO 8601."""
    return datetime.fromtimestamp(seconds - seconds % precision, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class JsonFormatter(logging.Formatter):
    """Format a record as a line of JSON.

    Messages of libraries may contain addresses, so of those only the level and the type of the error are written.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: Fields | None = getattr(record, "fields", None)
        event = Event.LIBRARY_MESSAGE if fields is None else record.getMessage()
        if fields is None:
            fields = _error_fields(record.exc_info[1] if record.exc_info else None)
        suppressed: int = getattr(record, "suppressed", 0)
        line: Fields = {
            "time": rounded_time(record.created, _precisions.get(str(fields.get("task")), TIME_PRECISION)),
            "level": record.levelname.lower(),
            "event": event,
            **fields,
            **({"suppressed": suppressed} if suppressed else {}),
        }
        return json.dumps(line)


class RateLimit(logging.Filter):
    """Limit the lines of one kind: the first line after a pause says how many were left out (`suppressed`)."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._guard = clock, threading.Lock()
        self._windows: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written; count it otherwise."""
        fields: Fields | None = getattr(record, "fields", None)
        event = "" if fields is None else record.getMessage()
        of = ("task", "reason", "error", "place")
        kind = (record.levelno, event, *((fields or {}).get(name) for name in of))
        now = self._clock()
        with self._guard:
            begun, lines = self._windows.get(kind, (now, 0))
            over = now - begun >= _WINDOW
            most = _MOST_LINES.get(record.levelno, 1)
            if not over and lines >= most:
                self._windows[kind] = begun, lines + 1
                return False
            self._windows[kind] = (now, 1) if over else (begun, lines + 1)
        record.suppressed = max(0, lines - most) if over else 0
        return True

    def reset(self) -> None:
        """Forget all lines."""
        with self._guard:
            self._windows.clear()


class StderrHandler(logging.Handler):
    """Write lines to the current `sys.stderr`."""

    def __init__(self, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.setFormatter(JsonFormatter())
        self.addFilter(LIMIT)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; the work that it is about goes on if stderr is closed."""
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass


LIMIT = RateLimit()
"""The limit of this process."""

_LOGGER = logging.getLogger("shuffledp.server")
_LOGGER.addHandler(StderrHandler())
_LOGGER.setLevel(logging.INFO)
_LOGGER.propagate = False


def quiet_libraries() -> None:
    """Reduce log messages of libraries to their level and the type of the error."""
    for name in _LIBRARIES:
        logger = logging.getLogger(name)
        logger.handlers = [StderrHandler(logging.ERROR)]
        logger.propagate = False
        logger.setLevel(logging.ERROR)


def log(event: Event, *, task: bytes | None = None, level: int = logging.INFO, **numbers: int) -> None:
    """Log an event with whole numbers."""
    _log(level, event, _task_field(task) | {name: int(number) for name, number in numbers.items()})


def log_error(
    event: Event,
    error: BaseException,
    *,
    task: bytes | None = None,
    why: str | None = None,
    level: int = logging.ERROR,
    **numbers: int,
) -> None:
    """Log an error by its type, reason and place in the code; `why` is a sentence that contains no data."""
    public: Fields = {} if why is None else {"why": why}
    _log(level, event, _error_fields(error) | public | _task_field(task) | {**numbers})


def log_ready(address: str) -> None:
    """Log the address at which this server answers."""
    _log(logging.INFO, Event.READY, {"address": address})


def _log(level: int, event: Event, fields: Fields) -> None:
    _LOGGER.log(level, "%s", event, extra={"fields": fields})


def _task_field(task: bytes | None) -> Fields:
    return {} if task is None else {"task": task.hex()}


def _error_fields(error: BaseException | None) -> Fields:
    """The type of an error, its reason if that is a name from a fixed list, and its place."""
    if error is None:
        return {}
    fields: Fields = {"error": type(error).__name__}
    if isinstance(reason := getattr(error, "reason", getattr(error, "fault", None)), StrEnum):
        fields["reason"] = reason.value
    if places := traceback.extract_tb(error.__traceback__):
        fields["place"] = f"{PurePath(places[-1].filename).name}:{places[-1].lineno}"
    return fields
