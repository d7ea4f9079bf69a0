"""The store of a shuffler: reports wait in it, become batches, and are deleted when the next hop has them.

Every verb can be repeated: after a failure or a kill in the middle of it the next call goes on from where it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType

from shuffledp.collect.store import batches as batching
from shuffledp.collect.store import batches as handing_on
from shuffledp.collect.store.arrivals import SCHEMA, take_in
from shuffledp.collect.store.batches import ACKNOWLEDGED, CLOSED, DROPPED, MIXED, REFUSED, tidy, tidy_all
from shuffledp.collect.store.database import (
    Arrival,
    Collected,
    ConflictError,
    Database,
    Outcome,
    ReadyBatch,
    Standing,
    Transaction,
)
from shuffledp.errors import DataError, ParameterError

__all__ = ["SCHEMA", "ReportStore"]

_ATTEMPTS = 10
"""Of taking in reports that other processes take in at the same moment; each of them fails at most once for each."""


class ReportStore:
    """Verbs on a database with the tables of a shuffler; all of them may be used by several threads at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tasks: dict[bytes, int] = {}

    def prepare(self, task: Collected) -> None:
        """Registers a task, and finishes what a process that was killed has left; twice is once."""
        with self._database.changing() as transaction:
            transaction.lock("tasks")
            ((last,),) = transaction.rows("SELECT COALESCE(MAX(task), 0) FROM tasks")
            transaction.insert("tasks", ("task_id", "task", "users"), [(task.id, last + 1, task.users)])
            ((users,),) = transaction.rows("SELECT users FROM tasks WHERE task_id = ?", task.id)
        if users != task.users:
            raise DataError(
                f"users={task.users} does not fit the store: this task's batches have {users} reports there"
            )
        tidy_all(self._database, self._task(task.id))

    def add(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """Takes in reports of any prepared tasks in one transaction; an outcome for each, when it is on the disk."""
        for _ in range(_ATTEMPTS):
            try:
                return self._added(arrivals)
            except ConflictError:
                continue
        raise DataError("the same reports kept arriving at the same moment elsewhere: nothing was stored; try again")

    def _added(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        by_task: dict[int, list[int]] = {}
        for at, arrival in enumerate(arrivals):
            by_task.setdefault(self._task(arrival.task_id), []).append(at)
        outcomes: dict[int, Outcome] = {}
        with self._database.changing() as transaction:
            for task, places in sorted(by_task.items()):
                outcomes.update(zip(places, take_in(transaction, task, [arrivals[at] for at in places]), strict=True))
        return [outcomes[at] for at in range(len(arrivals))]

    def add_admissions(self, task_id: bytes, hashes: Iterable[bytes]) -> int:
        """Adds hashes of one-time tokens; how many are new. One that is spent stays so."""
        task = self._task(task_id)
        with self._database.changing() as transaction:
            rows = [(task, key, 0) for key in sorted(set(hashes))]
            return transaction.insert("admissions", ("task", "hash", "spent"), rows)

    def has_unspent(self, task_id: bytes) -> bool:
        """Whether there is a one-time token with which somebody can still report."""
        with self._database.estimator() as transaction:
            return bool(
                transaction.rows("SELECT 1 FROM admissions WHERE task = ? AND spent = 0 LIMIT 1", self._task(task_id))
            )

    def waiting(self, task_id: bytes) -> int:
        """Reports in no batch."""
        with self._database.estimator() as transaction:
            return batching.waiting(transaction, self._task(task_id))

    def close_batch(self, task_id: bytes, users: int) -> bytes | None:
        """Makes a batch of exactly `users` reports; its random id, or None if fewer wait."""
        task = self._task(task_id)
        with self._database.estimator() as transaction:
            self._check_users(transaction, task, users)
            if batching.waiting(transaction, task) < users:  # the usual case, in which nobody has to wait for this
                return None
        with self._database.changing() as transaction:
            return batching.close(transaction, task, users)

    def closing(self, task_id: bytes) -> list[bytes]:
        """Batches that are closed and not yet mixed, in no particular order."""
        return [batch_id for batch_id, _ in self._batches(task_id, CLOSED)]

    def onions(self, batch_id: bytes) -> Iterator[bytes]:
        """The onions of a batch that is closed, in blocks of about a megabyte, whole reports each, in random order."""
        return batching.onions(self._database, batch_id)

    def keep_mixed(
        self, task_id: bytes, batch_id: bytes, number: int, blocks: Iterable[bytes], refused: Mapping[str, int]
    ) -> None:
        """Keeps the `number` mixed onions of a batch and deletes those of its reports.

        The batch is one that was closed here, or one from a shuffler before this one. If it is kept already nothing
        changes, and `refused` is not counted again.
        """
        task = self._task(task_id)
        written = handing_on.write_draft(self._database, batch_id, blocks)
        if written is not None:
            draft, pieces = written
            with self._database.changing() as transaction:
                if handing_on.keep_draft(transaction, task, batch_id, draft=draft, pieces=pieces, number=number):
                    handing_on.count_refusals(transaction, task, refused)
        tidy(self._database, batch_id)

    def refuse_batch(self, task_id: bytes, batch_id: bytes, reasons: Mapping[str, int]) -> None:
        """Remembers that a batch from a shuffler before this one is not handed on, and counts why; twice is once."""
        task = self._task(task_id)
        columns = ("batch_id", "task", "state", "people", "number", "pieces", "tidy")
        with self._database.changing() as transaction:
            if transaction.insert("batches", columns, [(batch_id, task, REFUSED, 0, 0, 0, 0)]):
                handing_on.count_refusals(transaction, task, reasons)
        tidy(self._database, batch_id)

    def ready(self, task_id: bytes) -> list[ReadyBatch]:
        """Batches that are mixed and not acknowledged, in no particular order."""
        return [ReadyBatch(batch_id=batch_id, number=number) for batch_id, number in self._batches(task_id, MIXED)]

    def has_batch(self, batch_id: bytes, task_id: bytes | None = None) -> bool:
        """Whether a batch (of this task) was ever kept, also when it is acknowledged, or was refused."""
        with self._database.estimator() as transaction:
            rows = transaction.rows("SELECT task, state FROM batches WHERE batch_id = ?", batch_id)
        return any(
            state in (MIXED, ACKNOWLEDGED, REFUSED) and (task_id is None or task == self._task(task_id))
            for task, state in rows
        )

    def mixed(self, batch_id: bytes) -> Iterator[bytes]:
        """The bytes of a batch that is ready, the same every time, in blocks of a megabyte cut anywhere."""
        return handing_on.mixed(self._database, batch_id)

    def acknowledge(self, batch_id: bytes) -> bool:
        """The next hop has the batch: deletes all of it but its id; False if no such batch was ever kept."""
        with self._database.changing() as transaction:
            transaction.run(
                "UPDATE batches SET state = ?, tidy = 0 WHERE batch_id = ? AND state = ?", ACKNOWLEDGED, batch_id, MIXED
            )
            state = handing_on.state_of(transaction, batch_id)
        if state != ACKNOWLEDGED:
            return False
        tidy(self._database, batch_id)
        return True

    def expire(self, task_id: bytes) -> int:
        """The task is over: closes the batches that are complete and deletes all other reports and all tokens.

        By how many people the last batch fell short: 0 if nobody was left over. The same again later.
        """
        task = self._task(task_id)
        with self._database.changing() as transaction:
            transaction.lock(f"arrivals {task}")
            ((users, short_by),) = transaction.rows("SELECT users, short_by FROM tasks WHERE task = ?", task)
            if short_by is None:
                while batching.close(transaction, task, users):
                    pass
                left = batching.waiting(transaction, task)
                short_by = users - left if left else 0
                if left:
                    batching.close(transaction, task, left, state=DROPPED)
                transaction.run("DELETE FROM admissions WHERE task = ?", task)
                transaction.run("UPDATE tasks SET short_by = ? WHERE task = ?", short_by, task)
        tidy_all(self._database, task)
        return int(short_by)

    def count_refusals(self, task_id: bytes, reasons: Mapping[str, int]) -> None:
        """Adds to the counters of what was refused, by reason."""
        with self._database.changing() as transaction:
            handing_on.count_refusals(transaction, self._task(task_id), reasons)

    def standing(self, task_id: bytes) -> Standing:
        """All counters of a task, at one moment."""
        task = self._task(task_id)
        with self._database.estimator() as transaction:
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

    def close(self) -> None:
        """Ends the connections; the store is then of no more use."""
        self._database.close()

    def __enter__(self) -> ReportStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _batches(self, task_id: bytes, state: str) -> list[tuple[bytes, int]]:
        task = self._task(task_id)
        with self._database.estimator() as transaction:
            rows = transaction.rows(
                "SELECT batch_id, number FROM batches WHERE task = ? AND state = ? ORDER BY batch_id", task, state
            )
        return [(batch_id, number) for batch_id, number in rows]

    def _task(self, task_id: bytes) -> int:
        """The short number of a task in the tables, which never changes."""
        if task_id not in self._tasks:
            with self._database.estimator() as transaction:
                rows = transaction.rows("SELECT task FROM tasks WHERE task_id = ?", task_id)
            if not rows:
                raise ParameterError("task_id is of no task in this store: prepare(task) comes first")
            self._tasks[task_id] = rows[0][0]
        return self._tasks[task_id]

    @staticmethod
    def _check_users(transaction: Transaction, task: int, users: int) -> None:
        ((needed,),) = transaction.rows("SELECT users FROM tasks WHERE task = ?", task)
        if users != needed:
            raise ParameterError(f"users={users} is not how many reports make a batch of this task: {needed}")
