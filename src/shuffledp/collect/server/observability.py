"""Logs, metrics and health of a server, none of which can say who sent what.

A log line is one JSON object on stderr: the name of an event, a task id and whole numbers. No field can hold an
address, a user agent, a token or a value. Errors are logged by type and place in the code, without their message; only
errors of other servers have a sentence, which this package writes itself. Lines carry no time: the precise time of an
event at the first shuffler says when a person reported. Log collectors such as journald add their own.

Metrics are counts per task and reason in the Prometheus text format.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import JSONResponse, Response

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.formatting import counted

Fields = dict[str, str | int]

_LIBRARIES = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "httpx", "httpcore", "asyncio")


class JsonFormatter(logging.Formatter):
    """Format a record as a line of JSON.

    Only records of `log`, `log_error` and `log_ready` carry fields. Messages of libraries may contain addresses, so
    of those only the level and the type of the error are written.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: Fields | None = getattr(record, "fields", None)
        if fields is None:
            error = record.exc_info[1] if record.exc_info else None
            line: Fields = {"event": f"server {record.levelname.lower()}", **_error_fields(error)}
        else:
            line = {"event": record.getMessage(), **fields}
        return json.dumps(line)


class StderrHandler(logging.Handler):
    """Write lines to the current `sys.stderr`."""

    def __init__(self, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; the work that it is about goes on if stderr is closed."""
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass


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


def log(event: str, *, task: bytes | None = None, **numbers: int) -> None:
    """Log an event with whole numbers."""
    fields = {name: int(number) for name, number in numbers.items()}
    _LOGGER.info("%s", event, extra={"fields": _task_field(task) | fields})


def log_error(
    event: str, error: BaseException, *, task: bytes | None = None, why: str | None = None, **numbers: int
) -> None:
    """Log an error by its type and place in the code; `why` is a sentence that is known to contain no data."""
    fields = _error_fields(error) | ({} if why is None else {"why": why}) | _task_field(task) | numbers
    _LOGGER.error("%s", event, extra={"fields": fields})


def log_ready(address: str) -> None:
    """Log the address at which this server answers."""
    _LOGGER.info("ready", extra={"fields": {"address": address}})


def _task_field(task: bytes | None) -> Fields:
    return {} if task is None else {"task": task.hex()}


def _error_fields(error: BaseException | None) -> Fields:
    if error is None:
        return {}
    fields: Fields = {"error": type(error).__name__}
    if places := traceback.extract_tb(error.__traceback__):
        fields["place"] = f"{PurePath(places[-1].filename).name}:{places[-1].lineno}"
    return fields


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def gauge(name: str, meaning: str, by_task: Mapping[str, float]) -> Metric:
    """A value per task that goes up and down."""
    family = GaugeMetricFamily(name, meaning, labels=["task"])
    for task, number in by_task.items():
        family.add_metric([task], number)
    return family


def counter(name: str, meaning: str, by_task: Mapping[str, float]) -> Metric:
    """A value per task that only grows."""
    family = CounterMetricFamily(name, meaning, labels=["task"])
    for task, number in by_task.items():
        family.add_metric([task], number)
    return family


def refusals(name: str, meaning: str, by_task: Mapping[str, Mapping[str, int]]) -> Metric:
    """The number of refusals per task and reason."""
    family = CounterMetricFamily(name, meaning, labels=["task", "reason"])
    for task, reasons in by_task.items():
        for reason, number in reasons.items():
            family.add_metric([task, reason], number)
    return family


def process_counter(name: str, meaning: str, number: int) -> Metric:
    """A value that only grows, of the process that answers."""
    family = CounterMetricFamily(name, meaning)
    family.add_metric([], number)
    return family


class _Fixed(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def metrics_response(families: Iterable[Metric]) -> Response:
    """The page that Prometheus scrapes."""
    registry = CollectorRegistry()
    registry.register(_Fixed(families))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE)


def health_response(*, working: bool, problems: Mapping[str, Sequence[str]]) -> Response:
    """The answer of a server whose store has answered; refused unless its background threads run as well.

    The problems of tasks, which `status` shows too, do not make a server unhealthy: restarting it would not help.
    """
    if not working:
        raise Refused(Reason.UNAVAILABLE, "A background thread of this server has ended.")
    listed = {task: list(words) for task, words in problems.items() if words}
    return JSONResponse({"state": "problems", "problems": listed} if listed else {"state": "ok"})


def replay_problem(refused: Mapping[str, int]) -> list[str]:
    """A public sentence if messages of earlier batches came again."""
    number = refused.get(Reason.REPLAYED.value, 0)
    if not number:
        return []
    return [
        f"{counted(number, 'message')} had been in an earlier batch and {'was' if number == 1 else 'were'} dropped. "
        "Was the store of a server before this one restored from a backup, or does that server replay messages?"
    ]
