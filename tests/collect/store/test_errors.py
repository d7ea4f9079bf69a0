"""Unusable stores: errors say what to do and never contain a password."""

import builtins
import re
import sqlite3
import sys
from pathlib import Path

import psycopg
import pytest

from shuffledp.collect.store import Outcome, StoreError, open_report_store, open_tally_store, sqlite
from shuffledp.collect.store.database import ConflictError, Fault
from shuffledp.errors import DataError, MissingExtraError, ParameterError
from tests.collect.databases import ON_POSTGRES
from tests.collect.store.made_up import arrivals, task_of

TASK = task_of(4)


@pytest.mark.parametrize("url", ["", "mysql://root:hunter2@localhost/x", "sqlite://x:hunter2@y", None, 5])
def test_invalid_addresses_are_refused(url):
    with pytest.raises(ParameterError, match="sqlite:///FILE") as raised:
        open_report_store(url)
    assert "hunter2" not in str(raised.value)


def test_the_same_file_by_its_address_and_its_path(tmp_path):
    with open_report_store(f"sqlite:///{tmp_path}/a%20store.db") as store:
        store.prepare(TASK)
        store.add(arrivals(TASK, 1))
    for path in (tmp_path / "a store.db", str(tmp_path / "a store.db")):
        with open_report_store(path) as store:
            assert store.standing(TASK.id).waiting == 1


@pytest.mark.parametrize("path", ["missing/store.db", "file/store.db", "/sys/store.db", "/proc/store.db"])
def test_unwritable_paths_are_refused(tmp_path, path):
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.raises(DataError, match="cannot make or write the store"):
        open_report_store(tmp_path / path)


def test_a_folder(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        open_report_store(tmp_path)


@pytest.mark.parametrize("content", [b"reports: none\n" * 100, b"SQLite format 3\0" + b"x" * 5000])
def test_other_files_are_refused_and_not_changed(tmp_path, content):
    (tmp_path / "store.db").write_bytes(content)
    with pytest.raises(DataError, match=r"another kind of file|damaged"):
        open_report_store(tmp_path / "store.db")
    assert (tmp_path / "store.db").read_bytes() == content


def test_the_error_for_a_damaged_store_advises_against_copies(tmp_path):
    """Its reports may already be in a batch; a copy would count them twice."""
    open_report_store(tmp_path / "store.db").close()
    content = bytearray((tmp_path / "store.db").read_bytes())
    content[100:4000] = b"x" * 3900
    (tmp_path / "store.db").write_bytes(content)
    with pytest.raises(DataError, match=r"damaged: make new tasks and a new store .* would be counted again"):
        open_report_store(tmp_path / "store.db")


def test_another_database_is_refused_and_not_changed(tmp_path):
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute("CREATE TABLE birds (name TEXT)")
    connection.commit()
    connection.close()
    before = (tmp_path / "store.db").read_bytes()
    with pytest.raises(DataError, match="is not the store of a shuffler"):
        open_report_store(tmp_path / "store.db")
    assert (tmp_path / "store.db").read_bytes() == before


def test_a_shuffler_and_an_analyzer_do_not_share_a_store(address):
    open_report_store(address).close()
    with pytest.raises(DataError, match=r"not (the store )?of an analyzer"):
        open_tally_store(address)


def test_a_store_of_another_version(address):
    with open_report_store(address) as store, store._database.writing() as transaction:
        if address.startswith("sqlite"):
            transaction.run("PRAGMA user_version = 4")
        else:
            transaction.run("UPDATE about SET version = 4")
    with pytest.raises(DataError, match=r"another version of shuffledp \(format 4; this one knows 3\)"):
        open_report_store(address)


def test_a_locked_file_times_out(tmp_path):
    """After a timeout nothing is changed, and the store works again later."""
    with open_report_store(tmp_path / "store.db") as store:
        store.prepare(TASK)
        impatient = type(store)(sqlite.SQLiteDatabase(tmp_path / "store.db", store._database._schema, patience=0.05))
        new, noticed = arrivals(TASK, 1), []
        impatient.database.watch(noticed.append)
        with store._database.writing(), pytest.raises(StoreError, match=r"in use for 0\.05 seconds") as raised:
            impatient.add(new)
        assert raised.value.fault is Fault.IN_USE
        assert noticed == [raised.value]
        assert impatient.add(new) == [Outcome.STORED]
        impatient.close()


def test_a_full_disk_is_named_and_nothing_is_stored(tmp_path):
    with open_report_store(tmp_path / "store.db") as store:
        store.prepare(TASK)
        new = arrivals(TASK, 4, number=1000)
        with store._database._pool.borrowed() as connection:
            connection.execute("PRAGMA max_page_count = 1")  # the largest that SQLite allows is the present size
        with pytest.raises(StoreError, match="is the disk full") as raised:
            store.add(new)
        assert raised.value.fault is Fault.DISK_FULL
        assert store.standing(TASK.id).waiting == 0
        assert store.add(new) == [Outcome.STORED] * 4  # a failed connection is replaced by one without that limit


def test_every_failure_is_noticed_once(reports):
    """Of reads as of writes, and of nothing that another process merely did first."""
    noticed = []
    reports.database.watch(lambda error: noticed.append(error.fault))
    for begun in (reports.database.reading, reports.database.writing):
        with pytest.raises(StoreError), begun() as transaction:
            transaction.rows("SELECT name FROM birds")
    with pytest.raises(ConflictError), reports.database.writing():
        raise ConflictError
    assert noticed == [Fault.UNKNOWN] * 2


def test_an_error_inside_a_transaction_undoes_it(reports):
    reports.prepare(TASK)
    new = arrivals(TASK, 2)

    def fail():
        with reports._database.writing() as transaction:
            transaction.insert("refusals", ("task", "reason", "times"), [(1, "malformed", 1)])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert reports.standing(TASK.id).refused == {}
    assert reports.add(new) == [Outcome.STORED] * 2


def error_without_connection(url):
    """The error of a store that cannot be opened, which reveals nothing of its address but the database."""
    with pytest.raises(StoreError) as raised:
        open_report_store(url)
    assert raised.value.fault is Fault.UNREACHABLE
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    text = str(raised.value)
    assert not re.search(r"hunter2|somebody|nohost|127\.|socket|FATAL", text)
    return text


NO_ANSWER = "does not answer at its host and port: is it running"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("127.0.0.1:1/reports", NO_ANSWER),
        ("/reports?host=/nohost", NO_ANSWER),
        ("nohost.invalid/reports", "has an unknown host name"),
        ("127.0.0.1:99999/reports", "cannot be reached, or has ended the connection"),
    ],
)
def test_postgres_that_cannot_be_reached(host, words):
    assert f"PostgreSQL (database reports) {words}" in error_without_connection(f"postgresql://somebody:hunter2@{host}")


