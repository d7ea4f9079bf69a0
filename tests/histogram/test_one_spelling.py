"""A bin is named after the value, not after the person who held it first."""

import numpy as np
import pytest

from shuffledp.histogram.tally import Tally


@pytest.mark.parametrize("values", [[True, 1, 1.0, "a"], [-0.0, 0.0, 0, "a"], [np.float32(2.0), 2, "a"]])
def test_the_first_holder_does_not_name_a_bin(values):
    tallies = [Tally.of(values), Tally.of(values[::-1])]
    spellings = [sorted(map(repr, tally.as_dict())) for tally in tallies]
    assert spellings[0] == spellings[1]
    assert [tally.total for tally in tallies] == [len(values)] * 2
    assert all(len(tally) == 2 for tally in tallies)
