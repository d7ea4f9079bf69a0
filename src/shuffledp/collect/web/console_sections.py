"""A task in words, for the pages: computed once, since what is promised takes a moment to compute.

How many people have reported, and how many are missing for the next batch: what the first shuffler says of it.

How every server of a task is, and what does not work, in words.

What was refused, by whom and why; and what became of every batch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.cache import MadeOnce
from shuffledp.collect.store import CountedBatch, ListedRelease, TallyStanding
from shuffledp.collect.task import Task
from shuffledp.collect.task.task import LONGEST_QUESTION
from shuffledp.collect.web.html import NOTHING, Html, cards, html, joined, label, link, paragraphs, table, tag
from shuffledp.collect.web.server_status import OTHER, Hop
from shuffledp.explain.task import details
from shuffledp.formatting import counted, moment, readable, shown

_TOLD = ("What is counted", "Guarantee", "Who must be trusted", "Accuracy", "Warning")
"""What is told of a task by itself; a release says the rest."""


MOST_BYTES = 2**23
"""Of words that are kept: those of a thousand tasks."""


class TaskWords:
    """The paragraphs about tasks."""

    def __init__(self) -> None:
        self._made: MadeOnce[Mapping[str, str]] = MadeOnce(most_bytes=MOST_BYTES, size=_size)

    def told(self, task: Task) -> Html:
        """What is counted and promised, whom that trusts, how sure it will be, and what is amiss."""
        said = self._all(task)
        return paragraphs({title: said[title] for title in _TOLD if title in said})

    def one(self, task: Task, title: str) -> str:
        """The text of one of them."""
        return self._all(task)[title]

    def _all(self, task: Task) -> Mapping[str, str]:
        return self._made.get(task.name, lambda: details(task))


def _size(said: Mapping[str, str]) -> int:
    return sum(map(sys.getsizeof, said.values()))


def question(task: Task, *, width: int = LONGEST_QUESTION) -> str:
    """The question, in one line."""
    return shown(task.question, width=width)


def state(task: Task, now: datetime) -> str:
    """Whether people can answer it at the moment."""
    if now < task.opens:
        return f"People can answer from {moment(task.opens)} on."
    if now < task.closes:
        return f"People can answer until {moment(task.closes)}."
    return f"Closed since {moment(task.closes)}: nobody can answer any more."


def identity(task: Task) -> Html:
    """The id of a task, by which people know that they were asked the same."""
    file = link(f"/v1/tasks/{task.name}", "the task as a file", download=f"{task.name[:12]}.task.json")
    return Html(
        f'<p class="soft">Task <code>{html(task.name)}</code>. It stands for question, answers, noise, servers and '
        f"keys: {file}.</p>"
    )


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


_LONGEST = 120
"""Characters of an address that are shown."""

STORE_AWAY = "The analyzer's store does not answer: nothing can be counted or shown until it does."
WORK_ENDED = "Work that should run beside the requests has ended: start the analyzer anew."


def problems_of(hops: Sequence[Hop], own: Sequence[str]) -> list[tuple[str, str]]:
    """Who has a problem, and which."""
    found = [("Analyzer", each) for each in own]
    for hop in hops:
        name = name_of(hop.position, len(hops))
        if hop.trouble is not None:
            found.append((name, hop.trouble))
        if hop.status is not None and hop.answers:
            found += [(name, each) for each in hop.status.problems]
    return found


def problems_section(problems: Sequence[tuple[str, str]]) -> Html:
    """All that does not work; empty if everything does."""
    if not problems:
        return NOTHING
    listed = joined(Html(f"<li><b>{label(who)}:</b> {label(what)}</li>") for who, what in problems)
    return tag("div", tag("b", "What does not work at the moment") + tag("ul", listed), class_="open")


def health_section(hops: Sequence[Hop], *, address: str, store: bool, working: bool, own: Sequence[str]) -> Html:
    """Every server, whether it answers, and when it did last."""
    rows: list[tuple[object, ...]] = [
        (
            name_of(hop.position, len(hops)),
            _state(hop),
            moment(hop.seen) if hop.seen else "not since this analyzer was started",
            tag("code", shown(hop.address, width=_LONGEST)),
        )
        for hop in hops
    ]
    rows += [
        ("Analyzer", _analyzer(working, own), "now", tag("code", shown(address, width=_LONGEST))),
        (
            "Its store",
            _status("good", "answers") if store else _status("bad", "does not answer"),
            "now" if store else "",
            "",
        ),
    ]
    listed = table(("server", "how it is", "last seen", "address"), rows, words=(1, 2, 3))
    return tag("h2", "Servers") + listed


def _state(hop: Hop) -> Html:
    if not hop.answers:
        return _status("bad", "does not answer") if hop.trouble else _status("waiting", "is being asked")
    if hop.trouble or (hop.status is not None and hop.status.problems):
        return _status("waiting", "answers, and has problems")
    return _status("good", "answers")


def _analyzer(working: bool, own: Sequence[str]) -> Html:
    if not working:
        return _status("bad", "has stopped counting")
    return _status("waiting", "works, and has problems") if own else _status("good", "works")


def _status(kind: str, words: str) -> Html:
    return tag("span", words, class_=f"status {kind}")


MOST_BATCHES = 200
"""Lines of the table, the latest."""


def refusals_section(hops: Sequence[Hop], standing: TallyStanding | None) -> Html:
    """Reports and requests at the shufflers, messages and batches here."""
    rows = [
        (name_of(hop.position, len(hops)), meaning(reason), readable(number))
        for hop in hops
        if hop.status is not None
        for reason, number in _by_number(hop.status.refused)
    ]
    if standing is not None:
        rows += [("Analyzer, messages", meaning(why), readable(number)) for why, number in _by_number(standing.refused)]
        if standing.problems:
            rows.append(("Analyzer, batches", Reason.TOO_FEW_MESSAGES.meaning, readable(standing.problems)))
    title = tag("h2", "Refused")
    if rows:
        return title + table(("where", "why", "how often"), rows, words=(1,))
    unknown = not all(hop.status for hop in hops) or standing is None
    return title + tag("p", "Nothing that is known of." if unknown else "Nothing was refused.")


def meaning(reason: str) -> str:
    """A reason in words."""
    if reason == OTHER:
        return "Other reasons."
    try:
        return Reason(reason).meaning
    except ValueError:  # of a store that a newer program has written
        return "Another reason."


def name_of(position: int, shufflers: int) -> str:
    """A shuffler as people call it."""
    return "Shuffler" if shufflers == 1 else f"Shuffler {position + 1}"


def batches_section(
    task: Task, batches: Sequence[CountedBatch], releases: Iterable[ListedRelease], *, joined_releases: bool
) -> Html:
    """Every batch with its release."""
    title = tag("h2", "Batches")
    if not batches:
        return title + tag("p", "No batch was counted yet.")
    made = {each.number: each.made for each in releases}
    rows = [
        (
            _release(task, batch),
            moment(made[batch.release]) if batch.release in made else "",
            readable(batch.people),
            readable(sum(batch.refused.values())),
        )
        for batch in reversed(batches[-MOST_BATCHES:])
    ]
    said = f"{counted(len(batches), 'batch', things='batches')}, the latest first."
    if len(batches) > MOST_BATCHES:
        said = f"The latest {MOST_BATCHES} of {readable(len(batches))} batches."
    how = "Each release counts all batches so far." if joined_releases else "Each batch is released by itself."
    listed = table(("batch", "released", "people", "messages refused"), rows)
    return joined(
        [
            title,
            tag("p", f"{said} {how}", class_="soft"),
            listed,
        ]
    )


def _release(task: Task, batch: CountedBatch) -> object:
    if batch.problem is not None:
        return f"Refused: {meaning(batch.problem)}"
    if batch.release is None:
        return "Counted, not released yet"
    return link(f"/tasks/{task.name}/releases/{batch.release}", f"In release {batch.release}")


def _by_number(refused: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(refused.items(), key=lambda each: (-each[1], each[0]))
