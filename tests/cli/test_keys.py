"""`shuffledp keys`: key pairs, tokens, and destroying them."""

import hashlib
import json
import stat

import numpy as np
import pytest

from shuffledp.collect.crypto.keys import read_key, read_secret
from shuffledp.collect.server.auth import hash_of
from shuffledp.collect.store import Arrival, open_report_store, open_tally_store
from shuffledp.errors import DataError
from tests.cli.commands import command
from tests.collect.tasks import CLOSES, OPENS, small_task


def keys(folder, *arguments):
    return command("keys", *arguments, cwd=folder)


def test_a_new_key_is_for_its_owner_only_and_its_public_part_is_printed(tmp_path):
    made = keys(tmp_path, "new", "--out", "s.key")
    assert made.returncode == 0
    assert made.stderr == "wrote s.key\n"
    assert made.stdout.strip() == read_key(tmp_path / "s.key").public
    assert stat.S_IMODE((tmp_path / "s.key").stat().st_mode) == 0o600
    assert read_key(tmp_path / "s.key").private_bytes.hex() not in made.stdout


def test_a_key_is_never_overwritten(tmp_path):
    keys(tmp_path, "new", "--out", "s.key")
    before = (tmp_path / "s.key").read_bytes()
    again = keys(tmp_path, "new", "--out", "s.key")
    assert again.returncode == 2
    assert "a secret is never overwritten" in again.stderr
    assert (tmp_path / "s.key").read_bytes() == before


def test_a_folder_that_does_not_exist(tmp_path):
    result = keys(tmp_path, "new", "--out", "none/s.key")
    assert result == (3, "", "shuffledp keys new: none/s.key cannot be written: No such file or directory\n")


@pytest.mark.parametrize("which", [["new"], ["token"], ["tokens", "--number", "5", "--hashes", "h"]])
def test_a_folder_is_no_file(tmp_path, which):
    result = keys(tmp_path, *which, "--out", ".")
    assert result.returncode == 2
    assert "out must be a file, got the folder .\n" in result.stderr


def test_only_the_hash_of_a_token_is_printed(tmp_path):
    made = keys(tmp_path, "token", "--out", "t", "--json")
    token = read_secret(tmp_path / "t").strip()
    assert len(token) == 43
    assert json.loads(made.stdout) == {"file": "t", "sha256": hashlib.sha256(token.encode()).hexdigest()}
    assert token not in made.stdout + made.stderr
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o600
    assert keys(tmp_path, "token", "--out", "t2").stdout.strip() == hash_of(read_secret(tmp_path / "t2").strip()).hex()


def test_one_time_tokens_and_their_hashes_in_another_order(tmp_path):
    made = keys(tmp_path, "tokens", "--number", "200", "--out", "t", "--hashes", "h")
    assert (made.returncode, made.stdout) == (0, "")
    tokens, hashes = ((tmp_path / name).read_text().splitlines() for name in "th")
    assert len(set(tokens)) == 200
    assert hashes == sorted(hash_of(token).hex() for token in tokens)
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--number", "0", "--out", "t", "--hashes", "h"], "number must be from 1 to 10,000,000, got 0"),
        (["--number", "5", "--out", "t", "--hashes", "t"], "t is given twice as an output"),
        (["--number", "5", "--out", "t", "--hashes", "here"], "here already exists"),
        (["--number", "5", "--out", "here", "--hashes", "h"], "here exists, and a secret is never overwritten"),
    ],
)
def test_tokens_that_are_not_made_leave_nothing_behind(tmp_path, arguments, reason):
    (tmp_path / "here").write_text("mine")
    result = keys(tmp_path, "tokens", *arguments)
    assert result.returncode == 2
    assert reason in result.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"here": "mine"}


