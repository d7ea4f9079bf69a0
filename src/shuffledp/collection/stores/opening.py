"""Stores by their address: a file, or a database of PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from shuffledp.collection.stores import report_store, tally_store
from shuffledp.collection.stores.database import Database, Schema
from shuffledp.collection.stores.sqlite import SQLiteDatabase
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
        from shuffledp.collection.stores.postgres import PostgresDatabase

        return PostgresDatabase(url, schema)
    if isinstance(url, str) and url.startswith(_SQLITE):
        url = unquote(url.removeprefix(_SQLITE))
    if not isinstance(url, str | Path) or not str(url) or "://" in str(url):  # which may hold a password: not shown
        raise ParameterError("a store is at sqlite:///FILE, at a plain path, or at postgresql://...")
    return SQLiteDatabase(Path(url), schema)
