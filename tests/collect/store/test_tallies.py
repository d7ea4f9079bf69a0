"""The store of an analyzer: storing tallies and releases is idempotent."""

import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from shuffledp.collect.store import KeptTally, TallyStanding, open_tally_store
from shuffledp.collect.store import tallies as module
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.tally import Tally
from tests.collect.releases import releases_of
from tests.collect.store.made_up import task_of

TASK = task_of(4)
A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


@pytest.fixture
def counted(tallies):
    """Two batches that can be released, and one with a problem."""
    tallies.prepare(TASK)
    tallies.keep_tally(TASK.id, A, b"tally of a", 4, {"repeated": 1})
    tallies.keep_tally(TASK.id, B, b"tally of b", 4, {"repeated": 2, "malformed": 1})
    tallies.keep_tally(TASK.id, C, b"tally of c", 4, {}, "too few messages")
    return tallies


def test_a_tally_is_kept_once(tallies):
    tallies.prepare(TASK)
    tallies.prepare(TASK)
    assert not tallies.has_batch(A)
    assert tallies.keep_tally(TASK.id, A, b"tally", 4, {"repeated": 1}, None) is True
    assert tallies.keep_tally(TASK.id, A, b"other", 5, {"repeated": 9}, "problem") is False
    assert tallies.has_batch(A)
    kept = KeptTally(batch_id=A, tally=b"tally", people=4, refused={"repeated": 1}, problem=None, released=False)
    assert tallies.tallies(TASK.id) == [kept]


def test_releases_of_many_tasks_are_listed_at_once(counted):
    other = task_of(4, "another task")
    counted.prepare(other)
    counted.keep_release(TASK.id, release=b"{}", batches=[A])
    counted.keep_release(TASK.id, release=b"{}", batches=[A, B])
    found = counted.listed_of([other.id, TASK.id])
    assert found == {other.id: [], TASK.id: counted.listed(TASK.id)}
    assert [each.number for each in found[TASK.id]] == [1, 2]
    assert counted.listed_of([]) == {}


def test_a_long_tally_is_kept_in_parts(tallies, monkeypatch):
    """Databases have a limit on the length of a value; what is read is what was stored, in this order."""
    monkeypatch.setattr(module, "_PART_BYTES", 10)
    tallies.prepare(TASK)
    long = {A: bytes(range(95)), B: b"", C: bytes(range(100, 120))}
    for batch_id, tally in long.items():
        assert tallies.keep_tally(TASK.id, batch_id, tally, 4, {})
    assert not tallies.keep_tally(TASK.id, A, bytes(200), 4, {})
    assert {kept.batch_id: kept.tally for kept in tallies.tallies(TASK.id)} == long
    with tallies._database.reading() as transaction:
        parts = transaction.rows("SELECT batch_id, COUNT(*) FROM tally_parts GROUP BY batch_id ORDER BY batch_id")
        lengths = transaction.rows("SELECT MAX(LENGTH(bytes)) FROM tally_parts")
    assert ([tuple(row) for row in parts], lengths[0][0]) == ([(A, 9), (C, 1)], 10)


def test_a_store_without_parts_is_upgraded(address):
    with open_tally_store(address) as store:
        store.prepare(TASK)
        store.keep_tally(TASK.id, A, b"tally", 4, {})
        with store._database.writing() as transaction:
            transaction.run("DROP TABLE tally_parts")
            transaction.run("DROP TABLE files")
            sqlite = address.startswith("sqlite")
            transaction.run("PRAGMA user_version = 2" if sqlite else "UPDATE about SET version = 2")
    with open_tally_store(address) as store:
        assert [kept.tally for kept in store.tallies(TASK.id)] == [b"tally"]


def hashed_tally(number=5000, largest=2**61):
    symbols = np.unique(np.random.default_rng(7).integers(0, largest, number))
    return Tally(symbols, np.ones(symbols.size, dtype=np.int64), messages=symbols.size)


@pytest.mark.parametrize("largest", [1, 2**8, 2**20, 2**40, 2**62])
def test_tallies_of_any_width_are_read_as_they_were_written(largest):
    found = module.from_bytes(module.to_bytes(hashed_tally(largest=largest)))
    assert found == hashed_tally(largest=largest)
    assert found.symbols.dtype == np.int64


