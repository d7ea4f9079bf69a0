"""The survey page: routes of the first shuffler, and what the templates of `templates/survey/` show.

The page of a task is the same for every visitor. Everything that depends on the visitor happens on their device, where
the client shows one of the states in the page.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from shuffledp.accounting.strength import MODERATE, STRONG
from shuffledp.collect.server.http import BoundedCache
from shuffledp.collect.task import AnswerChoices, AnswerList, AnswerRange, AnswersElsewhere, Series, SeriesPromise, Task
from shuffledp.collect.task.answers import kind_of
from shuffledp.collect.task.servers import on_one_host
from shuffledp.collect.task.task import LONGEST_QUESTION
from shuffledp.collect.web.pages import NO_STORE, Assets, page_response, policy, web_page
from shuffledp.explain.html import stylesheet
from shuffledp.explain.protocols import Protection
from shuffledp.explain.task import in_units, promise_of
from shuffledp.explain.task_series import promise_of as series_promise
from shuffledp.formatting import epsilon_delta, share_at_most, short_exponent, shown

_STATIC = Path(__file__).parent / "static" / "survey"
_CATALOGUES = Path(__file__).parent / "catalogues"

_DEFAULT = "en"

SHIPPED = tuple(sorted(path.stem for path in _CATALOGUES.glob("*.json")))
"""The languages that have a catalogue, as BCP 47 tags."""

MOST_BYTES = 2**24
"""Size of the cache of pages: several hundred of them."""

SEARCHED_FROM = 13
"""The number of answers from which on visitors search in a list; `survey/listed.js` has the same."""

SHORT = 16
"""The most characters of answers that stand side by side; `survey/listed.js` has the same."""

_PARTS = {
    "choices": "check_boxes.js",
    "numbers": "decimal_field.js",
    "range": "number_field.js",
    "text": "text_field.js",
    "hashed": "hashed.js",
    "series": "rounds.js",
}
"""The parts of the program that only some tasks need, as `survey/parts.js` of the client loads them: by the kind of the
answers, by the protocol, and of rounds."""


def routes(
    tasks: Callable[[], Mapping[str, Task]],
    *,
    series: Callable[[], Mapping[str, Series]] = dict,
    clock: Callable[[], float] = time.time,
    is_closed: Callable[[Task], bool],
) -> list[Route]:
    """Return the routes of the pages of the tasks that are served at the moment, and of the files that they load.

    The tasks of `series` are listed by the round that is open by the clock. Tasks that `is_closed` names accept no
    reports any more, also because they were closed early; the list says so.
    """
    pages = _Pages(tasks, series, clock, is_closed)
    return [
        Route("/", pages.show_tasks, methods=["GET"]),
        Route("/ask/series/{name}", pages.show_series, methods=["GET"]),
        Route("/ask/{name}", pages.show_task, methods=["GET"]),
        Route("/page/time", pages.show_time, methods=["GET"]),
        *_assets().routes(),
    ]


@dataclass(frozen=True)
class _Pages:
    tasks: Callable[[], Mapping[str, Task]]
    series: Callable[[], Mapping[str, Series]]
    clock: Callable[[], float]
    is_closed: Callable[[Task], bool]
    # computing the guarantee can take seconds
    cache: BoundedCache[_Rendered] = field(
        init=False, default_factory=lambda: BoundedCache(most_bytes=MOST_BYTES, size=_Rendered.size)
    )

    async def show_tasks(self, request: Request) -> Response:
        """Show the list of questions, or redirect to the only one."""
        listed = self._listed()
        if len(listed) == 1:
            return RedirectResponse(f"/ask/{listed[0].name}", 307, NO_STORE)
        html = task_list(listed, closed=[task.name for task in listed if self.is_closed(task)])
        return page_response(html, security=policy(scripts=False, forms=False))

    async def show_series(self, request: Request) -> Response:
        """Redirect to the round of a series that is open now, or to the nearest one."""
        series = self.series().get(request.path_params["name"])
        if series is None:
            return _not_asked()
        return RedirectResponse(f"/ask/{self._now(series).name}", 307, NO_STORE)

    async def show_time(self, request: Request) -> Response:
        """Show the time of this server, in whole seconds since 1970: the clock of a visitor's device may be wrong."""
        return PlainTextResponse(str(int(self.clock())), headers=NO_STORE)

    def _listed(self) -> list[Task]:
        """The tasks that a visitor chooses from: of every series one round."""
        found, known = dict[str, Task](), self.series()
        for task in self.tasks().values():
            series = None if task.series is None else known.get(task.series.id)
            found.setdefault(*((task.name, task) if series is None else (series.name, self._now(series))))
        return list(found.values())

    def _now(self, series: Series) -> Task:
        return series.task(series.nearest_round(self.clock()))

    async def show_task(self, request: Request) -> Response:
        """Show the page of a task."""
        task = self.tasks().get(request.path_params["name"])
        if task is None:
            return _not_asked()
        series = None if task.series is None else self.series().get(task.series.id)
        asked = (task,) if series is None else (task, series)
        page = await run_in_threadpool(self.cache.get, task.name, lambda: _Rendered.of(ask_page(*asked)))
        # the page is the same for everybody, so its compressed length reveals nothing
        packed = "gzip" in request.headers.get("accept-encoding", "")
        headers = {"vary": "accept-encoding", **({"content-encoding": "gzip"} if packed else {})}
        content = page.packed if packed else page.html
        return page_response(content, security=policy(connects=_connects(task), forms=False), headers=headers)


