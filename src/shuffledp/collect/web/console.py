"""The console of an analyzer: public pages with the releases of each task, and the operator's pages.

Public pages show nothing that happens before a release. The operator's pages show everything and need a session. This
module has the routes and prepares what the templates of `templates/console/` show.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shuffledp import __version__
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.cache import BoundedCache
from shuffledp.collect.server.http import asking_the_store, on_http_error, on_refused
from shuffledp.collect.store import CountedBatch, KeptRelease, ListedRelease, TallyStanding, TallyStore
from shuffledp.collect.task import AnswerText, Series, Task
from shuffledp.collect.task.lookup import LONGEST_LOOKUP, can_look_up
from shuffledp.collect.task.task import BETA, LONGEST_QUESTION
from shuffledp.collect.web.assets import HEADERS, NO_STORE, Assets, answer, wants_page, web_page
from shuffledp.collect.web.caches import Histories, LedgerStatus, rendered
from shuffledp.collect.web.lookup import Lookups
from shuffledp.collect.web.sessions import HOME, SigningIn
from shuffledp.collect.web.status import OTHER, ShufflerHealth, ShufflerMonitor, new_client
from shuffledp.errors import DataError
from shuffledp.explain.task import details
from shuffledp.formatting import confidence_percent, shown
from shuffledp.jsonable import plain
from shuffledp.ledger import Ledger

Handler = Callable[[Request], Awaitable[Response]]

_STATIC = Path(__file__).resolve().parent / "static" / "console"

_LONGEST_NUMBER = 9
"""Digits of the number of a release."""

MOST_BATCHES = 200
"""Rows of the table of batches, the latest."""

_WORDS_BYTES = 2**23
"""Size of the cache of paragraphs about tasks: a thousand tasks."""

_SHOWN_TITLES = ("What is counted", "Guarantee", "Who must be trusted", "Accuracy", "Limits", "Warning")
"""The paragraphs about a task that stand by themselves; a release says the rest."""

_FOR_EXPERTS = "For experts"
"""The paragraph with epsilon and delta: in a fold of the public page, and open for the operator."""

STORE_AWAY = "The analyzer's store does not answer: nothing can be counted or shown until it does."
WORK_ENDED = "Background work has ended: restart the analyzer."


async def http_error(request: Request, error: Exception) -> Response:
    """Answer an unknown address or method: browsers get a page, programs a problem document."""
    assert isinstance(error, HTTPException)
    if not wants_page(request):
        return await on_http_error(request, error)
    status = HTTPStatus(error.status_code)
    return answer(request, _page("console/error.html", status=status.name, phrase=status.phrase), status=status)


async def refused(request: Request, error: Exception) -> Response:
    """Answer a request that is refused with a reason, such as a store that does not answer."""
    assert isinstance(error, Refused)
    if not wants_page(request):
        return await on_refused(request, error)
    status, phrase = error.reason.status, error.detail or error.reason.meaning
    return answer(request, _page("console/error.html", status="REFUSED", phrase=phrase), status=status)


def _page(template: str, *, here: str = "", signed_in: bool = False, **context: Any) -> str:
    """Render a page of the console; `here` is its address if the navigation has it."""
    return web_page(template, here=here, signed_in=signed_in, version=__version__, **context)


class Console:
    """The pages of an analyzer, beside its HTTP API.

    `door` guards the operator's pages. The last shuffler is asked for its status at `upstream`, if given, instead of
    its address in the task. `problems` returns the analyzer's problems with a task, given what its store holds of it,
    and `working` whether its background work goes on.
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
        problems: Callable[[Task, TallyStanding | None], Sequence[str]],
        working: Callable[[], bool],
        series: Iterable[Series] = (),
        trend_of: Callable[[Series], Markup | None] = lambda series: None,
    ) -> None:
        self._store, self._door, self._joined = store, door, joined_releases
        self._problems, self._working = problems, working
        self._tasks: Mapping[str, Task] = {task.name: task for task in tasks}
        self._series, self._trend_of = {each.name: each for each in series}, trend_of
        self._client = new_client()
        self._monitors = {
            name: ShufflerMonitor(task, self._client, upstream=upstream) for name, task in self._tasks.items()
        }
        self._histories, self._budget = Histories(store), LedgerStatus(ledger)
        self._lookups = Lookups(store)
        # cached, because computing the guarantee can take seconds
        self._paragraph_cache: BoundedCache[Mapping[str, str]] = BoundedCache(
            most_bytes=_WORDS_BYTES, size=lambda paragraphs: sum(map(len, paragraphs.values()))
        )

    def routes(self) -> list[Route]:
        """Return all routes."""
        return [
            Route("/", self._show_tasks, methods=["GET"]),
            Route("/tasks/{name}", self._show_task, methods=["GET"]),
            Route("/tasks/{name}/releases/{which}", self._show_release, methods=["GET"]),
            Route("/series/{name}", self._show_series, methods=["GET"]),
            Route("/operator", self._signed_in(self._show_operator), methods=["GET"]),
            Route("/operator/tasks/{name}", self._signed_in(self._show_operator_task), methods=["GET"]),
            Route("/operator/tasks/{name}/lookup", self._signed_in(self._show_lookup), methods=["GET"]),
            Route("/operator/login", self._door.sign_in, methods=["POST"]),
            Route("/operator/logout", self._door.sign_out, methods=["POST"]),
            *Assets.with_style("/console", _STATIC).routes(),
        ]

    def ask_reported(self, task: Task) -> int | None:
        """Ask the first shuffler now for the number of reports it has accepted; None if it does not answer."""
        return self._monitors[task.name].ask_reported()

    def close(self) -> None:
        """Close the connections to shufflers."""
        self._client.close()

    def _signed_in(self, show: Handler) -> Handler:
        """Show a page to a signed-in operator, and the sign-in form to others."""

        async def shown_or_form(request: Request) -> Response:
            return await show(request) if self._door.is_open_to(request) else self._door.form(request)

        return shown_or_form

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
            task=_task_context(task, _now()),
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
            {"task": _task_context(task, now), "releases": self._store.listed(task.id)}
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
            task=_task_context(task, now),
            round=task.series if task.series is not None and task.series.id in self._series else None,
            release=None if latest is None else _release_context(latest),
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
            {"number": number, "task": _task_context(task, now), "releases": listed[task.id]}
            for number, task in enumerate(begun, start=1)
        ][-MOST_BATCHES:]
        return _page(
            "console/series.html",
            series={
                "name": series.name,
                "question": shown(series.question, width=LONGEST_QUESTION),
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
        return _page("console/release.html", task=_task_context(task, _now()), release=_release_context(kept))

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
            kept, shufflers = self._kept(task), self._monitors[task.name].latest()
            tasks.append(
                {
                    "task": _task_context(task, now),
                    "standing": kept.standing,
                    "batch": _batch_context(task, shufflers[0]),
                    "problems": _problems_of(shufflers, self._own_problems(task, kept)),
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
        kept, shufflers = self._kept(task), self._monitors[task.name].latest()
        own = self._own_problems(task, kept)
        return _page(
            "console/operator_task.html",
            signed_in=True,
            task=_task_context(task, now),
            standing=kept.standing,
            batch=_batch_context(task, shufflers[0]),
            first=shufflers[0],
            problems=_problems_of(shufflers, own),
            release=None if kept.latest is None else _release_context(kept.latest),
            history=kept.history,
            batches=_batches(kept),
            all_batches=len(kept.batches),
            joined=self._joined,
            lookup=LONGEST_LOOKUP if can_look_up(task) and kept.latest is not None else None,
            refused=_refusals(shufflers, kept.standing),
            unknown=kept.standing is None or not all(each.status for each in shufflers),
            servers=[{"name": _name(each.position, len(shufflers)), "health": each} for each in shufflers],
            analyzer={"working": self._working(), "problems": own, "store": kept.standing is not None},
            ledger=self._budget.context(),
            who_may_answer=self._all_paragraphs(task)["Who may answer"],
            paragraphs=self._paragraphs(task, (*_SHOWN_TITLES, _FOR_EXPERTS)),
        )

    def _kept(self, task: Task) -> _Kept:
        try:
            return _Kept(
                self._store.standing(task.id),
                self._store.release(task.id),
                self._store.listed(task.id),
                self._store.batches(task.id),
                self._histories.of(task),
            )
        except DataError:
            return _Kept()

    def _own_problems(self, task: Task, kept: _Kept) -> list[str]:
        away = [] if kept.standing is not None else [STORE_AWAY]
        ended = [] if self._working() else [WORK_ENDED]
        return [*away, *ended, *self._problems(task, kept.standing)]


@dataclass(frozen=True)
class _Kept:
    """What the store holds of a task; nothing if it does not answer."""

    standing: TallyStanding | None = None
    latest: KeptRelease | None = None
    listed: Sequence[ListedRelease] = ()
    batches: Sequence[CountedBatch] = ()
    history: Markup | None = None


def _now() -> datetime:
    return datetime.now(UTC)


def _task_context(task: Task, now: datetime) -> dict[str, Any]:
    """A task for the templates; `phase` tells whether people can answer it."""
    return {
        "name": task.name,
        "question": shown(task.question, width=LONGEST_QUESTION),
        "phase": str(task.phase(now.timestamp())),
        "opens": task.opens,
        "closes": task.closes,
        "users": task.users,
        "honest_users": task.honest_users,
        "protocol": task.protocol_used.name,
        "texts": isinstance(task.answers, AnswerText),
        "keys": [place.key for place in task.shufflers],
        "analyzer": task.analyzer,
    }


def _release_context(kept: KeptRelease) -> dict[str, Any]:
    return {"number": kept.number, "made": kept.made, "rendered": rendered(kept)}


def _batch_context(task: Task, first: ShufflerHealth) -> dict[str, Any] | None:
    """The people who have reported and the batch that is filling; None if the first shuffler has never answered.

    `missing` is None once the task is closed. `short_by` is the number of people its last batch lacked.
    """
    status = first.status
    if status is None:
        return None
    missing = None if status.short_by is not None else max(0, task.users - status.waiting)
    return {
        "reported": status.reported(task.users),
        "waiting": status.waiting,
        "missing": missing,
        "here": None if missing is None else task.users - missing,
        "short_by": status.short_by or 0,
        "batches": status.batches,
        "tenths": 10 * min(status.waiting, task.users) // task.users,
    }


def _problems_of(shufflers: Sequence[ShufflerHealth], own: Sequence[str]) -> list[tuple[str, str]]:
    """Each problem with the name of its server."""
    found = [("Analyzer", each) for each in own]
    for each in shufflers:
        name = _name(each.position, len(shufflers))
        if each.problem is not None:
            found.append((name, each.problem))
        if each.status is not None and each.answers:
            found += [(name, problem) for problem in each.status.problems]
    return found


def _name(position: int, shufflers: int) -> str:
    return "Shuffler" if shufflers == 1 else f"Shuffler {position + 1}"


def _refusals(shufflers: Sequence[ShufflerHealth], standing: TallyStanding | None) -> list[tuple[str, str, int]]:
    """Place, reason and number of refusals: reports and requests at shufflers, messages and batches here."""
    rows = [
        (_name(each.position, len(shufflers)), _meaning(reason), number)
        for each in shufflers
        if each.status is not None
        for reason, number in _by_number(each.status.refused)
    ]
    if standing is not None:
        rows += [("Analyzer, messages", _meaning(why), number) for why, number in _by_number(standing.refused)]
        if standing.problems:
            rows.append(("Analyzer, batches", Reason.TOO_FEW_MESSAGES.meaning, standing.problems))
    return rows


def _batches(kept: _Kept) -> list[dict[str, Any]]:
    """The latest batches, each with its release."""
    made = {each.number: each.made for each in kept.listed}
    return [
        {
            "problem": None if batch.problem is None else _meaning(batch.problem),
            "release": batch.release,
            "made": made.get(batch.release) if batch.release is not None else None,
            "people": batch.people,
            "refused": sum(batch.refused.values()),
        }
        for batch in reversed(kept.batches[-MOST_BATCHES:])
    ]


def _meaning(reason: str) -> str:
    if reason == OTHER:
        return "Other reasons."
    try:
        return Reason(reason).meaning
    except ValueError:  # stored by a newer version
        return "Another reason."


def _by_number(refused: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(refused.items(), key=lambda each: (-each[1], each[0]))
