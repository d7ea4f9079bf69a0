"""The files that pages load: scripts and styles of this package, and the client in JavaScript."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.collection.pages.responses import HEADERS
from shuffledp.errors import DataError
from shuffledp.report.look import LOOK

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_PACKAGE = Path(__file__).resolve().parents[2]


def client_folder() -> Path:
    """The client in JavaScript: in an installed package beside this module, in the repository in its own folder."""
    for folder in (_PACKAGE / "collection" / "pages" / "client", _PACKAGE.parents[1] / "clients" / "javascript"):
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
