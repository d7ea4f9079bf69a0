"""The parts of both web applications: limits, caches, problem documents (RFC 9457), and how an application is put
together.

No limit looks at the sender: a server must not remember who sent what. Answers and logs contain nothing of a request.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from http import HTTPStatus
from typing import Generic, ParamSpec, Self, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.observability import Event, log_error
from shuffledp.errors import DataError

Answer = TypeVar("Answer")
Given = ParamSpec("Given")

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


def header_of(scope: Scope, name: bytes) -> str | None:
    """The first header of a request with this name, which is in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


async def body_of(request: Request, most: int, *, seconds: float = FIRST_SECONDS) -> bytes:
    """Read the body of a request, up to `most` bytes.

    After the first `seconds` it must arrive with SLOWEST_BYTES_PER_SECOND on average. A part is not taken for the
    whole: uvicorn passes on no body of a request that also asks for another protocol (`Upgrade: h2c`).
    """
    length = header_of(request.scope, b"content-length") or ""
    declared = int(length) if length.isdecimal() and len(length) <= 18 else None
    if declared is not None and declared > most:
        raise Refused(Reason.TOO_LARGE)
    parts, size, more = [], 0, True
    with _Patience(seconds) as patience:
        while more:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise Refused(Reason.UNAVAILABLE, "The connection ended before everything arrived.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise Refused(Reason.TOO_LARGE)
            if more := message.get("more_body", False):  # most reports arrive whole
                patience.extend_to(seconds + size / SLOWEST_BYTES_PER_SECOND)
    if declared not in (None, size):
        raise Refused(Reason.UNAVAILABLE, "Not everything arrived. Do not ask for another protocol (Upgrade).")
    return b"".join(parts)


LOOK_EVERY = 0.25
"""Seconds between looks at the senders that are awaited."""

_AWAITED: dict[asyncio.AbstractEventLoop, set[_Patience]] = {}
"""The senders that are awaited in each event loop; an entry means that its timer runs."""


class _Patience:
    """Refuse a sender that is still awaited some seconds after the start of the block, and at most LOOK_EVERY later.

    `asyncio.timeout` has a timer for each sender, which took a tenth of the time of a report. Here they share one.
    """

    def __init__(self, seconds: float) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._begun, self._over = self._loop.time(), False
        self._until = self._begun + seconds

    def extend_to(self, seconds: float) -> None:
        self._until = self._begun + seconds

    def end_if_over(self, now: float) -> None:
        if now >= self._until and not self._over:
            assert self._task is not None
            self._over = self._task.cancel()

    def __enter__(self) -> Self:
        awaited = _AWAITED.get(self._loop)
        if awaited is None:
            awaited = _watched(self._loop)
        awaited.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _AWAITED[self._loop].discard(self)
        if self._over and self._task is not None and self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise Refused(Reason.UNAVAILABLE, "It arrived too slowly: try again later.") from None


def _watched(loop: asyncio.AbstractEventLoop) -> set[_Patience]:
    for ended in [each for each in tuple(_AWAITED) if each.is_closed()]:  # threads may have loops of their own
        _AWAITED.pop(ended, None)
    _AWAITED[loop] = set()
    loop.call_later(LOOK_EVERY, _look, loop)
    return _AWAITED[loop]


def _look(loop: asyncio.AbstractEventLoop) -> None:
    awaited = _AWAITED[loop]
    if not awaited:
        del _AWAITED[loop]
        return
    for each in awaited:
        each.end_if_over(loop.time())
    loop.call_later(LOOK_EVERY, _look, loop)


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
    """A limit for the number of requests in flight, each in a `with` block; another thread may change `most`."""

    def __init__(self, most: int) -> None:
        self.most, self._number = most, 0

    def __enter__(self) -> None:
        if self._number >= self.most:
            raise Refused(Reason.TOO_MANY_REQUESTS)
        self._number += 1

    def __exit__(self, *_: object) -> None:
        self._number -= 1


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
        **({} if refused.server_time is None else {"server_time": refused.server_time}),
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
            answer = unexpected(error)
            if started:
                raise AnswerCutShortError from None
            await answer(scope, receive, send)


def unexpected(error: Exception) -> Response:
    """Log an unexpected error by its type; return an answer without data."""
    log_error(Event.UNEXPECTED_ERROR, error)
    return plain_problem(HTTPStatus.INTERNAL_SERVER_ERROR)


def _answer(document: Mapping[str, object], status: HTTPStatus, headers: dict[str, str] | None) -> Response:
    content = json.dumps(document).encode()
    return Response(content, status.value, headers, media_type="application/problem+json")


Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def application(routes: Sequence[Route], *, lifespan: Lifespan, around: Sequence[Middleware] = ()) -> Starlette:
    """An application that answers refusals and errors with problem documents, which `around` sees too."""
    app = Starlette(
        routes=routes,
        middleware=[*around, Middleware(Unexpected)],
        exception_handlers={Refused: on_refused, HTTPException: on_http_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # addresses are exact
    return app


@contextmanager
def starting() -> Iterator[None]:
    """Log why a server cannot start; uvicorn would only report that it did not."""
    try:
        yield
    except Exception as error:
        log_error(Event.CANNOT_START, error)
        raise


@contextmanager
def asking_the_store() -> Iterator[None]:
    """Refuse requests with 503 while the store does not answer."""
    try:
        yield
    except DataError as error:
        raise refusal_of(error) from None


async def from_the_store(ask: Callable[Given, Answer], *given: Given.args, **options: Given.kwargs) -> Answer:
    """Ask the store in a thread; refuse the request with 503 while it does not answer."""
    with asking_the_store():
        return await run_in_threadpool(ask, *given, **options)


def refusal_of(error: DataError) -> Refused:
    """The refusal that answers an error: itself, or 503 after an error of the store, which is logged."""
    if isinstance(error, Refused):
        return error
    log_error(Event.STORE_FAILED, error)
    return Refused(Reason.UNAVAILABLE, "The store does not answer: try again later.")


Value = TypeVar("Value")

MOST_WAITING = 8
"""Requests that compute an entry or wait to. A file of 20,000 answers takes a quarter of a second. So a request waits
for about two seconds at most, and most threads stay free for other requests."""

BUSY = "Too many requests wait for files to be computed: try again in a few seconds."

_OVERHEAD = 1_000
"""Bytes counted for the key and the bookkeeping of an entry."""


class BoundedLock:
    """A lock with a limit on the threads that hold it or wait for it; more are refused."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._slots = threading.Semaphore(most)
        self._lock = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; refuse the request at once if too many wait."""
        if not self._slots.acquire(blocking=False):
            raise Refused(Reason.UNAVAILABLE, BUSY)
        try:
            with self._lock:
                yield
        finally:
            self._slots.release()


class BoundedCache(Generic[Value]):
    """A least-recently-used cache of up to `most_bytes` of content that is computed on request, each entry once.

    A visitor who requests many different entries on many connections uses one computing thread and bounded memory.
    """

    def __init__(self, *, most_bytes: int, size: Callable[[Value], int], most_waiting: int = MOST_WAITING) -> None:
        self._most, self._size, self._computing = most_bytes, size, BoundedLock(most_waiting)
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The current size of the cache."""
        return self._bytes

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the entry of a key; compute it if it is missing, or refuse the request if many wait."""
        found = self._lookup(key)
        if found is None:
            with self._computing.held():
                found = self._lookup(key) or self._store(key, compute())  # another thread may have computed it
        return found[0]

    def _lookup(self, key: Hashable) -> tuple[Value, int] | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def _store(self, key: Hashable, value: Value) -> tuple[Value, int]:
        entry = value, self._size(value) + _OVERHEAD
        with self._lock:
            if entry[1] <= self._most:  # a larger entry would evict all others
                self._entries[key] = entry
                self._bytes += entry[1]
            while self._bytes > self._most:
                _, (_, size) = self._entries.popitem(last=False)
                self._bytes -= size
        return entry
