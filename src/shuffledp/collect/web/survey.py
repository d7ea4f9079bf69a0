"""The parts of a task's page that are not states: the promise, the form, the report, whom to trust, how many.

The page of a task: the question, the promise, what leaves the device, whom to trust, and then the answer.

It is the same for everybody, whoever asks for it: all that depends on a visitor happens on their device, where the
client shows one of the states that are in the page.

The addresses of the page that asks, at the first shuffler of its tasks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from shuffledp.collect.server.cache import MadeOnce
from shuffledp.collect.task import AnswersElsewhere, Task
from shuffledp.collect.task.task import LONGEST_QUESTION
from shuffledp.collect.web import survey_text as words
from shuffledp.collect.web.assets import Assets, client_folder, page_response, policy
from shuffledp.collect.web.html import NOTHING, Html, cards, document, html, joined, link, skip_link, tag
from shuffledp.explain.task import details, promise_of
from shuffledp.formatting import moment, readable, share_at_most, shown


def promise(task: Task, broken: str | None) -> Html:
    """What is promised, with its figures; `broken` says why it is not kept."""
    figures = [
        (share_at_most(task.guarantee.epsilon, digits=3), "epsilon: how far your answer may shift any chance"),
        (words.one_in(task.claim.delta), "delta: what may come on top of that"),
        (readable(task.users), "people in the group that you hide in"),
    ]
    if broken is None:
        said = [
            tag("p", words.how_it_is_hidden(task)),
            cards(figures),
            tag("p", words.what_the_figures_mean(task)),
            tag("p", _UNCHECKED, id="checked", class_="soft"),
        ]
    else:
        said = [cards(figures), tag("p", tag("strong", "Not kept:") + f" {broken}.", class_="open")]
    return Html(f"""<section id="promise" aria-labelledby="promise-title">
<h2 id="promise-title">What is promised to you</h2>
{joined(said)}
</section>""")


_UNCHECKED = "Computed by the server; not checked on this device yet."

ANSWERING = Html("""<section data-shown="new" aria-labelledby="answering-title" hidden>
<h2 id="answering-title" tabindex="-1">Your answer</h2>
<form id="answer" autocomplete="off" novalidate>
<fieldset id="answers" class="choices"><legend class="visually-hidden" dir="auto"></legend></fieldset>
<p id="missing" class="warning" role="alert" hidden></p>
<p class="soft">Every choice makes a report of the same form, so that nobody can tell who gave no answer. Nothing is
sent yet: first you see what would leave your device. <strong>Your answer cannot be changed after this step</strong>,
only sent or not: to draw again would take away the noise that protects you.</p>
<p class="buttons"><button type="submit">Make my report and show it to me</button></p>
</form>
</section>""")
"""The client puts in the answers of the task whose id it has checked. What is filled in has no name and no address to
go to, and the policy of the page lets no form be sent."""

REPORT = Html(f"""<section data-shown="made" aria-labelledby="report-title" hidden>
<h2 id="report-title" tabindex="-1">What would leave your device</h2>
<div id="inside" translate="no">
<h3>Before encryption</h3>
<p id="inside-words"></p>
<ul id="messages" class="messages"></ul>
</div>
<p id="inside-gone" class="note" hidden>This report was made before, and what is inside can no longer be shown: it is
sealed, and this device kept nothing else of it. No other answer is used.</p>
<h3>After encryption</h3>
<p id="sealed-words"></p>
<p>It begins with</p>
<pre class="sealed" id="sealed-start"></pre>
<p>and its SHA-256 is</p>
<pre class="sealed" id="sealed-hash"></pre>
<p>{html(words.FIXED)}</p>
</section>""")


def trust(task: Task) -> Html:
    """Who would have to work together, and what whoever serves the page could do."""
    rows = joined(
        tag("li", joined([tag("strong", role), tag("code", address), sees], ", "))
        for role, address, sees in words.what_each_sees(task)
    )
    said = details(task)
    warning = tag("p", f"Beware: {said['Warning']}", class_="warning") if "Warning" in said else NOTHING
    return Html(f"""<section id="trust" aria-labelledby="trust-title">
