"""Fingerprints: BLAKE2b with a key, one for each ciphertext, wherever the blocks of the loop end."""

from hashlib import blake2b

import numpy as np
import pytest

from shuffledp.collect.crypto import fingerprint as module
from shuffledp.collect.crypto.fingerprint import FINGERPRINT_BYTES, SECRET_BYTES, fingerprints, new_secret
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
