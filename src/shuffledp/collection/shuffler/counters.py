"""What a shuffler tells in public about its tasks: how many, never who or when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client.core import Metric

from shuffledp.collection.service import metrics
from shuffledp.collection.shuffler.settings import Served
from shuffledp.collection.stores import Standing


def status_of(served: Served, standing: Standing, problems: Sequence[str]) -> dict[str, Any]:
    """The public standing of a task, and what does not work; `short_by` is null until the task is closed."""
    return {
        "task": served.task.name,
        "position": served.position,
        "users": served.task.users,
        "waiting": standing.waiting,
        "batches": standing.batches,
        "batches_acknowledged": standing.acknowledged,
        "short_by": standing.short_by,
        "refused": dict(standing.refused),
        "problems": list(problems),
    }


def families(
    standings: Mapping[str, Standing], problems: Mapping[str, Sequence[str]], *, of_no_task: int
) -> list[Metric]:
    """The same for Prometheus, from the store, so that every process of a server answers alike.

    Not how many messages arrived: whoever looks after every report would know how many each holds, and so more about
    the noise in what is published than the promise allows for.
    """

    def each(name: str) -> dict[str, float]:
        return {task: getattr(standing, name) for task, standing in standings.items()}

    short_by = {task: each.short_by for task, each in standings.items() if each.short_by is not None}
    refused = {task: standing.refused for task, standing in standings.items()}
    failing = {task: len(words) for task, words in problems.items()}
    unknown = metrics.process_counter(
        "shuffledp_requests_for_unknown_tasks", "Requests for tasks that are not served, of this process.", of_no_task
    )
    return [
        metrics.counter("shuffledp_reports", "Reports stored.", each("reports")),
        metrics.gauge("shuffledp_reports_waiting", "Reports that are in no batch.", each("waiting")),
        metrics.counter("shuffledp_batches", "Batches closed.", each("batches")),
        metrics.gauge("shuffledp_batches_to_be_mixed", "Batches closed and not yet mixed.", each("closing")),
        metrics.gauge("shuffledp_batches_ready", "Batches that the next hop has not acknowledged.", each("ready")),
        metrics.counter("shuffledp_batches_acknowledged", "Batches that the next hop has.", each("acknowledged")),
        metrics.gauge("shuffledp_short_by", "People by whom the last batch of a closed task fell short.", short_by),
        metrics.refusals("shuffledp_refused", "What was refused, by reason.", refused),
        unknown,
        metrics.gauge("shuffledp_problems", "What does not work at the moment.", failing),
    ]
