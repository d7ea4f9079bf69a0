"""What does not work at a shuffler, in words for everybody.

What a shuffler tells in public about its tasks: how many, never who or when.

What pages of other origins may ask a shuffler: the task, its status, and to take a report.

Browsers let a page read an answer of another server only if that server allows it (CORS). People answer on pages of
anybody's, so these three are for every origin: they are public, and no cookie or password of the browser goes with
them. Batches are not: only the next hop fetches them, and it is no page.

The answers of a shuffler to each kind of request.

The shuffler as a web application: its addresses, and what runs beside them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
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
    Rate,
    UnderWay,
    application,
    asking_the_store,
    at_once,
    body_of,
    starting,
)
from shuffledp.collect.server.observability import log, log_error
from shuffledp.collect.server.pull import Background, Work
from shuffledp.collect.shuffler.ingest import GroupCommit, Ingestion, Refusals
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.shuffler.worker import BatchCloser, BatchMixer
from shuffledp.collect.store import ReadyBatch, ReportStore, Standing
from shuffledp.formatting import counted

_NO_TOKENS = (
    "No one-time token is left with which anybody could report: give hashes of new ones with --admission-hashes."
)


def problems_of(served: Served, standing: Standing, store: ReportStore, relay: BatchMixer | None) -> list[str]:
    """What fails in this process, and what the store says."""
    found = list(relay.problems) if relay is not None else []
    if short := standing.refused.get(Reason.TOO_FEW_MESSAGES.value, 0):
        found.append(
            f"{counted(short, 'batch', things='batches')} had too few messages and went no further: noise is missing. "
            "Ask the shufflers before this one what happened."
        )
    if standing.short_by is None and (words := no_tokens(served, store)):
        found.append(words)
    return found


def no_tokens(served: Served, store: ReportStore) -> str | None:
    """That nobody can report; None if somebody can."""
    asks = served.task.admission == "tokens" and served.position == 0
    return _NO_TOKENS if asks and not store.has_unspent(served.task.id) else None


def status_of(served: Served, standing: Standing, problems: Sequence[str]) -> dict[str, Any]:
    """The public standing of a task, and what does not work; `short_by` is null until the task is closed."""
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
    """The same for Prometheus, from the store, so that every process of a server answers alike.

    Not how many messages arrived: whoever looks after every report would know how many each holds, and so more about
    the noise in what is published than the promise allows for.
    """

    def each(name: str) -> dict[str, float]:
        return {task: getattr(standing, name) for task, standing in standings.items()}

    short_by = {task: each.short_by for task, each in standings.items() if each.short_by is not None}
    refused = {task: standing.refused for task, standing in standings.items()}
    failing = {task: len(words) for task, words in problems.items()}
    unknown = metrics.process_counter(
        "shuffledp_requests_for_unknown_tasks", "Requests for tasks that are not served, of this process.", of_no_task
    )
    return [
        metrics.counter("shuffledp_reports", "Reports stored.", each("reports")),
        metrics.gauge("shuffledp_reports_waiting", "Reports that are in no batch.", each("waiting")),
        metrics.counter("shuffledp_batches", "Batches closed.", each("batches")),
        metrics.gauge("shuffledp_batches_to_be_mixed", "Batches closed and not yet mixed.", each("closing")),
        metrics.gauge("shuffledp_batches_ready", "Batches that the next hop has not acknowledged.", each("ready")),
        metrics.counter("shuffledp_batches_acknowledged", "Batches that the next hop has.", each("acknowledged")),
        metrics.gauge("shuffledp_short_by", "People by whom the last batch of a closed task fell short.", short_by),
        metrics.refusals("shuffledp_refused", "What was refused, by reason.", refused),
        unknown,
        metrics.gauge("shuffledp_problems", "What does not work at the moment.", failing),
    ]


_METHODS = {None: "GET", "status": "GET", "reports": "POST"}
_PATH = re.compile(r"/v1/tasks/[^/]+(?:/(status|reports))?")

_ORIGIN = "access-control-allow-origin"
_ASKED_BEFORE = {
    "access-control-allow-headers": "authorization, content-type",  # a star would not stand for the first
    "access-control-max-age": "7200",  # seconds: browsers keep it no longer
}
"""What a browser is told that asks first whether it may send a request (a preflight)."""


class CrossOrigin:
    """Around a whole application, so that errors too can be read by the page that asked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on; answers for the application only where a browser asks first."""
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


Answering = Callable[[Served, Request], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Endpoints:
    """Everything that a shuffler can be asked; `commits` and `refusals` are ended by whoever made them."""

    def __init__(
        self, settings: Settings, commits: GroupCommit, refusals: Refusals, relays: Mapping[str, BatchMixer]
    ) -> None:
        self._store, self._next_hops, self._refusals = settings.store, settings.next_hops, refusals
        self._relays = relays
        self._served = {served.task.name: served for served in settings.served}
        self._ingestion = Ingestion(commits, clock=settings.clock)
        self._rate = Rate(settings.most_per_second)
        self._under_way = UnderWay(at_once(max(served.task.longest_report for served in settings.served)))

    def of_task(self, answer: Answering) -> Endpoint:
        """Finds the task of a request, and counts what is refused."""

        async def answered(request: Request) -> Response:
            served = self._served.get(request.path_params["name"])
            try:
                if served is None:
                    raise Refused(Reason.UNKNOWN_TASK)
                with asking_the_store():
                    return await answer(served, request)
            except Refused as refused:
                self._refusals.count(served.task.id if served else None, refused.reason)
                raise

        return answered

    async def take_report(self, served: Served, request: Request) -> Response:
        """201 when the report is on the disk."""
        self._rate.take()
        with self._under_way.one():
            self._ingestion.check_open(served)
            sealed = await body_of(request, served.task.longest_report)
            await self._ingestion.take(served, sealed, bearer(request.headers.get("authorization")))
        return Response(status_code=201)

    async def show_task(self, served: Served, request: Request) -> Response:
        """The canonical bytes, of which the task's name is the SHA-256."""
        return Response(served.task.canonical, media_type="application/json")

    async def show_status(self, served: Served, request: Request) -> Response:
        """Public counters."""
        standing = await run_in_threadpool(self._refusals.standing, served.task.id)
        return JSONResponse(status_of(served, standing, await self._problems(served, standing)))

    async def list_batches(self, served: Served, request: Request) -> Response:
        """The batches that are complete and mixed, for the next hop."""
        self._check_next_hop(request)
        ready = await run_in_threadpool(self._store.ready, served.task.id)
        listed = [{"id": batch.batch_id.hex(), "number": batch.number} for batch in ready]
        return JSONResponse({"batches": listed})

    async def hand_on(self, served: Served, request: Request) -> Response:
        """The bytes of a batch, the same every time until it is acknowledged."""
        self._check_next_hop(request)
        batch = await self._ready(served, _batch_id(request))
        if batch is None:
            raise Refused(Reason.UNKNOWN_BATCH)
        position = served.position + 1
        head = BatchHead(served.task.id, batch.batch_id, position, batch.number).to_bytes()
        blocks = await run_in_threadpool(self._store.mixed, batch.batch_id)
        length = HEAD_BYTES + batch.number * served.task.onion_length(position)
        headers = {"content-length": str(length), "cache-control": "no-store"}
        return StreamingResponse(chain([head], blocks), headers=headers, media_type="application/octet-stream")

    async def acknowledge(self, served: Served, request: Request) -> Response:
        """The next hop has the batch: it is deleted here; twice is once."""
        self._check_next_hop(request)
        batch_id = _batch_id(request)
        if await self._ready(served, batch_id) is not None:
            await run_in_threadpool(self._store.acknowledge, batch_id)
        elif not await run_in_threadpool(self._store.has_batch, batch_id, served.task.id):
            raise Refused(Reason.UNKNOWN_BATCH)
        return Response(status_code=204)

    async def show_metrics(self, request: Request) -> Response:
        """Counters for Prometheus."""
        with asking_the_store():
            standings = {
                name: await run_in_threadpool(self._store.standing, served.task.id)
                for name, served in self._served.items()
            }
            problems = {name: await self._problems(served, standings[name]) for name, served in self._served.items()}
        return metrics.metrics_response(families(standings, problems, of_no_task=self._refusals.of_no_task))

    async def _problems(self, served: Served, standing: Standing) -> list[str]:
        relay = self._relays.get(served.task.name)
        return await run_in_threadpool(problems_of, served, standing, self._store, relay)

    async def _ready(self, served: Served, batch_id: bytes) -> ReadyBatch | None:
        ready = await run_in_threadpool(self._store.ready, served.task.id)
        return next((batch for batch in ready if batch.batch_id == batch_id), None)

    def _check_next_hop(self, request: Request) -> None:
        if bearer(request.headers.get("authorization")) not in self._next_hops:
            raise Refused(Reason.NO_TOKEN)


