"""Inversion with integer weights: what decides where the first bits do not."""

import numpy as np

from shuffledp.noise.distribution import InversionTable


class _Scripted:
    """Stands in for a generator: fixed leading words, fixed further bytes."""

    bit_generator = None  # not one whose words are taken as they are

    def __init__(self, words, more):
        self._words, self._more = np.array(words, dtype=np.uint64), more

    def integers(self, *_, **__):
        return self._words

    def bytes(self, count):
        return self._more.to_bytes(count, "little")


def test_inversion_reads_further_bits_on_a_tie():
    # threshold 1/3 = 0.0101...b: the word that starts like it is undecided until more bits come
    table = InversionTable(first=7, weights=[1, 2])
    third = 2**64 // 3
    assert table.sample(3, rng=_Scripted([third - 1, third, third + 1], 0)).tolist() == [7, 7, 8]
    assert table.sample(3, rng=_Scripted([third - 1, third, third + 1], 2**128 - 1)).tolist() == [7, 8, 8]


def test_a_distribution_with_one_value_needs_no_thresholds():
    assert InversionTable(first=4, weights=[9]).sample(3, rng=np.random.default_rng(0)).tolist() == [4, 4, 4]
