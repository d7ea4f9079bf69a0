"""How often noise leaves the range that intervals reckon with, summed from its probabilities."""

import pytest

from shuffledp.estimators.base import MissingNoise
from shuffledp.estimators.levels import ExcessRungs, noise_range
from shuffledp.noise import Binomial
from shuffledp.noise.discrete_laplace import DiscreteLaplace

DISTRIBUTIONS = [Binomial(trials=300, probability=0.125), DiscreteLaplace(decay=0.75)]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=["binomial", "laplace"])
@pytest.mark.parametrize("beta", [0.05, 0.5])
@pytest.mark.parametrize("bins", [1, 20])
def test_the_range_of_noise_is_left_as_rarely_as_stated(distribution, beta, bins):
    least, most = noise_range(MissingNoise(distribution=distribution), beta=beta, bins=bins)
    window = distribution.window
    inside = sum(p for k, p in enumerate(window.pmf.tolist(), start=window.first) if least <= k <= most)
    assert 1 - inside**bins <= beta
    assert 1 - inside**bins > beta / 4  # and not far more rarely


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=["binomial", "laplace"])
@pytest.mark.parametrize("risk", [0.01, 0.1, 0.3])
def test_a_level_fails_as_rarely_as_it_says(distribution, risk):
    level = ExcessRungs(noise=MissingNoise(distribution=distribution), people=10**6, held=10**6).level(risk)
    window = distribution.window
    outside = sum(
        p for k, p in enumerate(window.pmf.tolist(), start=window.first) if not level.least <= k <= level.most
    )
    # except for what sums are rounded: Python 3.12 and later add up more carefully than 3.11
    assert outside * (1 - 1e-14) <= level.risk <= outside * (1 + 1e-9) + 1e-12
