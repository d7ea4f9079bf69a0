"""A store in a database of PostgreSQL, for processes on many machines.

The tables are in a schema of their own. A transaction is on the disk when it ends (synchronous_commit). Deleted rows
are vacuumed; PostgreSQL's own log may hold them until it is overwritten, and backups for longer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from shuffledp.collect.store.database import (
    PATIENCE,
    ConflictError,
    Database,
    Fault,
    Pool,
    Row,
    StoreError,
    Transaction,
    Value,
)
from shuffledp.collect.store.schema import Schema
from shuffledp.errors import DataError, MissingExtraError, ParameterError

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtraError("psycopg", extra="postgres") from None

_SECONDS_TO_CONNECT = 10
_SCHEMA = "shuffledp"
_DEADLOCK_OR_RACE = ("40P01", "40001")  # deadlock_detected, serialization_failure
_FULL = ("53100", "53200")  # disk_full, out_of_memory
_READ_ONLY = "25006"  # read_only_sql_transaction
_LOCKED = "55P03"  # lock_not_available
_NOT_CONNECTED = {
    "password authentication failed|no password supplied|role .* does not exist": (
        "refuses the name or the password, or got none: are both right in the address, or in the password file that "
        "PGPASSFILE names?"
    ),
    "database .* does not exist": "has no such database: create it, or correct its name in the address",
    "Is the server running": "does not answer at its host and port: is it running, and are both right?",
    "failed to resolve host": "has an unknown host name: is it right, and does the name server answer?",
}
"""What libpq says, in English, of failed connections, which have no SQLSTATE. Its text is never shown: it names users
and hosts, and a host may have a part of a password."""
_TYPES = {bytes: "bytea", int: "bigint", str: "text", type(None): "text"}


class PostgresDatabase(Database):
    """The database at a postgresql:// address; missing tables are created."""

    def __init__(self, url: str, schema: Schema, *, patience: float = PATIENCE) -> None:
        super().__init__(schema, patience)
        self._url, self._shown = url, _without_secrets(url)
        self._pool = Pool(self._connected, psycopg.Connection.close, lost=(psycopg.OperationalError,))
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def writing(self) -> AbstractContextManager[Transaction]:
        """Run one transaction, in which every statement sees what was committed before it."""
        return self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")

    def reading(self) -> AbstractContextManager[Transaction]:
        """Run queries on one snapshot, while others may write."""
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def forget(self, *tables: str) -> None:
        """Vacuum deleted rows that no transaction uses; PostgreSQL does the others later."""
        with suppress(psycopg.Error), self._pool.borrowed() as connection:
            connection.execute(f"VACUUM (SKIP_LOCKED) {', '.join(tables)}".encode())

    def check_usable(self) -> None:
        """Begin and end a change, which fails on a standby; without a statement it uses no transaction number."""
        with self.writing():
            pass

    def check_writable(self) -> None:
        """Commit the row with the version, unchanged."""
        with self.writing() as transaction:
            transaction.run("UPDATE about SET version = version")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        with self._explained(), self._pool.borrowed(lambda idle: idle.execute(begin.encode())) as connection:
            yield _PostgresTransaction(connection)  # on failure the pool closes the connection, which rolls back
            connection.execute("COMMIT")

    def _connected(self) -> psycopg.Connection[Row]:
        connection = psycopg.connect(
            self._url,
            autocommit=True,  # transactions begin and end explicitly
            connect_timeout=_SECONDS_TO_CONNECT,
            tcp_user_timeout=round(self._patience * 1000),  # notices a server that is gone
        )
        try:
            # keeps stronger settings of the server
            ((commit,),) = connection.execute("SHOW synchronous_commit").fetchall()
            if commit == "off":
                connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = {round(self._patience * 1000)}".encode())
            # every statement uses keys, and tables fill and empty faster than PostgreSQL updates its statistics
            connection.execute("SET enable_seqscan = off")
            connection.execute(f"SET search_path = {_SCHEMA}".encode())
        except BaseException:
            connection.close()
            raise
        return connection

    def _make(self) -> None:
        """Create the tables if needed, and check that they are of this schema."""
        with self.writing() as transaction:
            transaction.lock("tables")
            if not transaction.rows("SELECT 1 FROM pg_namespace WHERE nspname = ?", _SCHEMA):
                transaction.run(f"CREATE SCHEMA {_SCHEMA}")
            if not transaction.rows("SELECT to_regclass('about') IS NOT NULL")[0][0]:
                self._add_tables(transaction, (*self._schema.tables, *self._schema.wide_tables))
                self._add_tables(transaction, ["CREATE TABLE about (kind TEXT NOT NULL, version BIGINT NOT NULL)"])
                transaction.insert("about", ("kind", "version"), [(self._schema.kind, 1)])
            ((kind, version),) = transaction.rows("SELECT kind, version FROM about")
            self._check_schema(kind, version)
            if version < self._schema.version:
                self._add_tables(transaction, self._schema.tables_since(version))
                transaction.run("UPDATE about SET version = ?", self._schema.version)

    @staticmethod
    def _add_tables(transaction: Transaction, tables: Sequence[str]) -> None:
        for table in tables:
            transaction.run(table.replace("BLOB", "BYTEA"))

    def _check_schema(self, kind: str, version: int) -> None:
        if kind != self._schema.kind:
            raise DataError(f"{self._shown} is the store of {kind}, not of {self._schema.kind}: give another database")
        self._check_version(version, f"at {self._shown}", other="database")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn every failure of PostgreSQL into an error with a hint and without any content of the tables."""
        try:
            yield
        except psycopg.Error as error:
            if error.sqlstate in _DEADLOCK_OR_RACE:
                raise ConflictError("another process changed the same rows at the same moment: try again") from None
            raise self._noticed(self._explanation(error)) from None

    def _explanation(self, error: psycopg.Error) -> StoreError:
        state = error.sqlstate
        if state in _FULL:
            return StoreError(
                f"{self._shown} has no space left: acknowledged reports are safe; try again", Fault.DISK_FULL
            )
        if state == _READ_ONLY:
            return StoreError(
                f"{self._shown} is read-only: is it a standby? Acknowledged reports are safe; try again",
                Fault.NOT_WRITABLE,
            )
        if state == _LOCKED:
            return StoreError(
                f"{self._shown} was in use for {self._patience:g} seconds: nothing was changed; try again later",
                Fault.IN_USE,
            )
        if state is None or isinstance(error, psycopg.OperationalError):
            for said, hint in _NOT_CONNECTED.items():
                if re.search(said, str(error)):
                    return StoreError(f"{self._shown} {hint}", Fault.UNREACHABLE)
            return StoreError(
                f"{self._shown} cannot be reached, or has ended the connection: is it running, and are name and "
                "password right? Acknowledged reports are safe; try again",
                Fault.UNREACHABLE,
            )
        return StoreError(f"{self._shown} refused a statement (SQLSTATE {state}): see its log")


class _PostgresTransaction:
    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def run(self, statement: str, *values: Value) -> int:
        return self._execute(statement, values).rowcount

    def rows(self, statement: str, *values: Value) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def run_among(self, statement: str, keys: Sequence[Value], *values: Value) -> int:
        return self._execute(_with_keys(statement), (*values, list(keys))).rowcount if keys else 0

    def rows_among(self, statement: str, keys: Sequence[Value], *values: Value) -> list[Row]:
        return self._execute(_with_keys(statement), (*values, list(keys))).fetchall() if keys else []

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> int:
        """Insert all rows in one statement, with an array for each column."""
        if not rows:
            return 0
        arrays = ", ".join(f"%b::{_TYPES[type(value)]}[]" for value in rows[0])
        statement = f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING"
        return self._execute(statement, [list(column) for column in zip(*rows, strict=True)]).rowcount

    def lock(self, name: str, *, shared: bool = False) -> None:
        key = int.from_bytes(hashlib.sha256(f"shuffledp {name}".encode()).digest()[:8], signed=True)
        self.rows(f"SELECT pg_advisory_xact_lock{'_shared' if shared else ''}(?::bigint)", key)

    def _execute(self, statement: str, values: Sequence[Any]) -> psycopg.Cursor[Row]:
        cursor = self._connection.cursor(binary=True)
        return cursor.execute(statement.replace("?", "%b").encode(), values)


def _with_keys(statement: str) -> str:
    return statement.format(keys="= ANY(?)")


def _without_secrets(url: str) -> str:
    """The address for error messages, without user name, password, or anything that may be part of them."""
    with suppress(psycopg.ProgrammingError):  # its message quotes the address
        parts = {"dbname": "of the same name as the user", "host": "", **conninfo_to_dict(url)}
        if "@" not in f"{parts['dbname']}{parts['host']}":  # a part of a password may be before it
            return f"PostgreSQL (database {parts['dbname']})"
    raise ParameterError(
        "the address of PostgreSQL must be postgresql://NAME:PASSWORD@HOST:PORT/DATABASE, with %-codes for characters "
        "like / and @ in a password"
    ) from None
