"""Metrics and health of a server, none of which can say who sent what.

Metrics are in the Prometheus text format. They are polled, perhaps every second, so nothing among them may depend on
one report by more than its arrival: see `families` of the shuffler, and `storage.SPACE_STEP`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import JSONResponse, Response

from shuffledp import __version__
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.background import TaskHealth
from shuffledp.collect.server.storage import StoreHealth
from shuffledp.collect.store.database import Fault
from shuffledp.collect.task import Task
from shuffledp.formatting import counted

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
    """A value that only grows, of the process that answers; without the label, others would look like resets of it."""
    family = CounterMetricFamily(name, meaning, labels=["process"])
    family.add_metric([str(os.getpid())], number)
    return family


def labelled(name: str, meaning: str, label: str, numbers: Mapping[str, float]) -> Metric:
    """A value of the server that goes up and down, by a label that is not a task."""
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for value, number in numbers.items():
        family.add_metric([value], number)
    return family


def task_families(tasks: Iterable[Task], causes: Mapping[str, str]) -> list[Metric]:
    """What is public about each task, and `causes`: why batches cannot be fetched from the server upstream."""
    asked = list(tasks)
    failing = GaugeMetricFamily(
        "shuffledp_upstream_failing",
        "1 while batches cannot be fetched from the previous server, by reason.",
        labels=["task", "reason"],
    )
    for task, reason in causes.items():
        failing.add_metric([task, reason], 1)
    return [
        gauge("shuffledp_users", "Reports in a batch.", {task.name: task.users for task in asked}),
        gauge("shuffledp_opens_seconds", "When the task opens.", {task.name: task.opens.timestamp() for task in asked}),
        gauge(
            "shuffledp_closes_seconds", "When the task closes.", {task.name: task.closes.timestamp() for task in asked}
        ),
        failing,
    ]


def problem_family(problems: Mapping[str, Sequence[str]]) -> Metric:
    """The number of current problems of each task."""
    return gauge("shuffledp_problems", "Current problems.", {task: len(words) for task, words in problems.items()})


def upstream_causes(health: Mapping[str, TaskHealth]) -> dict[str, str]:
    """Why batches cannot be fetched from the server upstream, by task."""
    found = {task: each.upstream_cause for task, each in health.items()}
    return {task: cause.value for task, cause in found.items() if cause is not None}


def server_families(store: StoreHealth, fault: Fault | None = None) -> list[Metric]:
    """What is known also while the store cannot be read; `fault` says why it cannot be used."""
    errors = CounterMetricFamily(
        "shuffledp_store_errors", "Failures of the store, by reason and process.", labels=["reason", "process"]
    )
    for reason, number in store.errors.items():
        errors.add_metric([reason, str(os.getpid())], number)
    failing = {reason: float(reason == fault) for reason in store.errors}
    return [
        labelled("shuffledp_store_failing", "1 while the store cannot be used, by reason.", "reason", failing),
        errors,
        labelled(
            "shuffledp_disk_free_bytes",
            "Free space, rounded down to 64 MiB, every minute.",
            "of",
            {of: space.free for of, space in store.space.items()},
        ),
        labelled(
            "shuffledp_disk_size_bytes",
            "Size of the file system, rounded up to 64 MiB.",
            "of",
            {of: space.size for of, space in store.space.items()},
        ),
        labelled("shuffledp_schema_version", "Version of the tables.", "of", {"store": store.version}),
        labelled("shuffledp_build_info", "1, with the version of shuffledp.", "version", {__version__: 1}),
    ]


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


def unreadable_response(store: StoreHealth, fault: Fault, problems: Mapping[str, Sequence[str]]) -> Response:
    """The page that Prometheus scrapes while the store cannot be read."""
    return metrics_response([*server_families(store, fault), problem_family(problems)])


def health_response(
    *, working: bool, problems: Mapping[str, Sequence[str]], failing: Fault | None, unavailable: bool
) -> Response:
    """The state of a server: ok, problems (of tasks) or degraded; refused unless its background threads run.

    A server is degraded while its store cannot be written. If it cannot store reports, it is `unavailable`: the status
    is 503, so that a load balancer sends them elsewhere. Others still answer what is in their store. The problems of
    tasks do not change the status: restarting the server would not help.
    """
    if not working:
        raise Refused(Reason.UNAVAILABLE, "A background thread of this server has ended.")
    listed = {task: list(words) for task, words in problems.items() if words}
    if failing is not None:
        degraded = {"state": "degraded", "reason": failing.value, "problems": listed}
        return JSONResponse(degraded, 503 if unavailable else 200)
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