def test_bytes_of_different_messages_are_close_to_the_least():
    """A sorted list of random numbers has log2(range / number) + log2(e) bits for each."""
    tally = hashed_tally(100_000, 2**53)
    least = (53 - np.log2(100_000) + np.log2(np.e)) / 8 * 100_000
    assert least < len(module.to_bytes(tally)) < 1.1 * least


def test_tallies_of_the_first_version_are_read():
    tally = Tally(np.array([3, 5, 70_000]), np.array([1, 400, 2]), messages=403)
    numbers = np.array([3, 2, 69_995], dtype="<u4").tobytes() + np.array([1, 400, 2], dtype="<u2").tobytes()
    head = struct.pack(">BBQQQ", 4, 2, 3, 0, 403)
    assert module.from_bytes(b"shuffledp tally 1\n" + head + zlib.compress(numbers)) == tally


def test_threads_keep_a_tally_once(tallies):
    tallies.prepare(TASK)
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda at: tallies.keep_tally(TASK.id, A, bytes([at]), 4, {}), range(8)))
    assert sum(kept) == 1
    assert [tally.tally for tally in tallies.tallies(TASK.id)] == [bytes([kept.index(True)])]


def test_a_batch_belongs_to_one_task(tallies):
    other = task_of(4, "another")
    tallies.prepare(TASK)
    tallies.prepare(other)
    tallies.keep_tally(TASK.id, A, b"tally", 4, {})
    assert tallies.tallies(other.id) == []
    with pytest.raises(DataError, match="1 of 1 batches cannot be released"):
        tallies.keep_release(other.id, release=b"{}", batches=[A])


def test_a_release_marks_its_batches(counted):
    assert counted.keep_release(TASK.id, release=b'{"of": "a"}', batches=[A]) == 1
    assert [(tally.batch_id, tally.released) for tally in counted.tallies(TASK.id)] == [
        (A, True),
        (B, False),
        (C, False),
    ]
    assert counted.keep_release(TASK.id, release=b'{"of": "both"}', batches=[B, A]) == 2
    assert [tally.released for tally in counted.tallies(TASK.id)] == [True, True, False]
    releases = releases_of(counted, TASK.id)
    assert [(release.number, release.release) for release in releases] == [(1, b'{"of": "a"}'), (2, b'{"of": "both"}')]
    assert all(timedelta(0) <= datetime.now(UTC) - release.made < timedelta(hours=1) for release in releases)


def test_releasing_the_same_batches_is_idempotent(counted):
    assert counted.keep_release(TASK.id, release=b"first", batches=[A, B]) == 1
    assert counted.keep_release(TASK.id, release=b"second", batches=[B, A]) == 1
    assert [release.release for release in releases_of(counted, TASK.id)] == [b"first"]


def test_threads_release_once(counted):
    with ThreadPoolExecutor(8) as pool:
        numbers = pool.map(lambda at: counted.keep_release(TASK.id, release=bytes([at]), batches=[A, B]), range(8))
        assert set(numbers) == {1}
    assert len(releases_of(counted, TASK.id)) == 1


@pytest.mark.parametrize("batches", [[], [C], [A, C], [A, b"unknown"]])
def test_batches_that_must_not_be_released(counted, batches):
    with pytest.raises(DataError, match="cannot be released"):
        counted.keep_release(TASK.id, release=b"{}", batches=batches)
    assert releases_of(counted, TASK.id) == []
    assert not any(tally.released for tally in counted.tallies(TASK.id))


def test_counters(counted):
    counted.keep_release(TASK.id, release=b"{}", batches=[A])
    assert counted.standing(TASK.id) == TallyStanding(
        batches=3, problems=1, people=8, releases=1, refused={"repeated": 3, "malformed": 1}
    )


def test_a_task_must_be_prepared_first(tallies):
    with pytest.raises(ParameterError, match="prepare"):
        tallies.keep_tally(TASK.id, A, b"tally", 4, {})
    tallies.prepare(TASK)
    with pytest.raises(DataError, match=r"users must be 4, .* got 5"):
        tallies.prepare(task_of(5))


def test_a_reopened_store_has_all_data(address):
    with open_tally_store(address) as store:
        store.prepare(TASK)
        store.keep_tally(TASK.id, A, b"tally", 4, {})
        store.keep_release(TASK.id, release=b"{}", batches=[A])
    with open_tally_store(address) as store:
        assert store.has_batch(A)
        assert [release.number for release in releases_of(store, TASK.id)] == [1]