class _Rendered(NamedTuple):
    html: bytes
    packed: bytes

    @staticmethod
    def of(html: str) -> _Rendered:
        return _Rendered(html.encode(), gzip.compress(html.encode(), mtime=0))

    def size(self) -> int:
        return len(self.html) + len(self.packed)


@cache
def _assets() -> Assets:
    """The style, the drawing and the program of the page. Its style sheet begins with the one of all pages."""
    own = Assets.of("/page", _STATIC).files
    kind, style = own["/page/survey.css"]
    common = re.sub(r"/\*.*?\*/\s*", "", str(stylesheet("style.css")), flags=re.DOTALL)
    return Assets({**own, "/page/survey.css": (kind, common.encode() + style)})


@cache
def _integrity(name: str) -> str:
    """The hash with which browsers compare a file of the program before they run it."""
    _, content = _assets().files[f"/page/{name}"]
    return f"sha384-{b64encode(hashlib.sha384(content).digest()).decode()}"


def _program(task: Task, *, of_series: bool) -> dict[str, str]:
    """The files of the program that a page needs, with their hashes: the program itself, then its parts."""
    needed = [kind_of(task.answers), task.protocol_used.name, *(["series"] if of_series else [])]
    return {name: _integrity(name) for name in ("survey.js", *(_PARTS[each] for each in needed if each in _PARTS))}


def _not_asked() -> Response:
    page = _page("survey/not_asked.html", catalogue_for(None))
    return page_response(page, status=404, security=policy(scripts=False, forms=False))


def _page(template: str, words: Catalogue, *, program: Mapping[str, str] | None = None, **context: Any) -> str:
    """Render a page in the language of a catalogue, which runs a program of these files, if any."""
    own = {"t": words.text, "number": words.number, "words": words.script, "language": words.language}
    periods = {"often": partial(_often, words), "steps": partial(_steps, words)}
    return web_page(template, program=program or {}, **own, **periods, **context)


def task_list(tasks: Sequence[Task], *, closed: Sequence[str] = ()) -> str:
    """Render the questions of a server that has several, or none; in their language if they have one in common."""
    languages = {task.language for task in tasks}
    words = catalogue_for(languages.pop() if len(languages) == 1 else None)
    return _page("survey/tasks.html", words, tasks=tasks, closed=closed)


def ask_page(task: Task, series: Series | None = None) -> str:
    """Render the page of a task, which may be a round of a series. If a promise is not kept, the page has no form."""
    promise, broken = promise_of(task)
    protection, rounds = promise and Protection.of(promise), None
    if series is not None and broken is None:
        total, broken = series_promise(series)
        rounds = total and _rounds_context(task, series, total)
    words = catalogue_for(task.language)
    context = {**_context(task, words), **_answers_context(task, words), **_servers_context(task, words)}
    return _page(
        "survey/survey.html",
        words,
        program=_program(task, of_series=rounds is not None),
        broken=broken,
        protection=protection,
        rounds=rounds,
        claimed_round=task.series,
        **context,
    )


def _rounds_context(task: Task, series: Series, promise: SeriesPromise) -> dict[str, Any]:
    """The series of a task: which round this is, and the protection of all rounds together."""
    assert task.series is not None
    return {
        "name": series.name,
        "number": task.series.round,
        "of": series.rounds,
        "period": series.period,
        "closes": series.closes,
        "total": Protection.of(promise.total),
        "epsilon": series.total_claim.epsilon,
        "delta": short_exponent(series.total_claim.delta),
        "address": f"/ask/series/{series.name}",
    }


