"""How pages are sent: with a strict policy, kept by nobody, and not sent again to whoever has them."""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response

from shuffledp.collection.pages.responses import HEADERS, page_response

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
