"""Disks that are full for some of what a server writes."""

import sqlite3
import tempfile
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from shuffledp.collect.store.sqlite import _SQLiteTransaction


@contextmanager
def full_for(table):
    """The disk is full for every new row of one table, in all stores of SQLite of this process."""
    insert, run = _SQLiteTransaction.insert, _SQLiteTransaction.run

    def check(into):
        if into == table:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    def inserting(transaction, into, columns, rows):
        check(into)
        return insert(transaction, into, columns, rows)

    def running(transaction, statement, *values):
        check(statement.removeprefix("INSERT INTO ").partition(" ")[0])
        return run(transaction, statement, *values)

    with mock.patch.multiple(_SQLiteTransaction, insert=inserting, run=running):
        yield


@contextmanager
def full_temporary_folder():
    """Every write to a temporary file fails, as in a folder that is full."""
    with mock.patch.object(tempfile, "TemporaryFile", side_effect=lambda: Path("/dev/full").open("r+b")):
        yield


@contextmanager
def missing_temporary_folder():
    """No temporary file can be made."""
    with mock.patch.object(tempfile, "tempdir", "/nonexistent"):
        yield
