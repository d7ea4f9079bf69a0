"""What every page of the console has around its content.

Sessions of the operator: random names that live in the memory of one analyzer, for hours and not for days.

A browser has the name in a cookie; here is only its hash, with when the session began and when somebody last did
something. A restart ends all of them.

Signing in with the operator's token, and out again; works without a script.

A wrong token is answered after a pause; more than so many at once are refused without one. Nothing is logged or kept of
them. The right one is never kept waiting, so that nobody can lock the operator out; what keeps it from being guessed
are its 32 random bytes.
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
from shuffledp.collect.server.http import UnderWay, body_of
from shuffledp.collect.web.assets import HEADERS, NO_STORE, answer
from shuffledp.collect.web.html import NOTHING, Html, document, html, joined, label, link, skip_link, tag
from shuffledp.explain.task import duration

_LEAVE = Html(
    '<form method="post" action="/operator/logout"><button class="quiet" type="submit">Sign out</button></form>'
)


def page(title: str, content: object, *, here: str = "", signed_in: bool = False) -> str:
    """A whole page; `here` is the address of the page among those that the head names."""
    links = joined(
        tag("li", link(address, words, **({"aria_current": "page"} if address == here else {})))
        for address, words in (("/", "Results"), ("/operator", "Operator"))
    )
    body = f"""{skip_link("Skip to the content")}
<header class="top"><a class="brand" href="/">shuffledp</a>
<nav aria-label="Pages"><ul>{links}</ul></nav>{_LEAVE if signed_in else ""}</header>
<main id="main" tabindex="-1">
{html(content)}
</main>
<p id="news" class="visually-hidden" role="status" aria-live="polite"></p>
<p id="connection" class="banner" role="alert" hidden></p>
<footer>Served by shuffledp {html(__version__)}: private histograms in the shuffled model of differential privacy.
Nothing on this page comes from anybody else.</footer>"""
    return document(title, Html(body), files="/console/console")


def titled(title: object, under: object = "") -> Html:
    """The heading of a page."""
    return tag("h1", label(title)) + (tag("p", under, class_="under") if under else NOTHING)


LIFETIME = 8 * 3600.0
"""Seconds after which a session ends whatever happens: a working day."""

IDLE = 30 * 60.0
"""Seconds after which it ends if nobody does anything: the page that looks for news by itself is not somebody."""

MOST = 100
"""At once; the one that was idle for longest ends first. There are a handful of operators."""

_BYTES = 32
"""Of a name: as many as of a token, so that nobody guesses one."""


@dataclass
class _Session:
    begun: float
    last: float


class Sessions:
    """Who is signed in; `clock` gives seconds."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, lifetime: float = LIFETIME, idle: float = IDLE
    ) -> None:
        self._clock, self._lifetime, self._idle = clock, lifetime, idle
        self._open: dict[bytes, _Session] = {}
        self._lock = threading.Lock()

    @property
    def lifetime(self) -> int:
        """Seconds that a session lasts at most."""
        return int(self._lifetime)

    @property
    def idle(self) -> int:
        """Seconds after which one ends if nobody does anything."""
        return int(self._idle)

    def begin(self) -> str:
        """A new session; its name is a secret of whoever signed in."""
        name, now = secrets.token_urlsafe(_BYTES), self._clock()
        with self._lock:
            self._end_the_expired()
            while len(self._open) >= MOST:
                del self._open[min(self._open, key=lambda each: self._open[each].last)]
            self._open[_hash(name)] = _Session(now, now)
        return name

    def is_open(self, name: str | None, *, active: bool = True) -> bool:
        """Whether this is the name of a session that has not ended; `active` if somebody does something."""
        with self._lock:
            self._end_the_expired()
            found = self._open.get(_hash(name or ""))
            if found is not None and active:
                found.last = self._clock()
        return found is not None

    def end(self, name: str | None) -> None:
        """Ends a session, if it is one."""
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
"""Wrong tokens that may wait for their answer at once: a handful of operators make no more mistakes, and whoever tries
many tokens holds up no more requests."""

