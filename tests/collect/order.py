"""Statistical tests of whether a layer mixed its onions uniformly.

Each call of `order_p_value` returns a valid p-value for a uniform permutation: two statistics, each at half the rate.
One of them detects a kept or reversed order, reports that stay together, and mixing only of neighbours.
"""

import math

import numpy as np
from scipy.stats import norm, poisson


def order_p_value(places):
    """P-value of the hypothesis that `places` is a uniform permutation of 0 .. n - 1, for n of at least 100.

    Spearman's rank correlation is nearly normal with variance 1 / (n - 1). The number of neighbours that stay
    neighbours, in either order, is nearly Poisson with mean 2 (n - 1) / n.
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
    """The position in `after` of each onion of `before`; both hold the same onions."""
    found = {after[at : at + width]: at // width for at in range(0, len(after), width)}
    assert len(found) * width == len(after), "an onion is there twice"
    return np.array([found[before[at : at + width]] for at in range(0, len(before), width)])
