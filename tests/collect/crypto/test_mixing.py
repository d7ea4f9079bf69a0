"""Mixing: each onion once, in a uniformly random order over the batch, from an unnamed file.

False failure rate at most 1e-6 per chi-square assertion; randomness comes from the operating system.
"""

import os
import tempfile
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2

from shuffledp.collect.crypto import batch as mixing
from shuffledp.collect.crypto.batch import first_copies, mix
from shuffledp.errors import DataError
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value

WIDTH = 50


def onions(number, seed=1):
    return [row.tobytes() for row in np.random.default_rng(seed).integers(0, 256, (number, WIDTH), dtype=np.uint8)]


def mixed(parts, width=WIDTH):
    with mix(parts, width) as done:
        content = b"".join(done.blocks())
        assert done.number * width == len(content)
        return [content[at : at + width] for at in range(0, len(content), width)], done.repeated


def test_the_same_onions_in_another_order():
    before = onions(3000)
    after, repeated = mixed([b"".join(before[:1000]), b"".join(before[1000:])])
    assert repeated == 0
    assert after != before
    assert sorted(after) == sorted(before)


def orders(rounds, size, order=None):
    before = onions(size)
    number = {onion: at for at, onion in enumerate(before)}
    drawn = [tuple(number[onion] for onion in mixed([b"".join(before)])[0]) for _ in range(rounds)]
    return drawn if order is None else [order(one) for one in drawn]


def every_order_p_value(drawn, size):
    found = Counter(drawn)
    observed = np.array([found[order] for order in permutations(range(size))])
    return p_value(observed, np.full(observed.size, 1 / observed.size))


def places_p_value(drawn, size):
    """P-value of the positions of each onion; for uniform permutations (n - 1) / n times the sum is chi-square."""
    table = np.zeros((size, size))
    for order in drawn:
        table[order, np.arange(size)] += 1
    expected = len(drawn) / size
    statistic = (size - 1) / size * ((table - expected) ** 2 / expected).sum()
    return chi2.sf(statistic, (size - 1) ** 2)


@pytest.mark.slow
def test_every_order_of_a_small_batch_is_equally_likely():
    drawn = orders(800, 4)
    assert every_order_p_value(drawn, 4) > FALSE_FAILURE_RATE
    sorted_often = [tuple(sorted(order)) if at % 10 == 0 else order for at, order in enumerate(drawn)]
    assert every_order_p_value(sorted_often, 4) <= FALSE_FAILURE_RATE  # the negative control


@pytest.mark.slow
def test_every_onion_may_be_anywhere():
    drawn = orders(600, 20)
    assert places_p_value(drawn, 20) > FALSE_FAILURE_RATE
    halves = [tuple(sorted(order[:10])) + order[10:] for order in drawn]
    assert places_p_value(halves, 20) <= FALSE_FAILURE_RATE
    in_parts = [tuple(at for at in order if at < 10) + tuple(at for at in order if at >= 10) for order in drawn]
    assert places_p_value(in_parts, 20) <= FALSE_FAILURE_RATE  # mixed within two halves only


def test_blocks_of_a_large_batch_are_mixed_as_a_whole(monkeypatch):
    monkeypatch.setattr(mixing, "_BLOCK", 10 * WIDTH)
    drawn = orders(300, 30)
    assert places_p_value(drawn, 30) > FALSE_FAILURE_RATE


def test_copies_are_left_out_and_counted():
    before = onions(200)
    near = before[0][:8] + bytes(WIDTH - 8)  # begins like another onion, but is not a copy
    after, repeated = mixed([b"".join([*before, near, before[5], before[5], before[0]])])
    assert repeated == 3
    assert sorted(after) == sorted([*before, near])


def test_copies_far_apart_are_left_out():
    """In another order, in other blocks, and with thousands of others in between."""
    before, others = onions(40), onions(20_000, seed=2)
    copies = [before[at] for at in np.random.default_rng(3).permutation(40)]
    after, repeated = mixed([b"".join(before), b"".join(others[:10_000]), b"".join([*others[10_000:], *copies])])
    assert repeated == 40
    assert sorted(after) == sorted([*before, *others])


def test_which_copies_are_kept():
    rows = np.frombuffer(b"".join([*onions(3), onions(3)[1], onions(3)[0], onions(3)[1]]), dtype=np.uint8)
    assert first_copies(rows.reshape(-1, WIDTH)).tolist() == [0, 1, 2]
    assert first_copies(np.empty((0, WIDTH), dtype=np.uint8)).tolist() == []


def test_an_empty_batch():
    assert mixed([]) == ([], 0)
    assert mixed([b"", b""]) == ([], 0)


def test_half_an_onion_is_an_error():
    with pytest.raises(DataError, match="onions of 50 bytes do not fill 51 bytes"), mix([bytes(51)], WIDTH):
        pass


def test_onions_wait_in_a_file_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd)}  # noqa: PTH115, PTH208
    with mix([b"".join(onions(100))], WIDTH) as done:
        now = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd)}  # noqa: PTH115, PTH208
        assert list(tmp_path.iterdir()) == []
        assert any("(deleted)" in name and str(tmp_path) in name for name in now - before)
        assert done.number == 100
    with pytest.raises(ZeroDivisionError), mix([b"".join(onions(100))], WIDTH):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def _is_open(fd):
    return os.path.lexists(f"/proc/self/fd/{fd}")
