"""What operators see of a server: its API of tasks, metrics and health, none of which can say who sent what.

docs/reference/endpoints.md has the API. Metrics are in the Prometheus text format. They are polled, perhaps every
second, so nothing among them may depend on one report by more than its arrival: see `families` of the shuffler, and
`storage.SPACE_STEP`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Generic, TypeVar

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shuffledp import __version__
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.auth import Accepted, WrongTokens, bearer, parse_hashes
from shuffledp.collect.server.background import Background, TaskHealth
from shuffledp.collect.server.http import asking_the_store, body_of, from_the_store, starting
from shuffledp.collect.server.registry import Host, Registry
from shuffledp.collect.server.settings import SharedSettings
from shuffledp.collect.server.storage import KeyWatch, StoreHealth, storage_problems
from shuffledp.collect.store.database import Fault, fault_of
from shuffledp.collect.task import Task
from shuffledp.collect.task.public_file import MOST_FILE_BYTES
from shuffledp.errors import ShuffledpError
from shuffledp.formatting import counted

TASKS = "/v1/admin/tasks"

MOST_HASHES_BYTES = 66 * 1_000_000
"""Bytes of a request with hashes: a million of them. More are sent in several requests."""

NOT_AN_OPERATOR = "Only an operator may do this, with a token whose hash this server was started with."

NO_TOKENS_HERE = "An analyzer takes no tokens: send their hashes to the first shuffler of the task."

AddHashes = Callable[[str, Sequence[bytes]], int]
"""Add hashes of one-time tokens, or of the shared secret, to a file; return how many are new."""

Handler = Callable[[Request], Awaitable[Response]]


class AdminApi:
    """Routes of the API; `add_hashes` is for the first shuffler of tasks."""

    def __init__(
        self, registry: Registry[Any], *, operators: Accepted, pause: float, add_hashes: AddHashes | None = None
    ) -> None:
        self._registry, self._operators, self._add_hashes = registry, operators, add_hashes
        self._wrong = WrongTokens(pause)

    def routes(self) -> list[Route]:
        """Return all routes."""
        one = f"{TASKS}/{{name}}"
        return [
            Route(TASKS, self._checked(self._list), methods=["GET"]),
            Route(TASKS, self._checked(self._add), methods=["POST"]),
            Route(one, self._checked(self._show), methods=["GET"]),
            Route(one, self._checked(self._remove), methods=["DELETE"]),
            Route(f"{one}/close", self._checked(self._close), methods=["POST"]),
            Route(f"{one}/tokens", self._checked(self._tokens), methods=["POST"]),
        ]

    def _checked(self, handler: Handler) -> Handler:
        async def endpoint(request: Request) -> Response:
            if bearer(request.headers.get("authorization")) not in self._operators:
                await self._wrong.wait()
                raise Refused(Reason.NO_TOKEN, NOT_AN_OPERATOR)
            with asking_the_store():
                response = await handler(request)
            response.headers["cache-control"] = "no-store"
            return response

        return endpoint

    async def _list(self, request: Request) -> Response:
        return JSONResponse({"tasks": await run_in_threadpool(self._listed)})

    def _listed(self) -> list[dict[str, Any]]:
        self._registry.update()
        return [self._registry.about(entry) for entry in self._registry.entries]

    async def _show(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._about, request.path_params["name"]))

    def _about(self, name: str) -> dict[str, Any]:
        self._registry.update()
        return self._registry.about(self._registry.find(name))

    async def _add(self, request: Request) -> Response:
        content = await body_of(request, MOST_FILE_BYTES)
        entry, new = await run_in_threadpool(self._registry.add, content)
        about = await run_in_threadpool(self._registry.about, entry)
        return JSONResponse(about, status_code=201 if new else 200)

    async def _close(self, request: Request) -> Response:
        entry = await run_in_threadpool(self._registry.close, request.path_params["name"])
        return JSONResponse(await run_in_threadpool(self._registry.about, entry))

    async def _remove(self, request: Request) -> Response:
        unchecked = request.query_params.get("unchecked") == "true"
        await run_in_threadpool(partial(self._registry.remove, request.path_params["name"], unchecked=unchecked))
        return Response(status_code=204)

    async def _tokens(self, request: Request) -> Response:
        if self._add_hashes is None:
            raise Refused(Reason.CANNOT_BE_SERVED, NO_TOKENS_HERE)
        name, content = request.path_params["name"], await body_of(request, MOST_HASHES_BYTES)
        add = self._add_hashes
        added = await run_in_threadpool(lambda: add(name, hashes_of(content)))  # parsing a million takes a second
        return JSONResponse({"added": added})


def hashes_of(content: bytes, *, name: str = "the body") -> list[bytes]:
    """The hashes in the body of a request or in a file, one per line."""
    try:
        return parse_hashes(content.decode("ascii", errors="replace"), name=name)
    except ShuffledpError as error:
        raise Refused(Reason.MALFORMED, str(error)) from None


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = TypeVar("Labels", bound=str | tuple[str, ...])
Counters = TypeVar("Counters")


def gauge(name: str, meaning: str, numbers: Mapping[Labels, float], *by: str) -> Metric:
    """A value that goes up and down for each task, or for each value of other labels."""
    return _filled(GaugeMetricFamily(name, meaning, labels=by or ["task"]), numbers)


def counter(name: str, meaning: str, numbers: Mapping[Labels, float], *by: str) -> Metric:
    """A value that only grows for each task, or for each value of other labels."""
    return _filled(CounterMetricFamily(name, meaning, labels=by or ["task"]), numbers)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, numbers: Mapping[Labels, float]) -> Metric:
    for labels, number in numbers.items():
        family.add_metric([labels] if isinstance(labels, str) else labels, number)
    return family


def refusals(name: str, meaning: str, by_task: Mapping[str, Mapping[str, int]]) -> Metric:
    """The number of refusals per task and reason."""
    numbers = {(task, reason): number for task, reasons in by_task.items() for reason, number in reasons.items()}
    return counter(name, meaning, numbers, "task", "reason")


def process() -> str:
    """The label of this process: without it, the counters of others would look like resets of its own."""
    return str(os.getpid())


def task_families(tasks: Iterable[Task], health: Mapping[str, TaskHealth]) -> list[Metric]:
    """What is public about each task, and why batches cannot be fetched from the previous server."""
    asked = list(tasks)
    causes = [(task, each.upstream_cause) for task, each in health.items()]
    return [
        gauge("shuffledp_users", "Reports in a batch.", {task.name: task.users for task in asked}),
        gauge("shuffledp_opens_seconds", "When the task opens.", {task.name: task.opens.timestamp() for task in asked}),
        gauge(
            "shuffledp_closes_seconds", "When the task closes.", {task.name: task.closes.timestamp() for task in asked}
        ),
        gauge(
            "shuffledp_upstream_failing",
            "1 while batches cannot be fetched from the previous server, by reason.",
            {(task, cause.value): 1 for task, cause in causes if cause is not None},
            *("task", "reason"),
        ),
    ]


def problem_family(problems: Mapping[str, Sequence[str]]) -> Metric:
    """The number of current problems of each task."""
    return gauge("shuffledp_problems", "Current problems.", {task: len(words) for task, words in problems.items()})


def server_families(store: StoreHealth, fault: Fault | None = None) -> list[Metric]:
    """What is known also while the store cannot be read; `fault` says why it cannot be used."""
    space = store.space
    return [
        gauge(
            "shuffledp_store_failing",
            "1 while the store cannot be used, by reason.",
            {reason: float(reason == fault) for reason in store.errors},
            "reason",
        ),
        counter(
            "shuffledp_store_errors",
            "Failures of the store, by reason and process.",
            {(reason, process()): number for reason, number in store.errors.items()},
            *("reason", "process"),
        ),
        gauge(
            "shuffledp_disk_free_bytes",
            "Free space, rounded down to 64 MiB, every minute.",
            {of: each.free for of, each in space.items()},
            "of",
        ),
        gauge(
            "shuffledp_disk_size_bytes",
            "Size of the file system, rounded up to 64 MiB.",
            {of: each.size for of, each in space.items()},
            "of",
        ),
        gauge("shuffledp_schema_version", "Version of the tables.", {"store": store.version}, "of"),
        gauge("shuffledp_build_info", "1, with the version of shuffledp.", {__version__: 1}, "version"),
    ]


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def replay_problem(refused: Mapping[str, int]) -> list[str]:
    """A public sentence if messages of earlier batches came again."""
    number = refused.get(Reason.REPLAYED.value, 0)
    if not number:
        return []
    return [
        f"{counted(number, 'message')} had been in an earlier batch and {'was' if number == 1 else 'were'} dropped. "
        "Was the store of a server before this one restored from a backup, or does that server replay messages?"
    ]


class TaskServer(ABC, Generic[Counters]):
    """What the handlers of both servers share: the threads beside them, the API of operators, health and metrics.

    `Counters` are those of a task in the store.
    """

    def __init__(
        self,
        settings: SharedSettings,
        tasks: Host[Any],
        *,
        storage: StoreHealth,
        add_hashes: AddHashes | None = None,
    ) -> None:
        self._registry, self._work_on, self._storage = tasks.registry, tasks.work_on, storage
        self._threads = [Background(each, every=settings.every) for each in (storage, KeyWatch(self._keys))]
        self.admin = AdminApi(
            tasks.registry, operators=settings.operators, pause=settings.pause_after_wrong, add_hashes=add_hashes
        )

    @abstractmethod
    def _keys(self) -> list[tuple[Task, KeyPair]]:
        """The tasks and their keys."""

    @abstractmethod
    def _standings(self) -> tuple[dict[str, Counters], dict[str, list[str]]]:
        """The counters and the problems of all tasks that are served."""

    @abstractmethod
    def _families(self, standings: Mapping[str, Counters], problems: Mapping[str, Sequence[str]]) -> list[Metric]:
        """The metrics of this kind of server."""

    def _takes_no_reports(self) -> bool:
        """Whether a load balancer should send reports elsewhere."""
        return False

    async def show_metrics(self, request: Request) -> Response:
        """Metrics for Prometheus."""
        try:
            standings, problems = await from_the_store(self._all_standings)
            own = await from_the_store(self._families, standings, problems)
        except Refused as refused:
            fault = self._storage.failing or fault_of(refused.__context__)
            found = [*server_families(self._storage, fault), problem_family(self._problems_of_storage(fault))]
        else:
            health = {name: each.health for name, each in dict(self._work_on).items()}
            found = [
                *server_families(self._storage, self._failing),
                *task_families(self._registry.tasks.values(), health),
            ]
            found += own
        return Response(generate_latest(_Families(found)), media_type=CONTENT_TYPE)

    async def show_health(self, request: Request) -> Response:
        """The state of the server (docs/reference/endpoints.md, "Health"); refused unless its background threads run.

        The status is 503 if it cannot store reports, so that a load balancer sends them elsewhere. Problems of tasks do
        not change the status: restarting the server would not help.
        """
        failing, unavailable = self._failing, self._takes_no_reports()
        try:
            _, problems = await from_the_store(self._all_standings)
        except Refused as refused:  # the store cannot even be read
            failing, unavailable = failing or fault_of(refused.__context__), True
            problems = self._problems_of_storage(failing)
        if not self._works():
            raise Refused(Reason.UNAVAILABLE, "A background thread of this server has ended.")
        listed = {task: words for task, words in problems.items() if words}
        if failing is not None:
            degraded = {"state": "degraded", "reason": failing.value, "problems": listed}
            return JSONResponse(degraded, 503 if unavailable else 200)
        return JSONResponse({"state": "problems", "problems": listed} if listed else {"state": "ok"})

    @property
    def _failing(self) -> Fault | None:
        """Why the store cannot be used for reports, or for a task; None while it can."""
        faults = (each.health.store_fault for each in dict(self._work_on).values())
        return self._storage.failing or next((fault for fault in faults if fault is not None), None)

    def _problems_of_storage(self, failing: Fault) -> dict[str, list[str]]:
        """The problems of tasks while the store cannot be read."""
        is_closed = self._registry.is_closed
        found = {task.name: storage_problems(key, failing, closed=is_closed(task)) for task, key in self._keys()}
        return found | self._registry.problems

    def _all_standings(self) -> tuple[dict[str, Counters], dict[str, list[str]]]:
        """The counters of all tasks that are served, and the problems also of those that cannot be."""
        standings, problems = self._standings()
        return standings, problems | self._registry.problems

    def _works(self) -> bool:
        """Whether all background threads run."""
        return self._registry.working and all(thread.alive for thread in self._threads)

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """The lifespan of the application."""
        with starting():
            await run_in_threadpool(self._start)
        try:
            yield
        finally:
            await run_in_threadpool(self._stop)

    def _start(self) -> None:
        self._registry.start()
        for thread in self._threads:
            thread.start()

    def _stop(self) -> None:
        self._registry.stop()
        for thread in self._threads:
            thread.stop()
