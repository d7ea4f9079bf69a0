"""Remainders in machine words equal those of whole numbers, up to the largest modulus of each word."""

import numpy as np
import pytest

from shuffledp.histogram.hash_family import Remainders, is_prime, next_prime


def largest_prime(digits):
    """The largest prime whose sums of this number of digits fit 32-bit words."""
    modulus = int((2**32 / digits) ** 0.5)
    while digits * modulus**2 + 2 * modulus >= 2**32 or not is_prime(modulus):
        modulus -= 1
    return modulus


@pytest.mark.parametrize(
    ("modulus", "digits"),
    [
        (2, 1),
        (47, 4),
        (13_963, 4),
        (largest_prime(4), 4),
        (next_prime(largest_prime(4) + 1), 4),
        (16_777_213, 3),
        (93_763, 1),
    ],
)
def test_remainders_are_exact_at_their_limits(modulus, digits):
    rng = np.random.default_rng(modulus)
    columns = rng.integers(0, modulus, size=(5000, digits))
    columns[:9] = modulus - 1  # the largest errors of rounding
    columns[9:99] = modulus // 2
    shift = rng.integers(0, modulus, size=5000)
    rows = rng.integers(0, modulus, size=(67, digits))
    rows[:3] = modulus - 1
    limit = min(modulus, 300)
    remainders = [(columns @ row + shift) % modulus for row in rows]
    expected = np.array([np.bincount(one[one < limit], minlength=limit) for one in remainders])
    found = Remainders(columns, shift, modulus=modulus)
    assert (found.count_below(rows, limit) == expected).all()
    assert (found.count_zeros(rows) == expected[:, 0]).all()


@pytest.mark.parametrize("limit", [1, 25, 26, 80, 100, 101])
def test_every_limit_counts_the_smaller_remainders(limit):
    rng = np.random.default_rng(limit)
    columns, shift = rng.integers(0, 101, size=(9000, 2)), rng.integers(0, 101, size=9000)
    rows = rng.integers(0, 101, size=(3, 2))
    expected = np.array([np.bincount((columns @ row + shift) % 101, minlength=101)[:limit] for row in rows])
    assert (Remainders(columns, shift, modulus=101).count_below(rows, limit) == expected).all()


def test_no_columns_and_no_rows_give_zeros():
    empty = Remainders(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64), modulus=7)
    assert (empty.count_below(np.ones((2, 2), dtype=np.int64), 7) == 0).all()
    assert empty.count_zeros(np.empty((0, 2), dtype=np.int64)).size == 0
