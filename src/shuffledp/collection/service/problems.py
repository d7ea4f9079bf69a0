"""Refusals as problem documents (RFC 9457), and the last resort for errors that nobody expected.

Nothing of what was sent is ever in an answer or a log: only the reason, and for an unexpected error its kind and the
place in the program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.service.logs import log_error

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