LONGEST_FORM = 4096
"""Bytes: a token has 43 characters."""

HOME = "/operator"
WRONG = "This is not the operator's token. Copy it from its file, the whole line."
TOO_MANY = "There are too many wrong tokens at the moment. Try again in a few seconds."
ELSEWHERE = "The form was not sent from this page: open it anew and sign in here."
UNREADABLE = "The form could not be read: open the page anew and sign in here."

_SET_UP = Html(
    "<p>This analyzer was started without an operator's token, so there is no operator's view. To have one, make a "
    "token and start the analyzer with its hash:</p>"
    '<pre class="sealed">shuffledp keys token --out operator.token\n'
    "shuffledp analyzer ... --operator HASH</pre>"
    "<p>The first command prints the hash, which tells nobody the token. Whoever has the file can sign in here.</p>"
)


@dataclass(kw_only=True)
class SigningIn:
    """The door to the operator's view: the hashes of the tokens that open it, and the sessions behind it."""

    operators: Accepted
    sessions: Sessions
    pause: float
    # cookies of one host are shared by all of its ports: another analyzer there must not end this one's sessions
    cookie: str = field(default_factory=lambda: f"shuffledp_operator_{secrets.token_hex(4)}")

    def __post_init__(self) -> None:
        self._wrong = UnderWay(MOST_WRONG)

    def is_open_to(self, request: Request) -> bool:
        """Whether a request comes from somebody who is signed in; the page that looks by itself does not prolong it."""
        active = request.headers.get("x-console") != "watching"
        return self.sessions.is_open(request.cookies.get(self.cookie), active=active)

    def form(self, request: Request, *, problem: str = "", status: int = 403) -> Response:
        """The page on which one signs in, in the place of the one that was asked for."""
        return answer(request, self._page(_then(request.url.path), problem), status=status)

    async def sign_in(self, request: Request) -> Response:
        """Begins a session for whoever has the token, and goes to the page that was asked for."""
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
        """Ends the session."""
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
        title = titled("Operator", "Whoever runs this analyzer signs in here; everybody else sees the results.")
        if not self.operators.hashes:
            return page("Operator", title + _SET_UP, here=HOME)
        told = tag("p", problem, class_="open", role="alert", id="problem") if problem else NOTHING
        wrong = ' aria-invalid="true" aria-describedby="problem"' if problem == WRONG else ""
        field = Html(
            '<label class="field">Token <span class="soft">from the file that <code>shuffledp keys token</code> wrote'
            '</span><input type="password" name="token" required autocomplete="current-password" autofocus'
            f"{wrong}></label>"
        )
        form = Html(
            f'<form method="post" action="/operator/login" class="panel">{field}'
            f'<input type="hidden" name="then" value="{html(then)}">'
            '<input type="text" name="user" value="operator" autocomplete="username" hidden>'
            '<div class="buttons"><button type="submit">Sign in</button></div></form>'
        )
        ends = (
            f"A session ends after {duration(self.sessions.lifetime)}, after {duration(self.sessions.idle)} in which "
            "you do nothing, when you sign out, and when the analyzer is started anew."
        )
        return page("Sign in", joined([title, told, form, tag("p", ends, class_="soft")]), here=HOME)


def sent_from_here(request: Request) -> bool:
    """Whether a form was sent by a page of this server, as the browser says it; one that says nothing is not believed.

    Sec-Fetch-Site is decisive where there is one: a proxy may have changed the name of this host.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    try:
        return urlsplit(request.headers.get("origin", "")).netloc == request.headers.get("host") != ""
    except ValueError:
        return False


def _encrypted(request: Request) -> bool:
    """Whether the browser came by TLS, which may end at a proxy before this server."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _then(path: str) -> str:
    """A page of the operator to go to, and nothing else."""
    name = path.removeprefix(f"{HOME}/tasks/")
    return path if path == f"{HOME}/tasks/{name}" and len(name) == 64 and name.isalnum() and name.isascii() else HOME


def _to(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303, headers={**HEADERS, **NO_STORE})
