"""The analyzer as a web application: its routes, their handlers, and the threads that pull, count and release."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup
from prometheus_client.core import Metric
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shuffledp.collect.analyzer.settings import Settings
from shuffledp.collect.analyzer.shown import ENDINGS, JSON, TREND_ENDINGS, Files, SeriesTrends, file_response
from shuffledp.collect.analyzer.tasks import ShownTasks
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.http import BoundedLock, application, asking_the_store, from_the_store
from shuffledp.collect.server.operation import TaskServer, counter, gauge, problem_family, refusals, replay_problem
from shuffledp.collect.server.storage import StoreHealth, storage_problems
from shuffledp.collect.store import KeptRelease, ListedRelease, TallyStanding, TallyStore
from shuffledp.collect.task import Series, Task
from shuffledp.collect.task.servers import asker_fields
from shuffledp.collect.web.console import Console
from shuffledp.collect.web.pages import ErrorPages
from shuffledp.collect.web.sessions import SigningIn
from shuffledp.collect.web.status import ShufflerHealth
from shuffledp.formatting import readable


def task_in_brief(task: Task) -> dict[str, Any]:
    """An entry of the list of tasks."""
    return {
        "task": task.name,
        "question": task.question,
        "users": task.users,
        "opens": task.opening,
        "closes": task.closing,
        **asker_fields(task),
    }


def status_of(
    task: Task, standing: TallyStanding, problems: Sequence[str], *, reported: int | None = None, stopped: bool = False
) -> dict[str, Any]:
    """The public status of a task.

    `reported` is the number of reports at the first shuffler when it was last asked, null if unknown. While more people
    are counted than that, releases are stopped.
    """
    return {
        "task": task.name,
        "users": task.users,
        "batches": standing.batches - standing.problems,
        "people": standing.people,
        "reported": reported,
        "batches_refused": standing.problems,
        "refused": dict(standing.refused),
        "releases": standing.releases,
        "releases_stopped": stopped,
        "problems": list(problems),
    }


def no_release(task: Task, standing: TallyStanding) -> str:
    """A sentence on why a release does not exist."""
    if standing.releases:
        return f"No such release yet: there are {standing.releases}, counted from 1."
    return (
        f"No release yet: {readable(standing.people)} of {readable(task.users)} people are in counted batches. "
        f"The number of reports that wait for a batch is at {task.shufflers[0].address}/v1/tasks/{task.name}/status"
    )


def release_in_brief(kept: KeptRelease) -> dict[str, Any]:
    """An entry of the list of releases."""
    release = json.loads(kept.release)
    return {
        "number": kept.number,
        "made": kept.made.isoformat(),
        "people": release["people"],
        "batches": release["asked"]["batches"],
        "guarantee": release["guarantee"],
        "warnings": release["warnings"],
    }


class Briefs:
    """Cached entries of the lists of releases; they are short, never evicted, and visitors cannot add any."""

    def __init__(self, store: TallyStore) -> None:
        self._store = store
        self._known: dict[tuple[bytes, int], dict[str, Any]] = {}
        self._computing = BoundedLock()

    def of(self, task: Task) -> list[dict[str, Any]]:
        """The entries of all releases of a task."""
        listed = [(task.id, each.number) for each in self._store.listed(task.id)]
        if not all(which in self._known for which in listed):
            with self._computing.held():
                self._read(listed)
        return [self._known[which] for which in listed]

    def _read(self, listed: Iterable[tuple[bytes, int]]) -> None:
        for which in listed:
            if which not in self._known and (kept := self._store.release(*which)) is not None:
                self._known[which] = release_in_brief(kept)


def families(
    standings: Mapping[str, TallyStanding],
    problems: Mapping[str, Sequence[str]],
    stopped: Mapping[str, bool],
    over_budget: Mapping[str, bool],
    last: Mapping[str, ListedRelease],
) -> list[Metric]:
    """The metrics; `last` is the latest release of each task."""

    def each(name: str) -> dict[str, float]:
        return {task: getattr(standing, name) for task, standing in standings.items()}

    refused = {task: standing.refused for task, standing in standings.items()}
    numbers = {task: release.number for task, release in last.items()}
    times = {task: release.made.timestamp() for task, release in last.items()}
    return [
        counter("shuffledp_batches", "Batches counted or refused.", each("batches")),
        counter("shuffledp_batches_refused", "Batches with too few messages.", each("problems")),
        counter("shuffledp_people", "People in counted batches.", each("people")),
        counter("shuffledp_releases", "Visible releases.", each("releases")),
        gauge("shuffledp_last_release_number", "Number of the latest release.", numbers),
        gauge("shuffledp_last_release_seconds", "When the latest release was made.", times),
        gauge("shuffledp_releases_stopped", "1 if more people are counted than have reported.", stopped),
        gauge("shuffledp_budget_exceeded", "1 if the next release would exceed the ledger.", over_budget),
        refusals("shuffledp_messages_refused", "Messages refused, by reason.", refused),
        problem_family(problems),
    ]


Handler = Callable[[Task, Request], Awaitable[Response]]

NO_KEY = "This analyzer has no key for the task: it shows existing releases and makes no new ones."

_WHICH = re.compile(rf"(latest|[1-9][0-9]{{0,8}})(?:\.({'|'.join(ENDINGS)}))?")


def make_app(settings: Settings) -> Starlette:
    """The application; its background work runs from its start to its end."""
    analyzer = Analyzer(settings)
    of_task, task = analyzer.of_task, "/v1/tasks/{name}"
    app = application(
        [
            Route("/v1/tasks", analyzer.list_tasks, methods=["GET"]),
            Route(task, of_task(analyzer.show_task), methods=["GET"]),
            Route(f"{task}/status", of_task(analyzer.show_status), methods=["GET"]),
            Route(f"{task}/releases", of_task(analyzer.list_releases), methods=["GET"]),
            Route(f"{task}/releases/{{which}}", of_task(analyzer.show_release), methods=["GET"]),
            Route("/v1/series/{name}", analyzer.show_series, methods=["GET"]),
            Route("/v1/series/{name}/trend", analyzer.show_trend, methods=["GET"]),
            Route("/v1/series/{name}/trend.{ending}", analyzer.show_trend, methods=["GET"]),
            Route("/health", analyzer.show_health, methods=["GET"]),
            Route("/metrics", analyzer.show_metrics, methods=["GET"]),
            *analyzer.admin.routes(),
            *analyzer.console.routes(),
        ],
        lifespan=analyzer.running,
    )
    ErrorPages("analyzer").add_to(app)
    return app


def app_from(read_settings: Callable[[], Settings], background: bool) -> Starlette:
    """The application of the process, which reads the settings itself; an analyzer has one, so it does all work."""
    return make_app(read_settings())


class Analyzer(TaskServer[TallyStanding]):
    """Handlers of all requests, and the threads beside them."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._store = settings, settings.shown
        self._tasks = ShownTasks(settings, shufflers=self._shufflers, ask_reported=self._ask_reported)
        storage = StoreHealth(settings.store.database)
        super().__init__(settings, self._tasks, storage=storage)
        self._files, self._briefs = Files(), Briefs(self._store)
        self._trends = SeriesTrends(self._store, processes=settings.processes)
        self.console = Console(
            self._tasks.registry,
            self._store,
            door=SigningIn(
                server="analyzer",
                operators=settings.operators,
                sessions=settings.sessions,
                pause=settings.pause_after_wrong,
            ),
            ledger=settings.ledger,
            joined_releases=settings.joined,
            upstream=settings.upstream,
            problems=self._problems,
            working=self._works,
            trend_of=self._trend_part,
        )

    def of_task(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Find the task of a request."""

        async def endpoint(request: Request) -> Response:
            name = request.path_params["name"]
            task = self._tasks.tasks.get(name)
            if task is None:
                raise self._registry.refusal(name)
            return await handler(task, request)

        return endpoint

    async def list_tasks(self, request: Request) -> Response:
        """The list of tasks."""
        return JSONResponse({"tasks": [task_in_brief(task) for task in self._tasks.tasks.values()]})

    async def show_task(self, task: Task, request: Request) -> Response:
        """The canonical bytes of the task, whose SHA-256 is its name."""
        return Response(task.canonical, media_type="application/json")

    async def show_series(self, request: Request) -> Response:
        """The canonical bytes of a series, whose SHA-256 is its name."""
        series = self._tasks.registry.series.get(request.path_params["name"])
        if series is None:
            raise Refused(Reason.UNKNOWN_TASK)
        return Response(series.canonical, media_type="application/json")

    async def show_status(self, task: Task, request: Request) -> Response:
        """Public counters and problems."""
        standing = await from_the_store(self._store.standing, task.id)
        work, problems = self._tasks.work_on.get(task.name), self._problems(task, standing)
        if work is None:
            return JSONResponse(status_of(task, standing, problems))
        return JSONResponse(status_of(task, standing, problems, reported=work.reported, stopped=work.stopped))

    async def list_releases(self, task: Task, request: Request) -> Response:
        """The list of releases."""
        return JSONResponse({"releases": await from_the_store(self._briefs.of, task)})

    async def show_release(self, task: Task, request: Request) -> Response:
        """One release, by number or the latest, as JSON, CSV, Arrow, Parquet or HTML."""
        asked = _WHICH.fullmatch(request.path_params["which"])
        if asked is None:
            raise HTTPException(404)
        number = await self._number(task) if asked[1] == "latest" else int(asked[1])
        kept = partial(self._kept, task, number)
        content = await run_in_threadpool(self._files.get, task, number, asked[2] or JSON, kept)
        return file_response(content, task, f"release-{number}", asked[2])

    async def show_trend(self, request: Request) -> Response:
        """All rounds of a series with joint intervals, and the changes between them, as JSON, CSV or HTML."""
        series, ending = self._tasks.registry.series.get(request.path_params["name"]), request.path_params.get("ending")
        if series is None or ending not in (None, *TREND_ENDINGS):
            raise HTTPException(404)
        found = await from_the_store(self._trends.of, series)
        if found is None:
            raise Refused(Reason.NO_RELEASE, "No round of this series has a release yet.")
        return file_response(found.files[ending or JSON], series, "trend", ending)

    def _trend_part(self, series: Series) -> Markup | None:
        """The trend of a series for its page."""
        found = self._trends.of(series)
        return None if found is None else found.part

    def _families(self, standings: Mapping[str, TallyStanding], problems: Mapping[str, Sequence[str]]) -> list[Metric]:
        tasks, work = list(self._tasks.tasks.values()), self._tasks.work_on.copy()
        listed = self._store.listed_of([task.id for task in tasks])
        return families(
            standings,
            problems,
            {name: each.stopped for name, each in work.items()},
            {name: each.over_budget for name, each in work.items()},
            {task.name: listed[task.id][-1] for task in tasks if listed[task.id]},
        )

    def _standings(self) -> tuple[dict[str, TallyStanding], dict[str, list[str]]]:
        tasks = self._tasks.tasks
        standings = {name: self._store.standing(task.id) for name, task in tasks.items()}
        return standings, {name: self._problems(task, standings[name]) for name, task in tasks.items()}

    async def _number(self, task: Task) -> int:
        """The number of the latest release; 0 if there is none."""
        listed = await from_the_store(self._store.listed, task.id)
        return listed[-1].number if listed else 0

    def _kept(self, task: Task, number: int) -> bytes:
        """A release as stored."""
        with asking_the_store():
            found = self._store.release(task.id, number)
            if found is None:
                raise Refused(Reason.NO_RELEASE, no_release(task, self._store.standing(task.id)))
        return found.release

    def _problems(self, task: Task, standing: TallyStanding | None) -> list[str]:
        work = self._tasks.work_on.get(task.name)
        replayed = [] if standing is None else replay_problem(standing.refused)
        shown, closed = self._tasks.registry.items.get(task.name), self._tasks.registry.is_closed(task)
        key = None if shown is None or shown.served is None else shown.served.key
        no_key = [NO_KEY] if key is None and not closed else []
        stored = storage_problems(key, self._storage.failing, closed=closed)
        return [*no_key, *stored, *([] if work is None else work.health.problems), *replayed]

    def _keys(self) -> list[tuple[Task, KeyPair]]:
        shown = self._tasks.registry.items.values()
        return [(each.task, each.served.key) for each in shown if each.served is not None]

    def _ask_reported(self, task: Task) -> int | None:
        return self.console.ask_reported(task)

    def _shufflers(self, task: Task) -> list[ShufflerHealth]:
        return self.console.shufflers_now(task)

    def _stop(self) -> None:
        super()._stop()
        self.console.close()
        self._settings.close()
