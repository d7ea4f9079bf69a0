"""What a browser is shown where there is no page, or none at the moment; programs get problem documents.

The pages for everybody: tasks, and of each its releases. Nothing of what goes on before a release.

The operator's pages: everything that goes on, for whoever is signed in.

The addresses of the console, and who may see what at each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.collect.reasons import Refused
from shuffledp.collect.server.http import asking_the_store, on_http_error, on_refused
from shuffledp.collect.store import CountedBatch, KeptRelease, ListedRelease, TallyStanding, TallyStore
from shuffledp.collect.task import Task
from shuffledp.collect.task.task import BETA
from shuffledp.collect.web import console_releases as released
from shuffledp.collect.web.assets import Assets, answer, wants_page
from shuffledp.collect.web.console_releases import Budget, Histories
from shuffledp.collect.web.console_sections import (
    STORE_AWAY,
    WORK_ENDED,
    TaskWords,
    bar,
    batches_section,
    health_section,
    identity,
    missing,
    people_section,
    problems_of,
    problems_section,
    question,
    refusals_section,
    state,
    told,
)
from shuffledp.collect.web.html import NOTHING, Html, facts, joined, label, link, live, tag
from shuffledp.collect.web.server_status import Hops, new_client
from shuffledp.collect.web.sessions import HOME, SigningIn, page, titled
from shuffledp.errors import DataError
from shuffledp.formatting import counted, moment, readable, sure_percent
from shuffledp.ledger import Ledger

_WORDS = {
    HTTPStatus.NOT_FOUND: ("There is no such page", "Perhaps a letter of the address is missing."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("There is no such page", "This address is for a form, and not for looking at."),
}


async def http_error(request: Request, error: Exception) -> Response:
    """No such address, no such method."""
    assert isinstance(error, HTTPException)
    if not wants_page(request):
        return await on_http_error(request, error)
    status = HTTPStatus(error.status_code)
    return _told(request, status, *_WORDS.get(status, (status.phrase, "")))


async def refused(request: Request, error: Exception) -> Response:
    """What is refused with a reason, such as when the store does not answer."""
    assert isinstance(error, Refused)
    if not wants_page(request):
        return await on_refused(request, error)
    return _told(request, error.reason.status, "This does not work at the moment", error.detail or error.reason.meaning)


def _told(request: Request, status: HTTPStatus, title: str, words: str) -> Response:
    home = Html(f"<p>{link('/', 'All results of this analyzer', class_='button quiet')}</p>")
    return answer(request, page(title, titled(title) + tag("p", words) + home), status=status)


class PublicPages:
    """What anybody may see."""

    def __init__(self, store: TallyStore, words: TaskWords, histories: Histories) -> None:
        self._store, self._words, self._histories = store, words, histories

    def tasks(self, tasks: Iterable[Task], now: datetime) -> str:
        """All tasks, each with how many releases there are."""
        listed = [self._in_list(task, now) for task in tasks]
        content = joined(listed) if listed else tag("p", "This analyzer serves no task.")
        under = "Questions that people answer privately, and what is published of their answers."
        return page("Results", titled("Results", under) + live("tasks", content), here="/")

    def task(self, task: Task, now: datetime) -> str:
        """The latest release of a task in whole, and those before it."""
        latest = self._store.release(task.id)
        content = self._nothing_yet(task, now) if latest is None else released.result(task, latest)
        says = "" if latest is None else f"Release {latest.number} is there."
        parts = [
            titled(question(task)),
            live("state", tag("p", state(task, now), class_="under")),
            live("release", content, says=says),
            live("history", self._histories.of(task)),
            live("conditions", NOTHING if latest is None else released.conditions(latest)),
            identity(task),
        ]
        return page(f"{question(task, width=60)}: results", joined(parts))

    def release(self, task: Task, kept: KeptRelease) -> str:
        """One release of a task."""
        back = link(f"/tasks/{task.name}", "The latest release, and all others")
        parts = [titled(question(task), back), released.result(task, kept), released.conditions(kept), identity(task)]
        return page(f"{question(task, width=60)}: release {kept.number}", joined(parts))

    def _in_list(self, task: Task, now: datetime) -> Html:
        listed = self._store.listed(task.id)
        there = "No release yet." if now < task.closes else "No release."
        if listed:
            there = f"{counted(len(listed), 'release')}, the latest of {moment(listed[-1].made)}."
        return tag(
            "div",
            tag("h2", link(f"/tasks/{task.name}", label(question(task, width=200))))
            + tag("p", f"{there} {state(task, now)}", class_="soft"),
            class_="panel",
        )

    def _nothing_yet(self, task: Task, now: datetime) -> Html:
        """What will be there; or that nothing will."""
        people = counted(task.users, "person", things="people")
        if now < task.closes:
            title = "There is no release yet"
            will_be = (
                f"Once {people} have answered, their messages are mixed and counted together. Then this page shows how "
                "many of them gave each answer: as bars with intervals, which hold all true numbers with a chance of "
                f"at least {sure_percent(BETA)} %, as a table, and as files to download. It appears by itself."
            )
        else:
            title = "There is no release"
            will_be = (
                f"A release needs the answers of {people}. If as many have answered, theirs are still on their way and "
                "appear here by themselves; otherwise nothing is published, and what was sent is deleted unread."
            )
        return joined(
            [
                tag("h2", title),
                tag("p", will_be),
                tag("h2", "What is promised"),
                self._words.told(task),
            ]
        )


@dataclass(frozen=True)
class _Kept:
    """What the store holds of a task; of one that does not answer, nothing."""

    standing: TallyStanding | None = None
    latest: KeptRelease | None = None
    listed: Sequence[ListedRelease] = ()
    batches: Sequence[CountedBatch] = ()
    history: Html = NOTHING


class OperatorPages:
    """What the operator sees; `problems` are those of the analyzer's work on a task, `working` whether it goes on."""

    def __init__(
        self,
        store: TallyStore,
        words: TaskWords,
        histories: Histories,
        budget: Budget,
        hops: Mapping[str, Hops],
        *,
        joined_releases: bool,
        problems: Callable[[Task], Sequence[str]],
        working: Callable[[], bool],
    ) -> None:
        self._store, self._words, self._histories, self._budget, self._hops = store, words, histories, budget, hops
        self._joined, self._problems, self._working = joined_releases, problems, working

    def tasks(self, tasks: Sequence[Task], now: datetime) -> str:
        """All tasks with the batch that each fills, and the ledger of all of them."""
        parts = [
            titled("Operator", "What goes on, live: only whoever has the operator's token sees this page."),
            live("tasks", joined(self._in_list(task, now) for task in tasks)),
            live("ledger", tag("h2", "Ledger") + self._budget.section()),
        ]
        return page("Operator", joined(parts), here=HOME, signed_in=True)

    def task(self, task: Task, now: datetime) -> str:
        """Everything about one task."""
        kept, hops = self._kept(task), self._hops[task.name].latest()
        own = self._own_problems(task, kept)
        problems = problems_of(hops, own)
        health = health_section(
            hops, address=task.analyzer.address, store=kept.standing is not None, working=self._working(), own=own
        )
        public = Html(f"{state(task, now)} {link(f'/tasks/{task.name}', 'What everybody sees')}")
        parts = [
            titled(question(task)),
            live("state", tag("p", public, class_="under")),
            live("problems", problems_section(problems), says=_told_problems(problems)),
            live("people", people_section(task, hops[0], kept.standing), says=told(task, hops[0])),
            live(
                "release",
                _latest(task, kept, now),
                says=f"Release {kept.latest.number} is there." if kept.latest else "",
            ),
            live("history", kept.history),
            live(
                "batches",
                batches_section(task, kept.batches, kept.listed, joined_releases=self._joined),
            ),
            live("refused", refusals_section(hops, kept.standing)),
            live("servers", health),
            live("ledger", tag("h2", "Ledger") + self._budget.section()),
            tag("h2", "Who may answer, and what follows"),
            tag("p", label(self._words.one(task, "Who may answer"))),
            tag("h2", "The task"),
            self._words.told(task),
            _details(task),
        ]
        return page(f"{question(task, width=60)}: operator", joined(parts), signed_in=True)

    def _in_list(self, task: Task, now: datetime) -> Html:
        kept, hops = self._kept(task), self._hops[task.name].latest()
        lacking, problems = missing(task, hops[0]), problems_of(hops, self._own_problems(task, kept))
        said = [state(task, now)]
        if kept.standing is not None:
            people = counted(kept.standing.people, "person", things="people")
            said.append(f"{counted(kept.standing.releases, 'release')}; {people} counted.")
        if lacking is not None:
            said.append(f"{counted(lacking, 'person', things='people')} missing for the next batch.")
        amiss = f"{counted(len(problems), 'problem')}: {problems[0][0]}. {problems[0][1]}" if problems else ""
        return tag(
            "div",
            joined(
                [
                    tag("h2", link(f"{HOME}/tasks/{task.name}", label(question(task, width=200)))),
                    bar(task, hops[0]),
                    tag("p", " ".join(said), class_="soft"),
                    tag("p", tag("span", amiss, class_="status bad")) if amiss else NOTHING,
                ]
            ),
            class_="panel",
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
        return [*away, *ended, *self._problems(task)]


def _latest(task: Task, kept: _Kept, now: datetime) -> Html:
    if kept.latest is None:
        none = "There is no release yet." if now < task.closes else "There is no release."
        return tag("h2", "Releases") + tag("p", none)
    return released.result(task, kept.latest)


def _told_problems(problems: Sequence[tuple[str, str]]) -> str:
    if not problems:
        return "Everything works."
    return " ".join(f"{who}: {what}" for who, what in problems)


def _details(task: Task) -> Html:
    """What the task file says, for comparing."""
    keys = {f"Key of shuffler {at}": tag("code", place.key) for at, place in enumerate(task.shufflers, 1)}
    file = link(
        f"/v1/tasks/{task.name}", "its one spelling, whose SHA-256 is the id", download=f"{task.name[:12]}.task.json"
    )
    return facts(
        {
            "Id": tag("code", task.name),
            "File": file,
            "Opens": f"{task.opens:%Y-%m-%d %H:%M:%S} UTC",
            "Closes": f"{task.closes:%Y-%m-%d %H:%M:%S} UTC",
            "People in a batch": f"{readable(task.users)}, of whom {readable(task.honest_users)} are counted on",
            "Protocol": tag("code", task.protocol_used.name),
            **keys,
            "Key of the analyzer": tag("code", task.analyzer.key),
        }
    )


Answering = Callable[[Request], Awaitable[Response]]

_STATIC = Path(__file__).resolve().parent / "static" / "console"
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
            *Assets.with_style("/console", _STATIC).routes(),
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
