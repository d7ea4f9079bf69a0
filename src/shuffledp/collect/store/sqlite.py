"""A store in one SQLite file: the embedded default, for any number of threads and processes of one machine.

A transaction is on the disk when it ends (write-ahead log, synchronous=FULL). What is deleted is overwritten
(secure_delete), and `forget` empties the log, which would otherwise still hold it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from shuffledp.collect.store.database import PATIENCE, Pool, Row, Schema, Transaction, Value
from shuffledp.errors import DataError

_MOST_KEYS = 10_000
"""Keys in one statement: SQLite takes 32766 values."""

_PAGES_BEFORE_A_CHECKPOINT = 8_000
"""32 MB of log: four times SQLite's own choice, so that fewer commits wait for the pages to be copied."""


_MILLISECONDS_FOR_OTHERS = 500
"""To wait before the log is emptied: they read and write for less at a time, and there is a next opportunity."""


class SQLiteDatabase:
    """The file at `path`, which is made, readable by its owner only, unless it is there."""

    def __init__(self, path: Path, schema: Schema, *, patience: float = PATIENCE) -> None:
        self._path, self._schema, self._patience = path, schema, patience
        self._pool = Pool(self._connected, sqlite3.Connection.close)
        # threads of one process queue here, since SQLite lets those who wait sleep for up to a tenth of a second
        self._writing = threading.Lock()
        self._forgets = False
        try:
            self._make()
            self.forget()  # what a process that was killed had deleted, but not yet taken off the disk
        except BaseException:
            self.close()
            raise

    @contextmanager
    def changing(self) -> Iterator[Transaction]:
        """One transaction that nobody else can change the file during."""
        if not self._writing.acquire(timeout=self._patience):
            raise self._busy()
        try:
            # immediate: who reads in order to write must not read the same as somebody else
            with self._transaction("BEGIN IMMEDIATE") as transaction:
                yield transaction
        finally:
            self._writing.release()
        if self._forgets:
            with suppress(DataError):  # the change is made, and what failed is tried again after the next
                self._empty_the_log(wait=0)  # nobody who adds a report should wait for that

    @contextmanager
    def estimator(self) -> Iterator[Transaction]:
        """One view of the file, which others may go on changing."""
        with self._transaction("BEGIN") as transaction:
            yield transaction

    def forget(self, *_: str) -> None:
        """Copies the log into the file and empties it; if others use it all the time, after the next change."""
        self._empty_the_log(wait=_MILLISECONDS_FOR_OTHERS)

    def _empty_the_log(self, *, wait: int) -> None:
        with self._writing, self._explained(), self._pool.borrowed() as connection:
            connection.execute(f"PRAGMA busy_timeout = {wait}")
            try:
                ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.OperationalError as error:
                if _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise
                busy = 1
            self._forgets = bool(busy)
            connection.execute(f"PRAGMA busy_timeout = {round(self._patience * 1000)}")

    def close(self) -> None:
        """Ends all connections; the last one of all processes takes the log away."""
        self._pool.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        with self._explained(), self._pool.borrowed(lambda connection: connection.execute(begin)) as connection:
            try:
                yield _SQLiteTransaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):  # the connection is ended anyway, and with it the transaction
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
        connection.execute("PRAGMA temp_store = MEMORY")  # nothing of a report in files beside this one
        connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_BEFORE_A_CHECKPOINT}")
        return connection

    def _make(self) -> None:
        """Makes the file and its tables unless they are there, and looks at whose they are."""
        if self._path.is_dir():
            raise DataError(f"{self._path} is a folder: a store is a file, such as {self._path / 'store.db'}")
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise DataError(f"cannot make or write the store {self._path}: {error.strerror}") from None
        _check_owner_only(*(self._path.with_name(self._path.name + end) for end in ("-wal", "-shm")))
        with self.changing() as transaction:
            if not self._is_ours(transaction):
                # in both the order of rows is that of their keys; without the second word it would be that of arrival
                for table in (*(f"{small} WITHOUT ROWID" for small in self._schema.tables), *self._schema.wide_tables):
                    transaction.run(table.replace("BIGINT", "INTEGER"))
                transaction.run(f"PRAGMA application_id = {self._schema.application}")
                transaction.run(f"PRAGMA user_version = {self._schema.version}")
        _check_owner_only(self._path)  # after the look at whose it is: nobody should change the mode of another file
        self._keep_a_log()

    def _keep_a_log(self) -> None:
        """Turns the write-ahead log on, for which nobody else may be using the file: SQLite does not wait for that."""
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

    def _is_ours(self, transaction: Transaction) -> bool:
        """Whether the tables are there; False if nothing is in the file, and an error if something else is."""
        ((application,),), ((version,),), ((tables,),) = (
            transaction.rows(query)
            for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT COUNT(*) FROM sqlite_master")
        )
        if (application, version, tables) == (0, 0, 0):
            return False
        if application != self._schema.application:
            raise DataError(f"{self._path} is not the store of {self._schema.kind}: give another file")
        if version != self._schema.version:
            raise DataError(
                f"the store {self._path} was made by another version of shuffledp (format {version}; this one knows "
                f"{self._schema.version}): use that version until its tasks are closed, or give another file"
            )
        return True

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Every failure of SQLite as an error that says what to do, and nothing of what is in the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._explanation(error) from None

    def _explanation(self, error: sqlite3.Error) -> DataError:
        code = _code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return self._busy()
        if code == sqlite3.SQLITE_NOTADB:
            return DataError(f"{self._path} is not a store, but another kind of file: give another file")
        if code == sqlite3.SQLITE_CORRUPT:
            return DataError(
                f"the store {self._path} is damaged: make new tasks and a new store for them. In an older copy, or an "
                "empty store, reports that were in a batch already would be counted again"
            )
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            return DataError(
                f"cannot write the store {self._path}: is the disk full? What was acknowledged is kept; try again"
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return DataError(f"cannot write the store {self._path}, or cannot make files beside it: it needs both")
        return DataError(f"the store {self._path} cannot be used: {getattr(error, 'sqlite_errorname', 'unknown')}")

    def _busy(self) -> DataError:
        return DataError(
            f"the store {self._path} was in use for {self._patience:g} seconds: nothing was changed; try again later"
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
        """Nothing to do: a transaction that changes the file is alone with it."""


def _check_owner_only(*paths: Path) -> None:
    """Refuses files that others could read reports from, or write their own into."""
    for path in paths:
        try:
            others = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        except FileNotFoundError:  # SQLite makes those of its log with the mode of the store
            continue
        if os.name == "posix" and others:
            raise DataError(f"others may read or write the store {path}: forbid it with  chmod 600 {path}")


def _portions(keys: Sequence[Value]) -> Iterator[Sequence[Value]]:
    return (keys[at : at + _MOST_KEYS] for at in range(0, len(keys), _MOST_KEYS))


def _with_keys(statement: str, keys: Sequence[Value]) -> str:
    return statement.format(keys=f"IN ({', '.join('?' * len(keys))})")


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the reasons that SQLite adds in the higher bits
