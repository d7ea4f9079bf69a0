"""The file of a ledger: SQLite, for atomic entries and for locks between processes.

Every connection lives for one transaction. The file is never opened in another way, because closing it would release
the locks of SQLite in the same process. Changes are on the disk when a transaction ends, even after a power failure
(synchronous=EXTRA with a rollback journal, which also syncs the folder).
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import quote

from shuffledp import __version__
from shuffledp.errors import DataError, ParameterError
from shuffledp.ledger.budget import Budget, LedgerEntry

SCHEMA = 1
"""Version of the file format; this code cannot read larger ones."""

_APPLICATION = 0x53444C47
"""The letters SDLG."""

_TABLES = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {SCHEMA};
CREATE TABLE budget (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    population TEXT NOT NULL,
    epsilon REAL NOT NULL,
    delta REAL NOT NULL,
    by_results INTEGER NOT NULL,
    day TEXT NOT NULL,
    version TEXT NOT NULL
);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    day TEXT NOT NULL,
    what TEXT NOT NULL,
    protocol TEXT NOT NULL,
    epsilon REAL NOT NULL,
    delta REAL NOT NULL,
    people INTEGER,
    version TEXT NOT NULL,
    published INTEGER NOT NULL,
    parameters TEXT
);
CREATE TRIGGER the_limit_stays BEFORE UPDATE ON budget BEGIN SELECT RAISE(ABORT, 'a limit stays'); END;
CREATE TRIGGER the_budget_stays BEFORE DELETE ON budget BEGIN SELECT RAISE(ABORT, 'a limit stays'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'what is spent is spent'); END;
CREATE TRIGGER entries_keep BEFORE UPDATE OF number, day, what, protocol, epsilon, delta, people, version, parameters
    ON entries BEGIN SELECT RAISE(ABORT, 'what is spent is spent'); END;
-- REPLACE deletes a row without asking the triggers of DELETE, but is an INSERT
CREATE TRIGGER one_budget BEFORE INSERT ON budget WHEN EXISTS (SELECT 1 FROM budget)
    BEGIN SELECT RAISE(ABORT, 'a limit stays'); END;
CREATE TRIGGER entries_are_new BEFORE INSERT ON entries
    WHEN EXISTS (SELECT 1 FROM entries WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'what is spent is spent'); END;
"""


def create(path: Path, budget: Budget) -> None:
    """Create the file atomically, readable by its owner only; an existing file is never overwritten."""
    if path.exists():
        raise DataError(
            f"{path} already exists, and the limit of a ledger cannot be changed: use another name for a new ledger"
        )
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # with mode 0600
    except OSError as error:
        raise DataError(f"cannot create {path}: {error.strerror}") from None
    os.close(handle)
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as connection:
            connection.executescript(_TABLES)
            connection.execute(
                "INSERT INTO budget VALUES (1, ?, ?, ?, ?, ?, ?)",
                (budget.population, budget.epsilon, budget.delta, budget.by_results, _today(), __version__),
            )
        os.link(name, path)  # unlike a rename, a link never replaces a file
    except FileExistsError:
        raise DataError(f"{path} was created by another process at the same time") from None
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"cannot create {path}: {getattr(error, 'strerror', None) or error}") from None
    finally:
        Path(name).unlink(missing_ok=True)


def read(path: Path, *, patience: float) -> tuple[Budget, list[LedgerEntry]]:
    """Return the budget and all entries, in order."""
    with _connected(path, patience=patience) as connection:
        return _budget(connection, path), _entries(connection, path)


@contextmanager
def changing(path: Path, *, patience: float) -> Iterator[Change]:
    """Open an exclusive transaction, which is rolled back if the block raises."""
    with _connected(path, patience=patience) as connection:
        # immediate: two processes that add an entry must not read the same state
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield Change(connection, path)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


class Change:
    """One transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path

    @property
    def budget(self) -> Budget:
        """The limit in the file."""
        return _budget(self._connection, self._path)

    @property
    def entries(self) -> list[LedgerEntry]:
        """All entries in the file."""
        return _entries(self._connection, self._path)

    def add(
        self,
        *,
        what: str,
        protocol: str,
        epsilon: float,
        delta: float,
        people: int | None,
        parameters: str | None,
        published: bool = False,
    ) -> int:
        """Add an entry and return its number."""
        (number,) = self._connection.execute("SELECT COUNT(*) + 1 FROM entries").fetchone()
        values = (number, _today(), what, protocol, epsilon, delta, people, __version__, published, parameters)
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        return int(number)

    def publish(self, number: int) -> bool:
        """Mark an entry as published and return whether it exists."""
        return self._connection.execute("UPDATE entries SET published = 1 WHERE number = ?", (number,)).rowcount == 1


@contextmanager
def _connected(path: Path, *, patience: float) -> Iterator[sqlite3.Connection]:
    """Connect to a ledger, and raise errors of SQLite as DataError."""
    if not path.exists():
        raise DataError(f"there is no ledger {path}: create it with `shuffledp ledger FILE --limit` or Ledger.create")
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a ledger")
    address = f"file:{quote(str(path.absolute()))}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=patience)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            _check(connection, path)
            yield connection
    except sqlite3.Error as error:
        raise _explained(error, path, patience=patience) from None


def _check(connection: sqlite3.Connection, path: Path) -> None:
    (application,), (schema,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application != _APPLICATION:
        raise DataError(f"{path} is not a ledger")
    if schema > SCHEMA:
        raise DataError(
            f"{path} was written by a newer version of shuffledp (format {schema}; this version reads {SCHEMA}): "
            "update shuffledp"
        )
    if schema < 1 or connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
        raise DataError(_DAMAGED.format(path=path))


_DAMAGED = "{path} is damaged, so the spent budget is unknown and nothing can be released: restore a complete backup"


def _explained(error: sqlite3.Error, path: Path, *, patience: float) -> DataError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the reasons that SQLite adds in the higher bits
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return DataError(
            f"{path} was locked by another process for {patience:g} seconds: nothing was spent; try again later"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return DataError(f"{path} is not a ledger")
    if code == sqlite3.SQLITE_CORRUPT:
        return DataError(_DAMAGED.format(path=path))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return DataError(f"cannot write {path} or create files beside it: a ledger needs both")
    return DataError(f"the ledger {path} cannot be used: {error}")


def _budget(connection: sqlite3.Connection, path: Path) -> Budget:
    rows = connection.execute("SELECT population, epsilon, delta, by_results FROM budget").fetchall()
    if len(rows) != 1:
        raise DataError(_DAMAGED.format(path=path))
    population, epsilon, delta, by_results = rows[0]
    try:
        return Budget(population=population, epsilon=epsilon, delta=delta, by_results=bool(by_results))
    except ParameterError:  # not a limit that `create` writes
        raise DataError(_DAMAGED.format(path=path)) from None


def _entries(connection: sqlite3.Connection, path: Path) -> list[LedgerEntry]:
    """Return all entries; none may be missing."""
    names = [field.name for field in fields(LedgerEntry)]
    rows = connection.execute(f"SELECT {', '.join(names)} FROM entries ORDER BY number").fetchall()
    if [row[0] for row in rows] != list(range(1, len(rows) + 1)):
        raise DataError(_DAMAGED.format(path=path))
    stored = (dict(zip(names, row, strict=True)) for row in rows)
    try:
        return [
            LedgerEntry(**{**each, "day": date.fromisoformat(each["day"]), "published": bool(each["published"])})
            for each in stored
        ]
    except (TypeError, ValueError):
        raise DataError(_DAMAGED.format(path=path)) from None


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
