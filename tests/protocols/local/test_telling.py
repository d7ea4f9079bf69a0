"""How often a report is of a kind that two values send with different probabilities, on which amplification rests.

The statistical assertion fails on correct code with a probability of at most 1e-6, under a fixed seed.
"""

import numpy as np
import pytest
from scipy.stats import binomtest

from shuffledp.protocols.local import HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.local.local_hashing import _hash
from tests.oracles.goodness import FALSE_FAILURE_RATE


@pytest.mark.parametrize("bins", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("kind", [RandomizedResponse, UnaryEncoding, HadamardResponse])
def test_telling_is_the_probability_of_reports_that_differ(kind, bins, epsilon):
    oracle = kind(users=10, bins=bins, epsilon=epsilon)
    one, other = oracle.randomizer_law(0), oracle.randomizer_law(bins - 1)
    telling = float(sum(p for report, p in one.items() if p != other[report]))
    assert telling * (1 - 1e-15) <= oracle.telling <= telling * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("cells", [2, 3, 8])
def test_hashed_reports_tell_where_the_cell_is_that_of_one_value_only(cells):
    """With the hash functions that are really drawn."""
    oracle, rng, draws = LocalHashing(users=10, bins=50, epsilon=2.0, cells=cells), np.random.default_rng(90), 40_000
    reports = oracle.randomize(np.full(draws, 7), rng=rng)
    own, instead = (
        _hash(np.full(draws, value, dtype=np.uint64), reports["multiplier"], reports["offset"], cells)
        for value in (7, 31)
    )
    told = int(((reports["cell"] == own) != (reports["cell"] == instead)).sum())
    assert binomtest(told, draws, oracle.telling).pvalue > FALSE_FAILURE_RATE
    assert binomtest(told, draws, 0.95 * oracle.telling).pvalue <= FALSE_FAILURE_RATE
