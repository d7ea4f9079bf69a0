"""The database interface of the stores: durable transactions with a few methods, and a connection pool.

Statements are written once, in the SQL that SQLite and PostgreSQL share, with `?` for a value. Where a column may equal
any of many keys, `{keys}` follows its name.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from shuffledp.collect.store.schema import Schema
from shuffledp.errors import DataError, ParameterError

Value = bytes | int | str | None
Row = tuple[Any, ...]
Connection = TypeVar("Connection")

PATIENCE = 60.0
"""Seconds to wait for another process: closing a batch of a million reports takes a few."""


class Fault(StrEnum):
    """Why a store cannot be used: a stable name for health, metrics and logs."""

    DISK_FULL = "disk-full"
    INPUT_OUTPUT = "input-output-error"
    NOT_WRITABLE = "not-writable"
    IN_USE = "in-use"
    UNREACHABLE = "unreachable"
    DAMAGED = "damaged"
    UNKNOWN = "unknown-error"

    @property
    def meaning(self) -> str:
        """The failure as part of a sentence."""
        return _FAULTS[self]


_FAULTS = {
    Fault.DISK_FULL: "the disk of the store is full",
    Fault.INPUT_OUTPUT: "the disk of the store cannot be written, and may be full",
    Fault.NOT_WRITABLE: "the store is read-only",
    Fault.IN_USE: "another process used the store for too long",
    Fault.UNREACHABLE: "the database cannot be reached",
    Fault.DAMAGED: "the store is damaged",
    Fault.UNKNOWN: "the store failed",
}


class StoreError(DataError):
    """A store cannot be used; the message has a hint, `fault` is the kind of failure."""

    def __init__(self, message: str, fault: Fault = Fault.UNKNOWN) -> None:
        super().__init__(message)
        self.fault = fault


def fault_of(error: BaseException | None) -> Fault:
    """The kind of failure that an error of a store stands for."""
    return error.fault if isinstance(error, StoreError) else Fault.UNKNOWN


class ConflictError(DataError):
    """Another process made a conflicting change at the same moment; this transaction was undone. Repeat it."""


class Transaction(Protocol):
    """The statements of one transaction."""

    def run(self, statement: str, *values: Value) -> int:
        """Change rows and return how many."""

    def rows(self, statement: str, *values: Value) -> list[Row]:
        """Return the rows of a query."""

    def run_among(self, statement: str, keys: Sequence[Value], *values: Value) -> int:
        """Change the rows whose `column {keys}`, at the end of the statement, is one of the keys; return how many."""

    def rows_among(self, statement: str, keys: Sequence[Value], *values: Value) -> list[Row]:
        """Return the rows of a query whose `column {keys}`, at its end, is one of the keys."""

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> int:
        """Add rows, skipping those whose key exists; return how many were added."""

    def lock(self, name: str, *, shared: bool = False) -> None:
        """Hold a named lock until the transaction ends; shared locks exclude only exclusive ones."""


class Database(ABC):
    """A database with the tables of one schema, for many threads and processes at once."""

    _pool: Pool[Any]
    _notice: Callable[[StoreError], None] | None = None

    def __init__(self, schema: Schema, patience: float) -> None:
        self._schema, self._patience = schema, patience

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """Run one transaction: durable when the block ends, undone if the block fails."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """Run queries on one consistent snapshot, while others may write."""

    @abstractmethod
    def forget(self, *tables: str) -> None:
        """Remove rows deleted from these tables from the disk too, as far as the database can."""

    @abstractmethod
    def check_usable(self) -> None:
        """Raise an error if writing is bound to fail, as far as that can be seen without a commit.

        Commits at known times would be a clock beside the reports in the log of the database.
        """

    @abstractmethod
    def check_writable(self) -> None:
        """Commit a change that changes nothing; raise an error if that is impossible."""

    def watch(self, failed: Callable[[StoreError], None]) -> None:
        """Call this with every later failure, whatever was read or written."""
        self._notice = failed

    def _noticed(self, error: StoreError) -> StoreError:
        if self._notice is not None:
            self._notice(error)
        return error

    def _check_version(self, version: int, store: str, *, other: str) -> None:
        if not 1 <= version <= self._schema.version:
            raise DataError(
                f"the store {store} was made by another version of shuffledp (format {version}; this one knows "
                f"{self._schema.version}): use that version until its tasks are closed, or give another {other}"
            )

    @property
    def version(self) -> int:
        """The version of the tables, which opening the store has brought up to date."""
        return self._schema.version

    @property
    def file(self) -> Path | None:
        """The file of the database; None if it is elsewhere."""
        return None

    def close(self) -> None:
        """Close all connections, those in use when their transaction ends."""
        self._pool.close()


class Pool(Generic[Connection]):
    """Idle connections; a forked process makes its own.

    `lost` are the errors by which an idle connection shows that it is broken.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        end: Callable[[Connection], None],
        lost: tuple[type[Exception], ...] = (),
    ) -> None:
        self._connect, self._end, self._lost = connect, end, lost
        self._idle: list[Connection] = []
        self._process = os.getpid()
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def borrowed(self, begin: Callable[[Connection], object] = lambda _: None) -> Iterator[Connection]:
        """Lend a connection on which `begin` has succeeded; after any error the connection is closed."""
        connection = self._begun(begin)
        try:
            yield connection
        except BaseException:
            self._end(connection)
            raise
        self._give_back(connection)

    def close(self) -> None:
        """Close idle connections now and the others when their transaction ends."""
        with self._guard:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            self._end(connection)

    def _begun(self, begin: Callable[[Connection], object]) -> Connection:
        while idle := self._take():
            try:
                begin(idle)
                return idle
            except self._lost:  # other idle connections may be lost too; only a new one shows whether the server is up
                self._end(idle)
        connection = self._connect()
        try:
            begin(connection)
        except BaseException:
            self._end(connection)
            raise
        return connection

    def _take(self) -> Connection | None:
        with self._guard:
            if self._closed:
                raise ParameterError("the store is closed: open it again to use it")
            if self._process != os.getpid():
                # kept, not closed: closing would end the session of the parent process
                self._inherited, self._idle, self._process = self._idle, [], os.getpid()
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection) -> None:
        with self._guard:
            if not self._closed:
                self._idle.append(connection)
                return
        self._end(connection)
