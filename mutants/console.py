"""Faults of the console: who sees the operator's pages, what everybody sees, and what an untrusted hop may say."""

from mutants.fault import Fault

_CONSOLE = "collection/console"
_SESSIONS = "tests/collect/web/console/test_sessions.py"
_OPERATOR = "tests/collect/web/console/test_operator.py"
_PUBLIC = "tests/collect/web/console/test_public.py"
_HOPS = "tests/collect/web/console/test_hops.py"
_COOKIE = f"{_OPERATOR}::test_the_cookie"
_OTHER_SITES = f"{_OPERATOR}::test_forms_of_other_sites_are_refused"
_GUESSES = f"{_OPERATOR}::test_wrong_tokens_are_slowed_down_and_the_right_one_is_not"

_SIGNED_IN = (
    Fault(
        name="a-session-lasts-as-long-as-it-is-used",
        harm="Whoever copied an operator's cookie once watches for ever.",
        file=f"{_CONSOLE}/sessions.py",
        old="now < each.begun + self._lifetime and ",
        new="",
        tests=(f"{_SESSIONS}::test_it_ends_after_hours_though_somebody_was_there_a_moment_ago",),
    ),
    Fault(
        name="watching-prolongs-a-session",
        harm="A page that an operator left open stays open to whoever comes by, since it looks for news by itself.",
        file=f"{_CONSOLE}/signing_in.py",
        old='request.headers.get("x-console") != "watching"',
        new='request.headers.get("x-console") != ""',
        tests=(f"{_OPERATOR}::test_a_session_ends_by_itself",),
    ),
    Fault(
        name="a-page-that-watches-says-somebody-is-there",
        harm="The same, by what the page says of itself.",
        file=f"{_CONSOLE}/static/console.js",
        old="  active = false;\n  if (known) {",
        new="  if (known) {",
        tests=("tests/collect/web/console/test_in_browser.py::test_a_page_that_nobody_touches_only_watches",),
    ),
    Fault(
        name="a-page-that-grows-says-somebody-is-there",
        harm="The session of an operator who went away goes on while batches come in.",
        file=f"{_CONSOLE}/static/console.js",
        old='"pointermove", "wheel", "touchmove"]',
        new='"pointermove", "scroll"]',
        tests=("tests/collect/web/console/test_in_browser.py::test_a_page_that_nobody_touches_only_watches",),
    ),
    Fault(
        name="names-of-sessions-are-kept",
        harm="Whoever reads the memory of an analyzer, or a dump of it, has the cookie of every operator.",
        file=f"{_CONSOLE}/sessions.py",
        old='return hashlib.sha256(name.encode(errors="replace")).digest()',
        new='return name.encode(errors="replace")',
        tests=(f"{_SESSIONS}::test_what_is_kept_is_no_name",),
    ),
    Fault(
        name="signing-out-ends-nothing",
        harm="Whoever copied a cookie goes on after its operator has signed out.",
        file=f"{_CONSOLE}/signing_in.py",
        old="        self.sessions.end(request.cookies.get(self.cookie))\n        away",
        new="        away",
        tests=(f"{_OPERATOR}::test_signing_out",),
    ),
    Fault(
        name="signing-in-again-leaves-the-old-session",
        harm="An operator who signs in anew, to be rid of a copied cookie, is not.",
        file=f"{_CONSOLE}/signing_in.py",
        old="        self.sessions.end(request.cookies.get(self.cookie))\n        welcome",
        new="        welcome",
        tests=(f"{_OPERATOR}::test_every_session_is_new_and_the_one_before_ends",),
    ),
    Fault(
        name="scripts-read-the-cookie",
        harm="A label that got into a page as a script takes the operator's session away.",
        file=f"{_CONSOLE}/signing_in.py",
        old='            httponly=True,\n            samesite="strict",',
        new='            httponly=False,\n            samesite="strict",',
        tests=(_COOKIE,),
    ),
    Fault(
        name="other-sites-send-the-cookie",
        harm="A link on somebody else's page opens the operator's view, and tells by its time what is there.",
        file=f"{_CONSOLE}/signing_in.py",
        old='            httponly=True,\n            samesite="strict",',
        new='            httponly=True,\n            samesite="lax",',
        tests=(_COOKIE,),
    ),
    Fault(
        name="the-cookie-travels-without-encryption",
        harm="Behind a proxy a browser sends the operator's cookie over http as well, where it can be read.",
        file=f"{_CONSOLE}/signing_in.py",
        old=""" or request.headers.get("origin", "").startswith("https://")""",
        new="",
        tests=(_COOKIE,),
    ),
)

