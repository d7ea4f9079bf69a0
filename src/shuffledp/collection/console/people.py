"""How many people have reported, and how many are missing for the next batch: what the first shuffler says of it."""

from __future__ import annotations

from shuffledp.collection.console.hops import Hop
from shuffledp.collection.pages.markup import NOTHING, Html, cards, html, joined, tag
from shuffledp.collection.stores import TallyStanding
from shuffledp.collection.task import Task
from shuffledp.words import counted, readable

_STEPS = 10
"""A screen reader is told each tenth of a batch, not each person."""


def people_section(task: Task, first: Hop, standing: TallyStanding | None) -> Html:
    """In numbers, with the batch that fills."""
    return joined([tag("h2", "People"), *_numbers(task, first, standing), *_unknown(first)])


def told(task: Task, first: Hop) -> str:
    """The same in one sentence, which changes seldom."""
    if first.status is None or not first.answers:
        return "How many people wait is not known: the first shuffler does not answer."
    tenths = _STEPS * min(first.status.waiting, task.users) // task.users
    return (
        f"{counted(first.status.batches, 'batch', things='batches')}, the next one is {tenths * 100 // _STEPS} % full."
    )


def missing(task: Task, first: Hop) -> int | None:
    """How many people the batch that fills still lacks; None where that is not known, or nobody can come any more."""
    if first.status is None or first.status.short_by is not None:
        return None
    return max(0, task.users - first.status.waiting)


def bar(task: Task, first: Hop) -> Html:
    """The batch that fills, as a bar; empty where nothing is known of it."""
    lacking = missing(task, first)
    if lacking is None:
        return NOTHING
    here = task.users - lacking
    said = f"{readable(here)} of {readable(task.users)} people"
    return tag("progress", said, max=task.users, value=here, aria_label=f"The next batch: {said}")


def _numbers(task: Task, first: Hop, standing: TallyStanding | None) -> list[Html]:
    counted_people = [] if standing is None else [(readable(standing.people), _in_batches(standing))]
    status = first.status
    if status is None:
        return [cards(counted_people)] if counted_people else []
    in_the_last = task.users - status.short_by if status.short_by else 0  # who waited when the task closed
    reported = status.batches * task.users + status.waiting + in_the_last
    everybody = (readable(reported), "person has reported" if reported == 1 else "people have reported")
    lacking = missing(task, first)
    if lacking is None:
        return [cards([everybody, *counted_people]), _closed(status.short_by or 0)]
    return [
        cards(
            [
                everybody,
                *counted_people,
                (readable(status.waiting), f"wait for the next batch of {readable(task.users)}"),
                (readable(lacking), "people are missing for it"),
            ]
        ),
        tag("div", bar(task, first), class_="filling"),
    ]


def _in_batches(standing: TallyStanding) -> str:
    good = standing.batches - standing.problems
    return f"are counted, in {counted(good, 'batch', things='batches')}"


def _closed(short_by: int) -> Html:
    if not short_by:
        return tag("p", "The task is closed, and everybody who reported is in a batch.")
    lacked = counted(short_by, "person", things="people")
    return tag("p", f"The task is closed. Its last batch fell short by {lacked}: it was deleted unread.", class_="note")


def _unknown(first: Hop) -> list[Html]:
    if first.answers:
        return []
    if first.status is None:
        return [tag("p", "How many people wait is not known: the first shuffler has not answered yet.", class_="note")]
    seen = f"{first.seen:%H:%M:%S} UTC" if first.seen else ""
    return [tag("p", html(f"The first shuffler does not answer: these numbers are from {seen}."), class_="warning")]
