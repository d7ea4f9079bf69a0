"""Facts about the state of a task: its public status, its problems and its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client.core import Metric

from shuffledp.collect.reasons import Reason
from shuffledp.collect.server import metrics
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.shuffler.tasks import no_tokens
from shuffledp.collect.store import ReportStore, Standing
from shuffledp.formatting import counted

_NO_TOKENS = "No unspent one-time token is left, so no report can be admitted: add hashes of new tokens."
_NO_SECRET = "The shared secret is not known, so no report can be admitted: add its hash."


def problems_of(served: Served, standing: Standing, store: ReportStore) -> list[str]:
    """Public sentences about what the store says of a task."""
    found = metrics.replay_problem(standing.refused)
    if short := standing.refused.get(Reason.TOO_FEW_MESSAGES.value, 0):
        found.append(
            f"{counted(short, 'batch', things='batches')} had too few messages, so the noise is incomplete: not "
            "forwarded. Ask the operators of the shufflers before this one."
        )
    if standing.short_by is None and no_tokens(served, store):
        found.append(_NO_TOKENS if served.task.admission == "tokens" else _NO_SECRET)
    return found


def status_of(served: Served, standing: Standing, problems: Sequence[str], *, closed: bool = False) -> dict[str, Any]:
    """The public status of a task; `short_by` is null until the task is closed."""
    return {
        "task": served.task.name,
        "position": served.position,
        "users": served.task.users,
        "waiting": standing.waiting,
        "batches": standing.batches,
        "batches_acknowledged": standing.acknowledged,
        "closed": closed,
        "short_by": standing.short_by,
        "refused": dict(standing.refused),
        "problems": list(problems),
    }


def families(
    standings: Mapping[str, Standing],
    problems: Mapping[str, Sequence[str]],
    positions: Mapping[str, int],
    spent: Mapping[str, bool],
    *,
    of_no_task: int,
) -> list[Metric]:
    """The metrics, read from the store, so that every process of a server gives the same values.

    `spent` says of each task whether it needs one-time tokens and has none left.

    The number of messages is not among them. Polled after every report, it would reveal the number of messages of each
    report, and so more about the noise than the guarantee allows. For the same reason free disk space is rounded: the
    length of a report depends on its number of messages. The number of reports says when one arrives, as the network
    does, and not whose it is.
    """

    def each(name: str) -> dict[str, float]:
        return {task: getattr(standing, name) for task, standing in standings.items()}

    short_by = {task: each.short_by for task, each in standings.items() if each.short_by is not None}
    refused = {task: standing.refused for task, standing in standings.items()}
    unknown = metrics.process_counter(
        "shuffledp_requests_for_unknown_tasks", "Requests for unknown tasks, by process.", of_no_task
    )
    return [
        metrics.gauge("shuffledp_position", "Place of this shuffler in the chain, from 0.", positions),
        metrics.counter("shuffledp_reports", "Reports stored.", each("reports")),
        metrics.gauge("shuffledp_reports_waiting", "Reports that are not in a batch yet.", each("waiting")),
        metrics.counter("shuffledp_batches", "Batches closed.", each("batches")),
        metrics.gauge("shuffledp_batches_to_be_mixed", "Batches closed but not mixed yet.", each("closing")),
        metrics.gauge("shuffledp_batches_ready", "Batches waiting for the next server.", each("ready")),
        metrics.counter("shuffledp_batches_acknowledged", "Batches the next server has.", each("acknowledged")),
        metrics.gauge("shuffledp_short_by", "Reports missing from the last batch of a closed task.", short_by),
        metrics.refusals("shuffledp_refused", "Refusals, by reason.", refused),
        unknown,
        metrics.gauge("shuffledp_tokens_spent", "1 if no unspent one-time token is left.", spent),
        metrics.problem_family(problems),
    ]
