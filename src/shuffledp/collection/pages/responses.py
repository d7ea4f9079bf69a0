"""Pages that load nothing from anybody else, run no script but ours, and stand in no other page's frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.responses import Response

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
