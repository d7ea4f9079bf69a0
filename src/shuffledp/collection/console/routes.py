"""The addresses of the console, and who may see what at each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.collection.analyzer.settings import Settings
from shuffledp.collection.console.budget import Budget
from shuffledp.collection.console.histories import Histories
from shuffledp.collection.console.hops import Hops, new_client
from shuffledp.collection.console.operator import OperatorPages
from shuffledp.collection.console.public import PublicPages
from shuffledp.collection.console.responses import answer
from shuffledp.collection.console.signing_in import SigningIn
from shuffledp.collection.console.task_words import TaskWords
from shuffledp.collection.pages.assets import Assets
from shuffledp.collection.service.application import asking_the_store
from shuffledp.collection.stores import KeptRelease
from shuffledp.collection.task import Task
from shuffledp.report.look import LOOK

Answering = Callable[[Request], Awaitable[Response]]

_STATIC = Path(__file__).resolve().parent / "static"
_LONGEST_NUMBER = 9
"""Digits of the number of a release."""


class Console:
    """The pages of an analyzer, beside its interface for programs."""

    def __init__(
        self, settings: Settings, *, problems: Callable[[Task], Sequence[str]], working: Callable[[], bool]
    ) -> None:
        self._store, words, histories = settings.store, TaskWords(), Histories(settings.store)
        self._tasks: Mapping[str, Task] = {task.name: task for task in settings.tasks}
        self._client = new_client()
        self._door = SigningIn(
            operators=settings.operators, sessions=settings.sessions, pause=settings.pause_after_wrong
        )
        self._public = PublicPages(settings.store, words, histories)
        self._operator = OperatorPages(
            settings.store,
            words,
            histories,
            Budget(settings.ledger),
            {name: Hops(task, self._client, upstream=settings.upstream) for name, task in self._tasks.items()},
            joined_releases=settings.joined,
            problems=problems,
            working=working,
        )

    def routes(self) -> list[Route]:
        """All of them."""
        assets = Assets({**Assets.of({"/console": _STATIC}).files, "/look.css": ("text/css", LOOK.encode())})
        return [
            Route("/", self._show_tasks, methods=["GET"]),
            Route("/tasks/{name}", self._show_task, methods=["GET"]),
            Route("/tasks/{name}/releases/{which}", self._show_release, methods=["GET"]),
            Route("/operator", self._signed_in(self._show_operator), methods=["GET"]),
            Route("/operator/tasks/{name}", self._signed_in(self._show_operators_task), methods=["GET"]),
            Route("/operator/login", self._door.sign_in, methods=["POST"]),
            Route("/operator/logout", self._door.sign_out, methods=["POST"]),
            *assets.routes(),
        ]

    def close(self) -> None:
        """Ends its connections."""
        self._client.close()

    def _signed_in(self, show: Answering) -> Answering:
        """Shows something to whoever is signed in, and a form to whoever is not."""

        async def shown(request: Request) -> Response:
            return await show(request) if self._door.is_open_to(request) else self._door.form(request)

        return shown

    async def _show_tasks(self, request: Request) -> Response:
        with asking_the_store():
            return answer(request, await run_in_threadpool(self._public.tasks, self._tasks.values(), _now()))

    async def _show_task(self, request: Request) -> Response:
        with asking_the_store():
            return answer(request, await run_in_threadpool(self._public.task, self._asked(request), _now()))

    async def _show_release(self, request: Request) -> Response:
        task, which = self._asked(request), request.path_params["which"]
        if not (which.isdecimal() and which.isascii() and len(which) <= _LONGEST_NUMBER):
            raise HTTPException(404)
        with asking_the_store():
            kept: KeptRelease | None = await run_in_threadpool(self._store.release, task.id, int(which))
            if kept is None:
                raise HTTPException(404)
            return answer(request, await run_in_threadpool(self._public.release, task, kept))

    async def _show_operator(self, request: Request) -> Response:
        return answer(request, await run_in_threadpool(self._operator.tasks, list(self._tasks.values()), _now()))

    async def _show_operators_task(self, request: Request) -> Response:
        return answer(request, await run_in_threadpool(self._operator.task, self._asked(request), _now()))

    def _asked(self, request: Request) -> Task:
        task = self._tasks.get(request.path_params["name"])
        if task is None:
            raise HTTPException(404)
        return task


def _now() -> datetime:
    return datetime.now(UTC)
