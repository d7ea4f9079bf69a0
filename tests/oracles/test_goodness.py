"""The chi-square tests themselves: their false-failure rate, and their power against noise scaled by 30%."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.oracles.goodness import assert_distribution, assert_not_distribution, distribution_p_value


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
