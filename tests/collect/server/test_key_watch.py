"""Keys whose files are gone."""

import gc
import threading
import weakref

import pytest

from shuffledp.collect.crypto.keys import KeyPair, destroy_secret, read_key, write_key
from shuffledp.collect.server.storage import KEY_GONE, LOOKS_BEFORE_GONE, KeyWatch, storage_problems
from shuffledp.errors import DataError
from tests.collect.tasks import small_task

NEVER = threading.Event()
TASK = small_task(users=20, epsilon=4.0, delta=1e-3).task


@pytest.fixture
def key(tmp_path):
    write_key(KeyPair.generate(), tmp_path / "server.key")
    return read_key(tmp_path / "server.key")


def test_a_key_is_dropped_when_its_file_is_destroyed(key, capsys):
    watch = KeyWatch(lambda: [(TASK, key)])
    watch.step(NEVER)
    assert not key.destroyed
    public = key.public
    destroy_secret(key.file)
    for _ in range(LOOKS_BEFORE_GONE + 1):
        watch.step(NEVER)
    assert key.destroyed
    assert key.public == public
    for use in (lambda: key.private, lambda: key.private_bytes):
        with pytest.raises(DataError, match="was destroyed"):
            use()
    assert capsys.readouterr().err.count("key-destroyed") == 1
    assert storage_problems(key, None, closed=False) == [KEY_GONE]
    assert "If the file comes back, start the server again; otherwise close and remove the task" in KEY_GONE
    assert storage_problems(key, None, closed=True) == []  # the usual end of a task


def test_an_overwritten_key_is_dropped_before_its_file_is_deleted(key):
    watch = KeyWatch(lambda: [(TASK, key)])
    watch.step(NEVER)
    key.file.write_bytes(bytes(key.file.stat().st_size))
    watch.step(NEVER)
    assert key.destroyed


def test_every_pair_of_an_overwritten_file_is_dropped(key):
    """Tasks that share a key read its file each for themselves."""
    pairs = [key, read_key(key.file)]
    watch = KeyWatch(lambda: [(TASK, each) for each in pairs])
    watch.step(NEVER)
    key.file.write_bytes(bytes(key.file.stat().st_size))
    watch.step(NEVER)
    assert [each.destroyed for each in pairs] == [True, True]


def test_a_key_is_watched_after_its_task_was_removed(key):
    served = [(TASK, key)]
    watch = KeyWatch(lambda: served)
    served.clear()  # before the first look
    watch.step(NEVER)
    assert not key.destroyed
    destroy_secret(key.file)
    for _ in range(LOOKS_BEFORE_GONE):
        watch.step(NEVER)
    assert key.destroyed


def test_a_watched_key_is_freed_with_its_last_use(key):
    pairs = [(TASK, read_key(key.file))]
    watch, left = KeyWatch(lambda: pairs), weakref.ref(pairs[0][1])
    watch.step(NEVER)
    pairs.clear()
    gc.collect()
    assert left() is None


def test_a_missing_disk_does_not_destroy_keys(key, tmp_path):
    watch = KeyWatch(lambda: [(TASK, key)])
    key.file = tmp_path / "unmounted" / "server.key"
    for _ in range(2 * LOOKS_BEFORE_GONE):
        watch.step(NEVER)
    assert not key.destroyed


def test_an_empty_folder_in_place_of_that_of_the_keys_destroys_none(tmp_path):
    """Where a volume is not mounted, its mount point is still a folder."""
    folder, aside = tmp_path / "keys", tmp_path / "aside"
    folder.mkdir()
    write_key(KeyPair.generate(), folder / "server.key")
    key = read_key(folder / "server.key")
    watch = KeyWatch(lambda: [(TASK, key)])
    watch.step(NEVER)
    folder.rename(aside)
    folder.mkdir()
    for _ in range(2 * LOOKS_BEFORE_GONE):
        watch.step(NEVER)
    assert not key.destroyed
    folder.rmdir()
    aside.rename(folder)
    key.file.unlink()
    for _ in range(LOOKS_BEFORE_GONE):
        watch.step(NEVER)
    assert key.destroyed


def test_a_key_file_must_be_missing_for_several_looks(key):
    watch = KeyWatch(lambda: [(TASK, key), (TASK, key)])  # of two tasks: still one look
    content = key.file.read_bytes()
    for _ in range(3):
        key.file.unlink()
        for _ in range(LOOKS_BEFORE_GONE - 1):
            watch.step(NEVER)
        assert not key.destroyed
        key.file.write_bytes(content)
        watch.step(NEVER)
    assert not key.destroyed


def test_a_key_that_was_copied_back_unchanged_stays(key):
    watch = KeyWatch(lambda: [(TASK, key)])
    watch.step(NEVER)
    content = key.file.read_bytes()
    key.file.write_bytes(content)
    watch.step(NEVER)
    assert not key.destroyed


def test_keys_without_a_file_are_left_alone():
    pair = KeyPair.generate()
    KeyWatch(lambda: [(TASK, pair)]).step(NEVER)
    assert not pair.destroyed
