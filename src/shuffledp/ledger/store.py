"""The file of a ledger: SQLite, so that a line is there whole or not at all and two processes wait for each other.

Every connection lives for one transaction. The file is never opened in another way, since closing it would take away
the locks of SQLite within the same process. Changes are on the disk when a transaction ends (synchronous=EXTRA with a
rollback journal: also the folder's entry of the journal), so that not even a power cut makes a ledger forget.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import quote

from shuffledp import __version__
from shuffledp.errors import DataError, ParameterError
from shuffledp.ledger.budget import Budget
from shuffledp.ledger.entry import LedgerEntry

SCHEMA = 1
"""Of the file; one that this code cannot read has a larger number."""

_APPLICATION = 0x53444C47
"""The letters SDLG in the head of the file: SQLite's place for whose file it is."""

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

HOW_TO_MAKE = "shuffledp ledger {path} --limit 3,1e-5"


def create(path: Path, budget: Budget) -> None:
    """Makes the file, whole or not at all, readable by its owner only; one that exists is left alone."""
    if path.exists():
        raise DataError(f"{path} exists already: a ledger keeps its limit, so give another name to make a new one")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # with mode 0600
    except OSError as error:
        raise DataError(f"cannot make {path}: {error.strerror}") from None
    os.close(handle)
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as connection:
            connection.executescript(_TABLES)
            connection.execute(
                "INSERT INTO budget VALUES (1, ?, ?, ?, ?, ?, ?)",
                (budget.population, budget.epsilon, budget.delta, budget.by_results, _today(), __version__),
            )
        os.link(name, path)  # unlike a renamed file, never in the place of another
    except FileExistsError:
        raise DataError(f"{path} was made by somebody else just now: it is left as it is") from None
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"cannot make {path}: {getattr(error, 'strerror', None) or error}") from None
    finally:
        Path(name).unlink(missing_ok=True)


def read(path: Path, *, patience: float) -> tuple[Budget, list[LedgerEntry]]:
    """The budget and all entries, in their order."""
    with _connected(path, patience=patience) as connection:
        return _budget(connection, path), _entries(connection, path)


@contextmanager
def changing(path: Path, *, patience: float) -> Iterator[Change]:
    """One transaction that nobody else can change the file during; undone unless it ends well."""
    with _connected(path, patience=patience) as connection:
        # immediate: who reads the entries in order to add one must not read the same as somebody else
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield Change(connection, path)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


class Change:
    """What a transaction may do: read all, add a line, mark one as published."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path

    @property
    def budget(self) -> Budget:
        """The limit, as it stands in the file that is changed."""
        return _budget(self._connection, self._path)

    @property
    def entries(self) -> list[LedgerEntry]:
        """All entries so far."""
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
        """Adds a line; its number."""
        (number,) = self._connection.execute("SELECT COUNT(*) + 1 FROM entries").fetchone()
        values = (number, _today(), what, protocol, epsilon, delta, people, __version__, published, parameters)
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        return int(number)

    def publish(self, number: int) -> bool:
        """Marks an entry as published; whether there is one."""
        return self._connection.execute("UPDATE entries SET published = 1 WHERE number = ?", (number,)).rowcount == 1


@contextmanager
def _connected(path: Path, *, patience: float) -> Iterator[sqlite3.Connection]:
    """A connection to a file that is a ledger; every failure of SQLite as an error that says what to do."""
    if not path.exists():
        raise DataError(f"there is no ledger {path}: `{HOW_TO_MAKE.format(path=path)}` makes one")
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
    """Refuses files that are something else, that a newer version has written, or that are damaged."""
    (application,), (schema,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application != _APPLICATION:
        raise DataError(
            f"{path} is not a ledger, but another kind of file: `{HOW_TO_MAKE.format(path='NAME')}` makes one"
        )
    if schema > SCHEMA:
        raise DataError(
            f"{path} was made by a newer version of shuffledp (format {schema}; this one knows {SCHEMA}): update it"
        )
    if schema < 1 or connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
        raise DataError(_DAMAGED.format(path=path))


_DAMAGED = (
    "{path} is damaged: what was spent is not known, so nothing can be; go back to a copy that holds all releases"
)


def _explained(error: sqlite3.Error, path: Path, *, patience: float) -> DataError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the reasons that SQLite adds in the higher bits
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return DataError(
            f"{path} was in use by another process for {patience:g} seconds: nothing was spent; try again later"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return DataError(
            f"{path} is not a ledger, but another kind of file: `{HOW_TO_MAKE.format(path='NAME')}` makes one"
        )
    if code == sqlite3.SQLITE_CORRUPT:
        return DataError(_DAMAGED.format(path=path))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return DataError(f"cannot write {path}, or cannot make files beside it: a ledger needs both to be entered in")
    return DataError(f"the ledger {path} cannot be used: {error}")


def _budget(connection: sqlite3.Connection, path: Path) -> Budget:
    rows = connection.execute("SELECT population, epsilon, delta, by_results FROM budget").fetchall()
    if len(rows) != 1:
        raise DataError(_DAMAGED.format(path=path))
    population, epsilon, delta, by_results = rows[0]
    try:
        return Budget(population=population, epsilon=epsilon, delta=delta, by_results=bool(by_results))
    except ParameterError:  # no limit that `create` would have made
        raise DataError(_DAMAGED.format(path=path)) from None


def _entries(connection: sqlite3.Connection, path: Path) -> list[LedgerEntry]:
    """All entries, of which none may be missing."""
    rows = connection.execute(
        "SELECT number, day, what, protocol, epsilon, delta, people, version, published, parameters FROM entries "
        "ORDER BY number"
    ).fetchall()
    if [row[0] for row in rows] != list(range(1, len(rows) + 1)):
        raise DataError(_DAMAGED.format(path=path))
    try:
        return [
            LedgerEntry(
                number=number,
                day=date.fromisoformat(day),
                what=what,
                protocol=protocol,
                epsilon=epsilon,
                delta=delta,
                people=people,
                version=version,
                published=bool(published),
                parameters=parameters,
            )
            for number, day, what, protocol, epsilon, delta, people, version, published, parameters in rows
        ]
    except (TypeError, ValueError):
        raise DataError(_DAMAGED.format(path=path)) from None


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
