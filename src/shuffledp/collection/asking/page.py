"""The page of a task: the question, the promise, what leaves the device, whom to trust, and then the answer.

It is the same for everybody, whoever asks for it: all that depends on a visitor happens on their device, where the
client shows one of the states that are in the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from shuffledp.collection.asking import sections, words
from shuffledp.collection.task import Task
from shuffledp.collection.task.task import LONGEST_QUESTION
from shuffledp.collection.task.words import promise_of
from shuffledp.words import moment, shown

_FILLED = re.compile(r"\{([a-z]+)\}")


def ask_page(task: Task) -> str:
    """The page; a task that does not keep its promise has nothing to fill in on it."""
    _, broken = promise_of(task)
    parts = [
        _header(task),
        *(_state(name, state) for name, state in words.STATES.items()),
        sections.promise(task, broken),
        "" if broken else sections.ANSWERING,
        sections.REPORT,
        sections.trust(task),
        "" if broken else sections.sending(task),
        sections.standing(task),
        sections.without_this_page(task),
    ]
    told = {"task": task.name, "epsilon": task.claim.epsilon, "delta": task.claim.delta}
    told |= {"opens": task.opening, "closes": task.closing}
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in told.items())
    return _whole(shown(task.question, width=80), "\n".join(parts), attributes=attributes, script=True)


def task_list(tasks: Sequence[Task]) -> str:
    """The questions of a server that has several, or none."""
    rows = "".join(
        f'<li><a href="/ask/{task.name}" dir="auto">{escape(shown(task.question, width=200))}</a> '
        f'<span class="soft">until {moment(task.closes)}</span></li>'
        for task in tasks
    )
    content = f'<ul class="tasks">{rows}</ul>' if tasks else "<p>Nothing is asked here at the moment.</p>"
    return _whole("Questions", f"<h1>Questions</h1>{content}")


def not_asked() -> str:
    """For an address of a task that is not asked here."""
    said = 'There is no such question at this server. <a href="/">What is asked here</a>'
    return _whole("Not asked here", f"<h1>This is not asked here</h1><p>{said}</p>")


def _whole(title: str, content: str, *, attributes: str = "", script: bool = False) -> str:
    loaded = '\n<script type="module" src="/page/ask.js"></script>' if script else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/look.css">
<link rel="stylesheet" href="/page/ask.css">{loaded}
</head>
<body class="shuffledp">
<a class="skip" href="#main">To the question</a>
<main id="main"{attributes}>
{content}
</main>
</body>
</html>
"""


def _header(task: Task) -> str:
    return f"""<header>
<p class="eyebrow">A question that you can answer without anybody learning your answer</p>
<h1 id="question" dir="auto">{escape(shown(task.question, width=LONGEST_QUESTION))}</h1>
<p class="under">{escape(words.who_asks(task))}</p>
<p data-shown="new" hidden><a href="#answering-title">To the answers</a></p>
<noscript><div class="warning"><p>{escape(words.NO_SCRIPT)}</p></div></noscript>
</header>
<p id="said" class="visually-hidden" role="status"></p>"""


def _state(name: str, state: words.State) -> str:
    """One that the client may show; hidden until it does."""
    said = "".join(f"<p>{_with_places(text)}</p>" for text in state.sentences)
    button = f'<p><button type="button" data-does="again">{escape(state.button)}</button></p>' if state.button else ""
    return f"""<section data-state="{name}" hidden>
<div class="{state.tone}"><h2 tabindex="-1">{escape(state.title)}</h2>{said}{button}</div>
</section>"""


def _with_places(text: str) -> str:
    return _FILLED.sub(r'<span data-fill="\1"></span>', escape(text))
