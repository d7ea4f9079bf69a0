"""The console of an analyzer: public pages with the releases of each task, and the operator's pages.

Public pages show nothing that happens before a release. The operator's pages show everything and need a session. This
module has the routes and prepares what the templates of `templates/console/` show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shuffledp.collect.server.http import BoundedCache, asking_the_store
from shuffledp.collect.server.registry import Registry
from shuffledp.collect.store import KeptRelease, TallyStanding, TallyStore
from shuffledp.collect.task import Series, Task
from shuffledp.collect.task.follow_up import LONGEST_LOOKUP, can_look_up
from shuffledp.collect.task.servers import asker_fields
from shuffledp.collect.task.task import BETA, LONGEST_QUESTION
from shuffledp.collect.web.administration import Administration
from shuffledp.collect.web.console_context import (
    MOST_BATCHES,
    Histories,
    Kept,
    LedgerStatus,
    Lookups,
    batch_context,
    latest_batches,
    problems_by_server,
    refusals,
    release_context,
    server_name,
    task_context,
)
from shuffledp.collect.web.pages import HEADERS, HOME, NO_STORE, answer, framed, wants_page
from shuffledp.collect.web.sessions import SigningIn
from shuffledp.collect.web.status import ShufflerHealth, ShufflerMonitor, new_client
from shuffledp.errors import DataError
from shuffledp.explain.task import details
from shuffledp.formatting import confidence_percent, shown
from shuffledp.jsonable import plain
from shuffledp.ledger import Ledger

_LONGEST_NUMBER = 9
"""Digits of the number of a release."""

_WORDS_BYTES = 2**23
"""Size of the cache of paragraphs about tasks: a thousand tasks."""

_SHOWN_TITLES = ("What is counted", "Guarantee", "Who must be trusted", "Accuracy", "Limits", "Warning")
"""The paragraphs about a task that stand by themselves; a release says the rest."""

_FOR_EXPERTS = "For experts"
"""The paragraph with epsilon and delta: in a fold of the public page, and open for the operator."""

STORE_AWAY = "The analyzer's store does not answer: nothing can be counted or shown until it does."
WORK_ENDED = "Background work has ended: restart the analyzer."


def _page(template: str, **context: Any) -> str:
    return framed(template, server="analyzer", **context)


class Console:
    """The pages of an analyzer, beside its HTTP API.

    `door` guards the operator's pages. The last shuffler is asked for its status at `upstream`, if given, instead of
    its address in the task. `problems` returns the analyzer's problems with a task, given what its store holds of it,
    and `working` whether its background work goes on.
    """

    def __init__(
        self,
        registry: Registry[Any],
        store: TallyStore,
        *,
        door: SigningIn,
        ledger: Ledger | str | Path | None,
        joined_releases: bool,
        upstream: str | None,
        problems: Callable[[Task, TallyStanding | None], Sequence[str]],
        working: Callable[[], bool],
        trend_of: Callable[[Series], Markup | None] = lambda series: None,
    ) -> None:
        self._store, self._door, self._joined = store, door, joined_releases
        self._problems, self._working = problems, working
        self._registry, self._trend_of, self._upstream = registry, trend_of, upstream
        self._administration = Administration(registry, door, clock=lambda: _now().timestamp())
        self._client = new_client()
        self._monitors: dict[str, ShufflerMonitor] = {}
        self._histories, self._budget = Histories(store), LedgerStatus(ledger)
        self._lookups = Lookups(store)
        # cached, because computing the guarantee can take seconds
        self._paragraph_cache: BoundedCache[Mapping[str, str]] = BoundedCache(
            most_bytes=_WORDS_BYTES, size=lambda paragraphs: sum(map(len, paragraphs.values()))
        )

    def routes(self) -> list[Route]:
        """Return all routes."""
        signed_in = self._door.guarded
        return [
            Route("/", self._show_tasks, methods=["GET"]),
            Route("/tasks/{name}", self._show_task, methods=["GET"]),
            Route("/tasks/{name}/releases/{which}", self._show_release, methods=["GET"]),
            Route("/series/{name}", self._show_series, methods=["GET"]),
            Route(HOME, signed_in(self._show_operator), methods=["GET"]),
            Route("/operator/tasks/{name}", signed_in(self._show_operator_task), methods=["GET"]),
            Route("/operator/tasks/{name}/lookup", signed_in(self._show_lookup), methods=["GET"]),
            *self._administration.routes(),
        ]

    def ask_reported(self, task: Task) -> int | None:
        """Ask the first shuffler now for the number of reports it has accepted; None if it does not answer."""
        return self._monitor(task).ask_reported()

    def shufflers_now(self, task: Task) -> list[ShufflerHealth]:
        """Ask the shufflers of a task now for their status."""
        return self._monitor(task).now()

    @property
    def _tasks(self) -> Mapping[str, Task]:
        return self._registry.tasks

    @property
    def _series(self) -> Mapping[str, Series]:
        return self._registry.series

    def _monitor(self, task: Task) -> ShufflerMonitor:
        found = self._monitors.get(task.name)
        if found is None:
            made = ShufflerMonitor(task, self._client, upstream=self._upstream)
            found = self._monitors.setdefault(task.name, made)
        return found

    def close(self) -> None:
        """Close the connections to shufflers."""
        self._client.close()

    async def _show_tasks(self, request: Request) -> Response:
        with asking_the_store():
            return answer(request, await run_in_threadpool(self._tasks_page, _now()))

    async def _show_task(self, request: Request) -> Response:
        with asking_the_store():
            return answer(request, await run_in_threadpool(self._task_page, self._requested(request), _now()))

    async def _show_release(self, request: Request) -> Response:
        task, which = self._requested(request), request.path_params["which"]
        if not (which.isdecimal() and which.isascii() and len(which) <= _LONGEST_NUMBER):
            raise HTTPException(404)
        with asking_the_store():
            kept: KeptRelease | None = await run_in_threadpool(self._store.release, task.id, int(which))
            if kept is None:
                raise HTTPException(404)
            return answer(request, await run_in_threadpool(self._release_page, task, kept))

    async def _show_series(self, request: Request) -> Response:
        series = self._series.get(request.path_params["name"])
        if series is None:
            raise HTTPException(404)
        with asking_the_store():
            return answer(request, await run_in_threadpool(self._series_page, series, _now()))

    async def _show_operator(self, request: Request) -> Response:
        return answer(request, await run_in_threadpool(self._operator_page, _now()))

    async def _show_operator_task(self, request: Request) -> Response:
        return answer(request, await run_in_threadpool(self._operator_task_page, self._requested(request), _now()))

    async def _show_lookup(self, request: Request) -> Response:
        """The count of one answer, for operators: a page, or JSON for programs."""
        task, value = self._requested(request), request.query_params.get("value", "")
        if not can_look_up(task):
            raise HTTPException(404)
        if len(value) > LONGEST_LOOKUP:
            raise HTTPException(400)
        with asking_the_store():
            found = await run_in_threadpool(self._lookups.of, task, value)
        if not wants_page(request):
            return JSONResponse(plain(found), headers={**HEADERS, **NO_STORE})
        page = _page(
            "console/lookup.html",
            signed_in=True,
            task=self._context(task, _now()),
            value=value,
            found=found,
            longest=LONGEST_LOOKUP,
            confidence=confidence_percent(BETA),
        )
        return answer(request, page)

    def _requested(self, request: Request) -> Task:
        task = self._tasks.get(request.path_params["name"])
        if task is None:
            raise HTTPException(404)
        return task

    # Public pages

    def _tasks_page(self, now: datetime) -> str:
        tasks = [
            {"task": self._context(task, now), "releases": self._store.listed(task.id)}
            for task in self._tasks.values()
            if task.series is None or task.series.id not in self._series
        ]
        listed = [
            {"name": each.name, "question": shown(each.question, width=LONGEST_QUESTION), "rounds": each.rounds}
            for each in self._series.values()
        ]
        return _page("console/results.html", here="/", tasks=tasks, series=listed)

    def _task_page(self, task: Task, now: datetime) -> str:
        latest = self._store.release(task.id)
        return _page(
            "console/task.html",
            task=self._context(task, now),
            round=task.series if task.series is not None and task.series.id in self._series else None,
            release=None if latest is None else release_context(latest),
            history=self._histories.of(task),
            paragraphs=self._paragraphs(task, _SHOWN_TITLES) if latest is None else {},
            for_experts=self._all_paragraphs(task)[_FOR_EXPERTS] if latest is None else "",
            confidence=confidence_percent(BETA),
        )

    def _series_page(self, series: Series, now: datetime) -> str:
        """All rounds of a series: the trend, and the page of each round that has begun."""
        begun = [series.task(number) for number in range(1, series.rounds + 1) if series.opens_at(number) <= now]
        listed = self._store.listed_of([task.id for task in begun])
        rounds = [
            {"number": number, "task": self._context(task, now), "releases": listed[task.id]}
            for number, task in enumerate(begun, start=1)
        ][-MOST_BATCHES:]
        return _page(
            "console/series.html",
            series={
                "name": series.name,
                "question": shown(series.question, width=LONGEST_QUESTION),
                "asked": asker_fields(series),
                "rounds": series.rounds,
                "open": series.round_at(now.timestamp()),
                "opens": series.opens,
                "closes": series.closes,
                "total": series.total,
            },
            trend=self._trend_of(series),
            rounds=rounds[::-1],
        )

    def _release_page(self, task: Task, kept: KeptRelease) -> str:
        return _page("console/release.html", task=self._context(task, _now()), release=release_context(kept))

    def _context(self, task: Task, now: datetime) -> dict[str, Any]:
        early = task.name in self._registry.closed_early or self._monitor(task).first_has_closed
        return task_context(task, now, early=early)

    def _paragraphs(self, task: Task, titles: Sequence[str]) -> Mapping[str, str]:
        """The paragraphs with these titles, if the task has them."""
        paragraphs = self._all_paragraphs(task)
        return {title: paragraphs[title] for title in titles if title in paragraphs}

    def _all_paragraphs(self, task: Task) -> Mapping[str, str]:
        return self._paragraph_cache.get(task.name, lambda: details(task))

    # The operator's pages

    def _operator_page(self, now: datetime) -> str:
        tasks = []
        for task in filter(lambda task: self._is_current(task, now), self._tasks.values()):
            kept, shufflers = self._kept(task), self._monitor(task).latest()
            tasks.append(
                {
                    "task": self._context(task, now),
                    "standing": kept.standing,
                    "batch": batch_context(task, shufflers[0]),
                    "problems": problems_by_server(shufflers, self._own_problems(task, kept)),
                }
            )
        return _page("console/operator.html", here=HOME, signed_in=True, tasks=tasks, ledger=self._budget.context())

    def _is_current(self, task: Task, now: datetime) -> bool:
        """Whether the operator watches a task: of a series the open round and the one before, or the nearest."""
        series = None if task.series is None else self._series.get(task.series.id)
        if series is None or task.series is None:
            return True
        latest = series.nearest_round(now.timestamp())
        return latest - 1 <= task.series.round <= latest

    def _operator_task_page(self, task: Task, now: datetime) -> str:
        kept, shufflers = self._kept(task), self._monitor(task).latest()
        own = self._own_problems(task, kept)
        return _page(
            "console/operator_task.html",
            signed_in=True,
            task=self._context(task, now),
            standing=kept.standing,
            batch=batch_context(task, shufflers[0]),
            first=shufflers[0],
            problems=problems_by_server(shufflers, own),
            release=None if kept.latest is None else release_context(kept.latest),
            history=kept.history,
            batches=latest_batches(kept),
            all_batches=len(kept.batches),
            joined=self._joined,
            lookup=LONGEST_LOOKUP if can_look_up(task) and kept.latest is not None else None,
            refused=refusals(shufflers, kept.standing),
            unknown=kept.standing is None or not all(each.status for each in shufflers),
            servers=[{"name": server_name(each.position, len(shufflers)), "health": each} for each in shufflers],
            analyzer={"working": self._working(), "problems": own, "store": kept.standing is not None},
            ledger=self._budget.context(),
            who_may_answer=self._all_paragraphs(task)["Who may answer"],
            paragraphs=self._paragraphs(task, (*_SHOWN_TITLES, _FOR_EXPERTS)),
        )

    def _kept(self, task: Task) -> Kept:
        try:
            return Kept(
                self._store.standing(task.id),
                self._store.release(task.id),
                self._store.listed(task.id),
                self._store.batches(task.id),
                self._histories.of(task),
            )
        except DataError:
            return Kept()

    def _own_problems(self, task: Task, kept: Kept) -> list[str]:
        away = [] if kept.standing is not None else [STORE_AWAY]
        ended = [] if self._working() else [WORK_ENDED]
        return [*away, *ended, *self._problems(task, kept.standing)]


def _now() -> datetime:
    return datetime.now(UTC)
