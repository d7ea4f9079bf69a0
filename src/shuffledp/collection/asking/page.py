"""The page of a task: the question, the promise, what leaves the device, whom to trust, and then the answer.

It is the same for everybody, whoever asks for it: all that depends on a visitor happens on their device, where the
client shows one of the states that are in the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

from shuffledp.collection.asking import sections, words
from shuffledp.collection.pages.frame import document, skip_link
from shuffledp.collection.pages.markup import NOTHING, Html, html, joined, link, tag
from shuffledp.collection.task import Task
from shuffledp.collection.task.task import LONGEST_QUESTION
from shuffledp.collection.task.words import promise_of
from shuffledp.words import moment, shown

_FILLED = re.compile(r"\{([a-z]+)\}")


def ask_page(task: Task) -> str:
    """The page; a task that does not keep its promise has nothing to fill in on it."""
    _, broken = promise_of(task)
    parts = [
        _header(task, eyebrow="" if broken else words.EYEBROW),
        *(_state(task, name, state) for name, state in words.STATES.items()),
        sections.promise(task, broken),
        NOTHING if broken else sections.ANSWERING,
        sections.REPORT,
        sections.trust(task),
        NOTHING if broken else sections.sending(task),
        sections.standing(task),
        sections.without_this_page(task),
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
