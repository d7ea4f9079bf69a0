"""The survey page: routes of the first shuffler, and what the templates of `templates/survey/` show.

The page of a task is the same for every visitor. Everything that depends on the visitor happens on their device, where
the client shows one of the states in the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from shuffledp.accounting.strength import MODERATE, STRONG
from shuffledp.collect.server.cache import BoundedCache
from shuffledp.collect.task import AnswersElsewhere, Series, SeriesPromise, Task
from shuffledp.collect.task.answers import kind_of
from shuffledp.collect.task.task import LONGEST_QUESTION
from shuffledp.collect.web.assets import NO_STORE, Assets, client_folder, page_response, policy, web_page
from shuffledp.explain.privacy import Protection
from shuffledp.explain.task import details, duration, promise_of
from shuffledp.explain.task_series import how_often
from shuffledp.explain.task_series import promise_of as series_promise
from shuffledp.formatting import epsilon_delta, share_at_most, shown

_STATIC = Path(__file__).parent / "static" / "survey"

MOST_BYTES = 2**24
"""Size of the cache of pages: a thousand of them."""

_FORGERS = {
    "anybody": "anyone could send many made-up reports",
    "secret": "someone who knows the secret could send many made-up reports",
    "tokens": "the operator could give tokens to made-up people",
}
"""The people who can fill a group with reports of nobody, by admission."""

_ALL_SERVERS = {2: "both servers", 3: "all three servers", 4: "all four servers", 5: "all five servers"}


def routes(
    tasks: Sequence[Task], *, series: Sequence[Series] = (), clock: Callable[[], float] = time.time
) -> list[Route]:
    """Return the routes of the pages of these tasks, and of the files that they load.

    The tasks of `series` are listed by the round that is open by the clock.
    """
    pages, client = _Pages(tasks, series, clock), client_folder()
    return [
        Route("/", pages.show_tasks, methods=["GET"]),
        Route("/ask/series/{name}", pages.show_series, methods=["GET"]),
        Route("/ask/{name}", pages.show_task, methods=["GET"]),
        *Assets.with_style("/page", _STATIC, {f"/client/{name}": client / name for name in ("src", "vendor")}).routes(),
    ]


class _Pages:
    def __init__(
        self, tasks: Sequence[Task], series: Sequence[Series] = (), clock: Callable[[], float] = time.time
    ) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._series, self._clock = {one.name: one for one in series}, clock
        # cached, because computing the guarantee can take seconds
        self._cache: BoundedCache[str] = BoundedCache(most_bytes=MOST_BYTES, size=len)

    async def show_tasks(self, request: Request) -> Response:
        """Show the list of questions, or redirect to the only one."""
        listed = self._listed()
        if len(listed) == 1:
            return RedirectResponse(f"/ask/{listed[0].name}", 307, NO_STORE)
        return page_response(task_list(listed), security=policy(scripts=False, forms=False))

    async def show_series(self, request: Request) -> Response:
        """Redirect to the round of a series that is open now, or to the nearest one."""
        series = self._series.get(request.path_params["name"])
        if series is None:
            return _not_asked()
        return RedirectResponse(f"/ask/{self._now(series).name}", 307, NO_STORE)

    def _listed(self) -> list[Task]:
        """The tasks that a visitor chooses from: of every series one round."""
        found: dict[str, Task] = {}
        for task in self._tasks.values():
            series = None if task.series is None else self._series.get(task.series.id)
            found.setdefault(*((task.name, task) if series is None else (series.name, self._now(series))))
        return list(found.values())

    def _now(self, series: Series) -> Task:
        return series.task(series.nearest_round(self._clock()))

    async def show_task(self, request: Request) -> Response:
        """Show the page of a task."""
        task = self._tasks.get(request.path_params["name"])
        if task is None:
            return _not_asked()
        series = None if task.series is None else self._series.get(task.series.id)
        html = await run_in_threadpool(
            self._cache.get, task.name, partial(ask_page, task) if series is None else partial(ask_page, task, series)
        )
        return page_response(html, security=policy(connects=_connects(task), forms=False))


def _not_asked() -> Response:
    page = web_page("survey/not_asked.html")
    return page_response(page, status=404, security=policy(scripts=False, forms=False))


def task_list(tasks: Sequence[Task]) -> str:
    """Render the questions of a server that has several, or none."""
    return web_page("survey/tasks.html", tasks=tasks)


def ask_page(task: Task, series: Series | None = None) -> str:
    """Render the page of a task, which may be a round of a series. If a promise is not kept, the page has no form."""
    promise, broken = promise_of(task)
    protection, rounds = promise and Protection.of(promise), None
    if series is not None and broken is None:
        total, broken = series_promise(series)
        rounds = total and _rounds_context(task, series, total)
    return web_page("survey/survey.html", broken=broken, protection=protection, rounds=rounds, **_context(task, series))


def _rounds_context(task: Task, series: Series, promise: SeriesPromise) -> dict[str, Any]:
    """The series of a task: which round this is, and the protection of all rounds together."""
    assert task.series is not None
    return {
        "name": series.name,
        "number": task.series.round,
        "of": series.rounds,
        "how_often": how_often(series.period),
        "closes": series.closes,
        "total": Protection.of(promise.total),
        "epsilon": series.total_claim.epsilon,
        "delta": series.total_claim.delta,
        "address": f"/ask/series/{series.name}",
    }


def _context(task: Task, series: Series | None = None) -> dict[str, Any]:
    paragraphs, servers = details(task), len(task.shufflers) + 1
    return {
        "name": task.name,
        "question": shown(task.question, width=LONGEST_QUESTION),
        "epsilon": task.claim.epsilon,
        "delta": task.claim.delta,
        "strong": epsilon_delta(*STRONG),
        "moderate": epsilon_delta(*MODERATE),
        "delta_bound": share_at_most(task.guarantee.delta),
        "users": task.users,
        "opening": task.opening,
        "opens": task.opens,
        "closes": task.closes,
        "admission": task.admission,
        "padded": task.padded,
        "kind": kind_of(task.answers),
        "values_per_person": task.values_per_person,
        "time_precision": duration(task.time_precision),
        "shufflers": [place.address for place in task.shufflers],
        "analyzer": task.analyzer.address,
        "all_servers": _ALL_SERVERS.get(servers, f"all {servers} servers"),
        "forgers": _FORGERS[task.admission],
        "own_address": _own_address(task),
        "results": f"{task.analyzer.address.rstrip('/')}/tasks/{task.name}",
        "warning": paragraphs.get("Warning"),
        "claimed_round": task.series if series is None else None,
        "who_may_answer": paragraphs["Who may answer"],
        "accuracy": paragraphs["Accuracy"],
    }


def _own_address(task: Task) -> str:
    """The page at the address that the task names, for which browsers note who has answered; pages are at the root."""
    return urlunsplit((*urlsplit(task.shufflers[0].address)[:2], f"/ask/{task.name}", "", ""))


def _connects(task: Task) -> list[str]:
    """The origins that the client may contact: this server as the task names it, and the list of answers."""
    addresses = [task.shufflers[0].address]
    if isinstance(task.answers, AnswersElsewhere):
        addresses.append(task.answers.address)
    # a task that was read has hosts without characters that could end a policy
    return ["'self'", *("{0.scheme}://{0.netloc}".format(urlsplit(address)) for address in addresses)]
