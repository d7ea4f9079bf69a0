"""Chance matches and sums of noises against fractions and scipy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, poisson

from shuffledp.errors import ParameterError
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.binomial import Matches
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.noise.distribution import TAIL, Sum
from tests.oracles.goodness import assert_distribution, assert_not_distribution


def dummies(rate):
    return CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))


@pytest.mark.parametrize(("trials", "buckets"), [(0, 2), (1, 2), (1, 7), (5, 2), (9, 3), (40, 7)])
def test_matches_are_binomial_with_exactly_one_in_q(trials, buckets):
    matches, p = Matches(trials=trials, buckets=buckets), Fraction(1, buckets)
    for k in range(trials + 1):
        exact = math.comb(trials, k) * p**k * (1 - p) ** (trials - k)
        assert math.exp(matches.window.log_pmf[k - matches.window.first]) == pytest.approx(float(exact), rel=1e-13)
    assert matches.mean == pytest.approx(float(trials * p), rel=1e-15)
    assert matches.variance == pytest.approx(float(trials * p * (1 - p)), rel=1e-15)
    assert matches.window.above(trials) == matches.window.below(0) == 0.0
    assert matches.log_concave


@pytest.mark.parametrize(("trials", "buckets"), [(10**6, 93787), (10**9, 16777213), (10**8, 3)])
def test_many_matches_have_the_tails_of_scipy(trials, buckets):
    window = Matches(trials=trials, buckets=buckets).window
    mean, deviation = trials / buckets, math.sqrt(trials / buckets)
    for k in (round(mean - 3 * deviation), round(mean), round(mean + 6 * deviation)):
        assert window.above(k) == pytest.approx(binom.sf(k, trials, 1 / buckets), rel=1e-7)
        if k > 0:
            assert window.below(k) == pytest.approx(binom.cdf(k - 1, trials, 1 / buckets), rel=1e-7)


def test_sampled_matches_have_their_distribution():
    matches, rng = Matches(trials=50, buckets=7), np.random.default_rng(1)
    drawn = matches.sample(20_000, rng=rng)
    assert_distribution(drawn, matches.window.first, matches.window.pmf)
    assert_not_distribution(Matches(trials=65, buckets=7).sample(20_000, rng=rng), 0, np.append(matches.window.pmf, 0))
    assert not Matches(trials=0, buckets=7).sample(9, rng=rng).any()
    for fields in ({"trials": -1, "buckets": 7}, {"trials": 3, "buckets": 1}):
        with pytest.raises(ParameterError):
            Matches(**fields)


@pytest.mark.parametrize(
    ("trials", "buckets", "rate"), [(0, 5, 2.0), (3, 2, 0.5), (2000, 31, 40.0), (10**6, 9973, 700.0)]
)
def test_a_sum_is_the_convolution(trials, buckets, rate):
    both = Sum(Matches(trials=trials, buckets=buckets), dummies(rate))
    assert both.mean == pytest.approx(trials / buckets + rate)
    assert both.variance == pytest.approx(trials / buckets * (1 - 1 / buckets) + rate)
    assert both.log_concave
    matches = np.arange(0, min(trials, round(trials / buckets + 12 * math.sqrt(trials / buckets) + 20)) + 1)
    weights = binom.pmf(matches, trials, 1 / buckets)
    for k in {0, 1, round(both.mean), round(both.mean + 5 * math.sqrt(both.variance))}:
        above, below = (
            float(weights @ tail) for tail in (poisson.sf(k - matches, rate), poisson.cdf(k - 1 - matches, rate))
        )
        assert both.window.above(k) == pytest.approx(above, rel=1e-8, abs=1e-29)
        assert both.window.below(k) == pytest.approx(below, rel=1e-8, abs=1e-29)


def test_mass_outside_of_either_window_counts_on_both_sides():
    one, other = Binomial(trials=10**6, probability=0.25), dummies(50.0)
    both = Sum(one, other).window
    outside = one.window.mass_below + one.window.mass_above + other.window.mass_below + other.window.mass_above
    assert outside >= 3 * TAIL
    assert both.mass_below == both.mass_above == outside
    assert both.below(-1) == both.above(both.last) == outside
    assert both.highest == math.inf


def test_samples_of_a_sum_have_its_distribution():
    both, rng = Sum(Matches(trials=300, buckets=11), dummies(20.0)), np.random.default_rng(2)
    assert_distribution(both.sample(20_000, rng=rng), both.window.first, both.window.pmf)
    for rate in (14.0, 26.0):
        other = Sum(Matches(trials=300, buckets=11), dummies(rate))
        assert_not_distribution(other.sample(20_000, rng=rng), both.window.first, both.window.pmf)
