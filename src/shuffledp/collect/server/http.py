"""The parts of both web applications: limits, problem documents (RFC 9457), and how an application is put together.

No limit looks at the sender: a server must not remember who sent what. Answers and logs contain nothing of a request:
only the reason of a refusal or, for an unexpected error, its type and the place in the code.
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
"""Seconds for the first bytes of a report, and for pauses: a slow sender holds a place that others need."""

SLOWEST_BYTES_PER_SECOND = 16_000
"""The slowest upload that is accepted; a slow telephone is four times faster."""

MOST_IN_FLIGHT = 1_000
"""Requests in flight in one process: enough for several commits."""

_FEWEST_IN_FLIGHT = 8
"""One slow sender of the longest reports must not keep all others out."""

_MEMORY = 256 * 2**20
"""Bytes of the reports in flight in one process; long reports lower their number."""


def most_in_flight(longest: int) -> int:
    """The number of requests of up to this length that may be in flight."""
    return max(_FEWEST_IN_FLIGHT, min(MOST_IN_FLIGHT, _MEMORY // max(1, longest)))


async def body_of(request: Request, most: int, *, seconds: float = FIRST_SECONDS) -> bytes:
    """Read the body of a request, up to `most` bytes.

    After the first `seconds` it must arrive with SLOWEST_BYTES_PER_SECOND on average.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and len(declared) <= 18 and int(declared) > most:
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
        raise Refused(Reason.UNAVAILABLE, "The connection ended before the whole report arrived.") from None
    return b"".join(parts)


class Rate:
    """A limit per second, with bursts of one second's worth; None is no limit."""

    def __init__(self, most_per_second: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most_per_second
        self._clock = clock
        self._left = max(1.0, most_per_second or 0.0)
        self._last = clock()

    def take(self) -> None:
        """Count one request, or refuse it."""
        if self._most is None:
            return
        now = self._clock()
        self._left = min(max(1.0, self._most), self._left + (now - self._last) * self._most)
        self._last = now
        if self._left < 1:
            raise Refused(Reason.TOO_MANY_REQUESTS)
        self._left -= 1


class InFlight:
    """A limit for the number of requests in flight."""

    def __init__(self, most: int) -> None:
        self._free = most

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one request while it is in flight; refuse it if there are too many."""
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
    # the rest of the body is not read
    Reason.TOO_LARGE: {"connection": "close"},
}


class AnswerCutShortError(Exception):
    """An answer failed after its start was sent: the connection is closed, so that the client sees that it is cut."""


def problem(refused: Refused) -> Response:
    """The problem document of a refusal."""
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
    """A problem document without a reason of this package, such as for an unknown address."""
    return _answer({"type": "about:blank", "title": status.phrase, "status": status.value}, status, headers)


async def on_refused(request: Request, error: Exception) -> Response:
    """Exception handler for refusals."""
    assert isinstance(error, Refused)
    return problem(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Exception handler for unknown addresses and methods."""
    assert isinstance(error, HTTPException)
    return plain_problem(HTTPStatus(error.status_code), dict(error.headers or {}))


class Unexpected:
    """Middleware that logs unexpected errors by type and answers them without data.

    Starlette's ServerErrorMiddleware raises the error again after its answer, so uvicorn would see its message.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request."""
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
    """An application that answers refusals and unexpected errors with problem documents.

    The middleware in `around` sees those answers, too.
    """
    app = Starlette(
        routes=routes,
        middleware=[*around, Middleware(Unexpected)],
        exception_handlers={Refused: on_refused, HTTPException: on_http_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # addresses are exact
    return app


@contextmanager
def starting(name: str) -> Iterator[None]:
    """Log why a server cannot start; uvicorn would only report that it did not."""
    try:
        yield
    except Exception as error:
        log_error(f"the {name} cannot start", error)
        raise


@contextmanager
def asking_the_store() -> Iterator[None]:
    """Refuse requests with 503 while the store does not answer."""
    try:
        yield
    except Refused:
        raise
    except DataError as error:
        log_error("the store does not answer", error)
        raise Refused(Reason.UNAVAILABLE, "The store does not answer: try again later.") from None
