"""Coins that are packed into bytes: what was decided by the first digits stays."""

import numpy as np

from shuffledp.noise.coins import packed_flips


class Scripted:
    """Stands in for a generator: the given words first, then zeros."""

    bit_generator = None  # not one whose words are taken as they are

    def __init__(self, *words):
        self._words = list(words)

    def integers(self, *_, size, **__):
        return np.array([self._words.pop(0) if self._words else 0 for _ in range(size)], dtype=np.uint64)


def test_packed_coins_that_are_decided_early_keep_their_side():
    """Of eight coins with probability 1/2 + 2^-20, one shows heads at the first digit, the others at the twentieth."""
    first_digits = 0b01111111  # of the first place; seven more places of zeros
    assert packed_flips(1, 0.5 + 2.0**-20, Scripted(first_digits)).tolist() == [255]
