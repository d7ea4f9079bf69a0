"""The addresses of the console, and who may see what at each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

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
from shuffledp.collection.stores import KeptRelease, TallyStore
from shuffledp.collection.task import Task
from shuffledp.ledger import Ledger

Answering = Callable[[Request], Awaitable[Response]]

_STATIC = Path(__file__).resolve().parent / "static"
_LONGEST_NUMBER = 9
"""Digits of the number of a release."""


class Console:
    """The pages of an analyzer, beside its interface for programs.

    What is behind the `door` is for whoever is signed in. The last shuffler is asked how it is at `upstream`, if not at
    its address in the task. `problems` of a task and whether everything is `working` are asked of the analyzer.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        store: TallyStore,
        *,
        door: SigningIn,
        ledger: Ledger | str | Path | None,
        joined_releases: bool,
        upstream: str | None,
        problems: Callable[[Task], Sequence[str]],
        working: Callable[[], bool],
    ) -> None:
        self._store, self._door, words, histories = store, door, TaskWords(), Histories(store)
        self._tasks: Mapping[str, Task] = {task.name: task for task in tasks}
        self._client = new_client()
        self._public = PublicPages(store, words, histories)
        self._operator = OperatorPages(
            store,
            words,
            histories,
            Budget(ledger),
            {name: Hops(task, self._client, upstream=upstream) for name, task in self._tasks.items()},
            joined_releases=joined_releases,
            problems=problems,
            working=working,
        )

    def routes(self) -> list[Route]:
        """All of them."""
        return [
            Route("/", self._show_tasks, methods=["GET"]),
            Route("/tasks/{name}", self._show_task, methods=["GET"]),
            Route("/tasks/{name}/releases/{which}", self._show_release, methods=["GET"]),
            Route("/operator", self._signed_in(self._show_operator), methods=["GET"]),
            Route("/operator/tasks/{name}", self._signed_in(self._show_operators_task), methods=["GET"]),
            Route("/operator/login", self._door.sign_in, methods=["POST"]),
            Route("/operator/logout", self._door.sign_out, methods=["POST"]),
            *Assets.with_look("/console", _STATIC).routes(),
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
