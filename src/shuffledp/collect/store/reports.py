"""The store of a shuffler: reports arrive, wait, form batches (`batches`), and expire with their task.

Each report is stored once, however often and in whatever order it arrives.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shuffledp.collect.store.batches import ACKNOWLEDGED, CLOSED, DROPPED, MIXED, BatchStore
from shuffledp.collect.store.database import ConflictError, Transaction
from shuffledp.collect.store.schema import Arrival, Outcome, Standing, check_users
from shuffledp.collect.task import Task
from shuffledp.errors import DataError

_ATTEMPTS = 10
"""Attempts to store reports that other processes store at the same moment: each conflict happens at most once."""

_REGIONS, _PLACES, _PLACE_BYTES = 1 << 24, 1 << 39, 5
"""A place is a random one of a random region; together they are the integers that both databases use as a plain key.

Reports that are stored together share a region: with a region each, every report would write a page of its own, four
times as many bytes. Equal places are sampled again: for 500 reports once in four million times.
"""


class ReportStore(BatchStore):
    """Reports and batches of a shuffler."""

    def prepare(self, *tasks: Task) -> None:
        """Register tasks, and finish the work of a process that was killed."""
        ids = sorted({task.id for task in tasks})
        with self._database.writing() as transaction:
            transaction.lock("tasks")
            ((last,),) = transaction.rows("SELECT COALESCE(MAX(task), 0) FROM tasks")
            new = [(task.id, last + number, task.users) for number, task in enumerate(tasks, start=1)]
            transaction.insert("tasks", ("task_id", "task", "users"), new)
            rows = transaction.rows_among("SELECT task_id, task, users FROM tasks WHERE task_id {keys}", ids)
        found = {bytes(task_id): (number, users) for task_id, number, users in rows}
        check_users(tasks, {task_id: users for task_id, (_, users) in found.items()})
        self._tasks.update({task_id: number for task_id, (number, _) in found.items()})
        self._tidy_all(*(number for number, _ in found.values()))

    def add(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """Store reports of any prepared tasks in one transaction; return their outcomes once they are durable."""
        for _ in range(_ATTEMPTS):
            try:
                return self._add(arrivals)
            except ConflictError:
                continue
        raise DataError("the same reports kept arriving elsewhere at the same moment: nothing was stored; try again")

    def add_admissions(self, task_id: bytes, hashes: Iterable[bytes]) -> int:
        """Add hashes of one-time tokens and return how many are new; spent tokens stay spent."""
        task = self._task(task_id)
        with self._database.writing() as transaction:
            rows = [(task, key, 0) for key in sorted(set(hashes))]
            return transaction.insert("admissions", ("task", "hash", "spent"), rows)

    def has_unspent(self, task_id: bytes) -> bool:
        """Whether a one-time token is left."""
        return bool(self._rows("SELECT 1 FROM admissions WHERE task = ? AND spent = 0 LIMIT 1", self._task(task_id)))

    def unspent(self, task_id: bytes, *, most: int) -> list[bytes]:
        """Return some unspent hashes: all of a task with a shared secret, which is never spent."""
        rows = self._rows(
            "SELECT hash FROM admissions WHERE task = ? AND spent = 0 ORDER BY hash LIMIT ?",
            *(self._task(task_id), most),
        )
        return [bytes(key) for (key,) in rows]

    def expire(self, task_id: bytes) -> bool:
        """End a task: close the complete batches, delete all other reports and all tokens; idempotent.

        Return whether this call ended it: several processes and threads may try at the same moment.
        """
        task = self._task(task_id)
        with self._database.writing() as transaction:
            transaction.lock(f"arrivals {task}")
            ((users, short_by),) = transaction.rows("SELECT users, short_by FROM tasks WHERE task = ?", task)
            ends: bool = short_by is None
            if ends:
                while self._close(transaction, task, users):
                    pass
                left = self._waiting(transaction, task)
                short_by = users - left if left else 0
                if left:
                    self._close(transaction, task, left, state=DROPPED)
                transaction.run("DELETE FROM admissions WHERE task = ?", task)
                transaction.run("UPDATE tasks SET short_by = ? WHERE task = ?", short_by, task)
        self._tidy_all(task)
        return ends

    def is_unexpired(self, task_id: bytes) -> bool:
        """Whether reports of a task were stored, and it has not expired."""
        return bool(
            self._rows(
                "SELECT 1 FROM tasks JOIN counts ON counts.task = tasks.task "
                "WHERE tasks.task_id = ? AND tasks.short_by IS NULL AND counts.reports > 0 LIMIT 1",
                task_id,
            )
        )

    def standing(self, task_id: bytes) -> Standing:
        """Return all counters of a task."""
        task = self._task(task_id)
        with self._database.reading() as transaction:
            ((waiting, reports, messages),) = transaction.rows(
                "SELECT COALESCE(SUM(waiting), 0), COALESCE(SUM(reports), 0), COALESCE(SUM(messages), 0) FROM counts "
                "WHERE task = ?",
                task,
            )
            states: dict[str, int] = dict(
                transaction.rows("SELECT state, COUNT(*) FROM batches WHERE task = ? GROUP BY state", task)
            )
            ((short_by,),) = transaction.rows("SELECT short_by FROM tasks WHERE task = ?", task)
            refused: dict[str, int] = dict(
                transaction.rows("SELECT reason, times FROM refusals WHERE task = ? ORDER BY reason", task)
            )
        closing, ready, acknowledged = (states.get(state, 0) for state in (CLOSED, MIXED, ACKNOWLEDGED))
        return Standing(
            reports=int(reports),
            messages=int(messages),
            waiting=int(waiting),
            batches=closing + ready + acknowledged,
            closing=closing,
            ready=ready,
            acknowledged=acknowledged,
            short_by=short_by,
            refused=refused,
        )

    def _add(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        by_task: dict[bytes, list[Arrival]] = {}
        for arrival in arrivals:
            by_task.setdefault(arrival.task_id, []).append(arrival)
        tasks = sorted((self._task(task_id), task_id) for task_id in by_task)  # always in one order: no deadlocks
        with self._database.writing() as transaction:
            outcomes = {task_id: iter(self._ingest(transaction, task, by_task[task_id])) for task, task_id in tasks}
        return [next(outcomes[arrival.task_id]) for arrival in arrivals]

    def _ingest(self, transaction: Transaction, task: int, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """Decide on arrivals of one task and write those to keep.

        If another process stores the same report or token at this moment, the number of changed rows differs from the
        decision. Then the whole transaction is repeated.
        """
        transaction.lock(f"arrivals {task}", shared=True)  # the task cannot expire during this transaction
        ((short_by,),) = transaction.rows("SELECT short_by FROM tasks WHERE task = ?", task)
        if short_by is not None:
            return [Outcome.CLOSED] * len(arrivals)
        ids = sorted({arrival.report_id for arrival in arrivals})
        hashes = sorted({arrival.admission_hash for arrival in arrivals if arrival.admission_hash is not None})
        # tokens first: if another process spends a token in between, its report is already seen
        admissible = transaction.rows_among(
            "SELECT hash FROM admissions WHERE task = ? AND spent = 0 AND hash {keys}", hashes, task
        )
        seen = transaction.rows_among(
            "SELECT report_id, digest FROM seen WHERE task = ? AND report_id {keys}", ids, task
        )
        decision = decide(arrivals, dict(seen), {key for (key,) in admissible})
        if decision.kept:
            self._keep(transaction, task, decision)
        return decision.outcomes

    def _keep(self, transaction: Transaction, task: int, decision: Decision) -> None:
        kept = sorted(decision.kept, key=lambda arrival: arrival.report_id)  # always in one order: no deadlocks
        ids = [(task, arrival.report_id, arrival.digest) for arrival in kept]
        if transaction.insert("seen", ("task", "report_id", "digest"), ids) != len(ids):
            raise ConflictError("a report arrived twice at the same moment: send it again")
        spent = transaction.run_among(
            "UPDATE admissions SET spent = 1 WHERE task = ? AND spent = 0 AND hash {keys}", sorted(decision.spent), task
        )
        if spent != len(decision.spent):
            raise ConflictError("a token was used twice at the same moment: send the report again")
        onions = sorted(zip(_places(len(kept)), [arrival.onions for arrival in kept], strict=True))
        if transaction.insert("onions", ("place", "onions"), onions) != len(onions):
            raise ConflictError("two reports were given the same place: send them again")
        transaction.insert("waiting", ("task", "place"), [(task, place) for place, _ in onions])
        messages = sum(arrival.number for arrival in kept)
        self._count(transaction, task, waiting=len(kept), reports=len(kept), messages=messages)


def _places(number: int) -> list[int]:
    # one call for all random bits, since a call for each place costs as much as a row
    region = secrets.randbelow(_REGIONS) * _PLACES
    bits, width = secrets.token_bytes(number * _PLACE_BYTES), _PLACE_BYTES
    return [region + int.from_bytes(bits[at : at + width]) % _PLACES for at in range(0, len(bits), width)]


@dataclass(frozen=True)
class Decision:
    """The outcomes of arrivals, the arrivals to store, and the tokens that they spend."""

    outcomes: list[Outcome] = field(default_factory=list)
    kept: list[Arrival] = field(default_factory=list)
    spent: list[bytes] = field(default_factory=list)


def decide(arrivals: Sequence[Arrival], seen: Mapping[bytes, bytes], admissible: Collection[bytes]) -> Decision:
    """Decide on arrivals one after the other; `seen` has digests by report id, `admissible` the unspent tokens."""
    decision = Decision()
    digests, unspent = dict(seen), set(admissible)
    for arrival in arrivals:
        known = digests.get(arrival.report_id)
        if known is not None:  # before the token: a report that is sent again has spent it already
            decision.outcomes.append(Outcome.KNOWN if known == arrival.digest else Outcome.OTHER_BYTES)
            continue
        if arrival.admission_hash is not None:
            if arrival.admission_hash not in unspent:
                decision.outcomes.append(Outcome.NOT_ADMITTED)
                continue
            unspent.remove(arrival.admission_hash)
            decision.spent.append(arrival.admission_hash)
        digests[arrival.report_id] = arrival.digest
        decision.kept.append(arrival)
        decision.outcomes.append(Outcome.STORED)
    return decision