@pytest.mark.parametrize(
    "rest",
    [
        "hunter2/2@127.0.0.1:port/reports?what",
        "1/hunter2@127.0.0.1/reports",  # taken for port 1 and database hunter2@127.0.0.1/reports
        "1@hunter2@127.0.0.1/reports",  # taken for host hunter2@127.0.0.1
    ],
)
def test_an_invalid_postgres_address_is_refused(rest):
    with pytest.raises(ParameterError, match="%-codes") as raised:
        open_report_store(f"postgresql://somebody:{rest}")
    assert "hunter2" not in str(raised.value)
    assert raised.value.__suppress_context__


def test_postgres_without_its_library(monkeypatch):
    imported = builtins.__import__

    def without_psycopg(name, *rest):
        if name.split(".")[0] == "psycopg":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.delitem(sys.modules, "shuffledp.collect.store.postgres", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_psycopg)
    with pytest.raises(MissingExtraError, match=r"shuffledp\[postgres\]"):
        open_report_store("postgresql://127.0.0.1:1/reports")


def on_postgres(test):
    for mark in ON_POSTGRES:
        test = mark(test)
    return test


def end_connections(url):
    """End all connections, as a restart of the server does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@on_postgres
def test_lost_connections_are_replaced(postgres_url):
    with open_report_store(postgres_url) as store:
        store.prepare(TASK)
        end_connections(postgres_url)
        new = arrivals(TASK, 2)
        assert store.add(new) == [Outcome.STORED] * 2

        def lose():
            with store._database.writing() as transaction:
                transaction.insert("refusals", ("task", "reason", "times"), [(1, "malformed", 1)])
                end_connections(postgres_url)
                transaction.rows("SELECT 1")

        with pytest.raises(DataError, match="has ended the connection"):
            lose()
        assert store.standing(TASK.id).refused == {}
        assert store.add(new) == [Outcome.KNOWN] * 2


@on_postgres
def test_a_refused_login_and_a_missing_database_are_told_apart(postgres_server, tmp_path, monkeypatch):
    """Also where the server requires no password."""
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    url = postgres_server.get_uri()
    rules = Path(url.partition("?host=")[2]) / "pg_hba.conf"
    before = rules.read_text()
    assert "has no such database: create it" in error_without_connection(postgres_server.get_uri(database="nodb"))
    nobody = url.replace("postgres:", "somebody:", 1)
    with psycopg.connect(url, autocommit=True) as connection:
        assert "refuses the name or the password" in error_without_connection(nobody)
        rules.write_text(before.replace("trust", "scram-sha-256"))
        try:
            connection.execute("SELECT pg_reload_conf()")
            for each in (nobody, nobody.replace("somebody:", "somebody:hunter2")):
                assert "password file that PGPASSFILE names" in error_without_connection(each)
        finally:
            rules.write_text(before)
            connection.execute("SELECT pg_reload_conf()")


@on_postgres
def test_commits_are_synchronous_despite_database_settings(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("ALTER DATABASE tests SET synchronous_commit = off")
    try:
        with open_report_store(postgres_url) as store, store._database.writing() as transaction:
            assert transaction.rows("SHOW synchronous_commit") == [("on",)]
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("ALTER DATABASE tests RESET synchronous_commit")


@on_postgres
def test_deleted_rows_are_vacuumed(postgres_url):
    with open_report_store(postgres_url) as store:
        store.prepare(TASK)
        store.add(arrivals(TASK, 4, number=100))
        batch = store.close_batch(TASK.id, 4)
        store.keep_mixed(TASK.id, batch, 12, [b"m" * 100_000], {})
        store.acknowledge(batch)
        with store._database.reading() as transaction:
            sizes = transaction.rows("SELECT pg_relation_size('onions'), pg_relation_size('pieces')")
    assert sizes == [(0, 0)]


@on_postgres
def test_postgres_errors_contain_no_data(postgres_url):
    with open_report_store(postgres_url) as store:
        with pytest.raises(DataError, match="SQLSTATE 22012") as raised, store._database.writing() as transaction:
            transaction.rows("SELECT 1 / (? - 1)", 1)
        assert raised.value.__suppress_context__


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
@pytest.mark.parametrize("mode", [0o666, 0o640, 0o602])
def test_a_store_with_open_permissions_is_refused(tmp_path, ending, mode):
    open_report_store(tmp_path / "store.db").close()
    file = tmp_path / f"store.db{ending}"
    file.touch()
    file.chmod(mode)
    with pytest.raises(DataError, match=re.escape(f"chmod 600 {file}")):
        open_report_store(tmp_path / "store.db")
    file.chmod(0o600)
    open_report_store(tmp_path / "store.db").close()
