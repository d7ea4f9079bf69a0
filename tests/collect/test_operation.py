"""What operators see of real servers: a full disk, a read-only store, a database that is down, and a destroyed key."""

import asyncio
import json
import resource
import sqlite3
import subprocess
import sys
import time

import psycopg
import pytest

from shuffledp.collect.server.storage import KEY_GONE
from shuffledp.collect.store.database import Pool
from tests.collect.chaos import wait_until
from tests.collect.databases import ON_POSTGRES
from tests.collect.shuffler.running import running, sealed, settings_for
from tests.collect.situations import (
    USERS,
    asked,
    collection,
    fill_until_refused,
    health,
    metric,
    people,
    send,
    small_disk,
)
from tests.collect.tasks import small_task

KEPT = small_task(users=20, epsilon=4.0, delta=1e-3)


def lines(server, event):
    """The log lines of an event."""
    return [line for line in map(json.loads, server.words.splitlines()) if line["event"] == event]


def degraded(made, reason, *, status=503):
    """Wait until a server says why it is degraded; return its problems of the task."""
    found = []

    def said():
        found[:] = health(made)
        return found[0] == status and f'"{reason}"' in found[1]

    wait_until(said, what=f"{reason} in the health")
    document = json.loads(found[1])
    assert (document["state"], document["reason"]) == ("degraded", reason)
    wait_until(lambda: metric(made, 0, f'shuffledp_store_failing{{reason="{reason}"}} 1.0'), what="the metric")
    return document["problems"][made.task.name]


@pytest.mark.slow
def test_a_full_disk_is_named_and_logged_once_a_minute(tmp_path):
    with small_disk(tmp_path) as place:
        if place is None:
            pytest.skip("no file system can be mounted here")
        with collection(tmp_path, stores=[str(place / "shuffler.db"), str(tmp_path / "analyzer.db")]) as made:
            fill_until_refused(made, place)
            statuses = send(made, people(made, 100))
            assert statuses.count(503) >= 95
            assert degraded(made, "disk-full") == [
                "Nothing can be stored, since the disk of the store is full: reports are refused and batches wait."
            ]
            assert metric(made, 0, 'shuffledp_disk_free_bytes{of="store"} 0.0')
            assert health(made, 1)[0] == 200  # the analyzer has another disk
            written = lines(made.servers[0], "reports-not-stored")
            assert {line["reason"] for line in written} == {"disk-full"}
            assert len(written) <= 4  # one for each kind of error and minute
            (place / "filler").unlink()
            wait_until(lambda: send(made, people(made, 1)) == [201], what="space")


@pytest.mark.slow
def test_a_store_that_cannot_grow(tmp_path):
    """The same with a limit on the size of files, which needs no file system of its own."""
    with collection(tmp_path) as made:
        assert send(made, people(made, 1)) == [201]
        made.servers[0].limit(resource.RLIMIT_FSIZE, 4096)
        assert send(made, people(made, 3))[-1] == 503
        (problem,) = degraded(made, "input-output-error")
        assert "may be full" in problem
        made.servers[0].limit(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
        wait_until(lambda: send(made, people(made, 1)) == [201], what="space")


def test_a_read_only_store(tmp_path):
    """As after an error of the disk, when the kernel makes a file system read-only."""
    options = settings_for(tmp_path, KEPT)

    async def run():
        async with running(options) as client:
            database = options.store.database
            database._pool.close()
            database._pool = Pool(lambda: read_only(database), sqlite3.Connection.close)
            at = f"/v1/tasks/{KEPT.task.name}"
            refused = await client.post(f"{at}/reports", content=sealed(KEPT.task))
            return refused, await client.get("/health"), await client.get(f"{at}/status")

    refused, health, status = asyncio.run(run())
    assert refused.status_code == 503
    assert (health.status_code, health.json()["state"], health.json()["reason"]) == (503, "degraded", "not-writable")
    assert "the store is read-only" in status.json()["problems"][0]


def read_only(database):
    return sqlite3.connect(f"file:{database.file}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)


@pytest.mark.parametrize("postgres", [pytest.param(True, marks=ON_POSTGRES, id="postgres")])
def test_a_database_that_is_down(tmp_path, empty_postgres, postgres):
    """Connections are refused and ended, as while PostgreSQL restarts."""
    url = empty_postgres("down")
    with collection(tmp_path, stores=[url, str(tmp_path / "analyzer.db")]) as made:
        assert send(made, people(made, 1)) == [201]
        with psycopg.connect(empty_postgres("tests"), autocommit=True) as admin:
            admin.execute("ALTER DATABASE down ALLOW_CONNECTIONS false")
            try:
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'down'")
                assert send(made, people(made, 1)) == [503]
                assert degraded(made, "unreachable")
            finally:
                admin.execute("ALTER DATABASE down ALLOW_CONNECTIONS true")
        wait_until(lambda: send(made, people(made, 1)) == [201], what="the database")


def destroy(made, position):
    key = made.folder / f"{made.names[position]}.key"
    words = ["keys", "destroy", key, "--task", made.path, "--yes", "--store", made.stores[position]]
    subprocess.run([sys.executable, "-m", "shuffledp", *map(str, words)], check=True, capture_output=True)
    assert not key.exists()


@pytest.mark.slow
def test_a_destroyed_key_opens_nothing_more(tmp_path):
    """Also not from the memory of the servers that have read it."""
    with collection(tmp_path, shufflers=2) as made:
        first, second, analyzer = made.servers
        assert set(send(made, people(made, 5))) == {201}
        destroy(made, 1)
        wait_until(lambda: lines(second, "key-destroyed"), what="the second shuffler")
        assert KEY_GONE in health(made, 1)[1]
        assert set(send(made, people(made, USERS - 5))) == {201}
        wait_until(lambda: metric(made, 0, f'shuffledp_batches_ready{{task="{made.task.name}"}} 1'), what="a batch")
        time.sleep(1.5)  # three looks of the second shuffler, which must not fetch it
        assert metric(made, 0, f'shuffledp_batches_acknowledged_total{{task="{made.task.name}"}} 0')
        assert metric(made, 1, f'shuffledp_batches_total{{task="{made.task.name}"}} 0')
        destroy(made, 0)
        wait_until(lambda: lines(first, "key-destroyed"), what="the first shuffler")
        status, text = asked(
            made.ports[0], f"/v1/tasks/{made.task.name}/reports", method="POST", body=people(made, 1)[0]
        )
        assert (status, json.loads(text)["detail"]) == (
            503,
            KEY_GONE,
        )  # people keep their reports: the file may come back
        assert KEY_GONE in asked(made.ports[0], f"/v1/tasks/{made.task.name}/status")[1]
        assert not lines(analyzer, "key-destroyed")
        # a batch that was complete before is still forwarded: its reports are opened
        assert metric(made, 0, f'shuffledp_batches_ready{{task="{made.task.name}"}} 1')


@pytest.mark.slow
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.xdist_group("postgres")
def test_keys_are_destroyed_with_a_store_in_postgres(tmp_path, empty_postgres, position):
    stores = [empty_postgres("tests"), empty_postgres("counts")]
    with collection(tmp_path, stores=stores) as made:
        assert set(send(made, people(made, USERS))) == {201}
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        destroy(made, position)
        wait_until(lambda: lines(made.servers[position], "key-destroyed"), what="the server")
    with psycopg.connect(stores[1], autocommit=True) as connection:
        ((left,),) = connection.execute("SELECT COUNT(*) FROM shuffledp.fingerprints").fetchall()
    assert (left == 0) == (position == 1)
