"""The shuffler as a web application: its routes, their handlers, its middleware, and the threads beside them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

from prometheus_client.core import Metric
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.collect.crypto.batch import HEAD_BYTES, BatchHead
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.auth import bearer
from shuffledp.collect.server.background import Background
from shuffledp.collect.server.http import (
    Rate,
    application,
    asking_the_store,
    body_of,
    header_of,
    problem,
    refusal_of,
    unexpected,
)
from shuffledp.collect.server.observability import Event, log_error
from shuffledp.collect.server.operation import TaskServer
from shuffledp.collect.server.storage import KEY_GONE, StoreHealth, storage_problems
from shuffledp.collect.shuffler.ingest import GroupCommit, Refusals
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.shuffler.tasks import ServedTasks, families, no_tokens, problems_of, status_of
from shuffledp.collect.store import ReadyBatch, Standing
from shuffledp.collect.task import Task
from shuffledp.collect.web.administration import Administration
from shuffledp.collect.web.pages import HOME, MANAGE, NO_STORE, ErrorPages
from shuffledp.collect.web.sessions import SigningIn
from shuffledp.errors import DataError

Upload = Callable[[Request], Awaitable[Response]]

_REPORTS = re.compile(r"/v1/tasks/([^/]+)/reports")


class DirectUpload:
    """Middleware around the application that answers uploads itself, since reports are the requests that must be fast.

    The application would give the same answers, but its layers and routes take a tenth of the time of a report.
    """

    def __init__(self, app: ASGIApp, upload: Upload) -> None:
        self.app, self._upload = app, upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an upload; forward other requests."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        found = _REPORTS.fullmatch(scope["path"]) if is_post else None
        if found is None:
            await self.app(scope, receive, send)
            return
        scope["path_params"] = {"name": found[1]}
        try:
            response = await self._upload(Request(scope, receive))
        except Exception as error:
            response = unexpected(error)
        if _ANY_ORIGIN not in response.raw_headers:  # one response serves all reports that were stored
            response.raw_headers.append(_ANY_ORIGIN)
        await response(scope, receive, send)


_METHODS = {None: "GET", "status": "GET", "reports": "POST"}
_PATH = re.compile(r"/v1/series/[^/]+|/v1/tasks/[^/]+(?:/(status|reports))?")

_ORIGIN = "access-control-allow-origin"
_ANY_ORIGIN = (_ORIGIN.encode(), b"*")
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
                    message["headers"] = [*message["headers"], _ANY_ORIGIN]
                await send(message)

            await self._app(scope, receive, sending)


Handler = Callable[[Served, Request], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(settings: Settings) -> DirectUpload:
    """The application; its background work runs from its start to its end."""
    shuffler = Shuffler(settings)
    of_task, task = shuffler.of_task, "/v1/tasks/{name}"
    app = application(
        [
            Route(f"{task}/reports", shuffler.upload_report, methods=["POST"]),
            Route(task, of_task(shuffler.show_task), methods=["GET"]),
            Route(f"{task}/status", of_task(shuffler.show_status), methods=["GET"]),
            Route(f"{task}/batches", of_task(shuffler.list_batches), methods=["GET"]),
            Route(f"{task}/batches/{{batch}}", of_task(shuffler.fetch_batch), methods=["GET"]),
            Route(f"{task}/batches/{{batch}}", of_task(shuffler.acknowledge_batch), methods=["DELETE"]),
            Route("/v1/series/{name}", shuffler.show_series, methods=["GET"]),
            Route("/health", shuffler.show_health, methods=["GET"]),
            Route("/metrics", shuffler.show_metrics, methods=["GET"]),
            *shuffler.admin.routes(),
            *shuffler.operator_pages(),
            *shuffler.survey_page(),
        ],
        lifespan=shuffler.running,
        around=[Middleware(CrossOrigin)],
    )
    if settings.operators.hashes:
        ErrorPages("shuffler", below=HOME).add_to(app)
    return DirectUpload(app, shuffler.upload_report)


def app_from(read_settings: Callable[..., Settings], background: bool) -> DirectUpload:
    """The application of one process, which reads the settings itself."""
    return make_app(read_settings(background=background))


class Shuffler(TaskServer[Standing]):
    """Handlers of all requests, and the threads beside them."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._store = settings, settings.store
        storage = StoreHealth(settings.store.database)
        self._commits = GroupCommit(storage.watched(settings.store.add))
        self._refusals = Refusals(settings.store)
        self._tasks = ServedTasks(settings, self._commits)
        self._rate = Rate(settings.most_per_second)
        super().__init__(settings, self._tasks, storage=storage, add_hashes=self._tasks.add_hashes)
        self._threads.append(Background(self._refusals, every=settings.every))

    def operator_pages(self) -> list[Route]:
        """The routes of the operator's page of tasks, if there is an operator."""
        settings = self._settings
        if not settings.operators.hashes:
            return []
        administration = Administration(
            self._tasks.registry,
            SigningIn(
                server="shuffler",
                operators=settings.operators,
                sessions=settings.sessions,
                pause=settings.pause_after_wrong,
            ),
            clock=settings.clock,
            status=self._status_of,
            add_hashes=self._tasks.add_hashes,
        )
        return [Route(HOME, _to_tasks, methods=["GET"]), *administration.routes()]

    def survey_page(self) -> list[Route]:
        """The routes of the survey page of the tasks of which this is the first shuffler."""
        if not self._settings.page:
            return []
        from shuffledp.collect.web.survey import routes

        tasks, registry = self._tasks, self._tasks.registry
        return routes(
            lambda: {**{name: task for name, (task, _) in registry.unserved.items()}, **tasks.first},
            series=lambda: registry.series,
            clock=self._settings.clock,
            is_closed=registry.is_closed,
        )

    def of_task(self, handler: Handler) -> Endpoint:
        """Find the task of a request, and count refusals."""

        async def endpoint(request: Request) -> Response:
            name = request.path_params["name"]
            served = self._tasks.served.get(name)
            try:
                if served is None:
                    raise self._registry.refusal(name)
                with asking_the_store():
                    return await handler(served, request)
            except Refused as refused:
                self._count(served, refused.reason)
                raise

        return endpoint

    async def upload_report(self, request: Request) -> Response:
        """Answer 201 when the report is durable."""
        name = request.path_params["name"]
        served = self._tasks.served.get(name)
        try:
            if served is None:
                raise self._registry.refusal(name)
            self._rate.take()
            with self._tasks.in_flight:
                ingestion = self._tasks.ingestion.get(name)
                if ingestion is None:
                    raise Refused(Reason.CANNOT_BE_OPENED, "Reports go to the first shuffler of the task.")
                ingestion.check_open()
                sealed = await body_of(request, served.task.longest_report)
                ingestion.check_open()  # a slow request may end after the closing time
                await ingestion.ingest(sealed, bearer(header_of(request.scope, b"authorization")))
        except DataError as error:
            refused = refusal_of(error)
            self._count(served, refused.reason)
            return problem(refused)
        return _STORED

    def _count(self, served: Served | None, reason: Reason) -> None:
        """Count a refusal; without its key, a task has no counters."""
        if served is not None or reason is Reason.UNKNOWN_TASK:
            self._refusals.count(served.task.id if served else None, reason)

    async def show_task(self, served: Served, request: Request) -> Response:
        """The canonical bytes of the task, whose SHA-256 is its name; refused, like its reports, while its key is gone.

        A client that fetches it makes no report in vain, which would count against a person's budget.
        """
        if served.position == 0 and served.key.destroyed and not self._tasks.registry.is_closed(served.task):
            raise Refused(Reason.UNAVAILABLE, KEY_GONE)
        return Response(served.task.canonical, media_type="application/json")

    async def show_series(self, request: Request) -> Response:
        """The canonical bytes of a series, whose SHA-256 is its name."""
        series = self._tasks.registry.series.get(request.path_params["name"])
        if series is None:
            self._refusals.count(None, Reason.UNKNOWN_TASK)
            raise Refused(Reason.UNKNOWN_TASK)
        return Response(series.canonical, media_type="application/json")

    async def show_status(self, served: Served, request: Request) -> Response:
        """Public counters and problems."""
        return JSONResponse(await run_in_threadpool(self._status, served))

    def _status(self, served: Served) -> dict[str, Any]:
        standing = self._refusals.standing(served.task.id)
        closed = self._tasks.registry.is_closed(served.task) or standing.short_by is not None
        return status_of(served, standing, self._problems(served, standing), closed=closed)

    def _status_of(self, task: Task) -> dict[str, Any] | None:
        """The public status of a task; None if it is not served."""
        served = self._tasks.served.get(task.name)
        return None if served is None else self._status(served)

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

    def _families(self, standings: Mapping[str, Standing], problems: Mapping[str, Sequence[str]]) -> list[Metric]:
        served = self._tasks.served
        positions = {name: each.position for name, each in served.items()}
        spent = {
            name: served[name].task.admission == "tokens"
            and standing.short_by is None
            and no_tokens(served[name], self._store)
            for name, standing in standings.items()
            if name in served  # an operator may have removed it meanwhile
        }
        return families(standings, problems, positions, spent, of_no_task=self._refusals.of_no_task)

    def _takes_no_reports(self) -> bool:
        # a batch that cannot be mixed is no reason to send reports elsewhere
        return self._storage.failing is not None and bool(self._tasks.ingestion)

    def _standings(self) -> tuple[dict[str, Standing], dict[str, list[str]]]:
        served = self._tasks.served  # an operator may add another meanwhile
        standings = {name: self._store.standing(each.task.id) for name, each in served.items()}
        return standings, {name: self._problems(each, standings[name]) for name, each in served.items()}

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """The lifespan of the application; it ends when no request is in flight any longer."""
        async with super().running(app):
            try:
                yield
            finally:
                await self._commits.close()

    def _start(self) -> None:
        super()._start()
        self._tasks.refresh_admission()  # before the first report

    def _stop(self) -> None:
        super()._stop()
        try:
            self._refusals.write()
        except Exception as error:  # only counters are lost
            log_error(Event.REFUSALS_NOT_COUNTED, error)
        self._settings.close()

    def _keys(self) -> list[tuple[Task, KeyPair]]:
        return [(served.task, served.key) for served in self._tasks.served.values()]

    def _problems(self, served: Served, standing: Standing) -> list[str]:
        work, closed = self._tasks.work_on.get(served.task.name), self._tasks.registry.is_closed(served.task)
        stored = storage_problems(served.key, self._storage.failing, closed=closed)
        failed = [] if work is None else work.health.problems
        return [*stored, *failed, *problems_of(served, standing, self._store)]

    async def _ready(self, served: Served, batch_id: bytes) -> ReadyBatch | None:
        ready = await run_in_threadpool(self._store.ready, served.task.id)
        return next((batch for batch in ready if batch.batch_id == batch_id), None)

    def _check_token(self, request: Request) -> None:
        if bearer(request.headers.get("authorization")) not in self._settings.next_servers:
            raise Refused(Reason.NO_TOKEN)


async def _to_tasks(request: Request) -> Response:
    return RedirectResponse(MANAGE, 307, NO_STORE)


def _batch_id(request: Request) -> bytes:
    text = request.path_params["batch"]
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise Refused(Reason.UNKNOWN_BATCH)
    return bytes.fromhex(text)


_STORED = Response(status_code=201)
