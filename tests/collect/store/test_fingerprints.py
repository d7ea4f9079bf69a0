"""The memory of a store: a ciphertext is new once, also after kills and with several processes at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from shuffledp.collect.crypto.batch import FINGERPRINT_BYTES, fingerprints, screen
from shuffledp.collect.store import base as module
from shuffledp.collect.store import open_report_store, open_tally_store
from shuffledp.collect.store.database import ConflictError
from shuffledp.errors import DataError
from tests.collect.store.made_up import every_row, task_of

TASK, OTHER = task_of(4), task_of(4, "another task")
A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))


def onions(number, seed=0, width=48):
    return np.random.default_rng(seed).integers(0, 256, (number, width), dtype=np.uint8)


def opened(address, kind):
    store = {"reports": open_report_store, "tallies": open_tally_store}[kind](address)
    store.prepare(TASK)
    return store


def accept(store, batch_id, some, task=TASK):
    """Store a batch with these onions, as a later shuffler or an analyzer does; return what was dropped."""
    screened = screen(some, store.memories.of(task.id))
    keep(store, batch_id, screened.fingerprints, task)
    return screened.replayed


def keep(store, batch_id, prints, task=TASK):
    if hasattr(store, "keep_tally"):
        return store.keep_tally(task.id, batch_id, b"tally", 4, {}, fingerprints=prints)
    return store.keep_mixed(task.id, batch_id, len(prints), [b"mixed"], {}, fingerprints=prints)


@pytest.fixture(params=["reports", "tallies"])
def kind(request):
    return request.param


@pytest.fixture
def store(address, kind):
    with opened(address, kind) as found:
        yield found


def test_a_ciphertext_is_new_once(store):
    first, second = onions(50), onions(30, seed=1)
    assert accept(store, A, first) == 0
    mixture = np.concatenate([second, first[10:20], second[:5]])
    screened = screen(mixture, store.memories.of(TASK.id))
    assert (screened.replayed, screened.repeated) == (10, 5)
    assert screened.kept.tolist() == list(range(30))
    assert accept(store, B, mixture) == 10
    assert accept(store, C, np.concatenate([first, second])) == 80


@pytest.mark.parametrize("number", [1, 2])
def test_single_ciphertexts(store, number):
    some = onions(number)
    prints = fingerprints(some, store.memories.of(TASK.id).secret)
    before = prints.copy()
    assert not store.memories.of(TASK.id).known(prints).any()
    assert (prints == before).all()
    assert accept(store, A, some) == 0
    assert accept(store, B, some) == number


def test_copies_are_found_wherever_a_portion_ends(store, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 7)
    some = onions(45)
    accept(store, A, some)
    prints = fingerprints(np.concatenate([onions(20, seed=1), some]), store.memories.of(TASK.id).secret)
    assert store.memories.of(TASK.id).known(prints).tolist() == [False] * 20 + [True] * 45


def test_the_memory_is_in_the_store(address, kind):
    with opened(address, kind) as store:
        accept(store, A, onions(5))
        secret = store.memories.of(TASK.id).secret
    with opened(address, kind) as store:
        assert store.memories.of(TASK.id).secret == secret
        assert accept(store, B, onions(5)) == 5


def test_tasks_share_nothing(store):
    store.prepare(OTHER)
    accept(store, A, onions(5))
    assert store.memories.of(OTHER.id).secret != store.memories.of(TASK.id).secret
    assert accept(store, B, onions(5), task=OTHER) == 0
    assert len({row[1] for row in every_row(store)["fingerprints"]}) == 10


def test_stores_have_different_secrets(tmp_path):
    found = []
    for name in ("one.db", "two.db"):
        with opened(tmp_path / name, "tallies") as store:
            found.append(store.memories.of(TASK.id).secret)
    assert len(set(found)) == 2


def test_a_batch_stored_again_changes_nothing(store):
    """Two processes that screened the same batch before either had stored it."""
    prints = screen(onions(5), store.memories.of(TASK.id)).fingerprints
    keep(store, A, prints)
    keep(store, A, prints)
    assert len(every_row(store)["fingerprints"]) == 5


def test_of_two_batches_with_the_same_ciphertext_one_is_screened_again(store):
    memory = store.memories.of(TASK.id)
    first, second = screen(onions(5), memory), screen(np.concatenate([onions(3, seed=1), onions(5)]), memory)
    keep(store, A, first.fingerprints)
    with pytest.raises(ConflictError, match="another batch with the same ciphertexts"):
        keep(store, B, second.fingerprints)
    assert not store.has_batch(B)
    assert len(every_row(store)["fingerprints"]) == 5
    assert accept(store, B, np.concatenate([onions(3, seed=1), onions(5)])) == 5
    assert store.has_batch(B)


@pytest.mark.slow
def test_many_processes_accept_each_ciphertext_once(store):
    """Eight threads, each with another half of the same ciphertexts, until all are stored."""
    everything, rng = onions(60), np.random.default_rng(1)
    parts = [everything[rng.permutation(60)[:30]] for _ in range(8)]

    def until_stored(at):
        for _ in range(100):  # each conflict means that another thread has succeeded
            try:
                return 30 - accept(store, bytes([at]) * 16, parts[at])
            except ConflictError:
                continue
        raise AssertionError("a conflict that does not end")

    with ThreadPoolExecutor(8) as pool:
        new = list(pool.map(until_stored, range(8)))
    distinct = len({row.tobytes() for part in parts for row in part})
    assert sum(new) == distinct == len(every_row(store)["fingerprints"])


def test_a_failure_stores_neither_the_batch_nor_its_fingerprints(store, monkeypatch):
    """Both or none: a batch that is processed again must not find its own fingerprints."""
    prints = screen(onions(5), store.memories.of(TASK.id)).fingerprints

    def fails(self, transaction, fingerprints):
        add(self, transaction, fingerprints)
        raise DataError("is the disk full?")

    add = module.Memory.add
    with monkeypatch.context() as broken:
        broken.setattr(module.Memory, "add", fails)
        with pytest.raises(DataError, match="disk full"):
            keep(store, A, prints)
    assert not store.has_batch(A)
    assert every_row(store)["fingerprints"] == []
    assert accept(store, A, onions(5)) == 0


class Killed(BaseException):
    """Stands for a kill of the process."""


def test_a_kill_before_any_commit_stores_both_or_none(store, monkeypatch):
    """A batch and its fingerprints become durable in the same commit, whichever of the commits comes last."""
    memory, database = store.memories.of(TASK.id), store._database
    writing, commits = database.writing, [0]

    @contextmanager
    def killed_before_a_commit():
        with writing() as transaction:
            yield transaction
            commits[0] -= 1
            if not commits[0]:
                raise Killed

    for kill_at in range(1, 12):
        batch_id, some = bytes([kill_at]) * 16, onions(5, seed=kill_at)
        prints, commits[0] = fingerprints(some, memory.secret), kill_at
        with monkeypatch.context() as broken, suppress(Killed):
            broken.setattr(database, "writing", killed_before_a_commit)
            keep(store, batch_id, prints)
        assert memory.known(prints).tolist() == [store.has_batch(batch_id)] * 5
    assert store.has_batch(batch_id)


def test_a_batch_is_stored_by_the_time_its_fingerprints_are(store, monkeypatch):
    """In one transaction: another one sees both or neither."""
    seen = []

    def looks(self, transaction, fingerprints):
        add(self, transaction, fingerprints)
        seen.append((store.has_batch(A), store.memories.of(TASK.id).known(fingerprints).any()))

    add = module.Memory.add
    monkeypatch.setattr(module.Memory, "add", looks)
    accept(store, A, onions(5))
    assert seen == [(False, False)]
    assert store.has_batch(A)


def test_deleting_the_fingerprints_of_a_task(store, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 4)
    store.prepare(OTHER)
    accept(store, A, onions(10))
    accept(store, B, onions(3, seed=1), task=OTHER)
    memory = store.memories.of(TASK.id)
    prints = screen(onions(2, seed=2), memory).fingerprints
    assert store.memories.delete(TASK.id) == 10
    rows = every_row(store)
    assert len(rows["fingerprints"]) == 3
    assert memory.secret not in {secret for _, _, secret in rows["fingerprint_keys"]}
    with pytest.raises(DataError, match="deleted with its key"):
        store.memories.of(TASK.id)
    with pytest.raises(DataError, match="deleted with its key"), store._database.writing() as transaction:
        memory.add(transaction, prints)  # a server that had looked up the secret before
    assert accept(store, C, onions(3, seed=1), task=OTHER) == 3
    assert store.memories.delete(TASK.id) == 0
    assert store.memories.delete(b"unknown") == 0


def test_a_store_of_the_first_version_is_upgraded(address, kind):
    with opened(address, kind) as store, store._database.writing() as transaction:
        for table in ("files", "fingerprints", "fingerprint_keys", *(["tally_parts"] if kind == "tallies" else [])):
            transaction.run(f"DROP TABLE {table}")
        transaction.run("PRAGMA user_version = 1" if address.startswith("sqlite") else "UPDATE about SET version = 1")
    with opened(address, kind) as store:
        assert accept(store, A, onions(5)) == 0
        assert accept(store, B, onions(5)) == 5
    opened(address, kind).close()


def test_no_batch_and_no_fingerprints(store):
    assert accept(store, A, np.empty((0, 48), dtype=np.uint8)) == 0
    assert store.memories.of(TASK.id).known(np.empty((0, FINGERPRINT_BYTES), dtype=np.uint8)).tolist() == []
