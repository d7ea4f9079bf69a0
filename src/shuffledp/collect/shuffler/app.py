"""The shuffler as a web application: its routes, their handlers, and the threads beside them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

from prometheus_client.core import Metric
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.collect.crypto.batch import HEAD_BYTES, BatchHead
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server import observability as metrics
from shuffledp.collect.server.auth import bearer
from shuffledp.collect.server.http import (
    InFlight,
    Rate,
    application,
    asking_the_store,
    body_of,
    most_in_flight,
    starting,
)
from shuffledp.collect.server.observability import log, log_error
from shuffledp.collect.server.pull import Background, Work
from shuffledp.collect.server.series import SeriesWork, grouped_by_series
from shuffledp.collect.shuffler.ingest import GroupCommit, Ingestion, Refusals
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.shuffler.worker import BatchCloser, BatchMixer
from shuffledp.collect.store import ReadyBatch, ReportStore, Standing
from shuffledp.formatting import counted

_NO_TOKENS = "No unspent one-time token is left, so no report can be admitted: add hashes of new tokens."

Handler = Callable[[Served, Request], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(settings: Settings) -> Starlette:
    """The application; its background work runs from its start to its end."""
    shuffler = Shuffler(settings)
    of_task, task = shuffler.of_task, "/v1/tasks/{name}"
    return application(
        [
            Route(f"{task}/reports", of_task(shuffler.upload_report), methods=["POST"]),
            Route(task, of_task(shuffler.show_task), methods=["GET"]),
            Route(f"{task}/status", of_task(shuffler.show_status), methods=["GET"]),
            Route(f"{task}/batches", of_task(shuffler.list_batches), methods=["GET"]),
            Route(f"{task}/batches/{{batch}}", of_task(shuffler.fetch_batch), methods=["GET"]),
            Route(f"{task}/batches/{{batch}}", of_task(shuffler.acknowledge_batch), methods=["DELETE"]),
            Route("/v1/series/{name}", shuffler.show_series, methods=["GET"]),
            Route("/health", shuffler.show_health, methods=["GET"]),
            Route("/metrics", shuffler.show_metrics, methods=["GET"]),
            *_survey_page(settings),
        ],
        lifespan=shuffler.running,
        around=[Middleware(CrossOrigin)],
    )


def app_from(read_settings: Callable[..., Settings], background: bool) -> Starlette:
    """The application of one process, which reads the settings itself."""
    return make_app(read_settings(background=background))


def _survey_page(settings: Settings) -> list[Route]:
    if not settings.page:
        return []
    from shuffledp.collect.web.survey import routes

    tasks = [served.task for served in settings.served if served.position == 0]
    return routes(tasks, series=settings.series, clock=settings.clock)


class Shuffler:
    """Handlers of all requests, and the threads beside them."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._store = settings, settings.store
        self._served = {served.task.name: served for served in settings.served}
        self._commits, self._refusals = GroupCommit(settings.store.add), Refusals(settings.store)
        self._ingestion = {
            name: Ingestion(served.task, served.key, served.admission, self._commits, clock=settings.clock)
            for name, served in self._served.items()
            if served.position == 0
        }
        self._rate = Rate(settings.most_per_second)
        self._in_flight = InFlight(most_in_flight(max(served.task.longest_report for served in settings.served)))
        self._mixers: dict[str, BatchMixer] = {}
        self._threads: list[Background] = []

    def of_task(self, handler: Handler) -> Endpoint:
        """Find the task of a request, and count refusals."""

        async def endpoint(request: Request) -> Response:
            served = self._served.get(request.path_params["name"])
            try:
                if served is None:
                    raise Refused(Reason.UNKNOWN_TASK)
                with asking_the_store():
                    return await handler(served, request)
            except Refused as refused:
                self._refusals.count(served.task.id if served else None, refused.reason)
                raise

        return endpoint

    async def upload_report(self, served: Served, request: Request) -> Response:
        """Answer 201 when the report is durable."""
        self._rate.take()
        with self._in_flight.one():
            ingestion = self._ingestion.get(served.task.name)
            if ingestion is None:
                raise Refused(Reason.CANNOT_BE_OPENED, "Reports go to the first shuffler of the task.")
            ingestion.check_open()
            sealed = await body_of(request, served.task.longest_report)
            await ingestion.ingest(sealed, bearer(request.headers.get("authorization")))
        return Response(status_code=201)

    async def show_task(self, served: Served, request: Request) -> Response:
        """The canonical bytes of the task, whose SHA-256 is its name."""
        return Response(served.task.canonical, media_type="application/json")

    async def show_series(self, request: Request) -> Response:
        """The canonical bytes of a series, whose SHA-256 is its name."""
        for series in self._settings.series:
            if series.name == request.path_params["name"]:
                return Response(series.canonical, media_type="application/json")
        self._refusals.count(None, Reason.UNKNOWN_TASK)
        raise Refused(Reason.UNKNOWN_TASK)

    async def show_status(self, served: Served, request: Request) -> Response:
        """Public counters and problems."""
        standing = await run_in_threadpool(self._refusals.standing, served.task.id)
        return JSONResponse(status_of(served, standing, await self._problems(served, standing)))

    async def list_batches(self, served: Served, request: Request) -> Response:
        """The batches that are complete and mixed, for the next server."""
        self._check_token(request)
        ready = await run_in_threadpool(self._store.ready, served.task.id)
        listed = [{"id": batch.batch_id.hex(), "number": batch.number} for batch in ready]
        return JSONResponse({"batches": listed})

    async def fetch_batch(self, served: Served, request: Request) -> Response:
        """The bytes of a batch, the same every time until it is acknowledged."""
        self._check_token(request)
        batch = await self._ready(served, _batch_id(request))
        if batch is None:
            raise Refused(Reason.UNKNOWN_BATCH)
        position = served.position + 1
        head = BatchHead(served.task.id, batch.batch_id, position, batch.number).to_bytes()
        blocks = await run_in_threadpool(self._store.mixed, batch.batch_id)
        length = HEAD_BYTES + batch.number * served.task.onion_length(position)
        headers = {"content-length": str(length), "cache-control": "no-store"}
        return StreamingResponse(chain([head], blocks), headers=headers, media_type="application/octet-stream")

    async def acknowledge_batch(self, served: Served, request: Request) -> Response:
        """Delete a batch that is durable at the next server; idempotent."""
        self._check_token(request)
        batch_id = _batch_id(request)
        if await self._ready(served, batch_id) is not None:
            await run_in_threadpool(self._store.acknowledge, batch_id)
        elif not await run_in_threadpool(self._store.has_batch, batch_id, served.task.id):
            raise Refused(Reason.UNKNOWN_BATCH)
        return Response(status_code=204)

    async def show_metrics(self, request: Request) -> Response:
        """Metrics for Prometheus."""
        standings, problems = await self._standings()
        return metrics.metrics_response(families(standings, problems, of_no_task=self._refusals.of_no_task))

    async def show_health(self, request: Request) -> Response:
        """Whether the store answers and the background threads run, and the problems of tasks."""
        _, problems = await self._standings()
        return metrics.health_response(working=all(thread.alive for thread in self._threads), problems=problems)

    async def _standings(self) -> tuple[dict[str, Standing], dict[str, list[str]]]:
        """The counters and the problems of all tasks."""
        with asking_the_store():
            standings = {
                name: await run_in_threadpool(self._store.standing, served.task.id)
                for name, served in self._served.items()
            }
            problems = {name: await self._problems(served, standings[name]) for name, served in self._served.items()}
        return standings, problems

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """The lifespan of the application; it ends when no request is in flight any longer."""
        with starting("shuffler"):
            await run_in_threadpool(self._start)
        try:
            yield
        finally:
            await self._commits.close()
            await run_in_threadpool(self._stop)

    def _start(self) -> None:
        settings = self._settings
        for served in settings.served:
            self._store.prepare(served.task)
            if settings.background and (problem := no_tokens(served, self._store)):
                log(problem, task=served.task.id)
        self._threads = [Background(self._refusals, every=settings.every)]
        if settings.background:
            for served_together in grouped_by_series(settings.served, lambda served: served.task):
                self._threads.append(self._background(served_together))
        for thread in self._threads:
            thread.start()

    def _background(self, served: Sequence[Served]) -> Background:
        """The thread of one task, or of all rounds of a series."""
        every, first = self._settings.every, served[0].task
        if first.series is None:
            return Background(self._work(served[0]), every=every, task=first.id)
        of = {each.task.id: each for each in served}
        tasks = [each.task for each in served]
        work = SeriesWork(tasks, lambda task: self._work(of[task.id]), every=every, clock=self._settings.clock)
        return Background(work, every=every)

    def _work(self, served: Served) -> Work:
        if served.upstream is None:
            return BatchCloser(served.task, self._store, clock=self._settings.clock)
        mixer = BatchMixer(served, served.upstream, self._store, processes=self._settings.processes)
        self._mixers[served.task.name] = mixer
        return mixer

    def _stop(self) -> None:
        for thread in self._threads:
            thread.stop()
        try:
            self._refusals.write()
        except Exception as error:  # only counters are lost
            log_error("refusals could not be counted", error)
        self._settings.close()

    async def _problems(self, served: Served, standing: Standing) -> list[str]:
        mixer = self._mixers.get(served.task.name)
        return await run_in_threadpool(problems_of, served, standing, self._store, mixer)

    async def _ready(self, served: Served, batch_id: bytes) -> ReadyBatch | None:
        ready = await run_in_threadpool(self._store.ready, served.task.id)
        return next((batch for batch in ready if batch.batch_id == batch_id), None)

    def _check_token(self, request: Request) -> None:
        if bearer(request.headers.get("authorization")) not in self._settings.next_servers:
            raise Refused(Reason.NO_TOKEN)


