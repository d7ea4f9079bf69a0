"""Fingerprints: BLAKE2b with a key, one for each ciphertext, wherever the blocks of the loop end."""

from hashlib import blake2b

import numpy as np
import pytest

from shuffledp.collect.crypto import batch as module
from shuffledp.collect.crypto.batch import FINGERPRINT_BYTES, SECRET_BYTES, fingerprints, new_secret, screen
from shuffledp.errors import ParameterError

SECRET = bytes(range(SECRET_BYTES))


def rows(number, width=113, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (number, width), dtype=np.uint8)


@pytest.mark.parametrize("number", [0, 1, 9, 10, 11, 57])
def test_each_row_has_its_keyed_hash_wherever_a_block_ends(monkeypatch, number):
    monkeypatch.setattr(module, "_BLOCK", 10 * 113)
    onions = rows(number)
    expected = [blake2b(row.tobytes(), digest_size=16, key=SECRET).digest() for row in onions]
    assert [row.tobytes() for row in fingerprints(onions, SECRET)] == expected


def test_the_rows_may_be_a_selection_or_a_file(tmp_path):
    onions = rows(40)
    np.save(tmp_path / "onions.npy", onions)
    mapped = np.load(tmp_path / "onions.npy", mmap_mode="r")
    assert (fingerprints(mapped, SECRET) == fingerprints(onions, SECRET)).all()
    assert (fingerprints(onions[::3], SECRET) == fingerprints(onions, SECRET)[::3]).all()


def test_a_fingerprint_depends_on_every_byte_and_on_the_secret():
    onion = rows(1)
    changed = np.repeat(onion, onion.size, axis=0) ^ np.eye(onion.size, dtype=np.uint8)
    found = {row.tobytes() for row in fingerprints(np.concatenate([onion, changed]), SECRET)}
    assert len(found) == onion.size + 1
    assert fingerprints(onion, new_secret()).tobytes() not in found
    assert fingerprints(onion, SECRET).shape == (1, FINGERPRINT_BYTES)


class Memory:
    """Remembers the fingerprints that it is given."""

    secret = SECRET

    def __init__(self, remembered):
        self._remembered = {row.tobytes() for row in remembered}

    def known(self, fingerprints):
        return np.array([row.tobytes() in self._remembered for row in fingerprints], dtype=np.bool_)


@pytest.mark.parametrize("block", [1, 3, 100])
@pytest.mark.parametrize("replayed", [[], [4, 9]])
def test_a_batch_with_copies_keeps_the_fingerprints_of_what_is_kept(monkeypatch, block, replayed):
    monkeypatch.setattr(module, "_BLOCK", block * 113)
    different = rows(12)
    onions = different[[0, 0, 1, 2, 1, 3, 4, 5, 4, 6, 7, 8, 9, 10, 0, 11]]
    screened = screen(onions, Memory(fingerprints(different[replayed], SECRET)))
    kept = {row.tobytes() for row in onions[screened.kept]}
    assert kept == {row.tobytes() for row in np.delete(different, replayed, axis=0)}
    assert (screened.fingerprints == fingerprints(onions[screened.kept], SECRET)).all()
    assert (screened.repeated, screened.replayed) == (4, len(replayed))


@pytest.mark.parametrize(
    ("onions", "secret", "says"),
    [
        (rows(2), b"", "secret must have 32 bytes, got 0"),
        (rows(2)[0], SECRET, "got an array of uint8 with 1 dimensions"),
        (rows(2).astype(np.int64), SECRET, "got an array of int64"),
    ],
)
def test_bad_arguments(onions, secret, says):
    with pytest.raises(ParameterError, match=says):
        fingerprints(onions, secret)


def test_secrets_are_random():
    assert len({new_secret() for _ in range(100)}) == 100
    assert len(new_secret()) == SECRET_BYTES
