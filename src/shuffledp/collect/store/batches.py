"""The life of a batch at a shuffler: closed, mixed, acknowledged.

A batch is *closed* when its reports are chosen, *mixed* when its onions are stored in their new order, and
*acknowledged* when the next server has it. Each step is one transaction; afterwards the rows that are no longer needed
are deleted in small ones. Every method is idempotent: after a failure or a kill, the next call continues.

Mixed bytes are written piece by piece as a draft, so that reports can be added meanwhile. One transaction then makes
the draft the batch. If two processes mix the same batch, the first draft wins.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from shuffledp.collect.crypto.batch import in_blocks
from shuffledp.collect.store.base import Fingerprints, Store
from shuffledp.collect.store.database import ConflictError, Database, Transaction
from shuffledp.collect.store.schema import ReadyBatch
from shuffledp.errors import DataError, ParameterError

CLOSED, MIXED, ACKNOWLEDGED, DROPPED, REFUSED = "closed", "mixed", "acknowledged", "dropped", "refused"
"""States of a batch.

A dropped batch holds the reports that were in no batch when the task expired, until they are deleted. Of a refused one,
which is never forwarded, only the id is stored.
"""

_COLUMNS = ("batch_id", "task", "state", "people", "number", "pieces", "tidy")

BATCH_ID_BYTES = 16

BLOCK = 1 << 20
"""Bytes that are read or written at a time."""

_FIRST_REPORTS = 16
"""Reports in the first read; later reads fill a block, judging by the size of the reports before."""

_SHARDS = 16
"""Rows over which the counters of a task are spread: more than the processes that add at the same moment."""

_REPORTS = 1_000
_PIECES = 16
"""Rows deleted in one transaction: a fraction of a second for reports of usual size."""

_MOST_DRAFTS = 3
"""Drafts of one batch above which some must be abandoned: rarely do that many processes mix the same batch."""


class BatchStore(Store):
    """Batches in a database with the tables of a shuffler."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._tasks: dict[bytes, int] = {}

    def close_batch(self, task_id: bytes, users: int) -> bytes | None:
        """Form a batch of exactly `users` reports, chosen at random; return its random id, or None if fewer wait."""
        task = self._task(task_id)
        with self._database.reading() as transaction:
            self._check_users(transaction, task, users)
            if self._waiting(transaction, task) < users:  # the usual case, which needs no lock
                return None
        with self._database.writing() as transaction:
            return self._close(transaction, task, users)

    def closing(self, task_id: bytes) -> list[bytes]:
        """Return the batches that are closed and not yet mixed."""
        return [batch_id for batch_id, _ in self._in_state(task_id, CLOSED)]

    def onions(self, batch_id: bytes) -> Iterator[bytes]:
        """Iterate over the onions of a closed batch, in random order, in blocks of about 1 MB and whole reports."""
        found = self._rows("SELECT people FROM batches WHERE batch_id = ? AND state = ?", batch_id, CLOSED)
        if not found:
            raise DataError("there is no such batch that waits to be mixed: another process may have mixed it")
        return self._onions(batch_id, people=found[0][0])

    def keep_mixed(
        self,
        task_id: bytes,
        batch_id: bytes,
        number: int,
        blocks: Iterable[bytes],
        refused: Mapping[str, int],
        *,
        fingerprints: Fingerprints | None = None,
    ) -> None:
        """Store the `number` mixed onions of a batch, and delete the onions of its reports.

        Of a batch from the shuffler before this one, the `fingerprints` of its ciphertexts are remembered. Idempotent:
        a batch that is stored stays as it is, and `refused` is counted once.
        """
        task = self._task(task_id)
        memory = None if fingerprints is None else self.memories.of(task_id)
        written = self._write_draft(batch_id, blocks)
        if written is not None:
            draft, pieces = written
            with self._database.writing() as transaction:
                if self._keep_draft(transaction, task, batch_id, draft=draft, pieces=pieces, number=number):
                    self._count_refusals(transaction, task, refused)
                    if memory is not None and fingerprints is not None:
                        memory.add(transaction, fingerprints)
        self._tidy(batch_id)

    def refuse_batch(self, task_id: bytes, batch_id: bytes, reasons: Mapping[str, int]) -> bool:
        """Record that a batch of the shuffler before this one is not forwarded, and count why.

        Return False and change nothing if the batch is stored or refused already.
        """
        task = self._task(task_id)
        with self._database.writing() as transaction:
            refused = transaction.insert("batches", _COLUMNS, [(batch_id, task, REFUSED, 0, 0, 0, 0)]) > 0
            if refused:
                self._count_refusals(transaction, task, reasons)
        self._tidy(batch_id)
        return refused

    def ready(self, task_id: bytes) -> list[ReadyBatch]:
        """Return the batches that are mixed and not acknowledged."""
        return [ReadyBatch(batch_id=batch_id, number=number) for batch_id, number in self._in_state(task_id, MIXED)]

    def has_batch(self, batch_id: bytes, task_id: bytes | None = None) -> bool:
        """Whether a batch (of this task) was ever mixed or refused, including acknowledged ones."""
        return any(
            state in (MIXED, ACKNOWLEDGED, REFUSED) and (task_id is None or task == self._task(task_id))
            for task, state in self._rows("SELECT task, state FROM batches WHERE batch_id = ?", batch_id)
        )

    def mixed(self, batch_id: bytes) -> Iterator[bytes]:
        """Iterate over the bytes of a mixed batch, the same every time, in blocks of 1 MB cut anywhere."""
        found = self._rows("SELECT draft, pieces FROM batches WHERE batch_id = ? AND state = ?", batch_id, MIXED)
        if not found:
            raise DataError("there is no such batch to forward: it is not mixed yet, or was acknowledged")
        return self._pieces(*found[0])

    def acknowledge(self, batch_id: bytes) -> bool:
        """Delete a batch that the next server has, except its id; return False if it was never mixed here."""
        with self._database.writing() as transaction:
            transaction.run(
                "UPDATE batches SET state = ?, tidy = 0 WHERE batch_id = ? AND state = ?", ACKNOWLEDGED, batch_id, MIXED
            )
            state = self._state(transaction, batch_id)
        if state != ACKNOWLEDGED:
            return False
        self._tidy(batch_id)
        return True

    def unacknowledged(self, task_id: bytes) -> int:
        """Return the number of batches that the next server does not have; 0 for a task that was never prepared."""
        ((number,),) = self._rows(
            "SELECT COUNT(*) FROM batches JOIN tasks ON tasks.task = batches.task "
            "WHERE tasks.task_id = ? AND batches.state IN (?, ?)",
            *(task_id, CLOSED, MIXED),
        )
        return int(number)

    def discard(self, task_id: bytes) -> None:
        """Delete the batches that the next server does not have, except their ids."""
        left = self._rows(
            "SELECT batch_id FROM batches JOIN tasks ON tasks.task = batches.task "
            "WHERE tasks.task_id = ? AND (batches.state IN (?, ?) OR batches.tidy = 0) ORDER BY batch_id",
            *(task_id, CLOSED, MIXED),
        )
        for (batch_id,) in left:
            with self._database.writing() as transaction:
                _lock_drafts(transaction, batch_id)  # no process stores it as mixed at this moment
                transaction.run(
                    "UPDATE batches SET state = ?, tidy = 0 WHERE batch_id = ? AND state IN (?, ?)",
                    *(REFUSED, batch_id, CLOSED, MIXED),
                )
            self._tidy(batch_id)

    def count_refusals(self, task_id: bytes, reasons: Mapping[str, int]) -> None:
        """Add to the counters of refusals by reason."""
        with self._database.writing() as transaction:
            self._count_refusals(transaction, self._task(task_id), reasons)

    # tasks and counters -------------------------------------------------------------------------------------------

    def _task(self, task_id: bytes) -> int:
        """The short number of a task in the tables, which never changes."""
        if task_id not in self._tasks:
            rows = self._rows("SELECT task FROM tasks WHERE task_id = ?", task_id)
            if not rows:
                raise ParameterError("task_id must be of a task in this store: call prepare(task) first")
            self._tasks[task_id] = rows[0][0]
        return self._tasks[task_id]

    @staticmethod
    def _check_users(transaction: Transaction, task: int, users: int) -> None:
        ((needed,),) = transaction.rows("SELECT users FROM tasks WHERE task = ?", task)
        if users != needed:
            raise ParameterError(f"users must be {needed}, the reports in a batch of this task, got {users}")

    @staticmethod
    def _waiting(transaction: Transaction, task: int) -> int:
        ((number,),) = transaction.rows("SELECT COALESCE(SUM(waiting), 0) FROM counts WHERE task = ?", task)
        return int(number)

    @staticmethod
    def _count(transaction: Transaction, task: int, *, waiting: int, reports: int = 0, messages: int = 0) -> None:
        transaction.run(
            "INSERT INTO counts (task, shard, waiting, reports, messages) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (task, shard) DO UPDATE SET waiting = counts.waiting + excluded.waiting, "
            "reports = counts.reports + excluded.reports, messages = counts.messages + excluded.messages",
            *(task, secrets.randbelow(_SHARDS), waiting, reports, messages),
        )

    @staticmethod
    def _count_refusals(transaction: Transaction, task: int, reasons: Mapping[str, int]) -> None:
        for reason, times in sorted(reasons.items()):  # always in the same order, which avoids deadlocks
            transaction.run(
                "INSERT INTO refusals (task, reason, times) VALUES (?, ?, ?) "
                "ON CONFLICT (task, reason) DO UPDATE SET times = refusals.times + excluded.times",
                *(task, reason, times),
            )

    @staticmethod
    def _state(transaction: Transaction, batch_id: bytes) -> str | None:
        found = transaction.rows("SELECT state FROM batches WHERE batch_id = ?", batch_id)
        return str(found[0][0]) if found else None

    def _in_state(self, task_id: bytes, state: str) -> list[tuple[bytes, int]]:
        return self._rows(
            "SELECT batch_id, number FROM batches WHERE task = ? AND state = ? ORDER BY batch_id",
            *(self._task(task_id), state),
        )

    # closing ------------------------------------------------------------------------------------------------------

    def _close(self, transaction: Transaction, task: int, users: int, *, state: str = CLOSED) -> bytes | None:
        transaction.lock(f"batches {task}")
        if self._waiting(transaction, task) < users:
            return None
        batch_id = secrets.token_bytes(BATCH_ID_BYTES)
        chosen = transaction.run(
            "INSERT INTO members (batch_id, place) SELECT ?, place FROM waiting WHERE task = ? ORDER BY place LIMIT ?",
            *(batch_id, task, users),
        )
        moved = transaction.run(
            "DELETE FROM waiting WHERE task = ? AND place IN (SELECT place FROM members WHERE batch_id = ?)",
            *(task, batch_id),
        )
        if not chosen == moved == users:
            raise DataError("the counters of the store do not match its reports: it is damaged; make new tasks")
        self._count(transaction, task, waiting=-users)
        transaction.insert("batches", _COLUMNS, [(batch_id, task, state, users, 0, 0, 0)])
        return batch_id

    def _onions(self, batch_id: bytes, *, people: int) -> Iterator[bytes]:
        """Read each block in its own transaction, so that a reader blocks no writer; check the total at the end."""
        place, reports = -1, _FIRST_REPORTS
        while True:
            with self._database.reading() as transaction:
                places = self._members(transaction, batch_id, after=place, most=reports)
                rows = transaction.rows_among("SELECT onions FROM onions WHERE place {keys}", places)
            if not places:
                break
            place, people = places[-1], people - len(rows)
            block = b"".join(content for (content,) in rows)
            reports = max(1, min(2 * reports, reports * BLOCK // max(1, len(block))))
            yield block
        if people:
            raise DataError("a batch was mixed by another process while it was read: use the batch of that process")

    @staticmethod
    def _members(transaction: Transaction, batch_id: bytes, *, after: int, most: int) -> list[int]:
        rows = transaction.rows(
            "SELECT place FROM members WHERE batch_id = ? AND place > ? ORDER BY place LIMIT ?", batch_id, after, most
        )
        return [int(place) for (place,) in rows]

    # drafts -------------------------------------------------------------------------------------------------------

    def _write_draft(self, batch_id: bytes, blocks: Iterable[bytes]) -> tuple[bytes, int] | None:
        """Write a draft of a batch; return its random name and number of pieces, or None if the batch is stored."""
        draft, pieces = secrets.token_bytes(BATCH_ID_BYTES), 0
        self._delete_abandoned_drafts(batch_id)
        with self._database.writing() as transaction:
            _lock_drafts(transaction, batch_id)
            if self._state(transaction, batch_id) not in (None, CLOSED):
                return None
            transaction.insert("drafts", ("batch_id", "draft"), [(batch_id, draft)])
        try:
            for piece in in_blocks(blocks, BLOCK):
                with self._database.writing() as transaction:
                    _lock_drafts(transaction, batch_id)
                    if not self._has_draft(transaction, batch_id, draft):
                        break  # another process has stored the batch and deleted the other drafts
                    transaction.insert("pieces", ("draft", "piece", "bytes"), [(draft, pieces, piece)])
                pieces += 1
        except BaseException:
            with suppress(DataError):  # the same failure may prevent this too; then it is deleted later
                self._delete_draft(batch_id, draft)
            raise
        return draft, pieces

    def _keep_draft(
        self, transaction: Transaction, task: int, batch_id: bytes, *, draft: bytes, pieces: int, number: int
    ) -> bool:
        """Make a draft the batch, unless the batch is stored; return whether it did."""
        _lock_drafts(transaction, batch_id)
        state = self._state(transaction, batch_id)
        if state not in (None, CLOSED):
            return False
        ((written,),) = transaction.rows("SELECT COUNT(*) FROM pieces WHERE draft = ?", draft)
        if written != pieces or not self._has_draft(transaction, batch_id, draft):
            raise ConflictError("a mixed batch was deleted while it was written: mix it again")
        if state is None:  # from the shuffler before this one
            row = (batch_id, task, MIXED, 0, number, pieces, 0, draft)
            transaction.insert("batches", (*_COLUMNS, "draft"), [row])
        else:
            transaction.run(
                "UPDATE batches SET state = ?, number = ?, draft = ?, pieces = ? WHERE batch_id = ?",
                *(MIXED, number, draft, pieces, batch_id),
            )
        return True

    @staticmethod
    def _has_draft(transaction: Transaction, batch_id: bytes, draft: bytes) -> bool:
        return bool(transaction.rows("SELECT 1 FROM drafts WHERE batch_id = ? AND draft = ?", batch_id, draft))

    def _pieces(self, draft: bytes, pieces: int) -> Iterator[bytes]:
        for piece in range(pieces):
            found = self._rows("SELECT bytes FROM pieces WHERE draft = ? AND piece = ?", draft, piece)
            if not found:
                raise DataError("a batch was acknowledged while it was read: the bytes read are incomplete")
            yield bytes(found[0][0])

    # deleting -----------------------------------------------------------------------------------------------------
    # A closed batch needs the onions of its reports, a mixed one its pieces, an acknowledged one nothing. A process
    # that is killed leaves a batch that is not marked as tidy; `prepare` continues with it.

    def _tidy_all(self, *tasks: int) -> None:
        with self._database.reading() as transaction:
            left = transaction.rows_among(
                "SELECT batch_id FROM batches WHERE tidy = 0 AND state <> ? AND task {keys}", tasks, CLOSED
            )
        for (batch_id,) in left:
            self._tidy(batch_id)

    def _tidy(self, batch_id: bytes) -> None:
        place: int | None = -1
        while place is not None:
            place = self._delete_reports(batch_id, after=place)
        while not self._delete_drafts(batch_id):
            pass
        self._database.forget("onions", "waiting", "members", "drafts", "pieces")

    def _delete_draft(self, batch_id: bytes, draft: bytes) -> None:
        """Delete a draft, unless it has become the batch."""
        done = False
        while not done:
            with self._database.writing() as transaction:
                _lock_drafts(transaction, batch_id)
                kept = transaction.rows("SELECT 1 FROM batches WHERE batch_id = ? AND draft = ?", batch_id, draft)
                done = bool(kept) or self._delete_pieces(transaction, batch_id, draft)

    def _delete_abandoned_drafts(self, batch_id: bytes) -> None:
        """Delete all drafts of a batch if there are many: one or two may belong to running processes."""
        drafts = self._rows("SELECT draft FROM drafts WHERE batch_id = ?", batch_id)
        if len(drafts) >= _MOST_DRAFTS:
            for (draft,) in drafts:
                self._delete_draft(batch_id, draft)

    def _delete_reports(self, batch_id: bytes, *, after: int) -> int | None:
        """Delete some of a batch's reports; return their last place, or None if there were no more."""
        # in the order of places, so that PostgreSQL need not skip rows that were deleted before
        with self._database.writing() as transaction:
            _lock_drafts(transaction, batch_id)
            if self._untidy(transaction, batch_id) is None:
                return None
            places = self._members(transaction, batch_id, after=after, most=_REPORTS)
            transaction.run_among("DELETE FROM onions WHERE place {keys}", places)
            transaction.run_among("DELETE FROM members WHERE batch_id = ? AND place {keys}", places, batch_id)
        return places[-1] if places else None

    def _delete_drafts(self, batch_id: bytes) -> bool:
        """Delete some of the drafts that a batch does not need, or mark it as tidy; return whether it is finished."""
        with self._database.writing() as transaction:
            _lock_drafts(transaction, batch_id)
            found = self._untidy(transaction, batch_id)
            if found is None:
                return True
            state, kept = found
            rows = transaction.rows("SELECT draft FROM drafts WHERE batch_id = ?", batch_id)
            unneeded = [draft for (draft,) in rows if not (state == MIXED and draft == kept)]
            if unneeded:
                self._delete_pieces(transaction, batch_id, unneeded[0])
            elif state == DROPPED:
                transaction.run("DELETE FROM batches WHERE batch_id = ?", batch_id)
            else:
                transaction.run("UPDATE batches SET tidy = 1 WHERE batch_id = ?", batch_id)
            return not unneeded

    @staticmethod
    def _untidy(transaction: Transaction, batch_id: bytes) -> tuple[str, bytes | None] | None:
        """State and stored draft of a batch with rows to delete; None if it is tidy, or still needs everything."""
        rows = transaction.rows(
            "SELECT state, draft FROM batches WHERE batch_id = ? AND tidy = 0 AND state <> ?", batch_id, CLOSED
        )
        return rows[0] if rows else None

    @staticmethod
    def _delete_pieces(transaction: Transaction, batch_id: bytes, draft: bytes) -> bool:
        """Delete some pieces of a draft, or the draft itself if it has none; return whether it is finished."""
        deleted = transaction.run(
            "DELETE FROM pieces WHERE draft = ? AND piece IN (SELECT piece FROM pieces WHERE draft = ? LIMIT ?)",
            *(draft, draft, _PIECES),
        )
        if deleted:
            return False
        transaction.run("DELETE FROM drafts WHERE batch_id = ? AND draft = ?", batch_id, draft)
        return True


def _lock_drafts(transaction: Transaction, batch_id: bytes) -> None:
    transaction.lock(f"drafts {batch_id.hex()}")