<h2 id="trust-title">Who would have to work together</h2>
<p>{html(words.who_would_have_to(task))}</p>
<ul class="roles">{rows}</ul>
{warning}
<details><summary>What whoever serves this page could do</summary>
<p>{html(words.WHO_SERVES_THIS)}</p></details>
<details><summary>Who may answer, and how sure the result is</summary>
<p>{html(said["Who may answer"])}</p><p>{html(said["Accuracy"])}</p></details>
</section>""")


def sending(task: Task) -> Html:
    """The last step."""
    return Html(f"""<section data-shown="made not-admitted" aria-labelledby="sending-title" hidden>
<h2 id="sending-title">Send it</h2>
<form id="send" autocomplete="off" novalidate>
{_admission(task)}<p class="soft">It counts once, and cannot be taken back.</p>
<p class="buttons"><button type="submit">Send my report</button></p>
</form>
</section>""")


def _admission(task: Task) -> Html:
    if task.admission == "anybody":
        return NOTHING
    name = "The secret of this task" if task.admission == "secret" else "Your one-time token"
    return Html(f"""<label class="field">{name}<input id="admission" type="text" autocomplete="off"
autocapitalize="none" spellcheck="false" aria-describedby="admission-why"></label>
<p id="admission-why" class="soft">It goes to the first shuffler with your report, and is not kept beside it.</p>
""")


def standing(task: Task) -> Html:
    """How many are missing, which the client follows, and where results will be."""
    results = f"{task.analyzer.address.rstrip('/')}/tasks/{task.name}"
    return Html(f"""<section id="standing" aria-labelledby="standing-title">
<h2 id="standing-title">How many are still missing</h2>
<p id="standing-words">A result needs the answers of {readable(task.users)} people.</p>
<progress id="standing-bar" max="{task.users}" value="0" aria-labelledby="standing-title" hidden></progress>
<p>Results appear for everybody to see, with how sure they are: <a rel="noopener"
href="{html(results)}">{html(shown(results, width=60))}</a></p>
<p class="soft">{html(words.WHO_SHOWS_RESULTS)}</p>
</section>""")


def without_this_page(task: Task) -> Html:
    """The id to compare, and how to answer with a client of one's own."""
    file = f"{task.name[:8]}.task.json"
    admission = "" if task.admission == "anybody" else " --admission FILE"
    return Html(f"""<footer>
<h2>Without this page</h2>
<p>The id of this task, for you to compare:</p>
<pre class="sealed" id="task-id">{task.name}</pre>
<div data-unless="sent already kept closed-sent">
<p>Save <a href="/v1/tasks/{task.name}" download="{file}">the task</a> and answer it with your own copy of the client,
which checks the id and the promise, and reads your answer from its standard input:</p>
<pre class="sealed">shuffledp send --task {file} --pin {task.name}{admission} --value -</pre>
<p class="soft">Do that instead of answering here, not as well: each further answer tells more about you.</p>
</div>
</footer>""")


_FILLED = re.compile(r"\{([a-z]+)\}")


def ask_page(task: Task) -> str:
    """The page; a task that does not keep its promise has nothing to fill in on it."""
    _, broken = promise_of(task)
    parts = [
        _header(task, eyebrow="" if broken else words.EYEBROW),
        *(_state(task, name, state) for name, state in words.STATES.items()),
        promise(task, broken),
        NOTHING if broken else ANSWERING,
        REPORT,
        trust(task),
        NOTHING if broken else sending(task),
        standing(task),
        without_this_page(task),
    ]
    times = {"opens": task.opening, "opens_words": moment(task.opens), "closes_words": moment(task.closes)}
    told = {"task": task.name, "epsilon": task.claim.epsilon, "delta": task.claim.delta} | times
    return _whole(shown(task.question, width=80), joined(parts), script=True, **told)


def task_list(tasks: Sequence[Task]) -> str:
    """The questions of a server that has several, or none."""
    rows = joined(
        tag(
            "li",
            link(f"/ask/{task.name}", shown(task.question, width=200), dir="auto")
            + tag("span", f" until {moment(task.closes)}", class_="soft"),
        )
        for task in tasks
    )
    content = tag("ul", rows, class_="tasks") if tasks else tag("p", "Nothing is asked here at the moment.")
    return _whole("Questions", tag("h1", "Questions") + content)


