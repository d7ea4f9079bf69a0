"""Compound Poisson noise: probabilities against closed forms, tails, samplers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from shuffledp.errors import ParameterError
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID, gamma_sizes, poisson_table
from tests.oracles.goodness import assert_distribution, assert_not_distribution

ONES = (SIZE_GRID,)


@pytest.mark.parametrize("rate", [0.1, 3.0, 42.0, 300.0, 5000.0])
def test_sizes_of_one_give_the_poisson_distribution(rate):
    distribution = CompoundPoisson(rate=rate, size_weights=ONES)
    k = np.arange(distribution.window.last + 1)
    assert distribution.window.pmf == pytest.approx(
        poisson.pmf(k, rate), rel=1e-9, abs=1e-30
    )  # far less than what counts as outside
    assert distribution.mean == distribution.variance == pytest.approx(rate)


def test_logarithmic_sizes_give_the_negative_binomial_distribution():
    q, r = 0.7, 9.0
    sizes = -(q ** np.arange(1, 80)) / np.arange(1, 80) / math.log1p(-q)
    weights = np.floor(sizes * SIZE_GRID).astype(np.int64)
    weights[0] += SIZE_GRID - weights.sum()  # the last sizes round to 0
    distribution = CompoundPoisson(rate=-r * math.log1p(-q), size_weights=tuple(weights[weights > 0].tolist()))
    k = np.arange(60)
    assert distribution.window.pmf[:60] == pytest.approx(nbinom.pmf(k, r, 1 - q), rel=1e-7)


@pytest.mark.parametrize("rate", [1e-300, 1e-20, 1e-9, 1e-3])
@pytest.mark.parametrize("weights", [ONES, (SIZE_GRID // 2, SIZE_GRID // 2), (0, 0, SIZE_GRID), (*[0] * 99, SIZE_GRID)])
def test_hardly_any_clusters_take_no_room(rate, weights):
    """A task may have any rate, and a client that checks it must not run out of memory."""
    distribution = CompoundPoisson(rate=rate, size_weights=weights)
    assert distribution.window.last < 1000 * len(weights)
    assert distribution.window.pmf[0] == math.exp(-rate)
    if rate > 1e-30:  # otherwise one cluster is beyond the window
        assert distribution.window.pmf[len(weights)] == pytest.approx(rate * distribution.sizes[-1], rel=2e-3)
    assert distribution.window.pmf.sum() == pytest.approx(1, abs=1e-15)


def test_probabilities_match_an_exact_convolution():
    weights = (SIZE_GRID // 2, SIZE_GRID // 4, SIZE_GRID // 4)
    distribution = CompoundPoisson(rate=2.5, size_weights=weights)
    size = [Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    for k in (0, 1, 5, 12):
        total, power = 0.0, {0: Fraction(1)}
        for clusters in range(k + 1):
            total += math.exp(-2.5) * 2.5**clusters / math.factorial(clusters) * float(power.get(k, 0))
            longer: dict[int, Fraction] = {}
            for have, chance in power.items():
                for more, p in enumerate(size):
                    longer[have + more] = longer.get(have + more, Fraction(0)) + chance * p
            power = longer
        assert distribution.window.pmf[k] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 3.0])
def test_the_window_leaves_out_less_than_it_says(epsilon):
    distribution = CompoundPoisson(rate=30.0, size_weights=gamma_sizes(mean=max(1, 1.3 / epsilon), shape=20))
    assert distribution.window.pmf.sum() == pytest.approx(1, abs=1e-12)
    # beyond the bulk the probabilities fall faster than geometrically, so the last two bound what is left out
    last, before = distribution.window.pmf[-1], distribution.window.pmf[-2]
    assert last / (1 - last / before) < 2.0**-100


def test_gamma_sizes_have_about_their_mean_and_spread():
    sizes = np.array(gamma_sizes(mean=30, shape=4)) / SIZE_GRID
    numbers = np.arange(1, sizes.size + 1)
    mean = sizes @ numbers
    assert mean == pytest.approx(30, rel=0.01)
    assert sizes @ (numbers - mean) ** 2 == pytest.approx(30**2 / 4, rel=0.02)
    assert sum(gamma_sizes(mean=1, shape=40)) == SIZE_GRID


@pytest.mark.parametrize(
    "fields",
    [
        {"rate": 0.0, "size_weights": ONES},
        {"rate": 1e6, "size_weights": ONES},
        {"rate": "1", "size_weights": ONES},
        {"rate": 1.0, "size_weights": (1, 2)},
        {"rate": 1.0, "size_weights": (SIZE_GRID, 0)},
    ],
)
def test_bad_distributions_are_refused(fields):
    with pytest.raises(ParameterError):
        CompoundPoisson(**fields)


@pytest.mark.parametrize("scale", [0.7, 1.0, 1.3])
def test_inversion_follows_the_distribution_with_negative_controls(scale):
    sizes = gamma_sizes(mean=4, shape=6)
    distribution = CompoundPoisson(rate=12.0, size_weights=sizes)
    draws = distribution.with_rate(12.0 * scale).sample(50_000, rng=np.random.default_rng(30))
    (assert_distribution if scale == 1.0 else assert_not_distribution)(draws, 0, distribution.window.pmf)


@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(7, 3), Fraction(95)])
def test_poisson_table_is_exact(rate):
    draws = poisson_table(rate).sample(100_000, rng=np.random.default_rng(31))
    assert_distribution(draws, 0, poisson.pmf(np.arange(400), float(rate)))


def test_sampled_sizes_follow_their_weights():
    distribution = CompoundPoisson(rate=1.0, size_weights=gamma_sizes(mean=5, shape=3))
    assert_distribution(distribution.sample_sizes(100_000, rng=np.random.default_rng(32)), 1, distribution.sizes)