_DOOR = (
    Fault(
        name="operators-pages-are-shown-to-everybody",
        harm="Everybody sees how many people wait, who may then tell who came last.",
        file=f"{_CONSOLE}/routes.py",
        old="self._signed_in(self._show_operators_task)",
        new="self._show_operators_task",
        tests=(f"{_OPERATOR}::test_nobody_sees_it_without_signing_in",),
    ),
    Fault(
        name="without-tokens-everybody-is-the-operator",
        harm="An analyzer that was started without an operator's token lets everybody in.",
        file=f"{_CONSOLE}/signing_in.py",
        old="        if token in self.operators:",
        new="        if token in self.operators or not self.operators.hashes:",
        tests=(f"{_OPERATOR}::test_without_a_token_it_says_how_to_get_one",),
    ),
    Fault(
        name="neighbouring-sites-sign-in",
        harm="A page of another host of the same site signs an operator in or out.",
        file=f"{_CONSOLE}/signing_in.py",
        old='return site == "same-origin"',
        new='return site != "cross-site"',
        tests=(_OTHER_SITES,),
    ),
    Fault(
        name="forms-of-hosts-that-begin-alike",
        harm="Somebody else's page whose address begins like the analyzer's sends its forms.",
        file=f"{_CONSOLE}/signing_in.py",
        old='urlsplit(request.headers.get("origin", "")).netloc == request.headers.get("host") != ""',
        new='urlsplit(request.headers.get("origin", "")).netloc.startswith(request.headers["host"])',
        tests=(_OTHER_SITES,),
    ),
    Fault(
        name="signing-in-leads-anywhere",
        harm="A link to the analyzer ends at a page that looks the same, and asks for the token once more.",
        file=f"{_CONSOLE}/signing_in.py",
        old='path == f"{HOME}/tasks/{name}" and len(name) == 64 and name.isalnum() and name.isascii()',
        new='path.startswith("/") and name',
        tests=(f"{_OPERATOR}::test_it_leads_nowhere_else",),
    ),
    Fault(
        name="wrong-tokens-are-answered-at-once",
        harm="Whoever guesses tokens guesses as fast as the server computes.",
        file=f"{_CONSOLE}/signing_in.py",
        old="await anyio.sleep(self.pause)",
        new="await anyio.sleep(0)",
        tests=(_GUESSES,),
    ),
    Fault(
        name="any-number-of-wrong-tokens",
        harm="Whoever guesses tokens makes so many guesses at once that the pause after each does not matter.",
        file=f"{_CONSOLE}/signing_in.py",
        old="self._wrong = UnderWay(MOST_WRONG)",
        new="self._wrong = UnderWay(10**9)",
        tests=(_GUESSES,),
    ),
    Fault(
        name="operators-pages-are-kept-by-the-browser",
        harm="Whoever uses the device next goes back to the operator's pages after the session.",
        file=f"{_CONSOLE}/responses.py",
        old='NOT_KEPT = {"cache-control": "no-store"}',
        new='NOT_KEPT = {"cache-control": "no-cache"}',
        tests=(f"{_OPERATOR}::test_nothing_of_the_operator_is_kept_by_anybody",),
    ),
)