def test_force_is_advised_only_where_it_helps(tmp_path):
    made = ["tokens", "--number", "5", "--out", "t", "--hashes", "h"]
    assert keys(tmp_path, *made).returncode == 0
    for arguments in (made, [*made, "--force"]):
        again = keys(tmp_path, *arguments)
        assert "t exists, and a secret is never overwritten: choose another name" in again.stderr
        assert "--force" not in again.stderr
    others = ["tokens", "--number", "5", "--out", "t2", "--hashes", "h"]
    assert "--force" in keys(tmp_path, *others).stderr
    assert keys(tmp_path, *others, "--force").returncode == 0
    assert (tmp_path / "h").read_text().split() == sorted(
        hash_of(token).hex() for token in (tmp_path / "t2").read_text().split()
    )


@pytest.fixture
def over(tmp_path):
    return _kept(tmp_path, closes=OPENS.replace(year=2021))


def _kept(folder, *, closes, shufflers=2):
    from shuffledp.collect.crypto.keys import write_key

    kept = small_task(shufflers=shufflers, closes=closes)
    (folder / "t.json").write_text(kept.task.to_json())
    for at, pair in enumerate(kept.keys):
        write_key(pair, folder / f"{at}.key")
    return kept


def test_a_key_is_destroyed_only_when_asked_twice(tmp_path, over):
    content = (tmp_path / "1.key").read_bytes()
    first = keys(tmp_path, "destroy", "1.key", "--task", "t.json")
    assert first.returncode == 2
    assert "nothing was destroyed: add --yes" in first.stderr
    assert f"This is the key of shuffler 2 of 2 of the task {over.task.name}." in first.stdout
    assert "Without it, batches that were not opened yet cannot be read." in first.stdout
    assert "is open until" not in first.stdout
    assert (tmp_path / "1.key").read_bytes() == content
    done = keys(tmp_path, "destroy", "1.key", "--task", "t.json", "--yes")
    assert done.returncode == 0
    assert "1.key was overwritten and deleted" in done.stdout
    assert not (tmp_path / "1.key").exists()


def test_the_bytes_of_a_destroyed_key_are_overwritten_before_they_are_unlinked(tmp_path, over):
    (tmp_path / "another name").hardlink_to(tmp_path / "2.key")
    secret = over.keys[2].private_bytes.hex().encode()
    assert secret in (tmp_path / "another name").read_bytes()
    keys(tmp_path, "destroy", "2.key", "--task", "t.json", "--yes")
    assert secret not in (tmp_path / "another name").read_bytes()


def test_destroying_the_key_of_an_open_task_warns(tmp_path):
    _kept(tmp_path, closes=CLOSES)
    said = keys(tmp_path, "destroy", "0.key", "--task", "t.json").stdout
    assert "The task is open until 2100-01-01T00:00:00Z: reports would be refused or lost." in said
    assert "Without it, reports that arrive from now on cannot be read." in said
    assert "the analyzer" in keys(tmp_path, "destroy", "2.key", "--task", "t.json").stdout


@pytest.mark.parametrize(("key", "open_store"), [("0.key", open_report_store), ("2.key", open_tally_store)])
def test_the_store_tells_whether_an_operator_closed_the_task(tmp_path, key, open_store):
    task = _kept(tmp_path, closes=CLOSES).task
    for closed in (False, True):
        with open_store(tmp_path / "s.db") as store:
            store.prepare(task)
            if closed:
                store.files.close(task.id, task.canonical)
        said = keys(tmp_path, "destroy", key, "--task", "t.json", "--store", "s.db").stdout
        assert ("The task is open until" in said) is not closed


def test_destroying_a_key_lists_waiting_reports(tmp_path, over):
    with open_report_store(tmp_path / "s.db") as store:
        store.prepare(over.task)
        store.add([Arrival(task_id=over.task.id, report_id=bytes([at] * 16), digest=bytes(16), onions=b"x", number=1)
                   for at in range(3)])  # fmt: skip
    asked = keys(tmp_path, "destroy", "1.key", "--task", "t.json", "--store", "sqlite:///s.db")
    assert "The store has 3 reports waiting for a batch and 0 batches not yet forwarded for this task." in asked.stdout
    missing = keys(tmp_path, "destroy", "1.key", "--task", "t.json", "--store", "none.db", "--yes")
    assert missing.returncode == 2
    assert "there is no store none.db" in missing.stderr
    assert (tmp_path / "1.key").exists()
    assert not (tmp_path / "none.db").exists()


