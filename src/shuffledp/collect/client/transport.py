"""Send a report to the first shuffler over HTTP, interpret the response, and read invitation links.

Only status 201 means that a report was accepted: a proxy or a login page of a network answers something else. A
response is a refusal if the server's reason says that repeating the request does not help. After any other failure
nothing is lost, and the same bytes can be sent later.

A request reveals nothing about its sender: the same few headers for everybody, no cookies, no redirects.

An invitation link is the survey page of a task with a token or a secret in the fragment of its address. Browsers never
send a fragment to a server, so the token is in no request line, log or referrer. The link names the task by its id, so
it also pins the task.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import httptools
import httpx

from shuffledp.collect.reaching import certificates, why_unreachable
from shuffledp.collect.reasons import Again, Reason
from shuffledp.collect.task import Series, Task, tasks_of
from shuffledp.collect.task.public_file import MOST_FILE_BYTES
from shuffledp.errors import ParameterError, RefusedError, UnreachableError

SECONDS = 30.0
"""The default time to wait for a response."""

_MOST_ANSWER_BYTES = 1 << 16
"""Bytes of a problem document, which has a few hundred."""

_HEADERS = {"User-Agent": "shuffledp", "Accept": "*/*", "Accept-Encoding": "identity"}
"""The same for everybody: the usual headers would reveal versions of programs."""

_TOKEN = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9._~+/-]{1,1000}=*")
"""The syntax of a bearer token (RFC 6750), with a letter or a digit: signs alone stand for an empty field."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """The shuffler has stored the report durably: now, or already before, when nothing was sent.

    `made_before` says that the report was made at an earlier attempt: the answer that was given now was not used, and
    may differ. `clock_ahead` is the number of seconds by which this device's clock was ahead of the server's, if the
    server refused the report's time and accepted its fallback.
    """

    state: Literal["sent", "already sent"]
    milliseconds: float
    bytes: int
    made_before: bool = False
    clock_ahead: int | None = None


class RefusedTimeError(UnreachableError):
    """A server refused a report because of its time, or because the task is not open yet.

    `server_time` is the server's time in seconds since 1970, in steps of the task; None if it did not say it.
    """

    def __init__(self, message: str, *, reason: str, server_time: int | None) -> None:
        super().__init__(message, reason=reason)
        self.server_time = server_time


def check_seconds(name: str, seconds: float) -> float:
    """Return a valid time to wait."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
        raise ParameterError(f"{name} must be a positive number of seconds, got {seconds!r:.40}")
    return float(seconds)


def is_admission(text: object) -> bool:
    """Whether this can be a token or a secret."""
    return isinstance(text, str) and _TOKEN.fullmatch(text) is not None


def check_admission(task: Task, admission: str | None) -> str | None:
    """Return the secret or token to send; None where the task admits everybody, since it could identify a person."""
    if task.admission == "anybody":
        return None
    wanted = {"secret": "its secret", "tokens": "a one-time token"}[task.admission]
    if admission is None:
        raise ParameterError(f"admission must be given: the task accepts a report only with {wanted}")
    if not is_admission(admission):
        raise ParameterError(
            f"admission must be {wanted}: letters, digits and the characters . _ ~ + / - =, not empty or signs alone"
        )
    return admission


def _path(task: Task) -> str:
    return f"/v1/tasks/{task.name}/reports"


def post(task: Task, report: bytes, *, admission: str | None = None, timeout: float = SECONDS) -> None:
    """Send a report; return when the shuffler has stored it durably."""
    place, ends = task.shufflers[0].address, time.monotonic() + timeout
    with _unreachable(place), httpx.Client(**settings(timeout)) as client:
        headers = request_headers(admission)
        with client.stream("POST", place.rstrip("/") + _path(task), content=report, headers=headers) as answer:
            content = _whole(answer, most=_MOST_ANSWER_BYTES, ends=ends)
    judge(place, answer.status_code, content)


async def post_over(connection: Connection, task: Task, report: bytes, *, admission: str | None = None) -> None:
    """Send a report over a connection of a crowd, with the same headers."""
    headers = _HEADERS | request_headers(admission) | {"Connection": "keep-alive"}
    status, content = await connection.post(_path(task), report, headers)
    judge(task.shufflers[0].address, status, content)


