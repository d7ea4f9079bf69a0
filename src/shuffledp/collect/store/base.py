"""What both stores have: a memory of ciphertexts, and the tasks that operators have added, closed early or removed."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.crypto.batch import FINGERPRINT_BYTES, new_secret
from shuffledp.collect.store.database import ConflictError, Database, Row, Transaction, Value
from shuffledp.collect.task import Task
from shuffledp.errors import DataError

Fingerprints = NDArray[np.uint8]

_AT_ONCE = 10_000
"""Fingerprints in one statement."""

_DELETED = b""
"""Stands for a secret that was destroyed."""


class Store(ABC):
    """What both stores have; safe for several threads and processes at once."""

    def __init__(self, database: Database) -> None:
        self._database, self.memories, self.files = database, Memories(database), AdministeredFiles(database)

    @abstractmethod
    def prepare(self, *tasks: Task) -> None:
        """Register tasks in one transaction; idempotent."""

    @property
    def database(self) -> Database:
        """The database, for checks of its health."""
        return self._database

    def close(self) -> None:
        """Close the connections; the store cannot be used afterwards."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, statement: str, *values: Value) -> list[Row]:
        """The rows of one query."""
        with self._database.reading() as transaction:
            return transaction.rows(statement, *values)


class Memories:
    """Fingerprints of all ciphertexts of a task that were accepted, in whatever batch.

    The fingerprints of a batch are added in the transaction that makes its result durable. So a batch that is processed
    again after a kill never finds its own fingerprints: either it is stored, or nothing of it is. Of two batches with
    the same ciphertext that are processed at the same moment, one fails with a conflict and is screened again.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, task_id: bytes) -> Memory:
        """Return the memory of a task; the first call makes its secret."""
        find = "SELECT task, secret FROM fingerprint_keys WHERE task_id = ?"
        with self._database.reading() as transaction:
            found = transaction.rows(find, task_id)
        if not found:
            with self._database.writing() as transaction:
                transaction.lock("fingerprint keys")
                ((last,),) = transaction.rows("SELECT COALESCE(MAX(task), 0) FROM fingerprint_keys")
                row = (task_id, int(last) + 1, new_secret())
                transaction.insert("fingerprint_keys", ("task_id", "task", "secret"), [row])
                found = transaction.rows(find, task_id)
        ((number, secret),) = found
        if secret == _DELETED:
            raise _deleted()
        return Memory(self._database, number, secret)

    def delete(self, task_id: bytes) -> int:
        """Delete the fingerprints of a task, first of all their secret, and return their number; idempotent.

        The store accepts no batch of the task afterwards.
        """
        with self._database.writing() as transaction:
            rows = transaction.rows("SELECT task FROM fingerprint_keys WHERE task_id = ?", task_id)
            if not rows:
                return 0
            ((number,),) = rows
            transaction.lock(f"fingerprints {number}")
            transaction.run("UPDATE fingerprint_keys SET secret = ? WHERE task = ?", _DELETED, number)
        deleted, last = 0, 1
        while last:
            with self._database.writing() as transaction:
                last = transaction.run(
                    "DELETE FROM fingerprints WHERE task = ? AND fingerprint IN "
                    "(SELECT fingerprint FROM fingerprints WHERE task = ? ORDER BY fingerprint LIMIT ?)",
                    *(number, number, _AT_ONCE),
                )
            deleted += last
        self._database.forget("fingerprint_keys", "fingerprints")
        return deleted


class Memory:
    """The fingerprints of one task, and the secret with which they are made."""

    def __init__(self, database: Database, number: int, secret: bytes) -> None:
        self._database, self._number, self.secret = database, number, secret

    def known(self, fingerprints: Fingerprints) -> NDArray[np.bool_]:
        """Return which of these fingerprints are in the memory."""
        found = np.zeros(len(fingerprints), dtype=np.bool_)
        for at, keys in _sorted(fingerprints):
            with self._database.reading() as transaction:
                rows = transaction.rows_among(
                    "SELECT fingerprint FROM fingerprints WHERE task = ? AND fingerprint {keys}", keys, self._number
                )
            if rows:
                seen = {fingerprint for (fingerprint,) in rows}
                found[at] = [key in seen for key in keys]
        return found

    def add(self, transaction: Transaction, fingerprints: Fingerprints) -> None:
        """Add new fingerprints; fail with a conflict if one of them was added since it was looked up."""
        transaction.lock(f"fingerprints {self._number}", shared=True)
        ((secret,),) = transaction.rows("SELECT secret FROM fingerprint_keys WHERE task = ?", self._number)
        if secret != self.secret:
            raise _deleted()
        for _, keys in _sorted(fingerprints):  # always in one order: no deadlocks
            rows = [(self._number, key) for key in keys]
            if transaction.insert("fingerprints", ("task", "fingerprint"), rows) != len(rows):
                raise ConflictError("another batch with the same ciphertexts was accepted at this moment: try again")


def _sorted(fingerprints: Fingerprints) -> Iterator[tuple[NDArray[np.int64], list[bytes]]]:
    """Yield fingerprints in portions, in the order of their first eight bytes, with their positions.

    Nothing but speed depends on the order: each page of the table is read and written once.
    """
    starts = fingerprints[:, :8].copy().view(np.uint64)[:, 0]  # a copy even of a single row: its bytes are swapped
    if sys.byteorder == "little":
        starts.byteswap(inplace=True)
    order = np.argsort(starts)
    del starts
    for first in range(0, len(order), _AT_ONCE):
        at = order[first : first + _AT_ONCE]
        yield at, np.ascontiguousarray(fingerprints[at]).view(f"V{FINGERPRINT_BYTES}")[:, 0].tolist()


def _deleted() -> DataError:
    return DataError("the fingerprints of this task were deleted with its key: no batch of it is accepted any more")


class FileState(StrEnum):
    """The state of a task or series file."""

    SERVED = "served"  # as its opening hours say
    CLOSED = "closed"  # closed early: no report is accepted any more
    REMOVED = "removed"  # closed, and no longer listed


class AdministeredFiles:
    """The files that operators have added, closed early or removed; every method is idempotent.

    A file is the canonical bytes of a task or a series, under its id. A closed file is never served again, and a
    removed one stays known, so that a restart with the same options does not bring it back.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def states(self) -> dict[bytes, FileState]:
        """Return the state of every file, by its id."""
        with self._database.reading() as transaction:
            return {bytes(key): FileState(state) for key, state in transaction.rows("SELECT id, state FROM files")}

    def content(self, file_id: bytes) -> bytes:
        """Return the canonical bytes of a file."""
        with self._database.reading() as transaction:
            ((content,),) = transaction.rows("SELECT content FROM files WHERE id = ?", file_id)
        return bytes(content)

    def add(self, file_id: bytes, content: bytes) -> None:
        """Serve a file. A closed one stays closed; a removed one is listed again, and stays closed."""
        with self._database.writing() as transaction:
            transaction.lock("files")
            transaction.insert("files", ("id", "state", "content"), [(file_id, FileState.SERVED.value, content)])
            transaction.run(
                "UPDATE files SET state = ? WHERE id = ? AND state = ?",
                *(FileState.CLOSED.value, file_id, FileState.REMOVED.value),
            )

    def close(self, file_id: bytes, content: bytes) -> bool:
        """Close a file early; return whether it was served before."""
        return self._change(file_id, content, FileState.CLOSED, before=(FileState.SERVED,))

    def remove(self, file_id: bytes, content: bytes) -> bool:
        """Remove a file; return whether it was listed before."""
        return self._change(file_id, content, FileState.REMOVED, before=(FileState.SERVED, FileState.CLOSED))

    def _change(self, file_id: bytes, content: bytes, to: FileState, *, before: tuple[FileState, ...]) -> bool:
        with self._database.writing() as transaction:
            transaction.lock("files")
            if transaction.insert("files", ("id", "state", "content"), [(file_id, to.value, content)]):
                return True
            ((state,),) = transaction.rows("SELECT state FROM files WHERE id = ?", file_id)
            if state not in before:
                return False
            return transaction.run("UPDATE files SET state = ? WHERE id = ?", to.value, file_id) > 0
