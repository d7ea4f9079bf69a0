"""Stores: a shuffler keeps reports, an analyzer keeps tallies, in an SQLite file or in PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from shuffledp.collect.store.base import AdministeredFiles, FileState, Store
from shuffledp.collect.store.database import Database, StoreError
from shuffledp.collect.store.reports import ReportStore
from shuffledp.collect.store.schema import (
    REPORTS,
    TALLIES,
    Arrival,
    CountedBatch,
    KeptRelease,
    KeptTally,
    ListedRelease,
    Outcome,
    ReadyBatch,
    Schema,
    Standing,
    TallyStanding,
)
from shuffledp.collect.store.sqlite import SQLiteDatabase
from shuffledp.collect.store.tallies import TallyStore
from shuffledp.errors import ParameterError

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")


def open_report_store(url: str | Path) -> ReportStore:
    """Open or create the store of a shuffler at sqlite:///FILE, a plain path, or postgresql://..."""
    return ReportStore(_open(url, REPORTS))


def open_tally_store(url: str | Path) -> TallyStore:
    """Open or create the store of an analyzer, at the same kinds of addresses."""
    return TallyStore(_open(url, TALLIES))


def _open(url: str | Path, schema: Schema) -> Database:
    file = store_file(url)
    if file is None:
        from shuffledp.collect.store.postgres import PostgresDatabase

        return PostgresDatabase(str(url), schema)
    return SQLiteDatabase(file, schema)


def store_file(url: str | Path) -> Path | None:
    """Return the file of a store; None if the address is of PostgreSQL."""
    if isinstance(url, str) and url.startswith(_POSTGRES):
        return None
    if isinstance(url, str) and url.startswith(_SQLITE):
        url = unquote(url.removeprefix(_SQLITE))
    if not isinstance(url, str | Path) or not str(url) or "://" in str(url):  # not shown: it may hold a password
        raise ParameterError("the address of a store must be sqlite:///FILE, a plain path, or postgresql://...")
    return Path(url)


__all__ = [
    "AdministeredFiles",
    "Arrival",
    "CountedBatch",
    "FileState",
    "KeptRelease",
    "KeptTally",
    "ListedRelease",
    "Outcome",
    "ReadyBatch",
    "ReportStore",
    "Standing",
    "Store",
    "StoreError",
    "TallyStanding",
    "TallyStore",
    "open_report_store",
    "open_tally_store",
    "store_file",
]