def fetch(address: str, *, most: int, timeout: float = SECONDS) -> bytes:
    """Fetch a public file of at most `most` bytes."""
    ends = time.monotonic() + timeout
    with _unreachable(address), httpx.Client(**settings(timeout)) as client, client.stream("GET", address) as answer:
        if answer.status_code != HTTPStatus.OK:
            raise UnreachableError(f"{address} answered with status {answer.status_code}: {_advice(answer)}")
        return _whole(answer, most=most, ends=ends)


def _advice(answer: httpx.Response) -> str:
    """Only a server that is in trouble may send the file later."""
    if answer.status_code == HTTPStatus.NOT_FOUND:
        return "it does not have that file. Check the link or the address; the task may have been removed"
    passing = answer.is_server_error or answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
    return "try again later" if passing else "check the link or the address"


def settings(timeout: float) -> dict[str, Any]:
    """Return the settings of an HTTP client: it checks certificates, and sends the same for everybody."""
    nothing = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    checks = {"verify": certificates(), "follow_redirects": False}
    return {"timeout": timeout, "headers": _HEADERS, "cookies": nothing, **checks}


def request_headers(admission: str | None) -> dict[str, str]:
    """Return the headers of one report."""
    sealed = {"Content-Type": "application/octet-stream"}
    return sealed if admission is None else sealed | {"Authorization": f"Bearer {admission}"}


def judge(place: str, status: int, content: bytes) -> None:
    """Return if the report was accepted; otherwise raise the error that the response means."""
    if status == HTTPStatus.CREATED:
        return
    reason, server_time = _reason(content)
    if reason is None or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        what = f"answered with status {status} and did not accept it"
        if reason is Reason.UNAVAILABLE:
            what = f"cannot store reports now (status {status})"
        raise UnreachableError(
            f"{place} {what}: nothing is lost, send it again later",
            reason=reason,
        )
    raise failure(reason, place, server_time)


def failure(reason: Reason, place: str, server_time: int | None = None) -> RefusedError | UnreachableError:
    """Return the error for a reason, with our text instead of the server's."""
    if reason.try_again:
        text = f"{place}: {reason.meaning} Nothing is lost, send it again later"
        if reason in (Reason.WRONG_TIME, Reason.NOT_YET_OPEN):
            return RefusedTimeError(text, reason=reason, server_time=server_time)
        return UnreachableError(text, reason=reason)
    kept = " The report is kept: send it again once that is fixed" if reason.again is Again.ONCE_PUT_RIGHT else ""
    spent = " A one-time token may have been used already." if reason is Reason.NOT_ADMITTED else ""
    return RefusedError(f"{place} refused the report ({reason}): {reason.meaning}{spent}{kept}", reason=reason)


_LAST_TIME = 253_402_300_800
"""The year 10000 in seconds since 1970: tasks end before it."""


def _reason(content: bytes) -> tuple[Reason | None, int | None]:
    """The reason in a problem document (RFC 9457) and the server's time, where they are known."""
    try:
        document = json.loads(content)
        reason, now = Reason(document["reason"]), document.get("server_time")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, None
    return reason, now if type(now) is int and 0 <= now < _LAST_TIME else None


def _whole(answer: httpx.Response, *, most: int, ends: float) -> bytes:
    """The content of a response, with limits on its length and time."""
    content = bytearray()
    for part in answer.iter_raw():
        content += part
        if len(content) > most or time.monotonic() > ends:
            raise httpx.ReadTimeout("the response is too long, or takes too long")
    return bytes(content)


@contextmanager
def _unreachable(place: str) -> Iterator[None]:
    """Turn network failures into UnreachableError: they are no refusals."""
    try:
        yield
    except httpx.TimeoutException:
        raise UnreachableError(f"{place} did not answer in time: nothing is lost, send it again later") from None
    except httpx.RequestError as error:
        raise UnreachableError(
            f"{place} cannot be reached: {why_unreachable(error)} Nothing is lost, send it again later"
        ) from None
    except ImportError:
        raise ParameterError(
            "the environment names a SOCKS proxy, for which socksio is needed: pip install 'httpx[socks]'"
        ) from None
    except httpx.InvalidURL:
        raise ParameterError(f"{place} is not a valid address") from None


