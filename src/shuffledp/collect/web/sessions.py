"""The operator's sessions: signing in with the operator's token, and out again. Works without scripts.

A session is a random name in a cookie. The analyzer keeps only its hash, in memory, with the times of its beginning and
of its last use; a restart ends all sessions. A wrong token is answered after a pause, and too many wrong tokens at once
are refused without one. Nothing about them is logged or stored. The right token never waits, so an attacker cannot lock
the operator out; its 32 random bytes cannot be guessed.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from shuffledp import __version__
from shuffledp.collect.reasons import Refused
from shuffledp.collect.server.auth import Accepted
from shuffledp.collect.server.http import InFlight, body_of
from shuffledp.collect.web.assets import HEADERS, NO_STORE, answer, web_page
from shuffledp.explain.task import duration

LIFETIME = 8 * 3600.0
"""Longest session in seconds: a working day."""

IDLE = 30 * 60.0
"""Seconds without activity after which a session ends. A page that refreshes itself is not activity."""

MOST = 100
"""Most sessions at once; the one that was idle longest ends first. There are a handful of operators."""

_BYTES = 32
"""Random bytes of a session name, as in a token: it cannot be guessed."""


@dataclass
class _Session:
    begun: float
    last: float


class Sessions:
    """The open sessions; `clock` returns seconds."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, lifetime: float = LIFETIME, idle: float = IDLE
    ) -> None:
        self._clock, self._lifetime, self._idle = clock, lifetime, idle
        self._open: dict[bytes, _Session] = {}
        self._lock = threading.Lock()

    @property
    def lifetime(self) -> int:
        """Longest session in seconds."""
        return int(self._lifetime)

    @property
    def idle(self) -> int:
        """Seconds without activity after which a session ends."""
        return int(self._idle)

    def begin(self) -> str:
        """Begin a session; return its secret name."""
        name, now = secrets.token_urlsafe(_BYTES), self._clock()
        with self._lock:
            self._end_the_expired()
            while len(self._open) >= MOST:
                del self._open[min(self._open, key=lambda each: self._open[each].last)]
            self._open[_hash(name)] = _Session(now, now)
        return name

    def is_open(self, name: str | None, *, active: bool = True) -> bool:
        """Tell whether a session of this name is open; `active` prolongs it."""
        with self._lock:
            self._end_the_expired()
            found = self._open.get(_hash(name or ""))
            if found is not None and active:
                found.last = self._clock()
        return found is not None

    def end(self, name: str | None) -> None:
        """End a session, if there is one of this name."""
        with self._lock:
            self._open.pop(_hash(name or ""), None)

    def _end_the_expired(self) -> None:
        now = self._clock()
        self._open = {
            key: each
            for key, each in self._open.items()
            if now < each.begun + self._lifetime and now < each.last + self._idle
        }


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="replace")).digest()


MOST_WRONG = 8
"""Wrong tokens that wait for their answer at once. A handful of operators make no more errors, and an attacker who
tries many tokens holds up no more requests."""

LONGEST_FORM = 4096
"""Bytes: a token has 43 characters."""

HOME = "/operator"
WRONG = "This is not the operator's token. Copy it from its file, the whole line."
TOO_MANY = "Too many wrong tokens at the moment. Try again in a few seconds."
ELSEWHERE = "The form was not sent from this page. Open the page again and sign in here."
UNREADABLE = "The form could not be read. Open the page again and sign in here."


@dataclass(kw_only=True)
class SigningIn:
    """Access to the operator's pages: the hashes of the accepted tokens, and the sessions."""

    operators: Accepted
    sessions: Sessions
    pause: float
    # all ports of a host share cookies: another analyzer there must not end the sessions of this one
    cookie: str = field(default_factory=lambda: f"shuffledp_operator_{secrets.token_hex(4)}")

    def __post_init__(self) -> None:
        self._wrong = InFlight(MOST_WRONG)

    def is_open_to(self, request: Request) -> bool:
        """Tell whether a request belongs to an open session. A page that refreshes itself does not prolong it."""
        active = request.headers.get("x-console") != "watching"
        return self.sessions.is_open(request.cookies.get(self.cookie), active=active)

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
            with self._wrong.one():
                await anyio.sleep(self.pause)
        except Refused:
            return answer(request, self._page(then, TOO_MANY), status=429)
        return answer(request, self._page(then, WRONG), status=403)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        if not sent_from_here(request):
            return self.form(request, problem=ELSEWHERE)
        self.sessions.end(request.cookies.get(self.cookie))
        away = _to(HOME)
        away.delete_cookie(self.cookie, path=HOME, httponly=True, samesite="strict")
        return away

    def _begin(self, request: Request, then: str) -> Response:
        self.sessions.end(request.cookies.get(self.cookie))
        welcome = _to(then)
        welcome.set_cookie(
            self.cookie,
            self.sessions.begin(),
            max_age=self.sessions.lifetime,
            path=HOME,
            httponly=True,
            samesite="strict",
            secure=_encrypted(request),
        )
        return welcome

    def _page(self, then: str, problem: str) -> str:
        return web_page(
            "console/sign_in.html",
            here=HOME,
            signed_in=False,
            version=__version__,
            has_operator=bool(self.operators.hashes),
            then=then,
            problem=problem,
            wrong=problem == WRONG,
            lifetime=duration(self.sessions.lifetime),
            idle=duration(self.sessions.idle),
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
    name = path.removeprefix(f"{HOME}/tasks/")
    return path if path == f"{HOME}/tasks/{name}" and len(name) == 64 and name.isalnum() and name.isascii() else HOME


def _to(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303, headers={**HEADERS, **NO_STORE})
