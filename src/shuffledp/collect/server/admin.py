"""The HTTP API of operators (docs/reference/endpoints.md): list, add, close and remove tasks while the server runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.auth import Accepted, WrongTokens, bearer, parse_hashes
from shuffledp.collect.server.http import asking_the_store, body_of
from shuffledp.collect.server.registry import Registry
from shuffledp.collect.task.public_file import MOST_FILE_BYTES
from shuffledp.errors import ShuffledpError

TASKS = "/v1/admin/tasks"

MOST_HASHES_BYTES = 66 * 1_000_000
"""Bytes of a request with hashes: a million of them. More are sent in several requests."""

NOT_AN_OPERATOR = "Only an operator may do this, with a token whose hash this server was started with."

NO_TOKENS_HERE = "An analyzer takes no tokens: send their hashes to the first shuffler of the task."

AddHashes = Callable[[str, Sequence[bytes]], int]
"""Add hashes of one-time tokens, or of the shared secret, to a file; return how many are new."""

Handler = Callable[[Request], Awaitable[Response]]


class AdminApi:
    """Routes of the API; `add_hashes` is for the first shuffler of tasks."""

    def __init__(
        self, registry: Registry[Any], *, operators: Accepted, pause: float, add_hashes: AddHashes | None = None
    ) -> None:
        self._registry, self._operators, self._add_hashes = registry, operators, add_hashes
        self._wrong = WrongTokens(pause)

    def routes(self) -> list[Route]:
        """Return all routes."""
        one = f"{TASKS}/{{name}}"
        return [
            Route(TASKS, self._checked(self._list), methods=["GET"]),
            Route(TASKS, self._checked(self._add), methods=["POST"]),
            Route(one, self._checked(self._show), methods=["GET"]),
            Route(one, self._checked(self._remove), methods=["DELETE"]),
            Route(f"{one}/close", self._checked(self._close), methods=["POST"]),
            Route(f"{one}/tokens", self._checked(self._tokens), methods=["POST"]),
        ]

    def _checked(self, handler: Handler) -> Handler:
        async def endpoint(request: Request) -> Response:
            if bearer(request.headers.get("authorization")) not in self._operators:
                await self._wrong.wait()
                raise Refused(Reason.NO_TOKEN, NOT_AN_OPERATOR)
            with asking_the_store():
                response = await handler(request)
            response.headers["cache-control"] = "no-store"
            return response

        return endpoint

    async def _list(self, request: Request) -> Response:
        return JSONResponse({"tasks": await run_in_threadpool(self._listed)})

    def _listed(self) -> list[dict[str, Any]]:
        self._registry.update()
        return [self._registry.about(entry) for entry in self._registry.entries]

    async def _show(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._about, request.path_params["name"]))

    def _about(self, name: str) -> dict[str, Any]:
        self._registry.update()
        return self._registry.about(self._registry.find(name))

    async def _add(self, request: Request) -> Response:
        content = await body_of(request, MOST_FILE_BYTES)
        entry, new = await run_in_threadpool(self._registry.add, content)
        about = await run_in_threadpool(self._registry.about, entry)
        return JSONResponse(about, status_code=201 if new else 200)

    async def _close(self, request: Request) -> Response:
        entry = await run_in_threadpool(self._registry.close, request.path_params["name"])
        return JSONResponse(await run_in_threadpool(self._registry.about, entry))

    async def _remove(self, request: Request) -> Response:
        unchecked = request.query_params.get("unchecked") == "true"
        await run_in_threadpool(partial(self._registry.remove, request.path_params["name"], unchecked=unchecked))
        return Response(status_code=204)

    async def _tokens(self, request: Request) -> Response:
        if self._add_hashes is None:
            raise Refused(Reason.CANNOT_BE_SERVED, NO_TOKENS_HERE)
        name, content = request.path_params["name"], await body_of(request, MOST_HASHES_BYTES)
        add = self._add_hashes
        added = await run_in_threadpool(lambda: add(name, hashes_of(content)))  # parsing a million takes a second
        return JSONResponse({"added": added})


def hashes_of(content: bytes, *, name: str = "the body") -> list[bytes]:
    """The hashes in the body of a request or in a file, one per line."""
    try:
        return parse_hashes(content.decode("ascii", errors="replace"), name=name)
    except ShuffledpError as error:
        raise Refused(Reason.MALFORMED, str(error)) from None
