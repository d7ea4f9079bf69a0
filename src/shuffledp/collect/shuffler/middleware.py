"""Middleware of the shuffler: uploads past all other layers, and CORS for pages of other origins."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.collect.server.http import unexpected

Upload = Callable[[Request], Awaitable[Response]]

_REPORTS = re.compile(r"/v1/tasks/([^/]+)/reports")


class DirectUpload:
    """Middleware around the application that answers uploads itself, since reports are the requests that must be fast.

    The application would give the same answers, but its layers and routes take a tenth of the time of a report.
    """

    def __init__(self, app: ASGIApp, upload: Upload) -> None:
        self.app, self._upload = app, upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an upload; forward other requests."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        found = _REPORTS.fullmatch(scope["path"]) if is_post else None
        if found is None:
            await self.app(scope, receive, send)
            return
        scope["path_params"] = {"name": found[1]}
        try:
            response = await self._upload(Request(scope, receive))
        except Exception as error:
            response = unexpected(error)
        if _ANY_ORIGIN not in response.raw_headers:  # one response serves all reports that were stored
            response.raw_headers.append(_ANY_ORIGIN)
        await response(scope, receive, send)


_METHODS = {None: "GET", "status": "GET", "reports": "POST"}
_PATH = re.compile(r"/v1/series/[^/]+|/v1/tasks/[^/]+(?:/(status|reports))?")

_ORIGIN = "access-control-allow-origin"
_ANY_ORIGIN = (_ORIGIN.encode(), b"*")
_ASKED_BEFORE = {
    "access-control-allow-headers": "authorization, content-type",  # a star would not stand for the first
    "access-control-max-age": "7200",  # seconds: browsers keep it no longer
}
"""Headers of the answer to a preflight request."""


class CrossOrigin:
    """CORS for four public addresses: the series, the task, its status, and its reports.

    Browsers let a page read the answer of another server only if that server allows it. Survey pages may be anywhere,
    so every origin is allowed; no cookie or password of the browser is involved. Batches are not included: only the
    next server fetches them. Starlette's CORSMiddleware does not fit. It covers all addresses or, around one route,
    misses errors of the whole application, which pages must be able to read.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request; answer preflight requests directly."""
        found = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            method = _METHODS[found[1]]
            headers = {_ORIGIN: "*", "access-control-allow-methods": method, "allow": f"{method}, OPTIONS"}
            await Response(status_code=204, headers=headers | _ASKED_BEFORE)(scope, receive, send)
        else:

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message["headers"], _ANY_ORIGIN]
                await send(message)

            await self._app(scope, receive, sending)