def _batch_id(request: Request) -> bytes:
    text = request.path_params["batch"]
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise Refused(Reason.UNKNOWN_BATCH)
    return bytes.fromhex(text)


def make_app(settings: Settings) -> Starlette:
    """The application; its background work runs from its start to its end, and its end writes all that is left."""
    beside = _Beside(settings)
    endpoints = Endpoints(settings, beside.commits, beside.refusals, beside.relays)
    of_task, task = endpoints.of_task, "/v1/tasks/{name}"
    return application(
        [
            Route(f"{task}/reports", of_task(endpoints.take_report), methods=["POST"]),
            Route(task, of_task(endpoints.show_task), methods=["GET"]),
            Route(f"{task}/status", of_task(endpoints.show_status), methods=["GET"]),
            Route(f"{task}/batches", of_task(endpoints.list_batches), methods=["GET"]),
            Route(f"{task}/batches/{{batch}}", of_task(endpoints.hand_on), methods=["GET"]),
            Route(f"{task}/batches/{{batch}}", of_task(endpoints.acknowledge), methods=["DELETE"]),
            Route("/health", beside.show_health, methods=["GET"]),
            Route("/metrics", endpoints.show_metrics, methods=["GET"]),
            *_page(settings),
        ],
        lifespan=beside.running,
        around=[Middleware(CrossOrigin)],
    )