def _context(task: Task, words: Catalogue) -> dict[str, Any]:
    return {
        "name": task.name,
        "question": shown(task.question, width=LONGEST_QUESTION),
        "asker": task.asker and shown(task.asker, width=LONGEST_QUESTION),
        "purpose": task.purpose and shown(task.purpose, width=LONGEST_QUESTION),
        "contact": task.contact and shown(task.contact, width=80),
        "contact_link": task.contact and _contact_link(task.contact),
        "epsilon": task.claim.epsilon,
        "delta": short_exponent(task.claim.delta),
        "strong": words.guarantee(*STRONG),
        "moderate": words.guarantee(*MODERATE),
        "delta_bound": words.number(share_at_most(task.guarantee.delta)),
        "users": task.users,
        "honest": task.honest_users,
        "opening": task.opening,
        "closing": task.closing,
        "opens": task.opens,
        "closes": task.closes,
        "admission": task.admission,
        "padded": task.padded,
        "time_precision": task.time_precision,
        "own_address": _own_address(task),
        "results": f"{task.analyzer.address.rstrip('/')}/tasks/{task.name}",
    }


def _answers_context(task: Task, words: Catalogue) -> dict[str, Any]:
    """The answers as a visitor sees them before the program runs; a language of their own if the page has another."""
    kind, answers = kind_of(task.answers), task.answers
    listed: list[str] = []
    if isinstance(answers, AnswerList | AnswerChoices) and len(answers.values) < SEARCHED_FROM:
        listed = answers.values
    elif isinstance(answers, AnswerRange) and answers.stop - answers.start < SEARCHED_FROM:
        listed = [str(number) for number in range(answers.start, answers.stop)]
    more = [words.text(key) for key in ("other", "none_of_these" if kind == "choices" else "none")]
    other = task.language and task.language.lower().split("-")[0] != words.language
    return {
        "kind": kind,
        "listed": [*(shown(label, width=LONGEST_QUESTION) for label in listed), *more] if listed else [],
        "short": max(map(len, listed), default=SHORT + 1) <= SHORT,
        "content_language": task.language if other else None,
    }


def _servers_context(task: Task, words: Catalogue) -> dict[str, Any]:
    places = [*task.shufflers, task.analyzer]
    number = str(len(places))
    named = number if number in "2345" else "more"
    return {
        "shufflers": [place.address for place in task.shufflers],
        "page_server": shown(str(urlsplit(task.shufflers[0].address).netloc), width=80),
        "analyzer": task.analyzer.address,
        "analyzer_name": shown(str(urlsplit(task.analyzer.address).netloc), width=80),
        "servers": words.text("servers", named, number=number),
        "one_host": on_one_host(task),
    }


def _contact_link(contact: str) -> str:
    """The address of a page or for mail; a task that was read has one of both."""
    return contact if contact.startswith("https://") else f"mailto:{contact}"


def _often(words: Catalogue, period: int) -> str:
    number, unit = in_units(period, weeks=True)
    if number == 1:
        return words.text("often_once", unit)
    return words.text("often_every", unit, number=words.number(number))


def _steps(words: Catalogue, seconds: int) -> str:
    number, unit = in_units(seconds)
    return words.plural("steps", unit, number=number)


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


class Catalogue:
    """The texts of one language, and how it writes numbers: a JSON file in `catalogues/`.

    A text may have placeholders such as {users}; a text that depends on a number is an object with the plural forms
    `one` and `other`. Texts under `script` also go to the program.
    """

    def __init__(self, language: str) -> None:
        content = json.loads((_CATALOGUES / f"{language}.json").read_text(encoding="utf-8"))
        self.language = language
        self.script: Mapping[str, Any] = content["script"]
        self._texts: Mapping[str, Any] = {**self.script, **content["page"]}
        self._digits = str.maketrans({".": content["decimal"], ",": content["group"]})

    def text(self, key: str, *parts: str, **values: Any) -> Markup:
        """Return a text with its placeholders filled in; values that are no markup are escaped."""
        found = self._texts[key]
        for part in parts:
            found = found[part]
        return escape(found).format(**values)

    def plural(self, key: str, *parts: str, number: int) -> Markup:
        """Return the form of a text for a number; the shipped languages have a singular form for one only."""
        return self.text(key, *parts, "one" if number == 1 else "other", number=self.number(number))

    def number(self, number: int | str) -> str:
        """Write a number, or one that was formatted in English, such as 2.72 or 2,981, in this language."""
        return (number if isinstance(number, str) else f"{number:,}").translate(self._digits)

    def guarantee(self, epsilon: float, delta: float) -> str:
        """Write a guarantee; its words are the same in the shipped languages."""
        return ", ".join(map(self.number, epsilon_delta(epsilon, delta).split(", ")))


@cache
def catalogue_for(language: str | None) -> Catalogue:
    """Return the catalogue for the language of a task, such as "de" or "de-AT"; English if there is none.

    A page never depends on the language of its visitor, so that it is the same for everybody.
    """
    first = (language or _DEFAULT).lower().split("-")[0]
    return Catalogue(first if first in SHIPPED else _DEFAULT)
