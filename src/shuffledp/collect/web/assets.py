"""How pages and their static files are served: files with types and entity tags, response headers, security policy.

Pages load nothing from other servers, run no scripts but ours, cannot be framed, and are never stored by caches.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.explain.html import render, style

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}


@dataclass(frozen=True)
class Assets:
    """Static files by their URL path, such as /console/console.js; each is read once."""

    files: Mapping[str, tuple[str, bytes]]

    @classmethod
    def of(cls, folders: Mapping[str, Path]) -> Assets:
        """Return all scripts, styles, drawings and texts in these folders, each under its prefix such as /console."""
        return cls({path: content for prefix, folder in folders.items() for path, content in _read(prefix, folder)})

    @classmethod
    def with_style(cls, prefix: str, folder: Path) -> Assets:
        """Return what pages load: their own files under a prefix, and the common style sheet."""
        return cls({**cls.of({prefix: folder}).files, f"{prefix}/look.css": (_TYPES[".css"], style().encode())})

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


def _read(prefix: str, folder: Path) -> Iterator[tuple[str, tuple[str, bytes]]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _TYPES:
            yield f"{prefix}/{path.relative_to(folder).as_posix()}", (_TYPES[path.suffix], path.read_bytes())


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
