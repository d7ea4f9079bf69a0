"""Key files are private, never overwritten, and written completely or not at all."""

import json
import os
import stat

import pytest

from shuffledp.collect.crypto.keys import KeyPair, read_key, read_secret, read_word, write_key, write_secret
from shuffledp.errors import DataError, ParameterError

PAIR = KeyPair.generate()


@pytest.fixture
def path(tmp_path):
    return write_key(PAIR, tmp_path / "a.key")


def test_a_key_is_written_and_read_back(path):
    assert read_key(path).private_bytes == read_key(str(path)).private_bytes == PAIR.private_bytes
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mask", [0, 0o077, 0o777])
def test_key_files_are_private_with_any_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        path = write_key(PAIR, tmp_path / "b.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) & 0o177 == 0


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o601])
def test_a_key_file_that_others_may_read_is_refused(path, mode):
    path.chmod(mode)
    with pytest.raises(DataError, match=r"other users may read .*: run chmod 600"):
        read_key(path)


def test_an_existing_file_is_left_alone(path):
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="a secret is never overwritten"):
        write_key(KeyPair.generate(), path)
    assert path.read_bytes() == before
    link = path.parent / "link"
    link.symlink_to(path.parent / "elsewhere")
    with pytest.raises(ParameterError):  # links are not followed either
        write_key(PAIR, link)
    assert not (path.parent / "elsewhere").exists()


GOOD = {"kind": "shuffledp private key 1", "private": PAIR.private_bytes.hex(), "public": PAIR.public}


@pytest.mark.parametrize(
    "content",
    ["", "x", "[]", "5", "null", "{}", {"kind": "shuffledp private key 2"}, {"private": "00"}, {"private": "zz" * 32},
     {"private": 5}, {"private": None}, {"public": KeyPair.generate().public}, {"public": []}, "\0" * 200],
)  # fmt: skip
def test_a_broken_key_file_is_refused(tmp_path, content):
    path = write_secret(tmp_path / "broken", content if isinstance(content, str) else json.dumps({**GOOD, **content}))
    with pytest.raises(DataError, match="is no private key of shuffledp") as caught:
        read_key(path)
    assert PAIR.private_bytes.hex() not in str(caught.value)


def test_a_key_file_that_is_not_text_is_refused(tmp_path):
    path = write_secret(tmp_path / "broken", "x")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="is not a file with a secret"):
        read_secret(path)


@pytest.mark.parametrize("name", ["none", "."])
def test_files_that_cannot_be_read(tmp_path, name):
    with pytest.raises(DataError, match="cannot be read"):
        read_key(tmp_path / name)


@pytest.mark.parametrize("name", ["none/a.key", "a.key/b"])
def test_files_that_cannot_be_written(path, name):
    with pytest.raises(DataError, match="cannot be written"):
        write_key(PAIR, path.parent / name)


def test_a_full_disk_leaves_no_partial_key(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="cannot be written: No space left on device"):
        write_key(PAIR, tmp_path / "a.key")
    assert list(tmp_path.iterdir()) == []


def test_no_private_key_is_shown():
    assert PAIR.private_bytes.hex() not in repr(PAIR)
    assert PAIR.public in repr(PAIR)


@pytest.mark.parametrize(
    ("read", "content", "what"),
    [
        (read_key, "dark\nlight\n", "is no private key of shuffledp"),
        (read_key, "\n", "is no private key of shuffledp: it is empty$"),
        (read_word, "dark\nlight\n", "holds no token or secret: it has more than one line"),
        (read_word, "\n", "holds no token or secret: it is empty"),
    ],
)
def test_a_file_without_a_secret_need_not_be_hidden(tmp_path, read, content, what):
    path = tmp_path / "themes.txt"
    path.write_text(content)
    path.chmod(0o644)
    with pytest.raises(DataError, match=what) as caught:
        read(path)
    assert "chmod" not in str(caught.value)
    assert "dark" not in str(caught.value)
