"""The store of a shuffler: reports arrive, wait, form batches, and expire with their task.

Each report is stored once, however often and in whatever order it arrives. The life of a batch is in `batches`.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shuffledp.collect.store.batches import ACKNOWLEDGED, CLOSED, DROPPED, MIXED, BatchStore
from shuffledp.collect.store.database import ConflictError, Transaction
from shuffledp.collect.store.schema import Arrival, Collected, Outcome, Standing
from shuffledp.errors import DataError

_ATTEMPTS = 10
"""Attempts to store reports that other processes store at the same moment: each conflict happens at most once."""

_REGIONS, _PLACES = 1 << 24, 1 << 39
"""A place is a random one of a random region; together they are the integers that both databases use as a plain key.

Reports that are stored together share a region: with a region each, every report would write a page of its own, four
times as many bytes. Equal places are sampled again: for 500 reports once in four million times.
"""


class ReportStore(BatchStore):
    """Reports and batches of a shuffler; safe for several threads and processes at once."""

    def prepare(self, task: Collected) -> None:
        """Register a task, and finish the work of a process that was killed; idempotent."""
        with self._database.writing() as transaction:
            transaction.lock("tasks")
            ((last,),) = transaction.rows("SELECT COALESCE(MAX(task), 0) FROM tasks")
            transaction.insert("tasks", ("task_id", "task", "users"), [(task.id, last + 1, task.users)])
            ((users,),) = transaction.rows("SELECT users FROM tasks WHERE task_id = ?", task.id)
        if users != task.users:
            raise DataError(f"users must be {users}, as the store has it for this task, got {task.users}")
        self._tidy_all(self._task(task.id))

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
        with self._database.reading() as transaction:
            return bool(
                transaction.rows("SELECT 1 FROM admissions WHERE task = ? AND spent = 0 LIMIT 1", self._task(task_id))
            )

    def expire(self, task_id: bytes) -> int:
        """End a task: close the complete batches, delete all other reports and all tokens; idempotent.

        Return the number of people missing in the last batch, 0 if no report was left over.
        """
        task = self._task(task_id)
        with self._database.writing() as transaction:
            transaction.lock(f"arrivals {task}")
            ((users, short_by),) = transaction.rows("SELECT users, short_by FROM tasks WHERE task = ?", task)
            if short_by is None:
                while self._close(transaction, task, users):
                    pass
                left = self._waiting(transaction, task)
                short_by = users - left if left else 0
                if left:
                    self._close(transaction, task, left, state=DROPPED)
                transaction.run("DELETE FROM admissions WHERE task = ?", task)
                transaction.run("UPDATE tasks SET short_by = ? WHERE task = ?", short_by, task)
        self._tidy_all(task)
        return int(short_by)

    def standing(self, task_id: bytes) -> Standing:
        """Return all counters of a task, at one moment."""
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
        by_task: dict[int, list[int]] = {}
        for at, arrival in enumerate(arrivals):
            by_task.setdefault(self._task(arrival.task_id), []).append(at)
        outcomes: dict[int, Outcome] = {}
        with self._database.writing() as transaction:
            for task, positions in sorted(by_task.items()):
                found = self._ingest(transaction, task, [arrivals[at] for at in positions])
                outcomes.update(zip(positions, found, strict=True))
        return [outcomes[at] for at in range(len(arrivals))]

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
        region = secrets.randbelow(_REGIONS) * _PLACES
        onions = sorted((region + secrets.randbelow(_PLACES), arrival.onions) for arrival in kept)
        if transaction.insert("onions", ("place", "onions"), onions) != len(onions):
            raise ConflictError("two reports were given the same place: send them again")
        transaction.insert("waiting", ("task", "place"), [(task, place) for place, _ in onions])
        messages = sum(arrival.number for arrival in kept)
        self._count(transaction, task, waiting=len(kept), reports=len(kept), messages=messages)


@dataclass(frozen=True)
class Decision:
    """The outcomes of arrivals of one task, the arrivals to store, and the tokens that they spend."""

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
