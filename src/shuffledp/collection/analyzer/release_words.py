"""What the reader of a collected release must know, in sentences: who was asked, whom to trust, what can be forged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from shuffledp.collection.reasons import Reason
from shuffledp.collection.task import Task
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.most_messages import chance_of_more
from shuffledp.words import counted, people_at_most, readable, share_at_most

_SHARE = 100
"""What forged reports can do is told for one of them, and for one in a hundred."""

_REFUSED = {
    Reason.CANNOT_BE_OPENED: "could not be opened",
    Reason.REPEATED: "had been there before",
    Reason.NOT_A_MESSAGE: "had a number that is no message of the protocol",
}

_ADMISSION = {
    "anybody": "Anybody could send reports, as many as they liked: nobody checked that each came from another person.",
    "secret": "Only whoever knew a shared secret could send a report; they could send several.",
    "tokens": "Only whoever had been given a token could send a report, and each token was good for one.",
}


def notes(task: Task, *, batches: int, refused: Mapping[str, int]) -> Iterator[str]:
    """How the release came about."""
    entry = CATALOGUE[task.protocol_used.name]
    yield f"Protocol: {entry.title}, as the task says."
    yield (
        f"It was collected from people by the task {task.name}: nobody held the data. Everybody's own device made "
        "and sealed their messages, and the analyzer has seen only mixed messages of whole batches."
    )
    yield _counts(task, batches)
    yield _trust(task)
    if batches > 1:
        yield (
            "Everybody is in one batch, and each batch was mixed and counted by itself, so that the promise is that of "
            "one batch."
        )
    yield from _refusals(refused)
    yield _forged(task, people=batches * task.users, truncated=not entry.phantoms)
    yield _ADMISSION[task.admission]
    yield _limit(task)
    yield f"The list of the {counted(task.answers.size, 'possible answer')} is public."
    if entry.phantoms:
        yield (
            "An estimate is what was counted less the noise that was to be expected. Where hardly anybody gave an "
            "answer, it can be below zero, and so can an end of its interval; the true number cannot, so read that "
            "as 0."
        )


def warnings(task: Task, *, surplus: bool, short: bool, refused: Mapping[str, int]) -> Iterator[str]:
    """What is amiss."""
    if surplus:
        yield (
            "there are more messages than so many people send, so some reports are forged: the promise stands, but the "
            "counts and their intervals may be off"
        )
    if short:
        yield (
            f"there are fewer messages than so many people send, though as many as the {readable(task.honest_users)} "
            "who are counted on in a batch: the promise stands, but the counts and their intervals may be off"
        )
    if number := sum(refused.values()):
        were = "was" if number == 1 else "were"
        yield f"{counted(number, 'message')} {were} refused and not counted, so that counts may be off"


def _counts(task: Task, batches: int) -> str:
    people = _people(task.users)
    if batches == 1:
        return f"It counts 1 batch of {people}."
    return f"It counts {_people(batches * task.users)}, in {readable(batches)} batches of {people} each."


def _people(number: int) -> str:
    return counted(number, "person", things="people")


def _trust(task: Task) -> str:
    if len(task.shufflers) == 1:
        who = "the shuffler and the analyzer do not work together"
    else:
        who = f"the analyzer and all {len(task.shufflers)} shufflers do not work together"
    return f"Who sent what stays hidden as long as {who}."


def _refusals(refused: Mapping[str, int]) -> Iterator[str]:
    if not refused:
        yield "No message was refused."
        return
    listed = (f"{counted(number, 'message')} {_REFUSED[Reason(reason)]}" for reason, number in refused.items())
    yield f"Refused: {'; '.join(listed)}."


def _forged(task: Task, *, people: int, truncated: bool) -> str:
    """Each message moves a count by at most one person, and so does one that is not sent."""
    one, several = task.most_messages, math.ceil(people / _SHARE)
    more = f", and {readable(several)} of them (1 %) by at most {people_at_most(several * one)}" if several > 1 else ""
    near = "; it could also have made a value that few people hold appear or vanish" if truncated else ""
    return f"A forged report could have moved a count that is shown by at most {people_at_most(one)}{more}{near}."


def _limit(task: Task) -> str:
    most = counted(task.most_messages, "message")
    holds = f"A report holds at most {most}"
    if task.padded:
        holds = f"Every report holds {most}, of which some count for nothing, so that its length tells nothing"
    again = chance_of_more(task.protocol, task.most_messages)
    if not again:
        return f"{holds}. Nobody makes more."
    return (
        f"{holds}. Whoever makes more draws again, which happens to anybody of a batch with "
        f"probability at most {share_at_most(again)} and is counted in the promise."
    )