_SHOWN = (
    Fault(
        name="words-on-the-console-run",
        harm="A question or an answer that is a program runs in the browser of every reader.",
        file="collect/web/html.py",
        old="Html(escape(str(text)))",
        new="Html(text)",
        tests=(f"{_PUBLIC}::test_a_hostile_question_stays_text",),
    ),
    Fault(
        name="words-of-a-shuffler-end-an-attribute",
        harm="What a shuffler says of its problems leaves the words for screen readers, and runs as the operator.",
        file="collect/web/html.py",
        old='="{escape(str(value))}"',
        new='="{value}"',
        tests=(f"{_HOPS}::test_whatever_a_shuffler_says_stays_text",),
    ),
    Fault(
        name="the-title-of-a-page-ends-early",
        harm="A question ends the title of its page, and what follows in it is a part of the page.",
        file="collect/web/html.py",
        old="<title>{html(title)}</title>",
        new="<title>{title}</title>",
        tests=(f"{_PUBLIC}::test_a_hostile_question_stays_text",),
    ),
    Fault(
        name="everybody-sees-what-is-not-released",
        harm="A count that nothing promises anything about is public, and changes with single people.",
        file=f"{_CONSOLE}/public.py",
        old='f"{there} {state(task, now)}"',
        new='f"{there} {self._store.standing(task.id).people} people so far. {state(task, now)}"',
        tests=(f"{_PUBLIC}::test_a_batch_that_is_counted_and_not_released_changes_no_public_page",),
    ),
    Fault(
        name="everybody-sees-what-was-refused",
        harm="Everybody sees how many messages were refused before a release, which nothing protects.",
        file=f"{_CONSOLE}/public.py",
        old='live("release", content, says=says)',
        new='live("release", content, says=f"{says} {self._store.standing(task.id).refused}")',
        tests=(f"{_PUBLIC}::test_nothing_of_what_goes_on_before_a_release_is_public",),
    ),
)

_HOPS_SAY = (
    Fault(
        name="a-hop-says-as-much-as-it-likes",
        harm="A shuffler that answers without end fills the memory of the analyzer.",
        file=f"{_CONSOLE}/hops.py",
        old="if len(content) > MOST_BYTES:",
        new="if len(content) > 2**30:",
        tests=(f"{_HOPS}::test_no_more_is_read_of_an_answer_than_an_honest_one_has",),
    ),
    Fault(
        name="a-hop-takes-as-long-as-it-likes",
        harm="A shuffler that sends a byte now and then holds a thread of the analyzer for ever.",
        file=f"{_CONSOLE}/hops.py",
        old="if time.monotonic() > last:",
        new="if time.monotonic() > last + 10**9:",
        tests=(f"{_HOPS}::test_an_answer_that_comes_by_the_byte_is_given_up",),
    ),
    Fault(
        name="a-hop-sends-the-analyzer-elsewhere",
        harm="A shuffler makes the analyzer ask addresses inside its own network.",
        file=f"{_CONSOLE}/hops.py",
        old="follow_redirects=False",
        new="follow_redirects=True",
        tests=(f"{_HOPS}::test_no_redirect_is_followed",),
    ),
    Fault(
        name="a-hop-speaks-of-another-task",
        harm="The operator is shown the people of another task, and publishes or waits for the wrong one.",
        file=f"{_CONSOLE}/hop_status.py",
        old='(said.get("task"), said.get("position")) != (task.name, position)',
        new="not said",
        tests=(f"{_HOPS}::test_what_is_no_status_is_not_believed",),
    ),
    Fault(
        name="a-hop-fills-the-page",
        harm="A shuffler hides from the operator what matters, below thousands of sentences.",
        file=f"{_CONSOLE}/hop_status.py",
        old="value[:_MOST_PROBLEMS]",
        new="value",
        tests=(f"{_HOPS}::test_too_much_is_cut_and_strange_reasons_are_put_together",),
    ),
)

FAULTS: tuple[Fault, ...] = (*_SIGNED_IN, *_DOOR, *_SHOWN, *_HOPS_SAY)
