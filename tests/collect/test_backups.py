"""Backups of running servers, and what happens after they are restored: nobody is counted twice."""

import re
import shlex
import subprocess
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest

from shuffledp.collect.analyzer.worker import BatchAnalyzer
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.shuffler.worker import BatchMixer
from shuffledp.collect.store import open_report_store
from shuffledp.errors import DataError
from shuffledp.ledger import Ledger
from tests.collect.analyzer.running import settings_for
from tests.collect.chaos import wait_until
from tests.collect.databases import ON_POSTGRES, programs_of
from tests.collect.situations import USERS, asked, collection, metric, people, send
from tests.collect.test_replays import CHAIN, ToMixer, onions_of

BACKUP, VACUUM = (f"sqlite3 -cmd '.timeout 10000' counts.db \"{how}" for how in (".backup", "VACUUM INTO"))
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "monitor-a-collection.md"


def documented(beginning, names):
    """The words of the command of the page that begins like this, with other names of files and databases."""
    blocks = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)
    (line,) = [line for block in blocks for line in block.splitlines() if line.startswith(beginning)]
    found = shlex.split(line)
    for name, own in names.items():
        assert any(name in word for word in found), name
        found = [word.replace(name, str(own)) for word in found]
    return found


class SQLiteBackup:
    """A copy by one of the documented commands for SQLite, while the server runs."""

    def __init__(self, store, folder, *, command=BACKUP):
        self._store, self._copy, self._command = Path(store), Path(folder) / "backup.db", command

    def take(self):
        self._copy.unlink(missing_ok=True)
        words = documented(self._command, {"counts.db": self._store, "counts-backup.db": self._copy})
        subprocess.run(words, check=True, capture_output=True)

    def restore(self):
        """Replace the store of a server that was stopped."""
        for ending in ("-wal", "-shm"):
            assert not Path(f"{self._store}{ending}").exists()
        self._store.write_bytes(self._copy.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("command", [BACKUP, VACUUM])
def test_a_documented_backup_can_be_opened(tmp_path, command):
    """A server refuses a store that others can read, and sqlite3 alone writes one."""
    block = next(
        text for text in re.findall(r"^```text\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S) if command in text
    )
    lines = [line for line in block.splitlines() if line.startswith(("umask", command))]
    assert len(lines) == 2
    open_report_store(tmp_path / "counts.db").close()
    subprocess.run(["sh", "-e", "-c", "umask 022\n" + "\n".join(lines)], cwd=tmp_path, check=True)
    open_report_store(tmp_path / "counts-backup.db").close()
    subprocess.run(["sh", "-e", "-c", f"umask 022; rm counts-backup.db; {lines[1]}"], cwd=tmp_path, check=True)
    with pytest.raises(DataError, match="chmod 600"):  # the control
        open_report_store(tmp_path / "counts-backup.db")


class PostgresBackup:
    """A dump of the schema, taken while the server runs."""

    def __init__(self, store, folder):
        self._store, self._dump = store, Path(folder) / "backup.dump"

    def _run(self, beginning):
        name, *words = documented(
            beginning, {"counts.dump": self._dump, "postgresql://shuffledp@127.0.0.1/shuffledp": self._store}
        )
        subprocess.run([programs_of(self._store) / name, *words], check=True, capture_output=True)

    def take(self):
        self._run("pg_dump")

    def restore(self):
        with psycopg.connect(self._store, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA shuffledp CASCADE")
        self._run("pg_restore")


KINDS = {
    "sqlite": SQLiteBackup,
    "vacuum": partial(SQLiteBackup, command=VACUUM),
    "postgres": PostgresBackup,
}


@pytest.fixture(params=["sqlite", "vacuum", pytest.param("postgres", marks=ON_POSTGRES)])
def kind(request):
    database = request.getfixturevalue("empty_postgres") if request.param == "postgres" else None
    return KINDS[request.param], database


def counted(made, number):
    """Wait until the analyzer has counted this number of people."""
    line = f'shuffledp_people_total{{task="{made.task.name}"}} {number:.1f}'
    wait_until(lambda: metric(made, -1, line), what=f"{number} people")


def releases(made):
    return [asked(made.ports[-1], f"/v1/tasks/{made.task.name}/releases/{number}")[1] for number in (1, 2)]


@pytest.mark.slow
def test_a_shuffler_restored_after_a_batch_counts_nobody_twice(tmp_path, kind):
    backup_of, database = kind
    stores = [database("tests") if database else str(tmp_path / "shuffler.db"), str(tmp_path / "analyzer.db")]
    made = collection(tmp_path, stores=stores)
    backup = backup_of(made.stores[0], tmp_path)
    with made:
        assert set(send(made, people(made, USERS - 10))) == {201}
        backup.take()
        assert set(send(made, people(made, 10))) == {201}
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        published = releases(made)
        made.servers[0].stop()
        backup.restore()
        made.servers[0].start().wait_until_ready()
        assert metric(made, 0, f'shuffledp_reports_waiting{{task="{made.task.name}"}} {USERS - 10:.1f}')
        assert set(send(made, people(made, 10))) == {201}  # they complete a batch with those of the first one
        wait_until(lambda: metric(made, -1, 'shuffledp_messages_refused_total{reason="replayed"'), what="replays")
        assert metric(made, -1, f'shuffledp_batches_refused_total{{task="{made.task.name}"}} 1.0')
        assert metric(made, -1, f'shuffledp_people_total{{task="{made.task.name}"}} {USERS:.1f}')
        assert releases(made) == published


@pytest.mark.slow
def test_a_shuffler_restored_before_any_batch_lacks_only_the_reports_since_the_backup(tmp_path, kind):
    backup_of, database = kind
    stores = [database("tests") if database else str(tmp_path / "shuffler.db"), str(tmp_path / "analyzer.db")]
    made = collection(tmp_path, stores=stores)
    backup = backup_of(made.stores[0], tmp_path)
    with made:
        send(made, people(made, USERS // 2))
        backup.take()
        assert set(send(made, people(made, 5))) == {201}
        made.servers[0].stop()
        backup.restore()
        made.servers[0].start().wait_until_ready()
        assert metric(made, 0, f'shuffledp_reports_waiting{{task="{made.task.name}"}} {USERS // 2:.1f}')
        assert set(send(made, people(made, USERS // 2))) == {201}
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        assert metric(made, -1, f'shuffledp_people_total{{task="{made.task.name}"}} {USERS:.1f}')
        for position in (0, -1):
            assert metric(made, position, f'shuffledp_problems{{task="{made.task.name}"}} 0.0')
        assert not metric(made, -1, "shuffledp_messages_refused_total{")


class FromStore:
    """A batch source without a network: the batches in the store of the last shuffler, which may be replaced."""

    def __init__(self, store):
        self.store = store

    def ready(self, task):
        return self.store.ready(task.id)

    @contextmanager
    def batch(self, task, batch_id, *, position):
        yield self.store.mixed(batch_id)

    def acknowledge(self, task, batch_id):
        self.store.acknowledge(batch_id)


@pytest.mark.slow
@pytest.mark.parametrize("postgres", [False, pytest.param(True, marks=ON_POSTGRES)], ids=["sqlite", "postgres"])
def test_a_second_shuffler_restored_alone_loses_what_it_has_not_forwarded(tmp_path, postgres, request):
    """One batch was forwarded since the backup, and is not counted again; another one waited, and is lost."""
    url = request.getfixturevalue("empty_postgres")("tests") if postgres else str(tmp_path / "second.db")
    backup = (PostgresBackup if postgres else SQLiteBackup)(url, tmp_path)
    upstream, task, never = ToMixer(), CHAIN.task, threading.Event()
    served = Served(task=task, position=1, key=CHAIN.keys[1], upstream=upstream)

    def received(name):
        """Let the second shuffler receive a batch of new people."""
        upstream.batches = {name * 16: [onion for _ in range(task.users) for onion in onions_of(CHAIN)]}
        mixer = BatchMixer(served, upstream, source.store, processes=1)
        assert mixer.step(never)
        assert (upstream.batches, mixer.health.problems) == ({}, [])

    source = FromStore(open_report_store(url))
    source.store.prepare(task)
    settings = settings_for(tmp_path, CHAIN, source)
    settings.store.prepare(task)
    analyzer = BatchAnalyzer(settings.served[0], settings)
    received(b"1")
    backup.take()
    assert analyzer.step(never)
    received(b"2")
    source.store.close()
    backup.restore()
    with open_report_store(url) as source.store, settings.store:
        source.store.prepare(task)
        assert [each.batch_id for each in source.ready(task)] == [b"1" * 16]
        analyzer.step(never)
        assert source.ready(task) == []
        received(b"3")
        analyzer.step(never)
        standing = settings.store.standing(task.id)
        assert (standing.people, standing.batches, standing.refused) == (2 * task.users, 2, {})
        assert standing.releases == 2
        assert analyzer.health.problems == []


@pytest.mark.slow
@pytest.mark.parametrize("with_analyzer", [False, True])
def test_a_replay_after_the_second_shuffler_was_restored_is_dropped_by_the_analyzer(tmp_path, with_analyzer):
    """The first one was restored too, so it sends reports of an earlier batch again. Only the analyzer remembers it.

    If the analyzer was also restored, nothing notices: people of the first batch are counted again.
    """
    made = collection(tmp_path, shufflers=2)
    restored = made.servers if with_analyzer else made.servers[:-1]
    backups = [SQLiteBackup(store, tmp_path / f"{at}") for at, store in enumerate(made.stores)][: len(restored)]
    with made:
        assert set(send(made, people(made, USERS - 10))) == {201}
        for at, backup in enumerate(backups):
            (tmp_path / f"{at}").mkdir()
            backup.take()
        assert set(send(made, people(made, 10))) == {201}
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        published = releases(made)
        for server, backup in zip(restored, backups, strict=True):
            server.stop()
            backup.restore()
        for server in restored:
            server.start().wait_until_ready()
        assert set(send(made, people(made, 10))) == {201}
        if with_analyzer:
            wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="another release")
            assert not metric(made, -1, "shuffledp_messages_refused_total{")
            return
        wait_until(lambda: metric(made, -1, 'shuffledp_messages_refused_total{reason="replayed"'), what="replays")
        assert not metric(made, 1, 'shuffledp_refused_total{reason="replayed"')  # the second shuffler has forgotten
        assert metric(made, -1, f'shuffledp_batches_refused_total{{task="{made.task.name}"}} 1.0')
        assert metric(made, -1, f'shuffledp_people_total{{task="{made.task.name}"}} {USERS:.1f}')
        assert releases(made) == published


@pytest.mark.slow
def test_a_restored_ledger_has_forgotten_the_releases_since_the_backup(tmp_path):
    """A task is entered again with its next release; until then its budget counts as unspent."""
    made = collection(tmp_path)
    backup = SQLiteBackup(made.ledger, tmp_path)
    with made:
        backup.take()
        send(made, people(made, USERS))
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        spent = Ledger(made.ledger).entries
        assert len(spent) == 1
        first, _ = releases(made)
        made.servers[-1].stop()
        backup.restore()
        made.servers[-1].start().wait_until_ready()
        assert Ledger(made.ledger).entries == ()
        send(made, people(made, USERS))
        counted(made, 2 * USERS)
        line = f'shuffledp_last_release_number{{task="{made.task.name}"}} 2.0'
        wait_until(lambda: metric(made, -1, line), what="the next release")
        assert releases(made)[0] == first
        assert Ledger(made.ledger).entries == spent


@pytest.mark.slow
def test_a_restored_analyzer_shows_old_releases_and_goes_on(tmp_path, kind):
    """The batch that it had counted since the backup is lost: the shuffler has deleted it."""
    backup_of, database = kind
    stores = [str(tmp_path / "shuffler.db"), database("counts") if database else str(tmp_path / "analyzer.db")]
    made = collection(tmp_path, stores=stores)
    backup = backup_of(made.stores[1], tmp_path)
    with made:
        send(made, people(made, USERS))
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        first, _ = releases(made)
        backup.take()
        send(made, people(made, USERS))
        counted(made, 2 * USERS)
        made.servers[1].stop()
        backup.restore()
        made.servers[1].start().wait_until_ready()
        counted(made, USERS)
        assert releases(made)[0] == first
        send(made, people(made, USERS))
        counted(made, 2 * USERS)  # of three batches
        line = f'shuffledp_last_release_number{{task="{made.task.name}"}} 2.0'
        wait_until(lambda: metric(made, -1, line), what="the next release")
        assert metric(made, -1, f'shuffledp_problems{{task="{made.task.name}"}} 0.0')
        assert len(Ledger(made.ledger).entries) == 1  # the task is not charged again


@pytest.mark.slow
def test_a_backup_of_the_ledger_has_its_entries(tmp_path):
    made = collection(tmp_path)
    with made:
        send(made, people(made, USERS))
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        SQLiteBackup(made.ledger, tmp_path).take()
    assert Ledger(tmp_path / "backup.db").entries == Ledger(made.ledger).entries
