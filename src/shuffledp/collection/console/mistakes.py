"""What a browser is shown where there is no page, or none at the moment; programs get problem documents."""

from __future__ import annotations

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from shuffledp.collection.console.frame import page, titled
from shuffledp.collection.console.responses import answer, wants_page
from shuffledp.collection.pages.markup import Html, link, tag
from shuffledp.collection.reasons import Refused
from shuffledp.collection.service.problems import on_http_error, on_refused

_WORDS = {
    HTTPStatus.NOT_FOUND: ("There is no such page", "Perhaps a letter of the address is missing."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("There is no such page", "This address is for a form, and not for looking at."),
}


async def http_error(request: Request, error: Exception) -> Response:
    """No such address, no such method."""
    assert isinstance(error, HTTPException)
    if not wants_page(request):
        return await on_http_error(request, error)
    status = HTTPStatus(error.status_code)
    return _told(request, status, *_WORDS.get(status, (status.phrase, "")))


async def refused(request: Request, error: Exception) -> Response:
    """What is refused with a reason, such as when the store does not answer."""
    assert isinstance(error, Refused)
    if not wants_page(request):
        return await on_refused(request, error)
    return _told(request, error.reason.status, "This does not work at the moment", error.detail or error.reason.meaning)


def _told(request: Request, status: HTTPStatus, title: str, words: str) -> Response:
    home = Html(f"<p>{link('/', 'All results of this analyzer', class_='button quiet')}</p>")
    return answer(request, page(title, titled(title) + tag("p", words) + home), status=status)
