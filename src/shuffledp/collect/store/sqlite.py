"""A store in one SQLite file: the default, for any number of threads and processes on one machine.

A transaction is on the disk when it ends (write-ahead log, synchronous=FULL). Deleted rows are overwritten
(secure_delete), and `forget` empties the log, which would otherwise hold them until the last connection is closed.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from shuffledp.collect.store.database import PATIENCE, Database, Fault, Pool, Row, StoreError, Transaction, Value
from shuffledp.collect.store.schema import Schema
from shuffledp.errors import DataError

_MOST_KEYS = 10_000
"""Keys in one statement: SQLite allows 32766 values."""

_PAGES_BEFORE_A_CHECKPOINT = 8_000
"""32 MB of log: eight times SQLite's default, so that fewer commits wait for the pages to be copied."""

_LEAST_SPACE = 1 << 17
"""Bytes that SQLite needs to open a store: its log, and the index of its log."""

_FAULTS = {
    errno.ENOSPC: Fault.DISK_FULL,
    errno.EDQUOT: Fault.DISK_FULL,
    errno.EROFS: Fault.NOT_WRITABLE,
    errno.EACCES: Fault.NOT_WRITABLE,
    errno.EPERM: Fault.NOT_WRITABLE,
}

_MILLISECONDS_FOR_OTHERS = 500
"""How long to wait for others before the log is emptied: their transactions are shorter, and there is a next time."""


