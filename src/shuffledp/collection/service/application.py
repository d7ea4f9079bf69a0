"""What the web applications of both servers have in common: how they are put together, their health, their store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.service.background import Background
from shuffledp.collection.service.logs import log_error
from shuffledp.collection.service.problems import Unexpected, on_http_error, on_refused
from shuffledp.errors import DataError

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


def healthy(threads: Iterable[Background]) -> Response:
    """That the store has answered, and everything runs that should."""
    if not all(thread.alive for thread in threads):
        raise Refused(Reason.UNAVAILABLE, "Work that should run beside the requests has ended.")
    return JSONResponse({"state": "ok"})
