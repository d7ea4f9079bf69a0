"""What pages of other origins may ask a shuffler: the task, its status, and to take a report.

Browsers let a page read an answer of another server only if that server allows it (CORS). People answer on pages of
anybody's, so these three are for every origin: they are public, and no cookie or password of the browser goes with
them. Batches are not: only the next hop fetches them, and it is no page.
"""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = {None: "GET", "status": "GET", "reports": "POST"}
_PATH = re.compile(r"/v1/tasks/[^/]+(?:/(status|reports))?")

_ORIGIN = "access-control-allow-origin"
_ASKED_BEFORE = {
    "access-control-allow-headers": "authorization, content-type",  # a star would not stand for the first
    "access-control-max-age": "7200",  # seconds: browsers keep it no longer
}
"""What a browser is told that asks first whether it may send a request (a preflight)."""


class CrossOrigin:
    """Around a whole application, so that errors too can be read by the page that asked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on; answers for the application only where a browser asks first."""
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
                    MutableHeaders(scope=message)[_ORIGIN] = "*"
                await send(message)

            await self._app(scope, receive, sending)
