"""Whether a layer mixed: tests of the order in which onions come out against the uniform one.

Each call of `order_p_value` fails on a uniform permutation with at most the probability that it returns: two
statistics, each at half the rate. Keeping the order, turning it round, keeping reports together, or mixing only
neighbours is noticed by one of them.
"""

import math

import numpy as np
from scipy.stats import norm, poisson


def order_p_value(places):
    """p-value of the hypothesis that `places`, where each came out, is a uniform permutation of 0 .. n - 1.

    Spearman's rank correlation of place and number is nearly normal with variance 1 / (n - 1). How many neighbours
    came out as neighbours, in either order, is nearly Poisson with mean 2 (n - 1) / n. Both for n of at least 100.
    """
    places = np.asarray(places)
    size = places.size
    assert size >= 100, "too few for a test that could fail"
    assert (np.sort(places) == np.arange(size)).all(), "no permutation"
    correlation = np.corrcoef(places, np.arange(size))[0, 1]
    by_rank = 2 * norm.sf(abs(correlation) * math.sqrt(size - 1))
    together = int((np.abs(np.diff(places)) == 1).sum())
    by_neighbours = poisson.sf(together - 1, 2 * (size - 1) / size)
    return min(1.0, 2 * min(by_rank, by_neighbours))


def places_of(before, after, width):
    """Where each onion of the bytes `before` stands in the bytes `after`, which holds the same onions."""
    found = {after[at : at + width]: at // width for at in range(0, len(after), width)}
    assert len(found) * width == len(after), "an onion is there twice"
    return np.array([found[before[at : at + width]] for at in range(0, len(before), width)])
