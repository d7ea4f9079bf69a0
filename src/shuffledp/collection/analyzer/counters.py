"""What an analyzer tells in public about its tasks, beside their releases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prometheus_client.core import Metric

from shuffledp.collection.service import metrics
from shuffledp.collection.service.making import Turns
from shuffledp.collection.stores import KeptRelease, TallyStanding, TallyStore
from shuffledp.collection.task import Task
from shuffledp.words import readable


def task_in_brief(task: Task) -> dict[str, Any]:
    """A line of the list of tasks."""
    return {
        "task": task.name,
        "question": task.question,
        "users": task.users,
        "opens": task.opening,
        "closes": task.closing,
    }


def status_of(task: Task, standing: TallyStanding, problems: Sequence[str]) -> dict[str, Any]:
    """Where a task stands; messages are `refused` by reason, and batches without enough of them altogether."""
    return {
        "task": task.name,
        "users": task.users,
        "batches": standing.batches - standing.problems,
        "people": standing.people,
        "batches_refused": standing.problems,
        "refused": dict(standing.refused),
        "releases": standing.releases,
        "problems": list(problems),
    }


def no_release(task: Task, standing: TallyStanding) -> str:
    """Why a release is not there."""
    if standing.releases:
        return f"No such release yet: there are {standing.releases}, counted from 1."
    return (
        f"No release yet: {readable(standing.people)} of {readable(task.users)} people so far in batches that were "
        f"counted. How many reports wait for a batch is at {task.shufflers[0].address}/v1/tasks/{task.name}/status"
    )


def release_in_brief(kept: KeptRelease) -> dict[str, Any]:
    """A line of the list of releases."""
    release = json.loads(kept.release)
    return {
        "number": kept.number,
        "made": kept.made.isoformat(),
        "people": release["people"],
        "batches": release["asked"]["batches"],
        "guarantee": release["guarantee"],
        "warnings": release["warnings"],
    }


class Briefs:
    """The lines of lists of releases. Each is read out of its release once: that may have megabytes, its line has few.

    All are kept, so that a list never has to be read anew; visitors cannot make them more.
    """

    def __init__(self, store: TallyStore) -> None:
        self._store = store
        self._known: dict[tuple[bytes, int], dict[str, Any]] = {}
        self._turns = Turns()

    def of(self, task: Task) -> list[dict[str, Any]]:
        """All releases of a task, in brief."""
        listed = [(task.id, each.number) for each in self._store.listed(task.id)]
        if not all(which in self._known for which in listed):
            with self._turns.one():
                self._read(listed)
        return [self._known[which] for which in listed]

    def _read(self, listed: Iterable[tuple[bytes, int]]) -> None:
        for which in listed:
            if which not in self._known and (kept := self._store.release(*which)) is not None:
                self._known[which] = release_in_brief(kept)


def families(standings: Mapping[str, TallyStanding], problems: Mapping[str, Sequence[str]]) -> list[Metric]:
    """The same for Prometheus."""

    def each(name: str) -> dict[str, float]:
        return {task: getattr(standing, name) for task, standing in standings.items()}

    refused = {task: standing.refused for task, standing in standings.items()}
    failing = {task: len(words) for task, words in problems.items()}
    return [
        metrics.counter("shuffledp_batches", "Batches counted or refused.", each("batches")),
        metrics.counter("shuffledp_batches_refused", "Batches with too few messages.", each("problems")),
        metrics.counter("shuffledp_people", "People in the batches that were counted.", each("people")),
        metrics.counter("shuffledp_releases", "Releases that are visible.", each("releases")),
        metrics.refusals("shuffledp_messages_refused", "Messages that were refused, by reason.", refused),
        metrics.gauge("shuffledp_problems", "What does not work at the moment.", failing),
    ]
