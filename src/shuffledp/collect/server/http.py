"""How much a server takes at once: bytes of a request, requests per second, requests under way.

None of these looks at who sends: the server must not remember that.

Refusals as problem documents (RFC 9457), and the last resort for errors that nobody expected.

Nothing of what was sent is ever in an answer or a log: only the reason, and for an unexpected error its kind and the
place in the program.

What the web applications of both servers have in common: how they are put together, their health, their store.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.observability import log_error
from shuffledp.errors import DataError

FIRST_SECONDS = 5.0
"""For the first bytes of a report, and for pauses: whoever takes longer holds a place that others need."""

SLOWEST_BYTES_PER_SECOND = 16_000
"""What arrives gives its sender more time: a slow telephone has four times this speed."""

MOST_AT_ONCE = 1_000
"""Requests under way in one process: several commits' worth."""

_FEWEST_AT_ONCE = 8
"""So that one slow sender of the longest reports does not keep all others out."""

_MEMORY = 256 * 2**20
"""Bytes of reports under way in one process, where reports are so long that fewer must do."""


def at_once(longest: int) -> int:
    """How many requests of up to this length may be under way."""
    return max(_FEWEST_AT_ONCE, min(MOST_AT_ONCE, _MEMORY // max(1, longest)))


async def body_of(request: Request, most: int, *, seconds: float = FIRST_SECONDS) -> bytes:
    """The body of a request, which is not read beyond `most` bytes.

    At every moment it must have brought SLOWEST_BYTES_PER_SECOND on average, but for the first `seconds`.
    """
    said = request.headers.get("content-length", "")
    if said.isdecimal() and len(said) <= 18 and int(said) > most:
        raise Refused(Reason.TOO_LARGE)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds) as limit:
            begun = asyncio.get_running_loop().time()
            async for part in request.stream():
                size += len(part)
                limit.reschedule(begun + seconds + size / SLOWEST_BYTES_PER_SECOND)
                if size > most:
                    raise Refused(Reason.TOO_LARGE)
                parts.append(part)
    except TimeoutError:
        raise Refused(Reason.UNAVAILABLE, "The report arrived too slowly: try again later.") from None
    except ClientDisconnect:
        raise Refused(Reason.UNAVAILABLE, "The connection ended before the report was here.") from None
    return b"".join(parts)


class Rate:
    """At most so many per second, evenly or within a burst of one second's worth; None is as many as come."""

    def __init__(self, most_per_second: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most_per_second
        self._clock = clock
        self._left = max(1.0, most_per_second or 0.0)
        self._last = clock()

    def take(self) -> None:
        """Counts one, or refuses it."""
        if self._most is None:
            return
        now = self._clock()
        self._left = min(max(1.0, self._most), self._left + (now - self._last) * self._most)
        self._last = now
        if self._left < 1:
            raise Refused(Reason.TOO_MANY_REQUESTS)
        self._left -= 1


class UnderWay:
    """At most so many at the same moment."""

    def __init__(self, most: int) -> None:
        self._free = most

    @contextmanager
    def one(self) -> Iterator[None]:
        """One of them, for as long as it takes; refused if there are too many."""
        if self._free < 1:
            raise Refused(Reason.TOO_MANY_REQUESTS)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


_HEADERS = {
    Reason.TOO_MANY_REQUESTS: {"retry-after": "1"},
    Reason.UNAVAILABLE: {"retry-after": "1"},
    Reason.NO_TOKEN: {"www-authenticate": "Bearer"},
    # what is still on its way is not read
    Reason.TOO_LARGE: {"connection": "close"},
}


class AnswerCutShortError(Exception):
    """An answer failed after its beginning had been sent: the connection ends, so that nobody takes it for whole."""


def problem(refused: Refused) -> Response:
    """The answer to what is refused."""
    reason = refused.reason
    document = {
        "type": f"urn:shuffledp:{reason}",
        "title": reason.meaning,
        "status": reason.status.value,
        "detail": refused.detail or reason.meaning,
        "reason": reason.value,
    }
    return _answer(document, reason.status, _HEADERS.get(reason))


def plain_problem(status: HTTPStatus, headers: dict[str, str] | None = None) -> Response:
    """An answer that has no reason of ours, such as to an address that does not exist."""
    return _answer({"type": "about:blank", "title": status.phrase, "status": status.value}, status, headers)


async def on_refused(request: Request, error: Exception) -> Response:
    """Starlette's handler for what is refused."""
    assert isinstance(error, Refused)
    return problem(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Starlette's handler for its own errors: no such address, no such method."""
    assert isinstance(error, HTTPException)
    return plain_problem(HTTPStatus(error.status_code), dict(error.headers or {}))


class Unexpected:
    """Around a whole application: an error that nobody expected is logged by its kind, and answered without data."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            log_error("unexpected error", error)
            if started:
                raise AnswerCutShortError from None
            await plain_problem(HTTPStatus.INTERNAL_SERVER_ERROR)(scope, receive, send)


def _answer(document: Mapping[str, object], status: HTTPStatus, headers: dict[str, str] | None) -> Response:
    content = json.dumps(document).encode()
    return Response(content, status.value, headers, media_type="application/problem+json")


Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def application(routes: Sequence[Route], *, lifespan: Lifespan, around: Sequence[Middleware] = ()) -> Starlette:
    """An application whose refusals are problem documents, and whose unexpected errors tell nobody anything.

    What is `around` it sees the answers to those, too.
    """
    app = Starlette(
        routes=routes,
        middleware=[*around, Middleware(Unexpected)],
        exception_handlers={Refused: on_refused, HTTPException: on_http_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # an address is one of these, or there is nothing
    return app


@contextmanager
def starting(name: str) -> Iterator[None]:
    """Logs why a server cannot start; whoever serves it would only say that it did not."""
    try:
        yield
    except Exception as error:
        log_error(f"the {name} cannot start", error)
        raise


@contextmanager
def asking_the_store() -> Iterator[None]:
    """If the store does not answer, it may do so later."""
    try:
        yield
    except Refused:
        raise
    except DataError as error:
        log_error("the store does not answer", error)
        raise Refused(Reason.UNAVAILABLE, "The store does not answer: try again later.") from None
