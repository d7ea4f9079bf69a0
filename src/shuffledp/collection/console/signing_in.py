"""Signing in with the operator's token, and out again; works without a script.

A wrong token is answered after a pause; more than so many at once are refused without one. Nothing is logged or kept of
them. The right one is never kept waiting, so that nobody can lock the operator out; what keeps it from being guessed
are its 32 random bytes.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from shuffledp.collection.console.frame import page, titled
from shuffledp.collection.console.responses import NOT_KEPT, answer
from shuffledp.collection.console.sessions import Sessions
from shuffledp.collection.pages.markup import NOTHING, Html, html, joined, tag
from shuffledp.collection.pages.responses import HEADERS
from shuffledp.collection.reasons import Refused
from shuffledp.collection.service.limits import UnderWay, body_of
from shuffledp.collection.service.tokens import Accepted
from shuffledp.collection.task.words import duration

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
    return RedirectResponse(path, status_code=303, headers={**HEADERS, **NOT_KEPT})
