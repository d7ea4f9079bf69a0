"""Poisson numbers against scipy and against clusters of one."""

import numpy as np
import pytest
from scipy import stats

from shuffledp.noise.compound_poisson import Poisson, poisson
from tests.oracles.goodness import assert_distribution, assert_not_distribution


@pytest.mark.parametrize("rate", [0.3, 5.0, 287.0, 35_433.0])
def test_the_window_has_the_right_probabilities(rate):
    window = Poisson(rate=rate).window
    assert window.pmf == pytest.approx(stats.poisson.pmf(np.arange(window.first, window.last + 1), rate), rel=1e-7)
    if rate < 1000:
        other = poisson(rate).window
        for k in range(int(rate) + 40):
            assert window.above(k) == pytest.approx(other.above(k), rel=1e-8, abs=1e-28)


def test_samples_have_their_distribution():
    rng, window = np.random.default_rng(1), Poisson(rate=12.5).window
    assert_distribution(Poisson(rate=12.5).sample(20_000, rng=rng), window.first, window.pmf)
    for wrong in (0.97, 1.03):
        assert_not_distribution(Poisson(rate=12.5 * wrong).sample(20_000, rng=rng), window.first, window.pmf)
