"""A task as text for the people who answer it: guarantee, servers, accuracy and warnings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shuffledp.collect.task.guarantee import Promise
from shuffledp.collect.task.servers import ASKER_FIELDS, LONGEST_PURPOSE, Place, on_one_host
from shuffledp.collect.task.task import BETA, LONGEST_QUESTION, SeriesRound, Task
from shuffledp.errors import BrokenPromiseError
from shuffledp.explain.answers import (
    about_numbers,
    about_texts,
    accuracy,
    accuracy_in_short,
    possible,
    text_limits,
    text_warnings,
    what_is_counted,
    what_leaves,
)
from shuffledp.explain.collected import how_many
from shuffledp.explain.plan import messages, warnings
from shuffledp.explain.protocols import Protection, several_rows
from shuffledp.formatting import (
    counted,
    epsilon_delta,
    length_of_time,
    magnitude,
    moment,
    privacy_figure,
    sentence,
    share_at_most,
    shown,
)

if TYPE_CHECKING:
    from shuffledp.collect.task.report import Cost

_ADMITTED = {
    "anybody": (
        "Anyone can send a report, and can send several under different ids. An attacker could fill a batch with their "
        "own reports, so that yours is the only real one. The guarantee needs enough real people in each batch: "
        "{honest}."
    ),
    "secret": (
        "Only people who know the secret of the task can send reports, and they can send several. The guarantee needs "
        "enough real people in each batch: {honest}. So everyone who knows the secret must send only their own report."
    ),
    "tokens": (
        "Every report needs a one-time token. The server does not store the tokens with the reports. The organisation "
        "that gives tokens to people decides who is in a batch, and must be trusted that it has enough real people: "
        "{honest}."
    ),
}


def question(task: Task) -> str:
    """Return the question in one printable line."""
    return shown(task.question, width=LONGEST_QUESTION)


def asked_by(task: Task) -> dict[str, str]:
    """Return who asks, what for and how to reach them, as the task says."""
    parts = {"Asked by": task.asker, "Purpose": task.purpose, "Contact": task.contact, "Language": task.language}
    return {title: shown(text, width=LONGEST_PURPOSE) for title, text in parts.items() if text is not None}


def claimed_asker(task: Task) -> dict[str, str]:
    """Return the same for readers who decide whether to trust it."""
    parts = asked_by(task)
    if "Asked by" in parts:
        parts["Asked by"] += " (as the task says: nothing in it proves this)"
    return parts


def summary(task: Task, *, now: datetime | None = None) -> dict[str, str]:
    """Return answers, guarantee, accuracy, report, servers and times by title, in about one line each."""
    return {
        **asked_by(task),
        "Answers": possible(task),
        "Guarantee": guarantee(task),
        **({} if task.series is None else {"Series": f"{of_series(task.series)}."}),
        "Accuracy": accuracy_in_short(task),
        "Report": _report(task),
        "Shufflers" if len(task.shufflers) > 1 else "Shuffler": ", ".join(_host(place) for place in task.shufflers),
        "Analyzer": _host(task.analyzer),
        "Open": _times(task, now or datetime.now(UTC)),
        "Task id": task.name,
    }


def details(task: Task, *, cost: Cost | None = None, now: datetime | None = None) -> dict[str, str]:
    """Return paragraphs by title; `cost` is the measured cost of a report."""
    parts = {
        "Question": question(task),
        **claimed_asker(task),
        "What is counted": what_is_counted(task),
        "Guarantee": _in_public(task),
        "For experts": _for_experts(task),
        **({} if task.series is None else {"Series": f"{of_series(task.series)}."}),
        "Who must be trusted": _trust(task),
        "Who may answer": _ADMITTED[task.admission].format(honest=how_many(task.honest_users, task.users)),
        "What leaves the device": _leaves(task),
        "Accuracy": accuracy(task),
        **({} if task.text_plan is None else {"Limits": text_limits(task, task.text_plan)}),
        **({"Warning": f"{'. '.join([found[0], *map(sentence, found[1:])])}."} if (found := warnings_of(task)) else {}),
        "Open": f"{_times(task, now or datetime.now(UTC))}.",
    }
    if cost is not None:
        parts["Cost of a report"] = _cost(cost)
    parts["Task id"] = (
        f"{task.name}. It identifies the whole task: question, answers, noise, servers and keys. Compare it with the "
        "id that others received."
    )
    return parts


def about(task: Task, *, cost: Cost | None = None) -> dict[str, Any]:
    """Return the facts about a task for JSON."""
    promise, broken = promise_of(task)
    return {
        "task": task.name,
        "question": task.question,
        "answers": task.answers.size,
        "protocol": task.protocol_used.name,
        "users": task.users,
        "honest_users": task.honest_users,
        "guarantee": guarantee_about(task, promise, broken),
        "series": task.series and {"id": task.series.id, "round": task.series.round, "total_proved": False},
        **{name: getattr(task, name) for name in ASKER_FIELDS},
        "admission": task.admission,
        "opens": task.opening,
        "closes": task.closing,
        "time_precision": task.time_precision,
        "shufflers": [{"address": place.address, "key": place.key} for place in task.shufflers],
        "analyzer": {"address": task.analyzer.address, "key": task.analyzer.key},
        "most_messages": task.most_messages,
        "values_per_person": task.values_per_person,
        "error": None if task.text_plan else {"beta": BETA, "people": task.released_by().error(BETA).simultaneous},
        "texts": task.text_plan and about_texts(task, task.text_plan),
        "numbers": task.range_plan and about_numbers(task, task.range_plan),
        "cost": cost,
        "warnings": warnings_of(task),
    }


def of_series(place: SeriesRound) -> str:
    """Return which round a task is by its own claim, and what that does not prove."""
    return (
        f"this task says that it is round {place.round:,} of the series {place.id}. Its guarantee is that of one "
        "round, and only the series file proves the guarantee of all rounds together"
    )


def warnings_of(task: Task) -> list[str]:
    """Return the warnings about a task: a large delta, a large error, forged texts, all servers on one host."""
    plan, ranges = task.text_plan, task.range_plan
    error = ranges.below if ranges else 0.0 if plan else task.released_by().error(BETA).simultaneous
    texts = text_warnings(task, plan) if plan else []
    return [*warnings(users=task.users, delta=task.guarantee.delta, error=error), *texts, *_one_host(task)]


def _one_host(task: Task) -> list[str]:
    if not on_one_host(task):
        return []
    host = urlsplit(task.analyzer.address).hostname
    return [
        f"all servers of this task are on one host, {shown(str(host), width=80)}: its operator has all keys and "
        "could read every answer; use this for tests only"
    ]


def guarantee_about(task: Task, promise: Promise | None, broken: str | None = None) -> dict[str, Any]:
    """Return the claimed and the computed guarantee for JSON; `promise` is None if the claim is false."""
    return {
        "epsilon": task.guarantee.epsilon,
        "delta": task.guarantee.delta,
        "strength": promise and promise.strength,
        "kept": promise is not None,
        "reached_delta": promise and promise.reached,
        "exact": promise and promise.exact,
        "problem": broken,
        "two_reports": None if promise is None else task.privacy_of_reports(2),
    }


def promise_of(task: Task) -> tuple[Promise | None, str | None]:
    """Compute the guarantee of a task; the second part says why the claim is false."""
    try:
        return task.check(), None
    except BrokenPromiseError as error:
        return None, str(error)


_NOT_HIDDEN = "It does not hide who took part, nor what is true of many people together."


def guarantee(task: Task) -> str:
    """Return the guarantee with its strength, computed from the parameters of the task; or that it is not kept."""
    promise, broken = promise_of(task)
    return f"NOT KEPT: {broken}." if promise is None else protection(promise)


def _two_reports(task: Task) -> str:
    """The weaker guarantee of a person who answers twice."""
    found = several_rows(task.privacy_of_reports(2), delta=task.guarantee.delta, things="reports in one batch")
    return f"This is for one report: {found}."


def protection(promise: Promise) -> str:
    """Return how strong a guarantee is, with its figures, and what it means for one person."""
    return f"{promise.strength} protection ({epsilon_delta(promise.epsilon, promise.delta)}). {_meaning(promise)}"


def _meaning(promise: Promise) -> str:
    factor, chance, _ = Protection.of(promise)
    exception = f", plus a chance of at most {chance}" if promise.delta else ""
    return (
        f"Your answer makes any published result up to {factor} times more likely than another answer would{exception}."
    )


def _in_public(task: Task) -> str:
    """The guarantee without its figures, for readers who do not know them."""
    promise, _ = promise_of(task)
    if promise is None:
        return "NOT KEPT: the noise of this task gives less protection than the task claims. Do not answer."
    return f"{promise.strength} protection. {_meaning(promise)} {_NOT_HIDDEN}"


def _for_experts(task: Task) -> str:
    promise, broken = promise_of(task)
    return f"{sentence(str(broken))}." if promise is None else f"{checked(promise)} {_two_reports(task)}"


def checked(promise: Promise) -> str:
    """Return the result of a check that succeeded, in a sentence."""
    how = "computed exactly" if promise.exact else "an upper bound"
    return (
        f"Kept: at epsilon {privacy_figure(promise.epsilon)}, delta is at most "
        f"{share_at_most(promise.reached, digits=3)} ({how}); "
        f"the task claims {privacy_figure(promise.delta)}."
    )


def _trust(task: Task) -> str:
    servers = [*task.shufflers, task.analyzer]
    all_servers = "both servers" if len(servers) == 2 else f"all {len(servers)} servers"
    return (
        f"Your answer stays private unless {all_servers} ({', '.join(_host(place) for place in servers)}) cheat "
        "together, or the server of a survey page changes that page, or a shuffler throws away everyone else's "
        "messages. The noise comes from the other people in your batch, who must "
        f"follow the protocol: {how_many(task.honest_users, task.users)}."
    )


def _host(place: Place) -> str:
    return shown(place.address, width=80)


def _leaves(task: Task) -> str:
    layers = ", inside one more layer for each shuffler" if len(task.shufflers) > 1 else ""
    number = "the same for everyone" if task.padded else "random, with the same distribution for every answer"
    return (
        f"{what_leaves(task)}Randomized messages, each encrypted for the analyzer{layers}. The first shuffler sees "
        f"your network address, the time of arrival and the number of messages ({number}). The report states its time "
        f"only in steps of {duration(task.time_precision)}. The analyzer sees the messages of a whole batch in random "
        "order. Your answer is randomized once: sending again sends the same messages."
    )


def _report(task: Task) -> str:
    """The messages and bytes of one report."""
    number = task.expected_messages
    length = f"{counted(round(task.report_length(number)), 'byte')}"
    return f"{messages(number)}, {length}" + ("" if task.padded else " on average")


def _times(task: Task, now: datetime) -> str:
    return f"{moment(task.opens)} to {moment(task.closes)} ({phase(task, now)})"


def phase(task: Task, now: datetime) -> str:
    """Return whether people can answer a task."""
    return "not open yet" if now < task.opens else "open now" if now < task.closes else "closed"


_UNITS = {"week": 7 * 86_400, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}


def in_units(seconds: int, *, weeks: bool = False) -> tuple[int, str]:
    """Return a length of time as a number of its largest whole unit, which may be weeks."""
    units = _UNITS.items() if weeks else list(_UNITS.items())[1:]
    return next((seconds // length, unit) for unit, length in units if seconds % length == 0)


def duration(seconds: int) -> str:
    """Return a length of time in its largest whole unit."""
    return counted(*in_units(seconds))


def clock_note(seconds: int) -> str:
    """Return what happened to a report whose time the server refused."""
    clock = f"is ahead by about {length_of_time(seconds)}: correct it" if seconds else "was ahead when you answered"
    return f"This device's clock {clock}. The report was sent with the same messages and another time."


def _cost(cost: Cost) -> str:
    measured = f"about {counted(max(1, round(cost.milliseconds)), 'millisecond')} on this machine"
    if cost.messages == cost.most_messages:
        return f"{cost.most_messages:,} messages and {cost.most_bytes:,} bytes for every answer; {measured}."
    return (
        f"{magnitude(cost.messages)} messages on average, at most {cost.most_messages:,}; about "
        f"{round(cost.bytes):,} bytes on average, at most {cost.most_bytes:,}; {measured}."
    )
