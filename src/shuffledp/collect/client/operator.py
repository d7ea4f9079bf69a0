"""The client of an operator: add, close and remove tasks at a running server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

import httpx

from shuffledp.collect.reaching import certificates, check_server_address, why_unreachable
from shuffledp.collect.task.public_file import is_hexadecimal
from shuffledp.errors import DataError, ParameterError, RefusedError, UnreachableError
from shuffledp.formatting import shown

SECONDS = 120.0
"""Time to wait for a response: the guarantee of a large task takes many seconds to compute."""

_AT_ONCE = 500_000
"""Hashes in one request, half of what a server takes."""

_LONGEST_DETAIL = 600
"""Characters of a server's sentence that are shown."""


_NOT_OURS = (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, RecursionError)
"""What reading the response of another program raises."""

T = TypeVar("T")


class OperatorClient:
    """A server at `address` that was started with the hash of `token`."""

    def __init__(self, address: str, token: str, *, timeout: float = SECONDS) -> None:
        check_server_address(address, "server")
        if not re.fullmatch(r"[!-~]+", token):
            raise ParameterError("token must be the line that `shuffledp keys token` wrote, got other characters")
        self._address = address.rstrip("/")
        self._headers = {"authorization": f"Bearer {token}"}
        self._timeout = timeout

    def tasks(self) -> list[dict[str, Any]]:
        """Return all tasks and series, with their states."""
        return self._read(self._answer("GET", ""), lambda found: [_about(each) for each in found["tasks"]])

    def add(self, content: bytes) -> tuple[dict[str, Any], bool]:
        """Add a task or series file; return its state, and whether it is new."""
        answer = self._answer("POST", "", content)
        return self._read(answer, _about), answer.status_code == HTTPStatus.CREATED

    def close(self, name: str) -> dict[str, Any]:
        """Close a task or series early; return its state."""
        return self._read(self._answer("POST", f"/{name}/close"), _about)

    def remove(self, name: str, *, unchecked: bool = False) -> None:
        """Remove a task or series that is closed and finished; `unchecked`, without asking the servers before.

        A shuffler without the key of a task then deletes the batches that it could not forward.
        """
        self._answer("DELETE", f"/{name}?unchecked=true" if unchecked else f"/{name}")

    def add_hashes(self, name: str, hashes: Sequence[str]) -> int:
        """Add hashes of one-time tokens, or of the shared secret; return how many are new."""
        parts = ("\n".join(hashes[at : at + _AT_ONCE]).encode() for at in range(0, len(hashes), _AT_ONCE))
        return sum(self._read(self._answer("POST", f"/{name}/tokens", part), _added) for part in parts)

    def _read(self, answer: httpx.Response, read: Callable[[Any], T]) -> T:
        try:
            return read(answer.json())
        except _NOT_OURS:
            raise self._no_server() from None

    def _no_server(self) -> DataError:
        return DataError(f"{self._address} does not answer like a server of shuffledp: is the address right?")

    def _answer(self, method: str, path: str, content: bytes = b"") -> httpx.Response:
        at = f"{self._address}/v1/admin/tasks{path}"
        try:
            # no proxy of the environment: a token goes to its server only
            with httpx.Client(timeout=self._timeout, trust_env=False, verify=certificates()) as client:
                answer = client.request(method, at, content=content, headers=self._headers)
        except httpx.TimeoutException:
            raise UnreachableError(f"{self._address} did not answer in time: the command can be repeated") from None
        except httpx.RequestError as error:
            raise UnreachableError(f"{self._address} cannot be reached: {why_unreachable(error)}") from None
        except httpx.InvalidURL:
            raise ParameterError("server must be an address such as https://host:port") from None
        if not answer.is_success:
            raise self._failure(answer)
        return answer

    def _failure(self, answer: httpx.Response) -> RefusedError | UnreachableError | DataError:
        try:
            problem = answer.json()
            reason = shown(str(problem["reason"]))
            detail = shown(" ".join(str(problem["detail"]).split()), width=_LONGEST_DETAIL)
        except _NOT_OURS:
            if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return UnreachableError(f"{self._address} answered with status {answer.status_code}: try again later")
            return self._no_server()
        if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            return UnreachableError(f"{self._address}: {detail}", reason=reason)
        return RefusedError(f"{self._address} refused this ({reason}): {detail}", reason=reason)


def _about(found: Any) -> dict[str, Any]:
    """The state of a task or series, if it has what commands rely on."""
    name, state = found["id"], found["state"]
    is_file = isinstance(name, str) and is_hexadecimal(name) and found["kind"] in ("task", "series")
    if not is_file or not isinstance(state, str) or not isinstance(found.get("counters"), dict | None):
        raise TypeError
    return dict(found)


def _added(found: Any) -> int:
    if type(found["added"]) is not int:
        raise TypeError
    return int(found["added"])