class SQLiteDatabase(Database):
    """The file at `path`; a new one is readable by its owner only."""

    def __init__(self, path: Path, schema: Schema, *, patience: float = PATIENCE) -> None:
        super().__init__(schema, patience)
        self._path = path
        self._pool = Pool(self._connected, sqlite3.Connection.close)
        # threads of one process queue here, since SQLite's own waiting sleeps for up to 0.1 s
        self._write_lock = threading.Lock()
        self._forgets = False
        try:
            self._make()
            self.forget()  # rows that a killed process had deleted, but not yet removed from the disk
        except BaseException:
            self.close()
            raise

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Run one transaction with the exclusive right to write."""
        if not self._write_lock.acquire(timeout=self._patience):
            raise self._noticed(self._busy())
        try:
            # immediate: two transactions must not read the same rows before they write
            with self._transaction("BEGIN IMMEDIATE") as transaction:
                yield transaction
        finally:
            self._write_lock.release()
        if self._forgets:
            with suppress(DataError):  # the change is committed; this is tried again after the next one
                self._empty_the_log(wait=0)  # adding a report should not wait for this

    def reading(self) -> AbstractContextManager[Transaction]:
        """Run queries on one snapshot, while others may write."""
        return self._transaction("BEGIN")

    def forget(self, *_: str) -> None:
        """Copy the log into the file and empty it; if others use it, that happens after the next change."""
        self._empty_the_log(wait=_MILLISECONDS_FOR_OTHERS)

    def _empty_the_log(self, *, wait: int) -> None:
        with self._write_lock, self._explained(), self._pool.borrowed() as connection:
            connection.execute(f"PRAGMA busy_timeout = {wait}")
            try:
                ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.OperationalError as error:
                if _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise
                busy = 1
            self._forgets = bool(busy)
            connection.execute(f"PRAGMA busy_timeout = {round(self._patience * 1000)}")

    def check_usable(self) -> None:
        """Take the right to write, and write a nameless file beside the store."""
        with self.writing():
            pass
        try:
            with tempfile.TemporaryFile(dir=self._path.absolute().parent) as file:
                file.write(bytes(_LEAST_SPACE))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            fault = _FAULTS.get(error.errno or 0, Fault.INPUT_OUTPUT)
            failure = StoreError(f"cannot write beside the store {self._path}: {fault.meaning}", fault)
            raise self._noticed(failure) from None

    def check_writable(self) -> None:
        """Commit the page with the version, unchanged: a newer process may have upgraded the tables meanwhile."""
        with self.writing() as transaction:
            ((version,),) = transaction.rows("PRAGMA user_version")
            transaction.run(f"PRAGMA user_version = {version}")

    @property
    def file(self) -> Path:
        """The file of the database."""
        return self._path

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        with self._explained(), self._pool.borrowed(lambda connection: connection.execute(begin)) as connection:
            try:
                yield _SQLiteTransaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):  # the pool closes the connection anyway, which ends the transaction
                        connection.execute("ROLLBACK")
                raise

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self._path.absolute()))}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=self._patience,
            check_same_thread=False,  # the pool lends a connection to one thread at a time
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")  # no temporary files with data of reports
        connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_BEFORE_A_CHECKPOINT}")
        return connection

    def _make(self) -> None:
        """Create the file and its tables if needed, and check that they are of this schema."""
        if self._path.is_dir():
            raise DataError(f"{self._path} is a folder: give a file, such as {self._path / 'store.db'}")
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise DataError(f"cannot make or write the store {self._path}: {error.strerror}") from None
        _check_owner_only(*(self._path.with_name(self._path.name + end) for end in ("-wal", "-shm")))
        with self.writing() as transaction:
            version, new = self._version(transaction), self._schema
            if version < new.version:
                small = [*(new.tables if version == 0 else ()), *new.tables_since(version)]
                wide = new.wide_tables if version == 0 else ()
                # in both kinds rows are stored in the order of their keys, never in the order of arrival
                for table in (*(f"{each} WITHOUT ROWID" for each in small), *wide):
                    transaction.run(table.replace("BIGINT", "INTEGER"))
                transaction.run(f"PRAGMA application_id = {new.application}")
                transaction.run(f"PRAGMA user_version = {new.version}")
        _check_owner_only(self._path)  # after the check of the schema: do not ask to change the mode of another file
        self._turn_on_wal()

    def _turn_on_wal(self) -> None:
        """Turn the write-ahead log on, for which SQLite needs the file alone and does not wait by itself."""
        last = time.monotonic() + self._patience
        with self._explained(), self._pool.borrowed() as connection:
            while True:
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    return
                except sqlite3.OperationalError as error:
                    if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                        raise
                    time.sleep(0.01)

    def _version(self, transaction: Transaction) -> int:
        """The version of the tables; 0 if the file is empty, an error if it is of another schema or a later version."""
        ((application,),), ((version,),), ((tables,),) = (
            transaction.rows(query)
            for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT COUNT(*) FROM sqlite_master")
        )
        if (application, version, tables) == (0, 0, 0):
            return 0
        if application != self._schema.application:
            raise DataError(f"{self._path} is not the store of {self._schema.kind}: give another file")
        self._check_version(version, str(self._path), other="file")
        return int(version)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn every failure of SQLite into an error with a hint and without any content of the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._noticed(self._explanation(error)) from None

    def _explanation(self, error: sqlite3.Error) -> StoreError:
        code = _code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return self._busy()
        if code == sqlite3.SQLITE_NOTADB:
            return StoreError(f"{self._path} is not a store but another kind of file: give another file", Fault.DAMAGED)
        if code == sqlite3.SQLITE_CORRUPT:
            return StoreError(
                f"the store {self._path} is damaged: make new tasks and a new store for them. With an older copy or an "
                "empty store, reports that are in a batch already would be counted again",
                Fault.DAMAGED,
            )
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR) or (code == sqlite3.SQLITE_CANTOPEN and self._full()):
            return StoreError(
                f"cannot write the store {self._path}: is the disk full? Acknowledged reports are safe; try again",
                Fault.DISK_FULL if code == sqlite3.SQLITE_FULL or self._full() else Fault.INPUT_OUTPUT,
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return StoreError(
                f"cannot write the store {self._path}, or cannot create files beside it: both are needed",
                Fault.NOT_WRITABLE,
            )
        return StoreError(f"the store {self._path} cannot be used: {getattr(error, 'sqlite_errorname', 'unknown')}")

    def _full(self) -> bool:
        """Whether SQLite cannot even create its log, whatever error it reports."""
        with suppress(OSError):
            return shutil.disk_usage(self._path.absolute().parent).free < _LEAST_SPACE
        return False

    def _busy(self) -> StoreError:
        return StoreError(
            f"the store {self._path} was in use for {self._patience:g} seconds: nothing was changed; try again later",
            Fault.IN_USE,
        )


class _SQLiteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, *values: Value) -> int:
        return self._connection.execute(statement, values).rowcount

    def rows(self, statement: str, *values: Value) -> list[Row]:
        return self._connection.execute(statement, values).fetchall()

    def run_among(self, statement: str, keys: Sequence[Value], *values: Value) -> int:
        return sum(self.run(_with_keys(statement, some), *values, *some) for some in _portions(keys))

    def rows_among(self, statement: str, keys: Sequence[Value], *values: Value) -> list[Row]:
        return [row for some in _portions(keys) for row in self.rows(_with_keys(statement, some), *values, *some)]

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> int:
        places = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places}) ON CONFLICT DO NOTHING"
        return self._connection.executemany(statement, rows).rowcount if rows else 0

    def lock(self, name: str, *, shared: bool = False) -> None:
        """Do nothing: there is only one writing transaction at a time."""


def _check_owner_only(*paths: Path) -> None:
    """Refuse files that other users may read or write."""
    for path in paths:
        try:
            others = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        except FileNotFoundError:  # SQLite creates its log files with the mode of the store
            continue
        if os.name == "posix" and others:
            raise DataError(f"other users may read or write the store {path}: run chmod 600 {path}")


def _portions(keys: Sequence[Value]) -> Iterator[Sequence[Value]]:
    return (keys[at : at + _MOST_KEYS] for at in range(0, len(keys), _MOST_KEYS))


def _with_keys(statement: str, keys: Sequence[Value]) -> str:
    return statement.format(keys=f"IN ({', '.join('?' * len(keys))})")


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details in the higher bits
