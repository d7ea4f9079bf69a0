"""The files that pages load: scripts and styles of this package, and the client in JavaScript.

Pages that load nothing from anybody else, run no script but ours, and stand in no other page's frame.

How pages are sent: with a strict policy, kept by nobody, and not sent again to whoever has them.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.errors import DataError
from shuffledp.explain.look import LOOK

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_PACKAGE = Path(__file__).resolve().parents[2]


def client_folder() -> Path:
    """The client in JavaScript: in an installed package beside this module, in the repository in its own folder."""
    for folder in (_PACKAGE / "collect" / "web" / "client", _PACKAGE.parents[1] / "clients" / "javascript"):
        if (folder / "src" / "index.js").exists():
            return folder
    raise DataError("the client in JavaScript is not there: install the package anew")


@dataclass(frozen=True)
class Assets:
    """Files by the path under which a browser asks for them, such as /console/console.js; read once."""

    files: Mapping[str, tuple[str, bytes]]

    @classmethod
    def of(cls, folders: Mapping[str, Path]) -> Assets:
        """All scripts, styles and drawings in these folders, each under its prefix such as /console."""
        return cls({path: content for prefix, folder in folders.items() for path, content in _read(prefix, folder)})

    @classmethod
    def with_look(cls, prefix: str, folder: Path, more: Mapping[str, Path] | None = None) -> Assets:
        """All that pages load: their own files under a prefix, the look of all pages beside them, and more folders."""
        look = {f"{prefix}/look.css": (_TYPES[".css"], LOOK.encode())}
        return cls({**cls.of({prefix: folder, **(more or {})}).files, **look})

    def routes(self) -> list[Route]:
        """One for each file."""
        return [Route(path, self._answer, methods=["GET"]) for path in self.files]

    async def _answer(self, request: Request) -> Response:
        kind, content = self.files[request.url.path]
        headers = {**HEADERS, "vary": "accept-encoding", "cache-control": "no-cache"}  # a copy is asked about
        if "gzip" in request.headers.get("accept-encoding", ""):
            content, headers["content-encoding"] = _packed(content), "gzip"
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers["etag"] = tag
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)


@cache
def _packed(content: bytes) -> bytes:
    """A third of its length; these files are public, so that lengths tell nothing."""
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
"""Of everything that a browser is given."""


def policy(
    *,
    styles: Sequence[str] = ("'self'",),
    connects: Sequence[str] = ("'self'",),
    scripts: bool = True,
    forms: bool = True,
) -> str:
    """The content security policy of a page: what is not named here is forbidden.

    `styles` may be the hash of a style that stands in the page itself; `connects` are the origins that scripts may ask.
    Without `forms` nothing that is filled in can be sent but by a script.
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


def page_response(
    html: str, *, status: int = 200, security: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """A page; nobody keeps a copy of it on the way."""
    content = {"content-security-policy": security or policy(), "cache-control": "no-store", **(headers or {})}
    return Response(html, status, {**HEADERS, **content}, media_type="text/html")


NOT_KEPT = {"cache-control": "no-store"}

REFERRER = {"referrer-policy": "same-origin"}
"""Of pages with a form: with no referrer at all, browsers leave out the origin that is checked when it is sent."""


def answer(request: Request, page: str, *, status: int = 200) -> Response:
    """A page, or only that it has not changed: whoever looks every two seconds says which one is known."""
    tag = f'"{hashlib.sha256(page.encode()).hexdigest()[:32]}"'
    headers = {**NOT_KEPT, **REFERRER, "etag": tag}
    if status == 200 and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={**HEADERS, **headers})
    return page_response(page, status=status, headers=headers)


def wants_page(request: Request) -> bool:
    """Whether a person asks, with a browser, for something that is no part of the interface for programs."""
    path = request.url.path
    programs = path.startswith("/v1/") or path in ("/v1", "/health", "/metrics")
    return not programs and "text/html" in request.headers.get("accept", "")