def _batch_id(request: Request) -> bytes:
    text = request.path_params["batch"]
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise Refused(Reason.UNKNOWN_BATCH)
    return bytes.fromhex(text)


def problems_of(served: Served, standing: Standing, store: ReportStore, mixer: BatchMixer | None) -> list[str]:
    """Public sentences about what fails in this process, and what the store says."""
    found = [*(mixer.problems if mixer is not None else ()), *metrics.replay_problem(standing.refused)]
    if short := standing.refused.get(Reason.TOO_FEW_MESSAGES.value, 0):
        found.append(
            f"{counted(short, 'batch', things='batches')} had too few messages, so the noise is incomplete: not "
            "forwarded. Ask the operators of the shufflers before this one."
        )
    if standing.short_by is None and (problem := no_tokens(served, store)):
        found.append(problem)
    return found


def no_tokens(served: Served, store: ReportStore) -> str | None:
    """A sentence if no report can be admitted, since no token is left."""
    needed = served.task.admission == "tokens" and served.position == 0
    return _NO_TOKENS if needed and not store.has_unspent(served.task.id) else None


def status_of(served: Served, standing: Standing, problems: Sequence[str]) -> dict[str, Any]:
    """The public status of a task; `short_by` is null until the task is closed."""
    return {
        "task": served.task.name,
        "position": served.position,
        "users": served.task.users,
        "waiting": standing.waiting,
        "batches": standing.batches,
        "batches_acknowledged": standing.acknowledged,
        "short_by": standing.short_by,
        "refused": dict(standing.refused),
        "problems": list(problems),
    }


