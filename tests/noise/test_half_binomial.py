"""Fair coins: probabilities and tails, of few and of very many."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from shuffledp.noise.binomial import half_pmf, half_tail
from tests.oracles.exact import fair_coins, fair_coins_tail


@given(st.integers(0, 60), st.integers(-3, 63))
def test_tails_of_few_fair_coins(trials, k):
    exact = Fraction(sum(math.comb(trials, j) for j in range(max(k, 0), trials + 1)), 2**trials)
    (got,) = half_tail(np.array([trials]), np.array([k]))
    assert got == pytest.approx(float(exact), rel=1e-11)
    mass = Fraction(math.comb(trials, k), 2**trials) if 0 <= k <= trials else 0
    assert half_pmf(np.array([trials]), np.array([k]))[0] == pytest.approx(float(mass), rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("deviations", [-3, -0.5, 0.01, 1, 4, 12])
def test_tails_of_many_fair_coins(trials, deviations):
    k = math.floor(trials / 2 + deviations * math.sqrt(trials) / 2)
    (got,) = half_tail(np.array([trials]), np.array([k]))
    assert got == pytest.approx(binom.sf(k - 1, trials, 0.5), rel=1e-10)
    assert got == pytest.approx(float(fair_coins_tail(trials, k)), rel=1e-10)
    (mass,) = half_pmf(np.array([trials]), np.array([k]))
    assert mass == pytest.approx(float(fair_coins(trials, k)), rel=1e-12)


def test_tails_are_sums_of_probabilities():
    trials, k = np.full(1001, 1000), np.arange(1001)
    sums = np.cumsum(half_pmf(trials, k)[::-1])[::-1]
    assert half_tail(trials, k) == pytest.approx(sums, rel=1e-12)


@pytest.mark.parametrize("trials", [10**10, 10**12])
def test_very_many_coins_stay_precise_near_the_mean(trials):
    """There a continued fraction needs about sqrt(trials) terms."""
    (got,) = half_tail(np.array([trials]), np.array([trials // 2 + 1]))
    assert got == pytest.approx(0.5 - float(fair_coins(trials, trials // 2)) / 2, rel=1e-11)
