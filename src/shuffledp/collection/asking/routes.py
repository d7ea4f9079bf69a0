"""The addresses of the page that asks, at the first shuffler of its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from shuffledp.collection.asking.page import ask_page, not_asked, task_list
from shuffledp.collection.pages.assets import Assets, client_folder
from shuffledp.collection.pages.responses import page_response, policy
from shuffledp.collection.service.making import MadeOnce
from shuffledp.collection.task import AnswersElsewhere, Task

_STATIC = Path(__file__).parent / "static"

MOST_BYTES = 2**24
"""Of pages that are kept: a thousand of them."""


def routes(tasks: Sequence[Task]) -> list[Route]:
    """Pages of these tasks, and the files that they load."""
    pages = _Pages(tasks)
    return [
        Route("/", pages.show_tasks, methods=["GET"]),
        Route("/ask/{name}", pages.show_task, methods=["GET"]),
        *_files().routes(),
    ]


def _files() -> Assets:
    client = client_folder()
    parts = {f"/client/{name}": client / name for name in ("src", "vendor")}
    return Assets.with_look("/page", _STATIC, parts)


class _Pages:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = {task.name: task for task in tasks}
        # the same for everybody, and made once: to compute what is promised may take seconds
        self._made: MadeOnce[str] = MadeOnce(most_bytes=MOST_BYTES, size=len)

    async def show_tasks(self, request: Request) -> Response:
        """The questions; where there is one, its page."""
        if len(self._tasks) == 1:
            return RedirectResponse(f"/ask/{next(iter(self._tasks))}", 307, {"cache-control": "no-store"})
        return page_response(task_list(list(self._tasks.values())), security=policy(scripts=False, forms=False))

    async def show_task(self, request: Request) -> Response:
        """The page of a task."""
        task = self._tasks.get(request.path_params["name"])
        if task is None:
            return page_response(not_asked(), status=404, security=policy(scripts=False, forms=False))
        html = await run_in_threadpool(self._made.get, task.name, partial(ask_page, task))
        return page_response(html, security=policy(connects=_connects(task), forms=False))


def _connects(task: Task) -> list[str]:
    """Whom the client may talk to: this server under its address in the task, and where a list of answers is kept."""
    addresses = [task.shufflers[0].address]
    if isinstance(task.answers, AnswersElsewhere):
        addresses.append(task.answers.address)
    # of a task that was read, whose hosts hold nothing that could end a policy
    return ["'self'", *("{0.scheme}://{0.netloc}".format(urlsplit(address)) for address in addresses)]