_READ_BYTES = 1 << 16
_MOST_BYTES = 1 << 20
"""Bytes of a response to a crowd."""


class Answer(NamedTuple):
    """The response of a server."""

    status: int
    content: bytes


class Connection:
    """A connection for requests to one server in turn; opened when needed, and again after a failure."""

    def __init__(self, address: str, *, timeout: float) -> None:
        parts = urlsplit(address)
        self._address, self._netloc, self._path = address, parts.netloc, parts.path.rstrip("/")
        self._host, self._port = parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]
        self._tls = certificates() if parts.scheme == "https" else None
        self._timeout = timeout
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, content: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a request and return the response; UnreachableError if it is late or incomplete."""
        lines = [f"POST {self._path}{path} HTTP/1.1", f"Host: {self._netloc}", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode("ascii")
        try:
            async with asyncio.timeout(self._timeout):
                return await self._exchange(head + content)
        except (OSError, EOFError, httptools.HttpParserError):  # a TimeoutError is an OSError
            self.close()
            raise UnreachableError(
                f"{self._address} cannot be reached, or broke off: nothing is lost, send it again later"
            ) from None
        except BaseException:  # cancelled: the unread response must not be taken for the response to the next request
            self.close()
            raise

    async def _exchange(self, request: bytes) -> Answer:
        if self._open is None:
            self._open = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        reader, writer = self._open
        writer.write(request)
        await writer.drain()
        read = _Read()
        parser = httptools.HttpResponseParser(read)
        while not read.whole:
            part = await reader.read(_READ_BYTES)
            if not part or len(read.content) > _MOST_BYTES:
                raise EOFError
            parser.feed_data(part)
        if not parser.should_keep_alive():
            self.close()
        return Answer(parser.get_status_code(), bytes(read.content))

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._open is not None:
            self._open[1].close()
            self._open = None


class _Read:
    def __init__(self) -> None:
        self.content = bytearray()
        self.whole = False

    def on_body(self, part: bytes) -> None:
        self.content += part

    def on_message_complete(self) -> None:
        self.whole = True


_LINK = re.compile(r"(https?://[^\s?#@]+)/ask/(series/)?([0-9a-f]{64})/?#token=(\S*)")


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """A link that was read: the server of the page, the id of the task or series, and what admits the person."""

    address: str
    id: str
    is_series: bool
    admission: str = field(repr=False)

    @classmethod
    def read(cls, link: str) -> Invitation:
        """Read a link; errors do not show it, since it is a secret."""
        found = _LINK.fullmatch(link.strip()) if isinstance(link, str) else None
        if found is None:
            raise ParameterError("invitation must be a link such as https://host/ask/ID#token=..., copied as a whole")
        admission = unquote(found[4])  # some programs escape signs in links
        if not is_admission(admission):
            raise ParameterError("invitation must have a token after #token=: copy the link as a whole")
        return cls(address=found[1], id=found[3], is_series=found[2] is not None, admission=admission)

    def fetch(self, *, timeout: float = SECONDS) -> bytes:
        """Fetch the task or series that the link names; its reader must check the id."""
        kind = "series" if self.is_series else "tasks"
        return fetch(f"{self.address}/v1/{kind}/{self.id}", most=MOST_FILE_BYTES, timeout=timeout)


def invitation_link(asked: Task | Series, admission: str) -> str:
    """Return the link to the survey page that admits a person; of a series, it leads to the open round."""
    if asked.admission == "anybody":
        raise ParameterError("task must require a secret or tokens to have invitation links, got one for anybody")
    if not is_admission(admission):
        raise ParameterError("admission must be text of letters, digits and the characters . _ ~ + / - =")
    page = f"series/{asked.name}" if isinstance(asked, Series) else asked.name
    address = tasks_of(asked)[0].shufflers[0].address.rstrip("/")
    return f"{address}/ask/{page}#token={admission}"
