"""A task in words, for the people who are asked: what is asked and counted, what is promised, and whom they trust."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shuffledp.collect.task.guarantee import Promise
from shuffledp.collect.task.schema import NONE, OTHER, AnswerRange, AnswersElsewhere
from shuffledp.collect.task.task import BETA, LONGEST_QUESTION, Place, Task
from shuffledp.errors import BrokenPromiseError
from shuffledp.formatting import (
    counted,
    magnitude,
    moment,
    people_at_most,
    percent_at_most,
    readable,
    share_at_most,
    shown,
    sure_percent,
)
from shuffledp.release.plan_rows import warnings

if TYPE_CHECKING:
    from shuffledp.collect.task.report import Cost

_LISTED = 12
"""More answers than this are not read in a sentence."""

_ADMITTED = {
    "anybody": (
        "Anybody may send a report, as often as they like under different ids. Whoever wants to find out about one "
        "person can therefore fill a group with reports of their own and be left with that person's messages; that "
        "enough of a group are really other people ({honest}) rests on nobody doing so."
    ),
    "secret": (
        "Only whoever knows the task's secret may send a report, and may do so more than once. That enough of a group "
        "are really other people ({honest}) rests on all who know the secret sending only their own report."
    ),
    "tokens": (
        "Every report needs a token that can be spent once; tokens are handed out by whoever runs the first shuffler, "
        "and are not kept beside reports. Whoever hands them out decides who the people of a group are, and so must be "
        "trusted that enough of them are real ({honest})."
    ),
}


def in_words(task: Task, *, cost: Cost | None = None, now: datetime | None = None) -> dict[str, str]:
    """Paragraphs by title; `cost` is what a report costs here."""
    parts = {
        "Question": shown(task.question, width=LONGEST_QUESTION),
        "What is counted": _counted(task),
        "Guarantee": guarantee_in_words(task),
        "Who must be trusted": _trust(task),
        "Who may answer": _ADMITTED[task.admission].format(honest=_honest(task)),
        "What leaves the device": _leaves(task),
        "How sure": _accuracy(task),
        **({"Warning": ". Also, ".join(said) + "."} if (said := warnings_of(task)) else {}),
        "How long": _times(task, now or datetime.now(UTC)),
    }
    if cost is not None:
        parts["Cost for each person"] = _cost(cost)
    parts["Id of the task"] = (
        f"{task.name}. It stands for the whole task: question, answers, noise, servers and keys. Compare it with what "
        "others were given."
    )
    return parts


def about(task: Task, *, cost: Cost | None = None) -> dict[str, Any]:
    """The same for machines."""
    promise, broken = promise_of(task)
    return {
        "task": task.name,
        "question": task.question,
        "answers": task.answers.size,
        "protocol": task.protocol_used.name,
        "users": task.users,
        "honest_users": task.honest_users,
        "guarantee": guarantee_about(task, promise, broken),
        "admission": task.admission,
        "opens": task.opening,
        "closes": task.closing,
        "time_precision": task.time_precision,
        "shufflers": [{"address": place.address, "key": place.key} for place in task.shufflers],
        "analyzer": {"address": task.analyzer.address, "key": task.analyzer.key},
        "most_messages": task.most_messages,
        "error": {"beta": BETA, "people": task.protocol.error(BETA).simultaneous},
        "cost": cost,
        "warnings": warnings_of(task),
    }


def warnings_of(task: Task) -> list[str]:
    """What is amiss with a task: servers in one hand, a delta that promises little, an error that hides everything."""
    error = task.protocol.error(BETA).simultaneous
    return [*warnings(users=task.users, delta=task.guarantee.delta, error=error), *_in_one_hand(task)]


def _in_one_hand(task: Task) -> list[str]:
    hosts = {urlsplit(place.address).hostname for place in (*task.shufflers, task.analyzer)}
    if len(hosts) > 1:
        return []
    return [
        f"all servers of this task are at one host, {shown(str(hosts.pop()), width=80)}: whoever runs it has all keys "
        "and could read everybody's answers, which is good for a try only"
    ]


def guarantee_about(task: Task, promise: Promise | None, broken: str | None = None) -> dict[str, Any]:
    """What a task claims and what is true of it, for machines; `promise` is None where it is broken."""
    return {
        "epsilon": task.guarantee.epsilon,
        "delta": task.guarantee.delta,
        "kept": promise is not None,
        "reached_delta": promise and promise.reached,
        "exact": promise and promise.exact,
        "problem": broken,
    }


def promise_of(task: Task) -> tuple[Promise | None, str | None]:
    """The promise as it is computed, or why it is not kept."""
    try:
        return task.check(), None
    except BrokenPromiseError as error:
        return None, str(error)


def guarantee_in_words(task: Task) -> str:
    """What is promised and what that means; or that it is not kept."""
    promised, (promise, broken) = task.guarantee, promise_of(task)
    if promise is None:
        return f"NOT KEPT: {broken}."
    return (
        f"{promised} for every single person, computed just now from the task's numbers (delta is at most "
        f"{share_at_most(promise.reached, digits=3)}). In words: {what_it_means(promise)}. Not hidden: that somebody "
        "took part, and what is true of many people together."
    )


def what_it_means(promise: Promise) -> str:
    """An epsilon and a delta in words that are true whatever they are."""
    factor = share_at_most(math.exp(promise.epsilon), digits=3)
    return (
        "whatever somebody answers, the chance of anything that could be published is at most "
        f"{factor} times what it would be had they answered anything else, plus at most {share_at_most(promise.delta)}"
    )


def _counted(task: Task) -> str:
    answers = task.answers
    if isinstance(answers, AnswerRange):
        listed = f"each whole number from {answers.start:,} to {answers.stop - 1:,}"
    elif isinstance(answers, AnswersElsewhere):
        listed = f"each of the {readable(answers.size)} answers listed at {answers.address} (SHA-256 {answers.sha256})"
    elif answers.size <= _LISTED:
        listed = f"each of {', '.join(shown(value) for value in answers.values)}"
    else:
        first = ", ".join(shown(value) for value in answers.values[: _LISTED // 2])
        listed = f"each of the {readable(answers.size)} answers in the task ({first} and so on)"
    return (
        f"How many people answer {listed}; other answers together as {OTHER}, no answer as {NONE}. Counts are made for "
        f"groups of exactly {readable(task.users)} people (batches); what is sent by people who fill no group is "
        "deleted unread."
    )


def _honest(task: Task) -> str:
    if task.honest_users == task.users:
        return f"all {readable(task.users)} of each group"
    return f"at least {readable(task.honest_users)} of each {readable(task.users)}"


def _trust(task: Task) -> str:
    number = len(task.shufflers)
    mixing = (
        f"the shuffler {_host(task.shufflers[0])}"
        if number == 1
        else f"at least one of the {number} shufflers {' and '.join(_host(place) for place in task.shufflers)}"
    )
    return (
        f"That {mixing} mixes and does not work together with the analyzer {_host(task.analyzer)}; and that other "
        f"people ({_honest(task)}) follow the protocol, since the noise is theirs. A shuffler that drops everybody's "
        "messages but one person's, and makes up the rest, defeats this protection, as it does in every system that "
        "mixes messages. Nobody needs to be trusted with an answer: none "
        "leaves the device readable for the shufflers, nor with a sender for the analyzer."
    )


def _host(place: Place) -> str:
    return shown(place.address, width=80)


def _leaves(task: Task) -> str:
    layers = ", within layers for the shufflers" if len(task.shufflers) > 1 else ""
    number = "the same number from everybody" if task.padded else "a random number that is as likely for any answer"
    return (
        f"Randomized messages, each encrypted so that only the analyzer can read it{layers}. The first shuffler sees a "
        f"network address, when a report comes, and how many messages it holds ({number}); the report itself says the "
        f"time only in steps of {duration(task.time_precision)}. The analyzer sees the messages of a whole group in "
        "random order. An answer is randomized once: sending again sends the same bytes."
    )


def _accuracy(task: Task) -> str:
    error = task.protocol.error(BETA).simultaneous
    return (
        f"With a chance of at least {sure_percent(BETA)} % no published count of a group is off by more than "
        f"{people_at_most(error)} ({percent_at_most(error, task.users)} of its people)."
    )


def _times(task: Task, now: datetime) -> str:
    opens, closes = moment(task.opens), moment(task.closes)
    state = "not open yet" if now < task.opens else "open now" if now < task.closes else "closed"
    return f"From {opens} to {closes} ({state})."


def duration(seconds: int) -> str:
    """A length of time in its largest whole unit."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds % length == 0:
            return counted(seconds // length, unit)
    return counted(seconds, "second")


def _cost(cost: Cost) -> str:
    measured = f"about {counted(max(1, round(cost.milliseconds)), 'millisecond')}, measured on this machine"
    if cost.messages == cost.most_messages:
        sent = f"{cost.most_messages:,} messages and {cost.most_bytes:,} bytes from everybody"
        return f"{sent}, whatever they answer; {measured}."
    return (
        f"{magnitude(cost.messages)} messages on average, at most {cost.most_messages:,}; about "
        f"{round(cost.bytes):,} bytes on average, at most {cost.most_bytes:,}; {measured}."
    )
