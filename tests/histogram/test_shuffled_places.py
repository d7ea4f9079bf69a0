"""Every message ends up at every place equally often, and beside every other: also far ones, the ends, and lists.

Each assertion fails on a uniform shuffle with a probability of at most 1e-6, under fixed seeds.
"""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from shuffledp import shuffle
from shuffledp.histogram.shuffle import _permuted_in_buckets
from tests.oracles.goodness import FALSE_FAILURE_RATE

SIZE = 60


def places(orders):
    """p-value of where each message ends up: for uniform permutations (n - 1) / n times the sum is chi-square."""
    table = np.zeros((SIZE, SIZE))
    np.add.at(table, (np.arange(SIZE)[None, :], orders), 1)
    expected = len(orders) / SIZE
    statistic = (SIZE - 1) / SIZE * ((table - expected) ** 2 / expected).sum()
    return chi2.sf(statistic, (SIZE - 1) ** 2)


def neighbours(orders):
    """p-value of how often the first message is followed by the second, around the end: one time in n - 1."""
    after = orders[np.arange(len(orders)), (orders.argmin(axis=1) + 1) % SIZE]
    return binomtest(int((after == 1).sum()), len(orders), 1 / (SIZE - 1)).pvalue


def one_array(rng):
    return shuffle(np.arange(SIZE), rng=rng)


def one_by_one(rng):
    return shuffle([np.array([message]) for message in range(SIZE)], rng=rng)


def in_buckets(rng):
    return _permuted_in_buckets(np.arange(SIZE), rng, bucket_size=20)


def in_groups(rng):
    """The negative control: a person hides among the 20 who sent just before and after."""
    return np.concatenate([rng.permutation(np.arange(start, start + 20)) for start in range(0, SIZE, 20)])


def one_cut(rng):
    """The negative control of neighbours: every message keeps its own."""
    return np.roll(np.arange(SIZE), rng.integers(SIZE))


def drawn(permute, rounds):
    rng = np.random.default_rng(60)
    return np.array([permute(rng) for _ in range(rounds)])


@pytest.mark.slow
@pytest.mark.parametrize(("permute", "rounds"), [(one_array, 1500), (one_by_one, 600), (in_buckets, 400)])
def test_every_message_is_everywhere_and_beside_every_other(permute, rounds):
    orders = drawn(permute, rounds)
    assert places(orders) > FALSE_FAILURE_RATE
    assert neighbours(orders) > FALSE_FAILURE_RATE


def test_worse_shuffles_are_found():
    assert places(drawn(in_groups, 400)) <= FALSE_FAILURE_RATE
    assert neighbours(drawn(one_cut, 400)) <= FALSE_FAILURE_RATE
