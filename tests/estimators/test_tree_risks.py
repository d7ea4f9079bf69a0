"""The risk behind every stated end of a tree's intervals, against exact binomial tails.

Two leaves with fair coins have estimates that are off by (M1 - M2) / 2, and M1 - M2 + n is Bin(2 n, 1/2). Ends are
bounds for their risk, at most a tenth of it below: twice or half of the risk would be outside.
"""

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.noise import Binomial
from shuffledp.protocols import Ranges
from shuffledp.protocols.shuffled.dummy import DummyHistogram

PEOPLE, BETA = 10**8, 0.1


@pytest.fixture(scope="module")
def protocol():
    nodes = DummyHistogram(users=PEOPLE, bins=2, noise=Binomial(trials=PEOPLE, probability=0.5))
    return Ranges(bins=2, branching=2, nodes=nodes)


@pytest.fixture(scope="module")
def estimate(protocol):
    counts = np.array([PEOPLE // 2, PEOPLE // 2])
    return protocol.estimate(protocol.sample_tally(counts, rng=np.random.default_rng(1)), beta=BETA)


def risk_beyond(width):
    """P((M1 - M2) / 2 >= width), exactly; the same on the other side."""
    return binom.sf(np.ceil(PEOPLE + 2 * width) - 1, 2 * PEOPLE, 0.5)


def assert_risk(widths, risk):
    for width in np.ravel(widths):
        assert 0.85 * risk <= risk_beyond(width) <= risk * (1 + 1e-3)  # ends are whole numbers of people


def ends(estimate, low, high):
    return [estimate - np.asarray(low), np.asarray(high) - estimate]


@pytest.mark.slow
def test_the_tail_has_the_distribution_of_the_error(estimate, protocol):
    """The mean of 200 squared errors is within 60 % of the variance n / 8: 1e-7."""
    rng = np.random.default_rng(2)
    counts = np.array([PEOPLE // 2, PEOPLE // 2])
    errors = [protocol.estimator.point(protocol.sample_tally(counts, rng=rng))[0] - counts[0] for _ in range(200)]
    assert 0.4 < np.mean(np.square(errors)) / (PEOPLE / 8) < 1.6


def test_one_value_alone_fails_with_beta(estimate):
    assert_risk(ends(estimate.counts, estimate.per_bin.low, estimate.per_bin.high), BETA / 2)


def test_all_values_at_once_share_beta(estimate):
    assert_risk(ends(estimate.counts, estimate.simultaneous.low, estimate.simultaneous.high), BETA / 2 / 2)


def test_the_error_of_one_value_and_of_all(protocol):
    bound = protocol.error(BETA)
    assert_risk(bound.per_bin, BETA / 2)
    assert_risk([bound.simultaneous, bound.shown], BETA / 2 / 2)


def test_the_band_fails_with_beta(estimate, protocol):
    assert_risk(ends(estimate.below, estimate.below_low, estimate.below_high), BETA / 2)
    assert_risk(protocol.range_error(BETA), BETA / 2)
    found = estimate.distribution()
    assert_risk(ends(found.people[:1], found.low[:1], found.high[:1]), BETA / 2)


def test_one_range_alone_and_all_three_ranges(estimate):
    for found in (estimate.range(0, 0), estimate.range(1, 1)):
        assert_risk(ends(found.count, found.low_alone, found.high_alone), BETA / 2)
        assert_risk(ends(found.count, found.low, found.high), BETA / 3 / 2)


@pytest.mark.parametrize("everywhere", [False, True])
def test_ranges_of_a_larger_tree(protocol, everywhere):
    """Flat, four leaves: a half is off by (M1 + M2 - M3 - M4) / 2, and there are ten ranges."""
    nodes = DummyHistogram(users=PEOPLE, bins=4, noise=Binomial(trials=PEOPLE, probability=0.5))
    flat = Ranges(bins=4, branching=4, nodes=nodes)
    for width in flat.estimator.range_widths(1, 3, beta=BETA, everywhere=everywhere):
        risk = binom.sf(np.ceil(2 * PEOPLE + 2 * width) - 1, 4 * PEOPLE, 0.5)
        wanted = BETA / 2 / (10 if everywhere else 1)
        assert 0.85 * wanted <= risk <= wanted
