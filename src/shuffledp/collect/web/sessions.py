"""The operator's sessions: signing in with the operator's token, and out again. Works without scripts.

A session is a random name in a cookie. The server keeps only its hash, with the times of its beginning and of its last
use: in memory, or in a temporary file that the processes of a server share. A restart ends all sessions. A wrong token
is answered after a pause, and too many wrong tokens at once are refused without one. Nothing about them is logged or
stored. The right token never waits, so an attacker cannot lock the operator out; its 32 random bytes cannot be guessed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from shuffledp.collect.reasons import Refused
from shuffledp.collect.server.auth import Accepted, WrongTokens
from shuffledp.collect.server.http import body_of
from shuffledp.collect.web.pages import HEADERS, HOME, MANAGE, NO_STORE, Server, answer, framed
from shuffledp.explain.task import duration

Handler = Callable[[Request], Awaitable[Response]]

LIFETIME = 8 * 3600
"""Longest session in seconds: a working day."""

IDLE = 30 * 60
"""Seconds without activity after which a session ends. A page that refreshes itself is not activity."""

MOST = 100
"""Most sessions at once; the one that was idle longest ends first. There are a handful of operators."""

_BYTES = 32
"""Random bytes of a session name, as in a token: it cannot be guessed."""


class Sessions:
    """The open sessions, in memory or in a file that several processes share; `clock` returns seconds."""

    def __init__(self, *, file: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._file, self._clock = file, clock
        self._lock = threading.Lock()
        # all ports of a host share cookies: another server there must not end the sessions of this one
        server = secrets.token_hex(4) if file is None else hashlib.sha256(os.fsencode(file)).hexdigest()[:8]
        self.cookie = f"shuffledp_operator_{server}"

    def begin(self) -> str:
        """Begin a session; return its secret name."""
        name, now = secrets.token_urlsafe(_BYTES), self._clock()
        self._run("DELETE FROM sessions WHERE begun <= ? OR last <= ?", now - LIFETIME, now - IDLE)
        self._run(
            "DELETE FROM sessions WHERE name IN (SELECT name FROM sessions ORDER BY last DESC LIMIT -1 OFFSET ?)",
            MOST - 1,
        )
        self._run("INSERT INTO sessions VALUES (?, ?, ?)", _hash(name), now, now)
        return name

    def is_open(self, name: str | None, *, active: bool = True) -> bool:
        """Tell whether a session of this name is open; `active` prolongs it."""
        found = [] if name is None else self._run("SELECT begun, last FROM sessions WHERE name = ?", _hash(name))
        if not found:
            return False
        (begun, last), now = found[0], self._clock()
        if now >= begun + LIFETIME or now >= last + IDLE:
            self.end(name)
            return False
        if active:
            self._run("UPDATE sessions SET last = ? WHERE name = ?", now, _hash(name or ""))
        return True

    def end(self, name: str | None) -> None:
        """End a session, if there is one of this name."""
        if name is not None:
            self._run("DELETE FROM sessions WHERE name = ?", _hash(name))

    def close(self) -> None:
        """Close the file; sessions in memory end."""
        with self._lock:
            if (opened := self.__dict__.pop("_database", None)) is not None:
                opened.close()

    @cached_property
    def _database(self) -> sqlite3.Connection:
        """The table of sessions, opened by the first request with a session or the right token."""
        # nothing here must survive a restart, so nothing waits for the disk
        opened = sqlite3.connect(self._file or ":memory:", isolation_level=None, check_same_thread=False)
        opened.execute("PRAGMA synchronous = OFF")
        opened.execute("CREATE TABLE IF NOT EXISTS sessions (name BLOB PRIMARY KEY, begun REAL, last REAL)")
        return opened

    def _run(self, statement: str, *values: object) -> list[Any]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="replace")).digest()


LONGEST_FORM = 4096
"""Bytes: a token has 43 characters."""

WRONG = "This is not the operator's token. Copy it from its file, the whole line."
TOO_MANY = "Too many wrong tokens at the moment. Try again in a few seconds."
ELSEWHERE = "The form was not sent from this page. Open the page again and sign in here."
UNREADABLE = "The form could not be read. Open the page again and sign in here."


@dataclass(kw_only=True)
class SigningIn:
    """Access to the operator's pages: the hashes of the accepted tokens, and the sessions."""

    server: Server
    operators: Accepted
    sessions: Sessions
    pause: float

    def __post_init__(self) -> None:
        self._wrong = WrongTokens(self.pause)

    def routes(self) -> list[Route]:
        """Return the routes of the two forms."""
        return [
            Route(f"{HOME}/login", self.sign_in, methods=["POST"]),
            Route(f"{HOME}/logout", self.sign_out, methods=["POST"]),
        ]

    def guarded(self, show: Handler) -> Handler:
        """Show a page to a signed-in operator, and the sign-in form to others."""

        async def shown_or_form(request: Request) -> Response:
            return await show(request) if self.is_open_to(request) else self.form(request)

        return shown_or_form

    def is_open_to(self, request: Request) -> bool:
        """Tell whether a request belongs to an open session. A page that refreshes itself does not prolong it."""
        active = request.headers.get("x-console") != "watching"
        return self.sessions.is_open(request.cookies.get(self.sessions.cookie), active=active)

    def form(self, request: Request, *, problem: str = "", status: int = 403) -> Response:
        """Return the sign-in page in place of the requested page."""
        return answer(request, self._page(_then(request.url.path), problem), status=status)

    async def sign_in(self, request: Request) -> Response:
        """Begin a session if the token is right, and redirect to the requested page."""
        if not sent_from_here(request):
            return self.form(request, problem=ELSEWHERE)
        try:
            sent = parse_qs((await body_of(request, LONGEST_FORM)).decode(), max_num_fields=4, keep_blank_values=True)
        except (Refused, ValueError):
            return self.form(request, problem=UNREADABLE, status=400)
        token, then = sent.get("token", [""])[0].strip(), _then(sent.get("then", [""])[0])
        if token in self.operators:
            return self._begin(request, then)
        try:
            await self._wrong.wait()
        except Refused:
            return answer(request, self._page(then, TOO_MANY), status=429)
        return answer(request, self._page(then, WRONG), status=403)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        if not sent_from_here(request):
            return self.form(request, problem=ELSEWHERE)
        self.sessions.end(request.cookies.get(self.sessions.cookie))
        away = _to(HOME)
        away.delete_cookie(self.sessions.cookie, path=HOME, httponly=True, samesite="strict")
        return away

    def _begin(self, request: Request, then: str) -> Response:
        self.sessions.end(request.cookies.get(self.sessions.cookie))
        welcome = _to(then)
        welcome.set_cookie(
            self.sessions.cookie,
            self.sessions.begin(),
            max_age=LIFETIME,
            path=HOME,
            httponly=True,
            samesite="strict",
            secure=_encrypted(request),
        )
        return welcome

    def _page(self, then: str, problem: str) -> str:
        return framed(
            "console/sign_in.html",
            server=self.server,
            here=HOME,
            has_operator=bool(self.operators.hashes),
            then=then,
            problem=problem,
            wrong=problem == WRONG,
            lifetime=duration(LIFETIME),
            idle=duration(IDLE),
        )


def sent_from_here(request: Request) -> bool:
    """Tell whether a page of this server sent a form, according to the browser; without any such header it did not.

    Sec-Fetch-Site decides if it is present, because a proxy may have changed the name of this host.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    try:
        return urlsplit(request.headers.get("origin", "")).netloc == request.headers.get("host") != ""
    except ValueError:
        return False


def _encrypted(request: Request) -> bool:
    """Whether the browser used TLS, which a proxy may terminate."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _then(path: str) -> str:
    """A path of the operator's pages; the first page for any other path."""
    if path == MANAGE:
        return path
    name = path.removeprefix(f"{HOME}/tasks/")
    return path if path == f"{HOME}/tasks/{name}" and len(name) == 64 and name.isalnum() and name.isascii() else HOME


def _to(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303, headers={**HEADERS, **NO_STORE})
