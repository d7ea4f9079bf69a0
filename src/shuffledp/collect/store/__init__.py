"""Stores by their address: a file, or a database of PostgreSQL.

Where a shuffler keeps reports and an analyzer keeps tallies: SQLite, or PostgreSQL for many machines.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from shuffledp.collect.store import reports as report_store
from shuffledp.collect.store import tallies as tally_store
from shuffledp.collect.store.database import (
    Arrival,
    CountedBatch,
    Database,
    KeptRelease,
    KeptTally,
    ListedRelease,
    Outcome,
    ReadyBatch,
    Schema,
    Standing,
    TallyStanding,
)
from shuffledp.collect.store.reports import ReportStore
from shuffledp.collect.store.sqlite import SQLiteDatabase
from shuffledp.collect.store.tallies import TallyStore
from shuffledp.errors import ParameterError

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")


def open_report_store(url: str | Path) -> report_store.ReportStore:
    """The store of a shuffler at sqlite:///FILE, at a plain path, or at postgresql://...; made unless it is there."""
    return report_store.ReportStore(_open(url, report_store.SCHEMA))


def open_tally_store(url: str | Path) -> tally_store.TallyStore:
    """The store of an analyzer, at an address as for a shuffler's."""
    return tally_store.TallyStore(_open(url, tally_store.SCHEMA))


def _open(url: str | Path, schema: Schema) -> Database:
    if isinstance(url, str) and url.startswith(_POSTGRES):
        from shuffledp.collect.store.postgres import PostgresDatabase

        return PostgresDatabase(url, schema)
    if isinstance(url, str) and url.startswith(_SQLITE):
        url = unquote(url.removeprefix(_SQLITE))
    if not isinstance(url, str | Path) or not str(url) or "://" in str(url):  # which may hold a password: not shown
        raise ParameterError("a store is at sqlite:///FILE, at a plain path, or at postgresql://...")
    return SQLiteDatabase(Path(url), schema)


__all__ = [
    "Arrival",
    "CountedBatch",
    "KeptRelease",
    "KeptTally",
    "ListedRelease",
    "Outcome",
    "ReadyBatch",
    "ReportStore",
    "Standing",
    "TallyStanding",
    "TallyStore",
    "open_report_store",
    "open_tally_store",
]
