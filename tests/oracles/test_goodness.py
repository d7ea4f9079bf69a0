"""The chi-square tests themselves: their false-failure rate, and their power against noise scaled by 30%."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, poisson

from tests.oracles.goodness import (
    FALSE_FAILURE_RATE,
    REJECTED_UNSEEDED,
    assert_distribution,
    assert_not_distribution,
    distribution_p_value,
)


@pytest.mark.slow
def test_p_values_of_a_correct_sampler_are_uniform():
    rng = np.random.default_rng(0)
    pmf = binom.pmf(np.arange(21), 20, 0.3)
    p_values = np.array([distribution_p_value(rng.binomial(20, 0.3, 2000), 0, pmf) for _ in range(2000)])
    for level in (0.01, 0.05, 0.2):
        # five standard deviations of a binomial share: fails by luck less than once in a million runs
        assert abs((p_values < level).mean() - level) < 5 * np.sqrt(level * (1 - level) / 2000) + 0.003


@pytest.mark.parametrize("scale", [0.7, 1.3])
def test_noise_scaled_by_30_percent_is_rejected(scale):
    rng = np.random.default_rng(1)
    pmf = binom.pmf(np.arange(400), 10_000, 0.004)
    assert_distribution(rng.binomial(10_000, 0.004, 5000), 0, pmf)
    centred = rng.binomial(10_000, 0.004, 5000) - 40
    assert_not_distribution(np.rint(40 + scale * centred).astype(np.int64), 0, pmf)


def test_a_single_draw_outside_the_support_is_rejected():
    pmf = np.array([0.5, 0.5])
    assert_not_distribution(np.array([0, 1] * 500 + [2]), 0, pmf)


def rejected_by_chance(p_value, expected):
    """The exact probability that a cell with this expected count gives a chi-square p-value below `p_value`."""
    away = np.sqrt(chi2.isf(p_value, 1) * expected)
    return poisson.sf(np.floor(expected + away), expected) + poisson.cdf(np.ceil(expected - away) - 1, expected)


def test_draws_without_a_seed_fail_by_chance_no_more_often_than_stated():
    expected = np.concatenate([np.arange(10, 200, 0.25), [1e3, 1e4]])
    assert rejected_by_chance(REJECTED_UNSEEDED, expected).max() <= FALSE_FAILURE_RATE
    assert rejected_by_chance(FALSE_FAILURE_RATE, expected).max() > 10 * FALSE_FAILURE_RATE  # the control
