"""The analyzer as a web application: releases for everybody, the console, and the work that makes them beside."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shuffledp.collection.analyzer import counters
from shuffledp.collection.analyzer.collecting import Collecting
from shuffledp.collection.analyzer.formats import ENDINGS, JSON, Files, headers_for, media_type, saved_as
from shuffledp.collection.analyzer.settings import Settings
from shuffledp.collection.console import mistakes
from shuffledp.collection.console.routes import Console
from shuffledp.collection.console.signing_in import SigningIn
from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.service import metrics
from shuffledp.collection.service.application import application, asking_the_store, healthy, starting
from shuffledp.collection.service.background import Background
from shuffledp.collection.service.problems import problem
from shuffledp.collection.task import Task

Answer = TypeVar("Answer")
Answering = Callable[[Task, Request], Awaitable[Response]]

NO_KEY = (
    "This analyzer was started without the key of the task: it shows the releases that are there, and makes no more."
)

_WHICH = re.compile(rf"(latest|[1-9][0-9]{{0,8}})(?:\.({'|'.join(ENDINGS)}))?")


def make_app(settings: Settings) -> Starlette:
    """The application; it pulls, counts and releases from its start to its end."""
    analyzer = _Analyzer(settings)
    of_task, task = analyzer.of_task, "/v1/tasks/{name}"
    app = application(
        [
            Route("/v1/tasks", analyzer.list_tasks, methods=["GET"]),
            Route(task, of_task(analyzer.show_task), methods=["GET"]),
            Route(f"{task}/status", of_task(analyzer.show_status), methods=["GET"]),
            Route(f"{task}/releases", of_task(analyzer.list_releases), methods=["GET"]),
            Route(f"{task}/releases/{{which}}", of_task(analyzer.show_release), methods=["GET"]),
            Route("/health", analyzer.show_health, methods=["GET"]),
            Route("/metrics", analyzer.show_metrics, methods=["GET"]),
            *analyzer.console.routes(),
        ],
        lifespan=analyzer.running,
    )
    app.add_exception_handler(HTTPException, mistakes.http_error)
    app.add_exception_handler(Refused, _refused)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    """A page or a problem document; either says when to try again, if that may help."""
    assert isinstance(error, Refused)
    told, later = await mistakes.refused(request, error), problem(error).headers.get("retry-after")
    if later is not None:
        told.headers["retry-after"] = later
    return told


class _Analyzer:
    """Everything that an analyzer can be asked, and the threads beside."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._store = settings, settings.store
        self._tasks = {task.name: task for task in settings.tasks}
        self._work = {served.task.name: Collecting(served, settings) for served in settings.served}
        self._threads = [
            Background(work, every=settings.every, task=self._tasks[name].id) for name, work in self._work.items()
        ]
        self._files, self._briefs = Files(), counters.Briefs(settings.store)
        self.console = Console(
            settings.tasks,
            settings.store,
            door=SigningIn(operators=settings.operators, sessions=settings.sessions, pause=settings.pause_after_wrong),
            ledger=settings.ledger,
            joined_releases=settings.joined,
            upstream=settings.upstream,
            problems=self._problems,
            working=self._works,
        )

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """From the start of the application to its end."""
        with starting("analyzer"):
            await run_in_threadpool(self._start)
        try:
            yield
        finally:
            await run_in_threadpool(self._stop)

    def of_task(self, answer: Answering) -> Callable[[Request], Awaitable[Response]]:
        """Finds the task of a request."""

        async def answered(request: Request) -> Response:
            task = self._tasks.get(request.path_params["name"])
            if task is None:
                raise Refused(Reason.UNKNOWN_TASK)
            return await answer(task, request)

        return answered

    async def list_tasks(self, request: Request) -> Response:
        """All tasks, in brief."""
        return JSONResponse({"tasks": [counters.task_in_brief(task) for task in self._tasks.values()]})

    async def show_task(self, task: Task, request: Request) -> Response:
        """The canonical bytes, of which the task's name is the SHA-256."""
        return Response(task.canonical, media_type="application/json")

    async def show_status(self, task: Task, request: Request) -> Response:
        """Public counters, and what does not work."""
        standing = await _from_the_store(partial(self._store.standing, task.id))
        return JSONResponse(counters.status_of(task, standing, self._problems(task)))

    async def list_releases(self, task: Task, request: Request) -> Response:
        """All releases, in brief."""
        return JSONResponse({"releases": await _from_the_store(partial(self._briefs.of, task))})

    async def show_release(self, task: Task, request: Request) -> Response:
        """One release, by its number or the latest, as JSON, CSV, Arrow, Parquet or a page."""
        asked = _WHICH.fullmatch(request.path_params["which"])
        if asked is None:
            raise HTTPException(404)
        ending = asked[2] or JSON
        number = await self._number(task) if asked[1] == "latest" else int(asked[1])
        content = await run_in_threadpool(self._content, task, number, ending)
        headers = {**headers_for(ending), **saved_as(task, number, asked[2])}
        return Response(content, headers=headers, media_type=media_type(ending))

    async def show_health(self, request: Request) -> Response:
        """Whether the store answers and everything runs that should."""
        for task in self._tasks.values():
            await _from_the_store(partial(self._store.standing, task.id))
        return healthy(self._threads)

    async def show_metrics(self, request: Request) -> Response:
        """Counters for Prometheus."""
        standings = {
            name: await _from_the_store(partial(self._store.standing, task.id)) for name, task in self._tasks.items()
        }
        problems = {name: self._problems(task) for name, task in self._tasks.items()}
        return Response(metrics.text_of(counters.families(standings, problems)), media_type=metrics.CONTENT_TYPE)

    async def _number(self, task: Task) -> int:
        """That of the latest release; 0, which none has, if there is none."""
        listed = await _from_the_store(partial(self._store.listed, task.id))
        return listed[-1].number if listed else 0

    def _content(self, task: Task, number: int, ending: str) -> bytes:
        """A release in a format."""
        kept = partial(self._kept, task, number)
        return kept() if ending == JSON else self._files.get(task, number, ending, kept)

    def _kept(self, task: Task, number: int) -> bytes:
        """A release as it is in the store."""
        with asking_the_store():
            found = self._store.release(task.id, number)
            if found is None:
                raise Refused(Reason.NO_RELEASE, counters.no_release(task, self._store.standing(task.id)))
        return found.release

    def _problems(self, task: Task) -> list[str]:
        work = self._work.get(task.name)
        return [NO_KEY] if work is None else work.problems

    def _works(self) -> bool:
        return all(thread.alive for thread in self._threads)

    def _start(self) -> None:
        for task in self._tasks.values():
            self._store.prepare(task)
        for thread in self._threads:
            thread.start()

    def _stop(self) -> None:
        for thread in self._threads:
            thread.stop()
        for served in self._settings.served:
            served.upstream.close()
        self.console.close()
        if self._settings.owns_store:
            self._store.close()


async def _from_the_store(ask: Callable[[], Answer]) -> Answer:
    with asking_the_store():
        return await run_in_threadpool(ask)
