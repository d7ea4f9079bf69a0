"""What the templates of `templates/console/` show of a task, its release, its batches and its servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from shuffledp.collect.reasons import Reason
from shuffledp.collect.store import CountedBatch, KeptRelease, ListedRelease, TallyStanding
from shuffledp.collect.task import AnswerText, Phase, Task
from shuffledp.collect.task.task import LONGEST_QUESTION
from shuffledp.collect.web.caches import rendered
from shuffledp.collect.web.status import OTHER, ShufflerHealth
from shuffledp.formatting import shown

MOST_BATCHES = 200
"""Rows of the table of batches, the latest."""


@dataclass(frozen=True)
class Kept:
    """What the store holds of a task; nothing if it does not answer."""

    standing: TallyStanding | None = None
    latest: KeptRelease | None = None
    listed: Sequence[ListedRelease] = ()
    batches: Sequence[CountedBatch] = ()
    history: Markup | None = None


def task_context(task: Task, now: datetime, *, early: bool) -> dict[str, Any]:
    """A task for the templates; `phase` tells whether people can answer it, `early` that an operator closed it."""
    phase = task.phase(now.timestamp())
    return {
        "name": task.name,
        "question": shown(task.question, width=LONGEST_QUESTION),
        "phase": str(Phase.CLOSED if early else phase),
        "early": early and phase is not Phase.CLOSED,
        "opens": task.opens,
        "closes": task.closes,
        "users": task.users,
        "honest_users": task.honest_users,
        "protocol": task.protocol_used.name,
        "texts": isinstance(task.answers, AnswerText),
        "keys": [place.key for place in task.shufflers],
        "analyzer": task.analyzer,
    }


def release_context(kept: KeptRelease) -> dict[str, Any]:
    """A release for the templates."""
    return {"number": kept.number, "made": kept.made, "rendered": rendered(kept)}


def batch_context(task: Task, first: ShufflerHealth) -> dict[str, Any] | None:
    """The people who have reported and the batch that is filling; None if the first shuffler has never answered.

    `missing` is None once the task is closed. `short_by` is the number of people its last batch lacked.
    """
    status = first.status
    if status is None:
        return None
    missing = None if status.short_by is not None else max(0, task.users - status.waiting)
    return {
        "reported": status.reported(task.users),
        "waiting": status.waiting,
        "missing": missing,
        "here": None if missing is None else task.users - missing,
        "short_by": status.short_by or 0,
        "batches": status.batches,
        "tenths": 10 * min(status.waiting, task.users) // task.users,
    }


def problems_by_server(shufflers: Sequence[ShufflerHealth], own: Sequence[str]) -> list[tuple[str, str]]:
    """Each problem with the name of its server."""
    found = [("Analyzer", each) for each in own]
    for each in shufflers:
        name = server_name(each.position, len(shufflers))
        if each.problem is not None:
            found.append((name, each.problem))
        if each.status is not None and each.answers:
            found += [(name, problem) for problem in each.status.problems]
    return found


def server_name(position: int, shufflers: int) -> str:
    """The name of a shuffler, by its position from 0."""
    return "Shuffler" if shufflers == 1 else f"Shuffler {position + 1}"


def refusals(shufflers: Sequence[ShufflerHealth], standing: TallyStanding | None) -> list[tuple[str, str, int]]:
    """Place, reason and number of refusals: reports and requests at shufflers, messages and batches here."""
    rows = [
        (server_name(each.position, len(shufflers)), _meaning(reason), number)
        for each in shufflers
        if each.status is not None
        for reason, number in _by_number(each.status.refused)
    ]
    if standing is not None:
        rows += [("Analyzer, messages", _meaning(why), number) for why, number in _by_number(standing.refused)]
        if standing.problems:
            rows.append(("Analyzer, batches", Reason.TOO_FEW_MESSAGES.meaning, standing.problems))
    return rows


def latest_batches(kept: Kept) -> list[dict[str, Any]]:
    """The latest batches, each with its release."""
    made = {each.number: each.made for each in kept.listed}
    return [
        {
            "problem": None if batch.problem is None else _meaning(batch.problem),
            "release": batch.release,
            "made": made.get(batch.release) if batch.release is not None else None,
            "people": batch.people,
            "refused": sum(batch.refused.values()),
        }
        for batch in reversed(kept.batches[-MOST_BATCHES:])
    ]


def _meaning(reason: str) -> str:
    if reason == OTHER:
        return "Other reasons."
    try:
        return Reason(reason).meaning
    except ValueError:  # stored by a newer version
        return "Another reason."


def _by_number(refused: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(refused.items(), key=lambda each: (-each[1], each[0]))
