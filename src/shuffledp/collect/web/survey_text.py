"""What the page that asks says, for each state that a visitor can be in.

`{name}` in a sentence is filled in on the visitor's device: figures and reasons that only the device knows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from shuffledp.collect.task import Task
from shuffledp.explain.task import duration
from shuffledp.formatting import moment, readable, share_at_most, shown


class State(NamedTuple):
    """A state of the visitor: the title, the sentences, and the button if there is something to do.

    One that `leads` has a link to the page at the address that the task names.
    """

    title: str
    sentences: tuple[str, ...]
    button: str = ""
    leads: bool = False
    tone: str = "note"


STATES = {
    "elsewhere": State(
        "This page has another address",
        (
            "The task names the server that asks you, and you have come to it by another name. Whether you have "
            "answered is noted for one address only, so you are asked there: a second answer would tell more about "
            "you.",
        ),
        leads=True,
        tone="warning",
    ),
    "starting": State(
        "Checking the promise on this device",
        ("This takes a moment. Nothing is sent by it.",),
    ),
    "insecure": State(
        "This browser cannot seal an answer here",
        (
            "The page was opened over http from another machine, and browsers encrypt only on pages that came over "
            "https, or from the same machine. Nothing was asked of you and nothing was sent.",
            "Open it over https, or use the command at the end of this page.",
        ),
        tone="warning",
    ),
    "unsupported": State(
        "This browser is missing something",
        (
            "Your answer would be sealed with X25519 and kept in this browser until it is sent, and here {why} is "
            "missing. Nothing was sent.",
            "A current Chromium, Edge, Firefox or Safari has both, outside of some private windows. Or use the command "
            "at the end of this page.",
        ),
        tone="warning",
    ),
    "unavailable": State(
        "The server does not answer",
        ("{why} Nothing was asked of you yet, and nothing is lost. It is tried again by itself ({when}).",),
        button="Try again",
        tone="warning",
    ),
    "broken": State(
        "Do not answer: the promise is not kept",
        (
            "What the task says about privacy was computed on this device, and it is not true, or weaker than this "
            "page lets you agree to: {why}.",
            "There is nothing to fill in here, for that reason.",
        ),
        tone="open",
    ),
    "not-open": State(
        "Not open yet",
        ("Answers are taken from {opens} on. This page opens by itself then.",),
    ),
    "closed": State(
        "Closed",
        (
            "Answers were taken until {closes}. Whatever was in no complete group by then is deleted unread.",
            "This browser holds no report for it.",
        ),
    ),
    "closed-kept": State(
        "Closed, and your report was not confirmed",
        (
            "Answers were taken until {closes}, and until then no server had told this browser that your report is "
            "there. It counts if it was sent and had arrived all the same, and for nothing if not.",
        ),
        tone="warning",
    ),
    "closed-sent": State(
        "Closed, and you have answered",
        (
            "Answers were taken until {closes}. Your report counts if its group was complete by then; whatever was in "
            "no complete group is deleted unread.",
        ),
        tone="good",
    ),
    "closed-unsent": State(
        "Closed, and your report was not sent",
        (
            "Answers were taken until {closes}. A report was made in this browser, and as far as it has noted you did "
            "not send it: then it counts for nothing.",
        ),
    ),
    "closed-refused": State(
        "Closed, and your report was refused",
        ("Answers were taken until {closes}. Your report had been refused before, and counts for nothing.",),
        tone="warning",
    ),
    "kept": State(
        "Not sent yet, and kept on this device",
        (
            "{why}",
            "Your report is kept here, sealed. The same bytes are sent again by themselves while this page is open "
            "({when}), and when you come back to it. They count once, however often they are sent.",
        ),
        button="Send now",
        tone="warning",
    ),
    "not-admitted": State(
        "Not let in",
        (
            "{why}",
            "Your report is kept here, sealed. Give the right one below and send the same bytes again.",
        ),
        tone="warning",
    ),
    "refused": State(
        "Refused for good",
        (
            "{why}",
            "The report is dropped, and no other is made in this browser: a second one would tell more about you.",
        ),
        tone="open",
    ),
    "no-journal": State(
        "This browser's notes cannot be read",
        (
            "Whether you have answered before is noted in this browser, and its note cannot be read or written: {why}.",
            "No report is made without it, since a second one would tell more about you.",
        ),
        tone="open",
    ),
    "failed": State(
        "Something went wrong on this page",
        ("{why}. If a report was made, it is kept in this browser; open the page again to see.",),
        button="Try again",
        tone="open",
    ),
    "sent": State(
        "Your report has arrived",
        (
            "The first shuffler has your report, and has said that it is on its disk: {bytes} bytes, in "
            "{milliseconds} ms. It counts as soon as its group of people is complete.",
            "It cannot be taken back. This device has forgotten what you answered; it only remembers that you did.",
        ),
        tone="good",
    ),
    "already": State(
        "You have answered in this browser",
        (
            "Nothing more is sent: one answer for each person. A second draw of noise would tell more about you.",
            "Your report counts as soon as its group of people is complete.",
        ),
        tone="good",
    ),
}


EYEBROW = "A question in which single answers are hidden by noise"


def who_asks(task: Task) -> str:
    """Who publishes, for how many people at a time, and until when."""
    return (
        f"Asked by whoever runs {shown(task.analyzer.address, width=80)}, which publishes how many people gave each "
        f"answer, for {readable(task.users)} people at a time. Open from {moment(task.opens)} to "
        f"{moment(task.closes)}. One answer for each person, and for each browser: in a shared one, the first counts."
    )


def one_in(chance: str) -> str:
    """A chance as people say it, never smaller than it is."""
    return f"1 in {int(1 / Fraction(chance)):,}"


def how_it_is_hidden(task: Task) -> str:
    """What happens to an answer, before any figure."""
    return (
        f"Every person's device draws made-up messages at random, and the messages of {readable(task.users)} people "
        "are mixed before anybody can open one. So nobody can tell which were sent by you, nor which were made up, and "
        "nobody ever holds your answer with your name or address beside it, as long as the servers below do not all "
        "work together."
    )


def what_the_figures_mean(task: Task) -> str:
    """Epsilon and delta, said to the person."""
    factor = share_at_most(math.exp(task.guarantee.epsilon), digits=3)
    return (
        f"Whatever you answer, the chance of anything that could be published is at most {factor} times what it would "
        f"be had you answered anything else, plus at most {share_at_most(task.guarantee.delta)}. Not hidden: that you "
        "took part, and what is true of many people together."
    )


def what_each_sees(task: Task) -> list[tuple[str, str, str]]:
    """Each server: what it is, its address, and what it sees."""
    number = "the same number from everybody" if task.padded else "a random number, as likely for any answer"
    first = (
        "takes reports, and serves this page. It sees your network address and your browser, when you open the page "
        f"and when you send, and how many sealed messages come ({number}); the report itself says the time only in "
        f"steps of {duration(task.time_precision)}. It cannot open a message."
    )
    again = "mixes once more. It sees sealed messages of a whole group, not where they came from."
    last = "opens and counts the messages of a whole group, mixed. It does not see who sent which."
    shufflers = [
        (
            "The shuffler" if len(task.shufflers) == 1 else f"Shuffler {at + 1}",
            shown(place.address, width=80),
            again if at else first,
        )
        for at, place in enumerate(task.shufflers)
    ]
    return [*shufflers, ("The analyzer", shown(task.analyzer.address, width=80), last)]


def who_would_have_to(task: Task) -> str:
    """Whose working together would undo it."""
    number = len(task.shufflers)
    mixers = "the shuffler" if number == 1 else f"all {number} shufflers"
    rest = "" if number == 1 else " As long as one shuffler keeps to itself, the others and the analyzer learn no more."
    return (
        f"To read your messages and know that they are yours, the analyzer and {mixers} would have to work together."
        f"{rest} A shuffler that drops everybody but you, and makes up the rest, would nearly learn your answer too: "
        "no system that mixes messages prevents that."
    )


WHO_SERVES_THIS = (
    "Whoever serves this page, the first shuffler, could serve another program that sends your answer as it is, and "
    "nothing on a page can show you that it does not. To do without them, use your own copy of the client, and compare "
    "the id of the task with what others were given: it stands for question, answers, noise, servers and keys."
)

WHO_SHOWS_RESULTS = (
    "They are on a page of the analyzer: whoever opens it shows the analyzer a network address, as with every page, "
    "and no answer."
)

FIXED = (
    "This report is now fixed. Drawing again until you like it would take away the noise that protects you, so this "
    "device keeps these bytes, and sends these or none."
)

NO_SCRIPT = (
    "This page needs JavaScript: your answer is randomized and sealed by a program on your own device, so that it "
    "never reaches a server as it is. Nothing can be sent without it. The command at the end of this page does the "
    "same."
)