def not_asked() -> str:
    """For an address of a task that is not asked here."""
    said = html("There is no such question at this server. ") + link("/", "What is asked here")
    return _whole("Not asked here", tag("h1", "This is not asked here") + tag("p", said))


def _whole(title: str, content: Html, *, script: bool = False, **told: str) -> str:
    """A page; the script is told what it needs to know of the task."""
    main = tag("main", content, id="main", **{f"data_{name}": value for name, value in told.items()})
    return document(title, joined([skip_link("To the question"), main]), files="/page/ask", script=script)


def _header(task: Task, *, eyebrow: str) -> Html:
    above = tag("p", eyebrow, class_="eyebrow") if eyebrow else NOTHING
    return Html(f"""<header>
{above}
<h1 id="question" dir="auto">{html(shown(task.question, width=LONGEST_QUESTION))}</h1>
<p class="under">{html(words.who_asks(task))}</p>
<p data-shown="new" hidden><a href="#answering-title">To the answers</a></p>
<noscript><div class="warning"><p>{html(words.NO_SCRIPT)}</p></div></noscript>
</header>
<p id="said" class="visually-hidden" role="status"></p>""")


def _state(task: Task, name: str, state: words.State) -> Html:
    """One that the client may show; hidden until it does."""
    said = joined((tag("p", _with_places(text)) for text in state.sentences), "")
    button = tag("p", tag("button", state.button, type="button", data_does="again")) if state.button else NOTHING
    there = tag("p", link(_there(task), "To the page at its address", class_="button")) if state.leads else NOTHING
    return Html(f"""<section data-state="{name}" hidden>
<div class="{state.tone}"><h2 tabindex="-1">{html(state.title)}</h2>{said}{button}{there}</div>
</section>""")


def _there(task: Task) -> str:
    """This page at the address that the task names, where browsers note who has answered; pages are at the root."""
    return urlunsplit((*urlsplit(task.shufflers[0].address)[:2], f"/ask/{task.name}", "", ""))


def _with_places(text: str) -> Html:
    return Html(_FILLED.sub(r'<span data-fill="\1"></span>', html(text)))


_STATIC = Path(__file__).parent / "static" / "survey"

MOST_BYTES = 2**24
"""Of pages that are kept: a thousand of them."""


def routes(tasks: Sequence[Task]) -> list[Route]:
    """Pages of these tasks, and the files that they load."""
    pages = _Pages(tasks)
    return [
        Route("/", pages.show_tasks, methods=["GET"]),
        Route("/ask/{name}", pages.show_task, methods=["GET"]),
        *_files().routes(),
    ]


def _files() -> Assets:
    client = client_folder()
    parts = {f"/client/{name}": client / name for name in ("src", "vendor")}
    return Assets.with_look("/page", _STATIC, parts)


class _Pages:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = {task.name: task for task in tasks}
        # the same for everybody, and made once: to compute what is promised may take seconds
        self._made: MadeOnce[str] = MadeOnce(most_bytes=MOST_BYTES, size=len)

    async def show_tasks(self, request: Request) -> Response:
        """The questions; where there is one, its page."""
        if len(self._tasks) == 1:
            return RedirectResponse(f"/ask/{next(iter(self._tasks))}", 307, {"cache-control": "no-store"})
        return page_response(task_list(list(self._tasks.values())), security=policy(scripts=False, forms=False))

    async def show_task(self, request: Request) -> Response:
        """The page of a task."""
        task = self._tasks.get(request.path_params["name"])
        if task is None:
            return page_response(not_asked(), status=404, security=policy(scripts=False, forms=False))
        html = await run_in_threadpool(self._made.get, task.name, partial(ask_page, task))
        return page_response(html, security=policy(connects=_connects(task), forms=False))


def _connects(task: Task) -> list[str]:
    """Whom the client may talk to: this server under its address in the task, and where a list of answers is kept."""
    addresses = [task.shufflers[0].address]
    if isinstance(task.answers, AnswersElsewhere):
        addresses.append(task.answers.address)
    # of a task that was read, whose hosts hold nothing that could end a policy
    return ["'self'", *("{0.scheme}://{0.netloc}".format(urlsplit(address)) for address in addresses)]
