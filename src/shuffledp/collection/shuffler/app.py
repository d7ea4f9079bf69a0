"""The shuffler as a web application: its addresses, and what runs beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.collection.service.application import application, asking_the_store, healthy, starting
from shuffledp.collection.service.background import Background, Work
from shuffledp.collection.service.logs import log, log_error
from shuffledp.collection.shuffler.amiss import no_tokens
from shuffledp.collection.shuffler.closing import Closing
from shuffledp.collection.shuffler.cross_origin import CrossOrigin
from shuffledp.collection.shuffler.endpoints import Endpoints
from shuffledp.collection.shuffler.group_commit import GroupCommit
from shuffledp.collection.shuffler.refusals import Refusals
from shuffledp.collection.shuffler.relay import Relay
from shuffledp.collection.shuffler.settings import Served, Settings


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
    from shuffledp.collection.asking.routes import routes

    return routes([served.task for served in settings.served if served.position == 0])


@dataclass
class _Beside:
    """What runs beside the requests: commits, counters, and the threads that close, mix and pull."""

    settings: Settings
    threads: list[Background] = field(default_factory=list)
    relays: dict[str, Relay] = field(default_factory=dict)

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
        return healthy(self.threads)

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
            return Closing(served.task, store, clock=clock)
        relay = self.relays[served.task.name] = Relay(served, served.upstream, store, processes=processes)
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
