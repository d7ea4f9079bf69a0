"""Every digit of a probability counts, also the last one, which no number of draws would show."""

import numpy as np
import pytest

from shuffledp.noise.binomial import GRID_BITS
from shuffledp.noise.coins import count_heads, heads, packed_flips

TOSSES = 130


class Constant:
    """Stands in for a generator: all bits that it draws are the same."""

    def __init__(self, bit):
        self._word = 2**64 - 1 if bit else 0

    def integers(self, *_, size, **__):
        return np.full(size, self._word, dtype=np.uint64)

    def choice(self, among, *, size, **_):
        return np.arange(among)[:size]


@pytest.mark.parametrize("digit", range(1, GRID_BITS + 1))
def test_counted_coins_read_every_digit(digit):
    """A counted coin whose own digits are all 0 lies below any probability above 0, one of ones below none below 1.

    Among coins that are counted, a set bit stands for the digit 0.
    """
    probability = 2.0**-digit
    assert count_heads(TOSSES, probability, Constant(1)) == TOSSES
    assert count_heads(TOSSES, 1 - probability, Constant(1)) == TOSSES
    assert count_heads(TOSSES, probability, Constant(0)) == 0
    assert count_heads(TOSSES, 1 - probability, Constant(0)) == 0
    assert heads(TOSSES, probability, Constant(1)).size == TOSSES


@pytest.mark.parametrize("digit", range(1, GRID_BITS + 1))
def test_packed_coins_read_every_digit(digit):
    """Here a set bit is the digit 1."""
    probability = 2.0**-digit
    assert (packed_flips(20, probability, Constant(0)) == 255).all()
    assert not packed_flips(20, probability, Constant(1)).any()


class Scripted:
    """Stands in for a generator: the given words first, then zeros."""

    def __init__(self, *words):
        self._words = list(words)

    def integers(self, *_, size, **__):
        return np.array([self._words.pop(0) if self._words else 0 for _ in range(size)], dtype=np.uint64)


def test_packed_coins_that_are_decided_early_keep_their_side():
    """Of eight coins with probability 1/2 + 2^-20, one shows heads at the first digit, the others at the twentieth."""
    first_digits = 0b01111111  # of the first place; seven more places of zeros
    assert packed_flips(1, 0.5 + 2.0**-20, Scripted(first_digits)).tolist() == [255]
