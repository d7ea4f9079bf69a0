"""Tasks that operators have added, closed early or removed: the same for all processes and machines of a server.

A file is the canonical bytes of a task or a series, under its id. A file that a server was started with is stored once
an operator changes it. A closed file is never served again, and a removed one stays known, so that a restart with the
same options does not bring it back.
"""

from __future__ import annotations

from enum import StrEnum

from shuffledp.collect.store.database import Database


class FileState(StrEnum):
    """The state of a task or series file."""

    SERVED = "served"  # as its opening hours say
    CLOSED = "closed"  # closed early: no report is accepted any more
    REMOVED = "removed"  # closed, and no longer listed


class AdministeredFiles:
    """The files of tasks and series in a store; every method is idempotent."""

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
