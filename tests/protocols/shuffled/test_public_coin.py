"""GGK+19 with public coins: exact privacy, the distribution of the cells, errors that are kept, refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import Domain, run
from shuffledp.accounting.curve import PrivacyCurve, Shift
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.noise import Binomial
from shuffledp.protocols import PublicCoinHistogram
from tests.accounting.test_amplification import exact_exp
from tests.oracles.exact import worst_delta
from tests.oracles.goodness import assert_distribution, assert_not_distribution

WISH = {"epsilon": 1.0, "delta": 1e-6}


def tiny(users=2, bins=2, rows=1, width=2, probability=0.25, coin=0):
    noise = Binomial(trials=users, probability=probability)
    return PublicCoinHistogram(users=users, bins=bins, rows=rows, width=width, noise=noise, coin=coin)


def without_collisions(protocol):
    """The same with the first coin that puts any two bins into different cells of every row."""
    for coin in range(10**4):
        other = tiny(protocol.users, protocol.bins, protocol.rows, protocol.width, protocol.noise.probability, coin)
        if all(len(set(row)) == protocol.bins for row in other.hashes.of(np.arange(protocol.bins)).tolist()):
            return other
    raise AssertionError("no coin without collisions")


class Enumerable:
    """The messages of one person as an exact distribution."""

    def __init__(self, protocol):
        self.protocol = protocol

    def randomizer_distribution(self, value):
        from fractions import Fraction
        from itertools import product

        own = self.protocol.hashes.of(np.array([value])).ravel().tolist()
        g, distribution = Fraction(self.protocol.noise.probability), {}
        for sent in product([0, 1], repeat=self.protocol.rows * self.protocol.width):
            noise = [cell for cell, yes in enumerate(sent) if yes]
            distribution[tuple(sorted(own + noise))] = g ** len(noise) * (1 - g) ** (len(sent) - len(noise))
        return distribution


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
@pytest.mark.parametrize(("users", "rows", "width"), [(2, 1, 2), (3, 1, 3), (2, 2, 2)])
def test_privacy_matches_enumeration_of_messages(users, rows, width, epsilon):
    protocol = without_collisions(tiny(users=users, rows=rows, width=width))
    truth = worst_delta(Enumerable(protocol), users=users, values=[0, 1], ratio=exact_exp(epsilon)).delta
    bound = protocol.privacy.delta(epsilon)
    assert float(truth) <= bound
    assert bound == pytest.approx(float(truth), rel=1e-9 if rows == 1 else 2e-2)
    assert protocol.privacy.exact == (rows == 1)


def test_a_value_moves_two_cells_of_every_row():
    protocol = tiny(users=50, rows=3, width=8, probability=0.25)
    noise = Binomial(trials=50, probability=0.25)
    one_row = PrivacyCurve.of_shifts(Shift(distribution=noise, by=1), Shift(distribution=noise, by=-1))
    assert protocol.privacy.delta(1.0) == pytest.approx(one_row.times(3).delta(1.0), rel=1e-4)


@pytest.mark.slow
def test_cells_are_uniform_and_rows_independent():
    seen = np.zeros((5, 5), dtype=int)
    for coin in range(4000):
        first, second = tiny(bins=10, rows=2, width=5, coin=coin).hashes.of(np.array([7])).ravel()
        seen[first, second - 5] += 1
    assert_distribution(np.repeat(np.arange(25), seen.ravel()), 0, np.full(25, 1 / 25))
    together = [
        len(set(tiny(bins=10, rows=1, width=5, coin=c).hashes.of(np.array([3, 8])).ravel())) for c in range(4000)
    ]
    assert np.mean(np.array(together) == 1) == pytest.approx(1 / 5, abs=5.5 * math.sqrt(0.16 / 4000))


@pytest.mark.slow
def test_messages_and_sampled_tally_follow_the_distribution_of_every_cell():
    counts, rng = np.array([20, 6, 3, 1]), np.random.default_rng(80)
    protocol = tiny(users=30, bins=4, rows=2, width=5, probability=0.125, coin=3)
    values = np.repeat(np.arange(4), counts)
    held = np.zeros(10, dtype=int)
    np.add.at(held, protocol.hashes.of(values).ravel(), 1)
    sent = np.array([protocol.tally(protocol.randomize(values, rng=rng)).counts for _ in range(2000)])
    drawn = np.array([protocol.sample_tally(counts, rng=rng).counts for _ in range(2000)])
    for cell in range(10):
        for found in (sent[:, cell], drawn[:, cell]):
            assert_distribution(found - held[cell], 0, binom.pmf(np.arange(31), 30, 0.125))
            for wrong in (0.7, 1.3):
                assert_not_distribution(found - held[cell], 0, binom.pmf(np.arange(31), 30, 0.125 * wrong))


@pytest.mark.slow
@pytest.mark.parametrize("bins", [10, 500])
def test_errors_are_kept_below_and_above(bins):
    """Also where one value is held by nearly everyone, which crowds the values that share its cells."""
    rng, users = np.random.default_rng(81), 2000
    heavy = np.zeros(bins, dtype=np.int64)
    heavy[0], heavy[1:6] = users - 50, 10
    even = np.bincount(np.arange(users) % bins, minlength=bins)
    calibrated = PublicCoinHistogram.calibrate(users=users, bins=bins, **WISH)
    for counts in (heavy, even):
        failed = 0
        for coin in range(60):
            protocol = replace(calibrated, coin=coin)
            estimate = protocol.estimate(protocol.sample_tally(counts, rng=rng))
            failed += np.abs(estimate.counts - counts).max() > protocol.error(0.05).simultaneous
            covered = (estimate.simultaneous.low <= counts) & (counts <= estimate.simultaneous.high)
            failed += not covered.all()
        assert failed <= 12


@pytest.mark.slow
def test_more_rows_help_against_crowds_until_noise_costs_more():
    best = PublicCoinHistogram.calibrate(users=10**5, bins=10**4, **WISH)
    for rows in (1, best.rows + 4):
        other = PublicCoinHistogram.calibrate(users=10**5, bins=10**4, rows=rows, **WISH)
        assert other.error(0.05).simultaneous > best.error(0.05).simultaneous


@pytest.mark.slow
def test_published_parameters_give_their_guarantee():
    published = PublicCoinHistogram.published(users=10**6, bins=100, **WISH)
    assert published.rows == math.ceil(math.log(200))
    assert published.width == 2 * 10**6
    assert published.noise.mean == pytest.approx(90 * 36 * math.log(12e6), rel=1e-9)
    assert published.privacy.delta(1.0) <= 1e-6
    exact = PublicCoinHistogram.calibrate(users=10**6, bins=100, **WISH)
    assert exact.privacy.delta(1.0) <= 1e-6
    assert published.error(0.05).simultaneous > 10 * exact.error(0.05).simultaneous


def test_the_whole_run():
    domain = Domain.of(["a", "b", "c"])
    protocol = PublicCoinHistogram.calibrate(users=300, bins=3, **WISH)
    values = np.repeat([0, 1, 2], [200, 90, 10])
    estimate = run(protocol, values, rng=np.random.default_rng(82), domain=domain)
    assert estimate["a"] == pytest.approx(200, abs=protocol.error(1e-4).per_bin)
    assert "Each cell receives" in estimate.explain()
    fewer = protocol.estimate(protocol.tally(protocol.randomize(values[:200])), reports=200)
    assert fewer.guarantee.epsilon > 1


@pytest.mark.slow
def test_refusals():
    with pytest.raises(TooFewUsersError, match=r"probability 0\.53 > 1/2.*at least 105627.*only 858"):
        PublicCoinHistogram.published(users=10**5, bins=100, **WISH)
    with pytest.raises(TooFewUsersError, match="too few"):
        PublicCoinHistogram.calibrate(users=50, bins=100, **WISH)
    with pytest.raises(ParameterError, match="too many"):
        PublicCoinHistogram.calibrate(users=1000, bins=2**30, **WISH)
    with pytest.raises(ParameterError, match="2\\^31 cells"):
        PublicCoinHistogram.calibrate(users=10**9, bins=100, rows=2, **WISH)
    protocol = tiny()
    with pytest.raises(DataError, match="not a bin"):
        protocol.randomize([2])
    with pytest.raises(DataError, match="reports="):
        protocol.estimate(protocol.tally(np.zeros(500, dtype=int)))
    with pytest.raises(DataError, match="encode"):
        protocol.sample_tally({"a": 2})