def families(
    standings: Mapping[str, Standing], problems: Mapping[str, Sequence[str]], *, of_no_task: int
) -> list[Metric]:
    """The metrics, read from the store, so that every process of a server gives the same values.

    The number of messages is not among them. Polled after every report, it would reveal the number of messages of each
    report, and so more about the noise than the guarantee allows.
    """

    def each(name: str) -> dict[str, float]:
        return {task: getattr(standing, name) for task, standing in standings.items()}

    short_by = {task: each.short_by for task, each in standings.items() if each.short_by is not None}
    refused = {task: standing.refused for task, standing in standings.items()}
    failing = {task: len(words) for task, words in problems.items()}
    unknown = metrics.process_counter(
        "shuffledp_requests_for_unknown_tasks", "Requests for unknown tasks, in this process.", of_no_task
    )
    return [
        metrics.counter("shuffledp_reports", "Reports stored.", each("reports")),
        metrics.gauge("shuffledp_reports_waiting", "Reports that are not in a batch yet.", each("waiting")),
        metrics.counter("shuffledp_batches", "Batches closed.", each("batches")),
        metrics.gauge("shuffledp_batches_to_be_mixed", "Batches closed but not mixed yet.", each("closing")),
        metrics.gauge("shuffledp_batches_ready", "Batches waiting for the next server.", each("ready")),
        metrics.counter("shuffledp_batches_acknowledged", "Batches the next server has.", each("acknowledged")),
        metrics.gauge("shuffledp_short_by", "Reports missing from the last batch of a closed task.", short_by),
        metrics.refusals("shuffledp_refused", "Refusals, by reason.", refused),
        unknown,
        metrics.gauge("shuffledp_problems", "Current problems.", failing),
    ]


_METHODS = {None: "GET", "status": "GET", "reports": "POST"}
_PATH = re.compile(r"/v1/series/[^/]+|/v1/tasks/[^/]+(?:/(status|reports))?")

_ORIGIN = "access-control-allow-origin"
_ASKED_BEFORE = {
    "access-control-allow-headers": "authorization, content-type",  # a star would not stand for the first
    "access-control-max-age": "7200",  # seconds: browsers keep it no longer
}
"""Headers of the answer to a preflight request."""


class CrossOrigin:
    """CORS for four public addresses: the series, the task, its status, and its reports.

    Browsers let a page read the answer of another server only if that server allows it. Survey pages may be anywhere,
    so every origin is allowed; no cookie or password of the browser is involved. Batches are not included: only the
    next server fetches them. Starlette's CORSMiddleware does not fit. It covers all addresses or, around one route,
    misses errors of the whole application, which pages must be able to read.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request; answer preflight requests directly."""
        found = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            method = _METHODS[found[1]]
            headers = {_ORIGIN: "*", "access-control-allow-methods": method, "allow": f"{method}, OPTIONS"}
            await Response(status_code=204, headers=headers | _ASKED_BEFORE)(scope, receive, send)
        else:

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message)[_ORIGIN] = "*"
                await send(message)

            await self._app(scope, receive, sending)
