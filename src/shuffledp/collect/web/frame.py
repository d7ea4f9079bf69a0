"""The frame of the console's pages at both servers: what they load, and the pages that answer errors.

An analyzer has the whole console; a shuffler has the operator's page of tasks only.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp import __version__
from shuffledp.collect.reasons import Refused
from shuffledp.collect.server.http import on_http_error, on_refused, problem
from shuffledp.collect.web.assets import Assets, answer, wants_page, web_page

Server = Literal["analyzer", "shuffler"]

HOME, MANAGE = "/operator", "/operator/manage"
"""The operator's first page at an analyzer, and the page of tasks, which is the first one at a shuffler."""

_STATIC = Path(__file__).resolve().parent / "static" / "console"


def framed(template: str, *, server: Server, here: str = "", signed_in: bool = False, **context: Any) -> str:
    """Render a page in the frame of a server; `here` is its address if the navigation has it."""
    return web_page(template, server=server, here=here, signed_in=signed_in, version=__version__, **context)


def frame_files() -> list[Route]:
    """Return the routes of the files that every page in the frame loads."""
    return Assets.with_style("/console", _STATIC).routes()


@dataclass(frozen=True)
class ErrorPages:
    """Exception handlers: browsers get a page at addresses below `below`, all others a problem document."""

    server: Server
    below: str = "/"

    def add_to(self, app: Starlette) -> None:
        """Answer the errors of an application."""
        app.add_exception_handler(HTTPException, self.http_error)
        app.add_exception_handler(Refused, self.refused)

    async def http_error(self, request: Request, error: Exception) -> Response:
        """Answer an unknown address or method."""
        assert isinstance(error, HTTPException)
        if not self._is_page(request):
            return await on_http_error(request, error)
        status = HTTPStatus(error.status_code)
        page = framed("console/error.html", server=self.server, status=status.name, phrase=status.phrase)
        return answer(request, page, status=status)

    async def refused(self, request: Request, error: Exception) -> Response:
        """Answer a request that is refused with a reason, such as a store that does not answer."""
        assert isinstance(error, Refused)
        if not self._is_page(request):
            return await on_refused(request, error)
        phrase, later = error.detail or error.reason.meaning, problem(error).headers.get("retry-after")
        page = framed("console/error.html", server=self.server, status="REFUSED", phrase=phrase)
        response = answer(request, page, status=error.reason.status)
        if later is not None:
            response.headers["retry-after"] = later
        return response

    def _is_page(self, request: Request) -> bool:
        return request.url.path.startswith(self.below) and wants_page(request)