def _page(settings: Settings) -> list[Route]:
    """The page that asks, if there is to be one; what it loads is read only then."""
    if not settings.page:
        return []
    from shuffledp.collect.web.survey import routes

    return routes([served.task for served in settings.served if served.position == 0])


@dataclass
class _Beside:
    """What runs beside the requests: commits, counters, and the threads that close, mix and pull."""

    settings: Settings
    threads: list[Background] = field(default_factory=list)
    relays: dict[str, BatchMixer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.commits = GroupCommit(self.settings.store.add)
        self.refusals = Refusals(self.settings.store)

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """From the start of the application to its end, when no request is under way any longer."""
        with starting("shuffler"):
            await run_in_threadpool(self._start)
        try:
            yield
        finally:
            await self.commits.close()
            await run_in_threadpool(self._stop)

    async def show_health(self, request: Request) -> Response:
        """Whether the store answers and everything runs that should."""
        with asking_the_store():
            for served in self.settings.served:
                await run_in_threadpool(self.settings.store.waiting, served.task.id)
        return metrics.health_response(working=all(thread.alive for thread in self.threads))

    def _start(self) -> None:
        settings = self.settings
        for served in settings.served:
            settings.store.prepare(served.task)
            if settings.background and (words := no_tokens(served, settings.store)):
                log(words, task=served.task.id)
        thread = partial(Background, every=settings.every)
        self.threads = [thread(self.refusals)]
        if settings.background:
            for served in settings.served:
                self.threads.append(thread(self._work(served), task=served.task.id))
        for each in self.threads:
            each.start()

    def _work(self, served: Served) -> Work:
        store, clock, processes = self.settings.store, self.settings.clock, self.settings.processes
        if served.upstream is None:
            return BatchCloser(served.task, store, clock=clock)
        relay = self.relays[served.task.name] = BatchMixer(served, served.upstream, store, processes=processes)
        return relay

    def _stop(self) -> None:
        for thread in self.threads:
            thread.stop()
        try:
            self.refusals.write()
        except Exception as error:  # only counters are lost
            log_error("refusals could not be counted", error)
        for served in self.settings.served:
            if served.upstream is not None:
                served.upstream.close()
        if self.settings.owns_store:
            self.settings.store.close()
