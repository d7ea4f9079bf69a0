"""Probes of a store: they find what is wrong, and leave no trace while nothing is."""

from contextlib import closing

import psycopg
import pytest

from shuffledp.collect.store import open_report_store
from shuffledp.collect.store.database import Fault, StoreError


def trace(store, address):
    """What a commit changes in a database, and a thief of it could read."""
    if store.database.file is not None:
        return [path.read_bytes() for path in sorted(store.database.file.parent.glob("store.db*"))]
    with closing(psycopg.connect(address, autocommit=True)) as connection:
        return connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())").fetchall()


def test_a_probe_of_a_healthy_store_leaves_no_trace(address):
    """A commit at a known time, between those of two reports, would say when each of them arrived."""
    with open_report_store(address) as store:
        before = trace(store, address)
        for _ in range(20):
            store.database.check_usable()
        assert trace(store, address) == before
        store.database.check_writable()
        assert trace(store, address) != before  # the control


@pytest.fixture
def on_sqlite(tmp_path):
    with open_report_store(f"sqlite:///{tmp_path}/store.db") as store:
        yield store.database


@pytest.mark.parametrize(
    ("error", "fault"),
    [(28, Fault.DISK_FULL), (30, Fault.NOT_WRITABLE), (13, Fault.NOT_WRITABLE), (5, Fault.INPUT_OUTPUT)],
)
def test_a_disk_that_cannot_be_written_has_a_reason(on_sqlite, monkeypatch, error, fault):
    def fails(descriptor):
        raise OSError(error, "")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(StoreError) as raised:
        on_sqlite.check_usable()
    assert raised.value.fault is fault


def test_a_folder_that_is_gone_is_noticed(on_sqlite, tmp_path):
    tmp_path.rename(tmp_path.with_name(f"{tmp_path.name}-moved"))
    with pytest.raises(StoreError):
        on_sqlite.check_usable()
    tmp_path.with_name(f"{tmp_path.name}-moved").rename(tmp_path)
    on_sqlite.check_usable()
