"""The tasks of a shuffler while it runs: whose reports it accepts, the background work on each, and its status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from prometheus_client.core import Metric

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.auth import Accepted
from shuffledp.collect.server.background import Work
from shuffledp.collect.server.http import MOST_IN_FLIGHT, InFlight, most_in_flight
from shuffledp.collect.server.observability import Event, log
from shuffledp.collect.server.operation import counter, gauge, problem_family, process, refusals, replay_problem
from shuffledp.collect.server.registry import Host, NoAnswerError, Registry
from shuffledp.collect.server.settings import stored_tasks, warn_of_shared_keys
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.shuffler.ingest import GroupCommit, Ingestion, SharedSecret
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.shuffler.worker import BatchCloser, BatchMixer, expire
from shuffledp.collect.store import ReportStore, Standing
from shuffledp.collect.task import Phase, Series, Task
from shuffledp.collect.task.series import tasks_of
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import counted

CLOSING = "Its last batches are being closed: try again in a few seconds."

KEY_NEEDED = (
    "Only a server with the key of the task forwards batches. If the key is gone for good, removing the task unchecked "
    "deletes them."
)

MOST_SECRETS = 10
"""Hashes of shared secrets of a task: a new one can be given out before the old one ends with the task."""


class ServedTasks(Host[Served]):
    """The tasks of one process.

    `served`, `first` (those of which this is the first shuffler) and `ingestion` are by the name of the task.
    """

    work_on: dict[str, BatchCloser | BatchMixer]
    _store: ReportStore

    def __init__(self, settings: Settings, commits: GroupCommit) -> None:
        self._settings, self._commits = settings, commits
        self.served: Mapping[str, Served] = {}
        self.first: Mapping[str, Task] = {}
        self.ingestion: dict[str, Ingestion] = {}
        self.in_flight = InFlight(MOST_IN_FLIGHT)
        super().__init__(settings, settings.served)

    def open(
        self, asked: Task | Series, others: Sequence[Served], *, new: bool, is_over: Callable[[Task], bool]
    ) -> Sequence[Served]:
        """Read the keys again, and find the place of this shuffler in a file that is added."""
        if self._settings.options is None:
            raise ParameterError("this shuffler was started without keys of further tasks: no task can be added")
        earlier = stored_tasks(self._store.files) if new else ()
        found = self._settings.options.served(tasks_of(asked), others, earlier=earlier, added=True, is_over=is_over)
        if new:
            warn_of_shared_keys([*others, *found])
        return found

    def prepare(self, items: Sequence[Served]) -> None:
        """Register tasks in the store, and warn of those without tokens."""
        super().prepare(items)
        for item in items:
            if self._settings.background and no_tokens(item, self._store):
                log(Event.TOKENS_SPENT, level=logging.WARNING, task=item.task.id)

    def works_on(self, item: Served) -> bool:
        """One process of a server does the background work on all tasks."""
        return self._settings.background

    def work(self, item: Served) -> Work:
        """Close and mix batches, or pull them from the shuffler before this one."""
        if item.upstream is None:
            early = partial(self._is_closed_early, item.task.name)
            closer = BatchCloser(item.task, self._store, clock=self._settings.clock, closed_early=early)
            self.work_on[item.task.name] = closer
            return closer
        mixer = BatchMixer(item, item.upstream, self._store, processes=self._settings.processes)
        self.work_on[item.task.name] = mixer
        return mixer

    def _is_closed_early(self, name: str) -> bool:
        return name in self.registry.closed_early

    def changed(self, registry: Registry[Served]) -> None:
        """Accept reports of the tasks that are served now."""
        super().changed(registry)
        first = {name: served for name, served in registry.items.items() if served.position == 0}
        for name in self.ingestion.keys() - first.keys():
            del self.ingestion[name]
        for name, served in first.items():
            if name not in self.ingestion:
                self.ingestion[name] = Ingestion(
                    served.task, served.key, served.admission, self._commits, clock=self._settings.clock
                )
            self.ingestion[name].closed_early = name in registry.closed_early
        longest = max((served.task.longest_report for served in registry.items.values()), default=0)
        self.in_flight.most = most_in_flight(longest)
        self.first = {name: served.task for name, served in first.items()}
        self.served = registry.items

    def refresh_admission(self) -> None:
        """Take up the shared secrets that operators have added to tasks that are open, or open before the next look."""
        now = self._settings.clock()
        soon = now + 2 * self._settings.every
        for name, ingestion in self.ingestion.copy().items():
            served = self.served.get(name)
            if served is None or not isinstance(served.admission, SharedSecret):
                continue
            if Phase.OPEN in (served.task.phase(now), served.task.phase(soon)):
                own = set(self._store.unspent(served.task.id, most=MOST_SECRETS))
                given = () if own and served.admission.until_own else served.admission.secret.hashes
                ingestion.admission = replace(served.admission, secret=Accepted(tuple(sorted(own.union(given)))))

    def close_early(self, task: Task) -> None:
        """Close the last complete batches of a task and delete the reports in none."""
        if self.served[task.name].position == 0:
            expire(task, self._store)

    def close_unserved(self, task: Task) -> None:
        """Delete the reports in no batch; a later shuffler has none."""
        if self._store.is_unexpired(task.id):
            expire(task, self._store)

    def unfinished(self, task: Task, *, ask_others: bool) -> str | None:
        """What a closed task still waits for."""
        served = self.served.get(task.name)
        if served is None:  # without the key this machine serves no batch; another machine may, or this one later
            if self._store.is_unexpired(task.id):
                return CLOSING
            left = self._store.unacknowledged(task.id) if ask_others else 0
            return f"{_not_fetched(left)} {KEY_NEEDED}" if left else None
        begun = task.phase(self._settings.clock()) is not Phase.BEFORE
        if ask_others and begun and served.upstream is not None and not served.key.destroyed:
            waits = _waits_upstream(served.upstream, task)
            if waits is not None:
                return waits
        standing = self._store.standing(task.id)
        if served.position == 0 and begun and standing.short_by is None:
            return CLOSING
        if left := standing.closing + standing.ready:
            return _not_fetched(left)
        return None

    def discard_unserved(self, task: Task) -> None:
        """Delete the batches of a task whose key is not here."""
        if task.name not in self.served:
            self._store.discard(task.id)

    def counters(self, task: Task) -> Mapping[str, Any]:
        """Public counters of a task."""
        standing = self._store.standing(task.id)
        return {
            "waiting": standing.waiting,
            "batches": standing.batches,
            "batches_acknowledged": standing.acknowledged,
            "short_by": standing.short_by,
        }

    def add_hashes(self, name: str, hashes: Sequence[bytes]) -> int:
        """Add hashes of one-time tokens, or of the shared secret, to all tasks of a file; return how many are new."""
        entry, added = self.registry.find(name), 0
        if entry.asked.admission == "anybody" or any(served.position for served in entry.items):
            raise Refused(Reason.CANNOT_BE_SERVED, "This server needs no tokens for this task.")
        if entry.asked.admission == "secret" and len(hashes) > 1:
            raise Refused(Reason.MALFORMED, f"A task with a secret needs one hash, got {len(hashes)}.")
        if entry.is_closed(self._settings.clock()):
            raise Refused(Reason.CLOSED)
        if not entry.items:
            raise Refused(Reason.CANNOT_BE_SERVED, entry.problem or "")
        for served in entry.items:
            if self.registry.is_closed(served.task):
                continue
            known = self._store.unspent(served.task.id, most=MOST_SECRETS)
            if served.task.admission == "secret" and len(known) == MOST_SECRETS and hashes[0] not in known:
                raise Refused(Reason.CANNOT_BE_SERVED, f"A task has at most {MOST_SECRETS} secrets.")
            added = max(added, self._store.add_admissions(served.task.id, hashes))
        self.refresh_admission()
        log(Event.HASHES_ADDED, task=entry.asked.id, hashes=added)
        return added


def _not_fetched(batches: int) -> str:
    return f"The next server has not fetched {counted(batches, 'batch', things='batches')} yet."


def _waits_upstream(upstream: Upstream, task: Task) -> str | None:
    """A sentence if the shuffler before this one has batches, or may get some."""
    try:
        left = upstream.left(task)
    except DataError:
        raise NoAnswerError("The previous shuffler") from None
    if left is None:
        return "The previous shuffler has not closed the task: its operator can close it early there."
    return f"The previous shuffler still has {counted(left, 'batch', things='batches')}." if left else None


def no_tokens(served: Served, store: ReportStore) -> bool:
    """Whether no report can be admitted, since no unspent token, or no secret, is known."""
    if served.task.admission == "anybody" or served.position > 0:
        return False
    if isinstance(served.admission, SharedSecret) and served.admission.secret.hashes:
        return False
    return not store.has_unspent(served.task.id)


_NO_TOKENS = "No unspent one-time token is left, so no report can be admitted: add hashes of new tokens."
_NO_SECRET = "The shared secret is not known, so no report can be admitted: add its hash."


def problems_of(served: Served, standing: Standing, store: ReportStore) -> list[str]:
    """Public sentences about what the store says of a task."""
    found = replay_problem(standing.refused)
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
    unknown = counter(
        "shuffledp_requests_for_unknown_tasks",
        "Requests for unknown tasks, by process.",
        {process(): of_no_task},
        "process",
    )
    return [
        gauge("shuffledp_position", "Place of this shuffler in the chain, from 0.", positions),
        counter("shuffledp_reports", "Reports stored.", each("reports")),
        gauge("shuffledp_reports_waiting", "Reports that are not in a batch yet.", each("waiting")),
        counter("shuffledp_batches", "Batches closed.", each("batches")),
        gauge("shuffledp_batches_to_be_mixed", "Batches closed but not mixed yet.", each("closing")),
        gauge("shuffledp_batches_ready", "Batches waiting for the next server.", each("ready")),
        counter("shuffledp_batches_acknowledged", "Batches the next server has.", each("acknowledged")),
        gauge("shuffledp_short_by", "Reports missing from the last batch of a closed task.", short_by),
        refusals("shuffledp_refused", "Refusals, by reason.", refused),
        unknown,
        gauge("shuffledp_tokens_spent", "1 if no unspent one-time token is left.", spent),
        problem_family(problems),
    ]
