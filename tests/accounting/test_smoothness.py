"""The paper's appendix: smooth distributions, statement by statement."""

import math

import numpy as np
import pytest

from shuffledp import BinarySum, ParameterError
from shuffledp.accounting import theorems
from shuffledp.accounting.theorems import binomial_lemma, corollary, smooth_delta
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid

GRID = [(epsilon, delta) for epsilon in (0.1, 0.5, 1.0) for delta in (1e-2, 1e-6, 1e-10)]


def test_smoothness_matches_its_definition_in_fractions():
    distribution = Binomial(trials=12, probability=0.25)
    f = {k: distribution.pmf_fraction(k) for k in range(13)}
    for epsilon in (0.3, 0.9, 1.7):
        for shifts in (1, 2, 3):
            exact = max(
                sum(p for y, p in f.items() if p >= math.exp(abs(k) * epsilon) * f.get(y + k, 0))
                for k in range(-shifts, shifts + 1)
                if k
            )
            assert smooth_delta(distribution, epsilon=epsilon, shifts=shifts) == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.parametrize("trials", [200, 10_000, 10**7])
@pytest.mark.parametrize("mean", [20, 90])
@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("shifts", [1, 3])
def test_lemma_binomial_is_smooth(trials, mean, alpha, shifts):
    if shifts > alpha * mean / 2:
        with pytest.raises(ParameterError, match="shifts"):
            binomial_lemma(trials=trials, probability=mean / trials, alpha=alpha, shifts=shifts)
        return
    check = binomial_lemma(trials=trials, probability=mean / trials, alpha=alpha, shifts=shifts)
    assert check.holds
    assert check.slack >= 1


@pytest.mark.parametrize("mean", [3, 30, 300])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_lemma_smoothness_gives_privacy(mean, epsilon):
    """An (epsilon, delta, 1)-smooth distribution added to a 1-sensitive sum gives (epsilon, delta)-privacy."""
    smooth = smooth_delta(Binomial(trials=1000, probability=round_up_to_grid(mean / 1000)), epsilon=epsilon, shifts=1)
    private = BinarySum(users=1000, missing_probability=round_up_to_grid(mean / 1000)).privacy.delta(epsilon)
    assert 0 < private <= smooth


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_corollary(epsilon, delta):
    users = 2 * theorems.theorem_users(epsilon=epsilon, delta=delta)
    check = corollary(users=users, epsilon=epsilon, delta=delta)
    assert check.holds
    assert check.slack > 10


def test_alpha_of_the_corollary():
    for epsilon in np.linspace(0.01, 1, 100):
        alpha = math.expm1(epsilon) / (math.exp(epsilon) + 1)
        assert epsilon / math.sqrt(5) <= alpha < 1
