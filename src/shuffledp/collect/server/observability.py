"""Counters of a server as Prometheus reads them: how many by task and reason, and nothing about anybody.

Logs of servers: lines of JSON on stderr that count events, and cannot say who sent what.

A line has the name of an event, a task and whole numbers, and nothing else: there is no field that an address, a user
agent, a token or a value would fit into. Only of what other servers do wrong there is a sentence of ours. It has no
time either, since whoever keeps logs adds one.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def gauge(name: str, meaning: str, by_task: Mapping[str, float]) -> Metric:
    """A number that goes up and down, for each task."""
    family = GaugeMetricFamily(name, meaning, labels=["task"])
    for task, number in by_task.items():
        family.add_metric([task], number)
    return family


def counter(name: str, meaning: str, by_task: Mapping[str, float]) -> Metric:
    """A number that only grows, for each task."""
    family = CounterMetricFamily(name, meaning, labels=["task"])
    for task, number in by_task.items():
        family.add_metric([task], number)
    return family


def refusals(name: str, meaning: str, by_task: Mapping[str, Mapping[str, int]]) -> Metric:
    """What was refused, for each task and reason."""
    family = CounterMetricFamily(name, meaning, labels=["task", "reason"])
    for task, reasons in by_task.items():
        for reason, number in reasons.items():
            family.add_metric([task, reason], number)
    return family


def process_counter(name: str, meaning: str, number: int) -> Metric:
    """A number that only grows, of the one process that answers."""
    family = CounterMetricFamily(name, meaning)
    family.add_metric([], number)
    return family


class _Fixed(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def text_of(families: Iterable[Metric]) -> bytes:
    """The page that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Fixed(families))
    return generate_latest(registry)


def log(event: str, *, task: bytes | None = None, **numbers: int) -> None:
    """Writes one line."""
    line: dict[str, str | int] = {"event": event}
    if task is not None:
        line["task"] = task.hex()
    line.update({name: int(number) for name, number in numbers.items()})
    _write(line)


def log_error(
    event: str, error: BaseException, *, task: bytes | None = None, why: str | None = None, **numbers: int
) -> None:
    """Writes one line about an error: its kind and the place in the program, not its message, which may hold data.

    `why` is a sentence that is known to hold none.
    """
    line: dict[str, str | int] = {"event": event, "error": type(error).__name__}
    if places := traceback.extract_tb(error.__traceback__):
        line["place"] = f"{PurePath(places[-1].filename).name}:{places[-1].lineno}"
    if why is not None:
        line["why"] = why
    if task is not None:
        line["task"] = task.hex()
    line.update(numbers)
    _write(line)


def log_ready(address: str) -> None:
    """Says at which address of its own a server answers."""
    _write({"event": "ready", "address": address})


class Events(logging.Handler):
    """Takes what the libraries below log: only that something went wrong, and of which kind."""

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one line for a warning or an error."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            _write({"event": f"server {record.levelname.lower()}"})
        else:
            log_error(f"server {record.levelname.lower()}", error)


def quiet_libraries() -> None:
    """No library writes messages of its own, in which there could be addresses."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "httpx", "httpcore", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = [Events(logging.ERROR)]
        logger.propagate = False
        logger.setLevel(logging.ERROR)


def _write(line: dict[str, str | int]) -> None:
    try:
        sys.stderr.write(json.dumps(line) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody reads the log any longer; what it is about matters more