def test_the_store_of_a_destroyed_key_may_have_any_name(tmp_path, over):
    with open_report_store(tmp_path / "a store.db") as store:
        store.prepare(over.task)
    for name in ("sqlite:///a%20store.db", "sqlite:///a store.db", "a store.db"):
        asked = keys(tmp_path, "destroy", "1.key", "--task", "t.json", "--store", name)
        assert "The store has 0 reports waiting" in asked.stdout
    missing = keys(tmp_path, "destroy", "1.key", "--task", "t.json", "--store", "sqlite:///another%20store.db")
    assert "there is no store another store.db" in missing.stderr
    assert not (tmp_path / "another store.db").exists()


def test_destroying_a_key_deletes_the_fingerprints_in_its_store(tmp_path, over):
    prints = np.arange(48, dtype=np.uint8).reshape(3, 16)
    with open_report_store(tmp_path / "s.db") as store:
        store.prepare(over.task)
        store.keep_mixed(over.task.id, bytes(16), 3, [b"mixed"], {}, fingerprints=prints)
    with open_tally_store(tmp_path / "a.db") as store:
        store.prepare(over.task)
        store.keep_tally(over.task.id, bytes(16), b"tally", 4, {}, fingerprints=prints[:1])
    for key, name, opened, deleted in (
        ("1.key", "s.db", open_report_store, "3 fingerprints"),
        ("2.key", "a.db", open_tally_store, "1 fingerprint"),
    ):
        named = ("destroy", key, "--task", "t.json")
        assert "stay in the server's store: name it with --store" in keys(tmp_path, *named).stdout
        asked = keys(tmp_path, *named, "--store", name)
        assert asked.returncode == 2
        assert "are deleted from the store, which then accepts no batch of the task" in asked.stdout
        with opened(tmp_path / name) as store:
            assert store.memories.of(over.task.id).known(prints).any()
        done = keys(tmp_path, *named, "--store", name, "--yes")
        assert f"{deleted} of the task {over.task.name[:16]} w" in done.stdout
        with opened(tmp_path / name) as store, pytest.raises(DataError, match="deleted with its key"):
            store.memories.of(over.task.id)
    first = keys(tmp_path, "destroy", "0.key", "--task", "t.json")
    assert "ingerprints" not in first.stdout  # the first shuffler has none


def test_the_store_of_another_server_destroys_nothing(tmp_path, over):
    open_report_store(tmp_path / "s.db").close()
    result = keys(tmp_path, "destroy", "2.key", "--task", "t.json", "--store", "s.db", "--yes")
    assert result.returncode != 0
    assert "is not the store of an analyzer" in result.stderr
    assert (tmp_path / "2.key").exists()


def test_a_key_of_another_task_is_not_destroyed(tmp_path, over):
    keys(tmp_path, "new", "--out", "other.key")
    result = keys(tmp_path, "destroy", "other.key", "--task", "t.json", "--yes")
    assert result.returncode == 2
    assert "key must be of a server of the task" in result.stderr
    assert (tmp_path / "other.key").exists()


def test_a_file_that_is_no_key_is_not_destroyed(tmp_path, over):
    (tmp_path / "notes").touch(0o600)
    (tmp_path / "notes").write_text("mine")
    result = keys(tmp_path, "destroy", "notes", "--task", "t.json", "--yes")
    assert result.returncode == 3
    assert "notes is no private key of shuffledp" in result.stderr
    assert (tmp_path / "notes").read_text() == "mine"
