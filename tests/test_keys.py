"""Keys of generators: full length, different for every part, and secret."""

import numpy as np
import pytest
from randomgen import AESCounter

from shuffledp import randomness

KEYS = 64
BITS = 128
MISSING_BIT = 2.0 ** (1 - KEYS) * BITS
"""How often some bit of uniform keys is the same in all of them: 1.4e-17."""


@pytest.fixture
def keys(monkeypatch):
    """Record the key of every new generator."""
    seen = []

    def noted(*, key):
        seen.append(key)
        return AESCounter(key=key)

    monkeypatch.setattr(randomness, "AESCounter", noted)
    return seen


def of_the_system():
    return [randomness.secure_rng() for _ in range(KEYS)]


def of_parts():
    rng = np.random.default_rng(50)
    return [randomness.child(rng) for _ in range(KEYS)]


def of_tasks():
    return [randomness.keyed(b"secret", kind, task) for kind in (0, 1) for task in range(KEYS // 2)]


@pytest.mark.parametrize("make", [of_the_system, of_parts, of_tasks])
def test_every_bit_of_a_key_varies(make, keys):
    """Some bits of a shorter key are always 0. Fails on uniform keys with probability MISSING_BIT."""
    make()
    assert len(set(keys)) == KEYS
    ones = sum(np.array([key >> bit & 1 for bit in range(BITS)]) for key in keys)
    assert 0 < ones.min() <= ones.max() < KEYS
    assert max(keys) < 2**BITS


def test_keys_of_tasks_follow_from_the_secret():
    first, again, other = (randomness.keyed(secret, 1, 2).bytes(16) for secret in (b"one", b"one", b"other"))
    assert first == again
    assert first != other


def test_no_two_calls_share_a_stream(keys):
    """Otherwise a process that is forked after its first release would repeat its parent's noise."""
    first, second = randomness.generator(None), randomness.generator(None)
    assert first is not second
    assert len(set(keys)) == 2
