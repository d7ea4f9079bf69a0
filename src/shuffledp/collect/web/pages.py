"""How pages and their static files are served: entity tags, response headers, security policy; the console's frame.

Pages load nothing from other servers, run no scripts but ours, cannot be framed, and are never stored by caches. An
analyzer has the whole console; a shuffler has the operator's page of tasks only.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
from shuffledp.explain.html import render, style

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}


@dataclass(frozen=True)
class Assets:
    """Static files by their URL path, such as /console/console.js; each is read once."""

    files: Mapping[str, tuple[str, bytes]]

    @classmethod
    def of(cls, prefix: str, folder: Path) -> Assets:
        """Return all scripts, styles, drawings and texts in a folder, under a prefix such as /console."""
        paths = [path for path in sorted(folder.rglob("*")) if path.suffix in _TYPES]
        return cls(
            {
                f"{prefix}/{path.relative_to(folder).as_posix()}": (_TYPES[path.suffix], path.read_bytes())
                for path in paths
            }
        )

    def routes(self) -> list[Route]:
        """Return a route for each file."""
        return [Route(path, self._answer, methods=["GET"]) for path in self.files]

    async def _answer(self, request: Request) -> Response:
        kind, content = self.files[request.url.path]
        headers = {**HEADERS, "vary": "accept-encoding", "cache-control": "no-cache"}  # a cached copy is revalidated
        if "gzip" in request.headers.get("accept-encoding", ""):
            content, headers["content-encoding"] = _packed(content), "gzip"
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers["etag"] = tag
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)


@cache
def _packed(content: bytes) -> bytes:
    """About a third of the length. These files are public, so their compressed length reveals nothing."""
    return gzip.compress(content, mtime=0)


HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every response to a browser."""


def policy(
    *,
    styles: Sequence[str] = ("'self'",),
    connects: Sequence[str] = ("'self'",),
    scripts: bool = True,
    forms: bool = True,
) -> str:
    """Return the content security policy of a page; everything that it does not name is forbidden.

    `styles` may be the hash of a style inside the page; `connects` are the origins that scripts may contact. Without
    `forms`, only a script can send what is filled in.
    """
    allowed = {
        "default-src": "'none'",
        "script-src": "'self'" if scripts else "'none'",
        "style-src": " ".join(styles),
        "img-src": "'self'",
        "connect-src": " ".join(connects) if scripts else "'none'",
        "form-action": "'self'" if forms else "'none'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {sources}" for name, sources in allowed.items())


def web_page(template: str, **context: Any) -> str:
    """Render a page from the templates of this package, which extend those of `explain`."""
    return str(render(template, package=__package__, **context))


def page_response(
    html: str | bytes, *, status: int = 200, security: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a page that no cache may store."""
    content = {"content-security-policy": security or policy(), "cache-control": "no-store", **(headers or {})}
    return Response(html, status, {**HEADERS, **content}, media_type="text/html")


NO_STORE = {"cache-control": "no-store"}

REFERRER = {"referrer-policy": "same-origin"}
"""For pages with a form: without a referrer, browsers leave out the origin, which is checked on submission."""


def answer(request: Request, page: str, *, status: int = 200) -> Response:
    """Return a page, or 304 if the browser, which asks every two seconds, already has it."""
    tag = f'"{hashlib.sha256(page.encode()).hexdigest()[:32]}"'
    headers = {**NO_STORE, **REFERRER, "etag": tag}
    if status == 200 and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={**HEADERS, **headers})
    return page_response(page, status=status, headers=headers)


def wants_page(request: Request) -> bool:
    """Tell whether a browser asks for something that is not part of the HTTP API."""
    path = request.url.path
    programs = path.startswith("/v1/") or path in ("/v1", "/health", "/metrics")
    return not programs and "text/html" in request.headers.get("accept", "")


Server = Literal["analyzer", "shuffler"]

HOME, MANAGE = "/operator", "/operator/manage"
"""The operator's first page at an analyzer, and the page of tasks, which is the first one at a shuffler."""

_STATIC = Path(__file__).parent / "static" / "console"


def framed(template: str, *, server: Server, here: str = "", signed_in: bool = False, **context: Any) -> str:
    """Render a page in the frame of a server; `here` is its address if the navigation has it."""
    return web_page(template, server=server, here=here, signed_in=signed_in, version=__version__, **context)


def frame_files() -> list[Route]:
    """Return the routes of the files that every page in the frame loads: its own, and the common style sheet."""
    own = Assets.of("/console", _STATIC).files
    return Assets({**own, "/console/look.css": (_TYPES[".css"], style().encode())}).routes()


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
