"""The operator's page that adds, closes and removes tasks at a server, and adds tokens; it works without scripts.

A form must come from a page of this server and from an open session. Closing and removing ask for confirmation first.
The counters and problems on the page are those of the public status.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from shuffledp.collect.reasons import Refused
from shuffledp.collect.server.http import asking_the_store, body_of
from shuffledp.collect.server.operation import AddHashes, hashes_of
from shuffledp.collect.server.registry import Entry, NoAnswerError, Registry
from shuffledp.collect.task import Series, Task
from shuffledp.collect.task.public_file import MOST_FILE_BYTES
from shuffledp.collect.task.task import LONGEST_QUESTION
from shuffledp.collect.web.pages import HEADERS, MANAGE, NO_STORE, answer, frame_files, framed
from shuffledp.collect.web.sessions import ELSEWHERE, Handler, SigningIn, sent_from_here
from shuffledp.formatting import shown

_FRAME = 2**16
"""Bytes of a form beside the file in it."""

_MOST_HASHES_BYTES = 66 * 100_000
"""Bytes of a form with hashes: a hundred thousand of them. `shuffledp task tokens` sends more."""

_MOST_PASTED = 2**18
"""Bytes of pasted text that a page with an error shows again, so that it can be corrected."""

_LONGEST_PROBLEM = 600

_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)

PublicStatus = Callable[[Task], Mapping[str, Any] | None]
"""The public status of a task; None if it is not served."""


class Administration:
    """The page of tasks, and its forms; `clock` gives seconds since 1970.

    A shuffler gives `status`, whose counters the page shows, and `add_hashes` for the first shuffler of tasks.
    """

    def __init__(
        self,
        registry: Registry[Any],
        door: SigningIn,
        *,
        clock: Callable[[], float],
        status: PublicStatus | None = None,
        add_hashes: AddHashes | None = None,
    ) -> None:
        self._registry, self._door, self._clock = registry, door, clock
        self._status, self._add_hashes = status, add_hashes

    def routes(self) -> list[Route]:
        """Return all routes: the pages, signing in and out, and the files that they load."""
        one = f"{MANAGE}/{{name}}"
        found = [
            Route(MANAGE, self._signed_in(self._show), methods=["GET"]),
            Route(MANAGE, self._sent(self._add), methods=["POST"]),
            Route(f"{one}/close", self._signed_in(self._confirm_close), methods=["GET"]),
            Route(f"{one}/close", self._sent(self._close), methods=["POST"]),
            Route(f"{one}/remove", self._signed_in(self._confirm_removal), methods=["GET"]),
            Route(f"{one}/remove", self._sent(self._remove), methods=["POST"]),
        ]
        if self._add_hashes is not None:
            found += [
                Route(f"{one}/tokens", self._signed_in(self._show_tokens), methods=["GET"]),
                Route(f"{one}/tokens", self._sent(partial(self._add_tokens, self._add_hashes)), methods=["POST"]),
            ]
        return [*found, *self._door.routes(), *frame_files()]

    def _signed_in(self, show: Handler) -> Handler:
        async def shown(request: Request) -> Response:
            with asking_the_store():
                return await show(request)

        return self._door.guarded(shown)

    def _sent(self, change: Handler) -> Handler:
        """Let in only forms of this server, of a signed-in operator."""

        async def checked(request: Request) -> Response:
            return await change(request) if sent_from_here(request) else self._door.form(request, problem=ELSEWHERE)

        return self._signed_in(checked)

    def _framed(self, template: str, **context: Any) -> str:
        return framed(template, server=self._door.server, signed_in=True, **context)

    async def _show(self, request: Request) -> Response:
        done, number = request.query_params.get("done", ""), request.query_params.get("number", "")
        return await self._page(request, done=done, number=int(number) if _NUMBER.fullmatch(number) else 0)

    async def _page(
        self,
        request: Request,
        *,
        status: int = 200,
        done: str = "",
        number: int = 0,
        problem: str = "",
        pasted: str = "",
    ) -> Response:
        """The page of tasks: `done` is the last change, and `number` of how many tokens; `pasted` is in the form."""
        listed = await run_in_threadpool(self._listed)
        page = self._framed(
            "console/manage.html",
            here=MANAGE,
            listed=listed,
            done=done,
            number=number,
            problem=problem,
            pasted=pasted,
        )
        return answer(request, page, status=status)

    def _listed(self) -> list[Mapping[str, Any]]:
        self._registry.update()
        return [self._context(entry) for entry in self._registry.entries]

    def _context(self, entry: Entry[Any]) -> Mapping[str, Any]:
        asked, now = entry.asked, self._clock()
        task = asked.task(asked.nearest_round(now)) if isinstance(asked, Series) else asked
        status, closed = None if self._status is None else self._status(task), entry.is_closed(now)
        first = status is not None and status["position"] == 0
        return {
            "name": asked.name,
            "question": shown(asked.question, width=LONGEST_QUESTION),
            "rounds": asked.rounds if isinstance(asked, Series) else None,
            "opens": asked.opens,
            "closes": asked.closes,
            "state": entry.state(now),
            "closed": closed,
            "problem": None if entry.problem is None else shown(entry.problem, width=_LONGEST_PROBLEM),
            "round": None if task.series is None else task.series.round,
            "status": status,
            "admission": asked.admission,
            "takes_tokens": first and asked.admission != "anybody" and not closed,
        }

    async def _add(self, request: Request) -> Response:
        sent = _NOTHING
        try:
            sent = await _sent_file(request, MOST_FILE_BYTES)
            if not sent.content:
                return await self._page(request, status=400, problem="choose a task file, or paste its content.")
            _, new = await run_in_threadpool(self._registry.add, sent.content)
        except Refused as refused:
            return await self._page(request, status=refused.reason.status, problem=_why(refused), pasted=sent.pasted)
        return _done("added" if new else "known")

    async def _show_tokens(self, request: Request) -> Response:
        return await self._confirm(request, "console/tokens.html")

    async def _add_tokens(self, add: AddHashes, request: Request) -> Response:
        file = await run_in_threadpool(self._found, request)
        sent = _NOTHING
        try:
            sent = await _sent_file(request, _MOST_HASHES_BYTES)
            if not sent.content:
                problem = "choose the file of hashes, or paste them."
                return await self._confirm(request, "console/tokens.html", status=400, problem=problem)
            added = await run_in_threadpool(lambda: add(file["name"], hashes_of(sent.content, name="the file")))
        except Refused as refused:
            status, problem = refused.reason.status, _why(refused)
            return await self._confirm(
                request, "console/tokens.html", status=status, problem=problem, pasted=sent.pasted
            )
        return _done("tokens", number=added)

    async def _confirm_close(self, request: Request) -> Response:
        return await self._confirm(request, "console/close.html")

    async def _confirm_removal(self, request: Request) -> Response:
        return await self._confirm(request, "console/remove.html")

    async def _confirm(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        problem: str = "",
        no_answer: bool = False,
        pasted: str = "",
    ) -> Response:
        file = await run_in_threadpool(self._found, request)
        page = self._framed(template, file=file, problem=problem, no_answer=no_answer, pasted=pasted)
        return answer(request, page, status=status)

    def _found(self, request: Request) -> Mapping[str, Any]:
        try:
            return self._context(self._registry.find(request.path_params["name"]))
        except Refused:
            raise HTTPException(404) from None

    async def _close(self, request: Request) -> Response:
        file = await run_in_threadpool(self._found, request)
        await run_in_threadpool(self._registry.close, file["name"])
        return _done("closed")

    async def _remove(self, request: Request) -> Response:
        file = await run_in_threadpool(self._found, request)
        unchecked = request.query_params.get("unchecked") == "true"
        try:
            await run_in_threadpool(partial(self._registry.remove, file["name"], unchecked=unchecked))
        except Refused as refused:
            problem, no_answer = _why(refused), isinstance(refused, NoAnswerError)
            return await self._confirm(request, "console/remove.html", status=409, problem=problem, no_answer=no_answer)
        return _done("removed")


def _why(refused: Refused) -> str:
    return shown(refused.detail or refused.reason.meaning, width=_LONGEST_PROBLEM)


def _done(word: str, **more: int) -> Response:
    query = urlencode({"done": word, **more})
    return RedirectResponse(f"{MANAGE}?{query}", status_code=303, headers={**HEADERS, **NO_STORE})


class SentFile(NamedTuple):
    """The content of a form: a file, or the text that was pasted instead. `pasted` is that text unless it is long."""

    content: bytes
    pasted: str


_NOTHING = SentFile(b"", "")


async def _sent_file(request: Request, most: int) -> SentFile:
    """The file of a form, of up to `most` bytes; empty if none was chosen or pasted."""
    body = await body_of(request, most + _FRAME)
    return await run_in_threadpool(file_in, request.headers.get("content-type", ""), body)


def file_in(content_type: str, body: bytes) -> SentFile:
    """The file of a form (multipart/form-data), or the text that was pasted instead; empty if there is neither."""
    head = f"content-type: {content_type}\r\n\r\n".encode("ascii", errors="replace")
    form = BytesParser(policy=HTTP).parsebytes(head + body)
    if form.get_content_type() != "multipart/form-data" or not form.is_multipart():
        return _NOTHING
    fields: dict[str, bytes] = {}
    for part in form.iter_parts():
        name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            fields.setdefault(name, content)
    chosen, text = (fields.get(name, b"").strip() for name in ("file", "text"))
    return SentFile(chosen or text, text.decode(errors="replace") if len(text) <= _MOST_PASTED else "")
