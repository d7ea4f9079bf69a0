import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import StreamingResponse
from starlette.routing import Route

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.http import (
    AnswerCutShortError,
    Unexpected,
    asking_the_store,
    on_http_error,
    on_refused,
)
from shuffledp.errors import DataError


def answer_to(endpoint, method="GET", path="/", **options):
    app = Starlette(
        routes=[Route("/", endpoint)],
        middleware=[Middleware(Unexpected)],
        exception_handlers={Refused: on_refused, HTTPException: on_http_error},
    )

    async def run():
        transport = httpx.ASGITransport(app, **options)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path)

    return asyncio.run(run())


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_a_problem_document(reason):
    async def endpoint(request):
        raise Refused(reason)

    answer = answer_to(endpoint)
    assert answer.status_code == reason.status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": f"urn:shuffledp:{reason}",
        "title": reason.meaning,
        "status": reason.status,
        "detail": reason.meaning,
        "reason": reason,
    }
    assert ("retry-after" in answer.headers) == (reason in (Reason.TOO_MANY_REQUESTS, Reason.UNAVAILABLE))


def test_an_unexpected_error_reveals_nothing_of_the_request(capsys):
    async def endpoint(request):
        raise KeyError("somebody's value")

    answer = answer_to(endpoint)
    assert answer.status_code == 500
    assert answer.json() == {"type": "about:blank", "title": "Internal Server Error", "status": 500}
    written = capsys.readouterr()
    assert "KeyError" in written.err
    assert "somebody" not in answer.text + written.err + written.out


def test_a_response_that_fails_midway_is_cut_off(capsys):
    async def endpoint(request):
        def content():
            yield b"begun"
            raise KeyError("somebody's value")

        return StreamingResponse(content())

    with pytest.raises(AnswerCutShortError):
        answer_to(endpoint)
    assert "somebody" not in capsys.readouterr().err


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("POST", "/", 405)])
def test_unknown_addresses_and_methods_are_problem_documents(method, path, status):
    async def endpoint(request):
        raise AssertionError("is not asked")

    answer = answer_to(endpoint, method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


def test_a_store_that_fails_says_nothing_about_itself(caplog):
    """Its error may name a file, a host or a user."""

    async def endpoint(request):
        with asking_the_store():
            raise DataError("postgresql://operator:word@host/db does not answer")

    answer = answer_to(endpoint)
    assert (answer.status_code, answer.json()["reason"]) == (503, "unavailable")
    for secret in ("postgresql", "operator", "word", "host"):
        assert secret not in answer.text
        assert secret not in caplog.text
