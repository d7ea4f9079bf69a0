"""Stores of the previous schema version, written by the code of that time: everything in them works after an upgrade.

A new schema version needs a dump of the version before it in `previous/`, named by the server and the version.
"""

import re
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psycopg
import pytest

from shuffledp.collect.store import Arrival, Outcome, open_report_store, open_tally_store
from shuffledp.collect.store.schema import REPORTS, TALLIES
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.errors import DataError
from tests.collect.databases import ON_POSTGRES

PREVIOUS = Path(__file__).parent / "previous"
SCHEMAS = {"shuffler": REPORTS, "analyzer": TALLIES}
OPEN = {"shuffler": open_report_store, "analyzer": open_tally_store}
TASK = SimpleNamespace(id=bytes([1]) * 32, users=4)
BATCH = bytes([7]) * 16


def arrival(number, token=None):
    onions, digest = bytes([number]) * 8, bytes([number]) * 32
    return Arrival(
        task_id=TASK.id, report_id=bytes([number]) * 16, digest=digest, onions=onions, number=1, admission_hash=token
    )


def previous(server):
    """The dump of the version before this one."""
    return (PREVIOUS / f"{server}-{SCHEMAS[server].version - 1}.sql").read_text()


def in_sqlite(server, tmp_path):
    path = tmp_path / f"{server}.db"
    connection = sqlite3.connect(path)
    connection.executescript(previous(server))
    connection.close()
    path.chmod(0o600)
    return str(path)


def in_postgres(server, url):
    """The same tables and rows in the types of PostgreSQL, and its table with the version."""
    dump = previous(server).replace(" WITHOUT ROWID", "").replace("BLOB", "BYTEA").replace("INTEGER", "BIGINT")
    dump = re.sub(r"X'([0-9A-F]*)'", r"'\\x\1'", re.sub(r"^(PRAGMA|BEGIN|COMMIT|--).*$", "", dump, flags=re.M))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA shuffledp")
        connection.execute("SET search_path = shuffledp")
        connection.execute(dump)
        connection.execute("CREATE TABLE about (kind TEXT NOT NULL, version BIGINT NOT NULL)")
        version = SCHEMAS[server].version - 1
        connection.execute("INSERT INTO about VALUES (%s, %s)", (SCHEMAS[server].kind, version))
    return url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=ON_POSTGRES)])
def old(request, tmp_path):
    """The address of a store of the previous version, by server."""
    if request.param == "sqlite":
        return lambda server: in_sqlite(server, tmp_path)
    return lambda server: in_postgres(server, request.getfixturevalue("empty_postgres")(f"old_{server}"))


@pytest.mark.parametrize("server", list(SCHEMAS))
def test_the_dump_of_the_previous_version_is_there(server):
    assert f"user_version = {SCHEMAS[server].version - 1};" in previous(server)


def test_a_shuffler_continues_with_its_old_store(old):
    address = old("shuffler")
    for _ in range(2):  # the second start finds the new version
        with open_report_store(address) as store:
            store.prepare(TASK)
            assert store.database.version == REPORTS.version
            standing = store.standing(TASK.id)
            assert (standing.reports, standing.waiting, standing.ready) == (6, 2, 1)
            assert standing.refused == {"malformed": 3, "repeated": 2}
    with open_report_store(address) as store:
        (batch,) = store.ready(TASK.id)
        assert b"".join(store.mixed(batch.batch_id)) == bytes(range(32))
        assert store.add([arrival(3), arrival(6)]) == [Outcome.KNOWN] * 2
        spent, unspent = bytes([9]) * 32, bytes([8]) * 32
        assert store.add([arrival(7, spent), arrival(7, unspent), arrival(8)]) == [
            Outcome.NOT_ADMITTED,
            Outcome.STORED,
            Outcome.STORED,
        ]
        closed = store.close_batch(TASK.id, TASK.users)
        assert sum(map(len, store.onions(closed))) == 4 * 8
        assert store.acknowledge(batch.batch_id)
        assert store.files.states() == {}


def test_an_analyzer_continues_with_its_old_store(old):
    with open_tally_store(old("analyzer")) as store:
        store.prepare(TASK)
        assert store.database.version == TALLIES.version
        (kept,) = store.tallies(TASK.id)
        assert (kept.batch_id, kept.people, kept.released) == (BATCH, 4, True)
        assert from_bytes(kept.tally).counts.tolist() == [3, 1]
        assert store.release(TASK.id).release == b'{"people": 4}'
        memory = store.memories.of(TASK.id)
        remembered = np.arange(32, dtype=np.uint8).reshape(2, 16)
        assert memory.known(remembered).all()  # a replay is still noticed
        assert not memory.known(remembered[::-1, ::-1].copy()).any()
        assert store.keep_tally(TASK.id, bytes([8]) * 16, kept.tally, 4, {})
        assert store.keep_release(TASK.id, release=b"{}", batches=[bytes([8]) * 16]) == 2


@pytest.mark.parametrize("server", list(SCHEMAS))
def test_a_newer_store_is_refused_and_not_changed(old, server):
    address, newer = old(server), SCHEMAS[server].version + 1
    with OPEN[server](address) as store:
        with store.database.writing() as transaction:
            postgres = address.startswith("postgres")
            transaction.run(f"UPDATE about SET version = {newer}" if postgres else f"PRAGMA user_version = {newer}")
        store.database.check_writable()  # by a process of this version that still runs
    for _ in range(2):
        with pytest.raises(DataError, match=rf"another version of shuffledp \(format {newer}; this one "):
            OPEN[server](address)


def test_the_changelog_names_the_formats():
    text = (Path(__file__).parents[3] / "CHANGELOG.md").read_text()
    stated = f"Stores of shufflers have format {REPORTS.version}, those of analyzers format {TALLIES.version}."
    assert re.findall(r"Stores[^.]* have format [^.]*\.", text) == [stated]
