"""A series as text: its rounds, how often it asks, and the guarantee of all rounds together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from shuffledp.collect.task.series import Series, SeriesPromise
from shuffledp.errors import BrokenPromiseError
from shuffledp.explain import task as about_tasks
from shuffledp.explain.protocols import Protection
from shuffledp.formatting import (
    epsilon_delta,
    moment,
    privacy_figure,
    share_at_most,
)

_SHOWN_ROUNDS = 8
"""Rows of the table of rounds: the first ones, the open one and the last one."""


def how_often(period: int) -> str:
    """Return how often a series asks: once a week, or every 3 days."""
    number, unit = about_tasks.in_units(period, weeks=True)
    return f"every {number:,} {unit}s" if number > 1 else f"once {'an' if unit == 'hour' else 'a'} {unit}"


def promise_of(series: Series) -> tuple[SeriesPromise | None, str | None]:
    """Compute the guarantee of a series; the second part says why the claim is false."""
    try:
        return series.check(), None
    except BrokenPromiseError as error:
        return None, str(error)


def summary(series: Series, *, now: datetime | None = None) -> dict[str, str]:
    """Return the facts about a series by title, in about one line each."""
    first = about_tasks.summary(series.task(1), now=now)
    promise, broken = promise_of(series)
    if promise is None:
        guarantees = {"Guarantee": f"NOT KEPT: {broken}."}
    else:
        guarantees = {
            "All rounds": f"{promise.total.strength} protection "
            f"({epsilon_delta(promise.total.epsilon, promise.total.delta)}) of a person who answers all "
            f"{series.rounds:,} rounds. {_meaning(promise)}",
            "One round": f"{promise.round.strength} protection "
            f"({epsilon_delta(promise.round.epsilon, promise.round.delta)}).",
        }
    return {
        **about_tasks.asked_by(series.task(1)),
        "Answers": first["Answers"],
        **guarantees,
        "Accuracy": f"{first['Accuracy']}, in each round",
        "Report": first["Report"],
        **{name: text for name, text in first.items() if name.startswith("Shuffler") or name == "Analyzer"},
        "Keys": "new keys in every round" if len(series.servers) > 1 else "the same keys in all rounds",
        "Rounds": f"{series.rounds:,}, {how_often(series.period)}, {_state(series, now or datetime.now(UTC))}",
        "Series id": series.name,
    }


def _meaning(promise: SeriesPromise) -> str:
    factor, chance, _ = Protection.of(promise.total)
    return (
        f"All answers of one person together make any published results up to {factor} times more likely, plus a "
        f"chance of at most {chance}."
    )


def _state(series: Series, now: datetime) -> str:
    number = series.round_at(now.timestamp())
    if number is not None:
        return f"round {number:,} is open until {moment(series.closes_at(number))}"
    return f"opens {moment(series.opens)}" if now < series.opens else f"over since {moment(series.closes)}"


def _shown_rounds(series: Series, now: datetime) -> list[int | None]:
    """The numbers of the rounds to show; None stands for those that are left out."""
    if series.rounds <= _SHOWN_ROUNDS:
        return list(range(1, series.rounds + 1))
    opened = series.round_at(now.timestamp())
    chosen = {1, 2, 3, series.rounds - 1, series.rounds}
    if opened is not None:
        chosen |= {number for number in (opened - 1, opened, opened + 1) if 1 <= number <= series.rounds}
    rows: list[int | None] = []
    for number in sorted(chosen):
        if rows and rows[-1] is not None and number > rows[-1] + 1:
            rows.append(None)
        rows.append(number)
    return rows


def round_rows(series: Series) -> Iterator[tuple[str, str, str, str]]:
    """Yield number, opening time, state and task id of the rounds to show."""
    at = datetime.now(UTC)
    for number in _shown_rounds(series, at):
        if number is None:
            yield ("...", "", "", "")
            continue
        task = series.task(number)
        yield (str(number), moment(task.opens), about_tasks.phase(task, at), task.name[:16])


def details(series: Series, *, now: datetime | None = None) -> dict[str, str]:
    """Return paragraphs by title."""
    first = about_tasks.details(series.task(1), now=now)
    promise, broken = promise_of(series)
    together = (
        f"NOT KEPT: {broken}. Do not answer."
        if promise is None
        else f"{promise.total.strength} protection of a person who answers all {series.rounds:,} rounds. "
        f"{_meaning(promise)} {checked(promise)} A person who answers fewer rounds, or joins late, has a stronger "
        "guarantee. Each round has noise of its own, and earlier results may influence later answers."
    )
    kept = ("What is counted", "Who must be trusted", "Who may answer", "What leaves the device", "Accuracy", "Limits",
            "Warning")  # fmt: skip
    return {
        "Question": first["Question"],
        **about_tasks.claimed_asker(series.task(1)),
        "What is asked": f"The same question {series.rounds:,} times, {how_often(series.period)}: "
        f"{_state(series, now or datetime.now(UTC))}. Each round is a task of its own, and everybody may answer each "
        "once, or only some.",
        "All rounds together": together,
        "One round": first["Guarantee"],
        **{title: first[title] for title in kept if title in first},
        "Series id": f"{series.name}. It identifies the whole series: the tasks of all rounds, their noise, servers "
        "and keys. Compare it with the id that others received.",
    }


def checked(promise: SeriesPromise) -> str:
    """Return the result of a check that succeeded."""
    total = promise.total
    return (
        f"Kept: for all rounds together at epsilon {privacy_figure(total.epsilon)}, delta is at most "
        f"{share_at_most(total.reached, digits=3)} (an upper bound); the series claims {privacy_figure(total.delta)}."
    )


def about(series: Series) -> dict[str, Any]:
    """Return the facts about a series for JSON."""
    promise, broken = promise_of(series)
    first = about_tasks.about(series.task(1))
    for name in ("task", "closes", "shufflers", "analyzer", "cost"):
        first.pop(name)
    return {
        "series": series.name,
        **first,
        "total": total_about(series, promise, broken),
        "period": series.period,
        "rounds": [
            {"round": number, "task": task.name, "opens": task.opening, "closes": task.closing}
            for number, task in enumerate(series.tasks, 1)
        ],
        "servers": [
            {
                "shufflers": [{"address": place.address, "key": place.key} for place in each.shufflers],
                "analyzer": {"address": each.analyzer.address, "key": each.analyzer.key},
            }
            for each in series.servers
        ],
    }


def total_about(series: Series, promise: SeriesPromise | None, broken: str | None = None) -> dict[str, Any]:
    """Return the claimed and the computed guarantee of all rounds together for JSON."""
    return {
        "epsilon": series.total.epsilon,
        "delta": series.total.delta,
        "strength": promise and promise.total.strength,
        "kept": promise is not None,
        "reached_delta": promise and promise.total.reached,
        "problem": broken,
    }
