"""What is missing from a count, and bounds on it."""

import pytest

from shuffledp.estimators.base import MissingNoise
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid


@pytest.mark.parametrize("shift", [-40, 0, 7])
@pytest.mark.parametrize(("trials", "probability"), [(1, 0.5), (30, 0.3), (4000, 0.01), (10**5, 0.02), (10**6, 0.004)])
def test_the_bound_for_small_reported_values_is_its_definition(trials, probability, shift):
    """Every size up to the mean is tried, also those that are too small for any noise."""
    noise = MissingNoise(distribution=Binomial(trials=trials, probability=round_up_to_grid(probability)), shift=shift)
    for people, bins, risk in ((1, 1, 0.05), (500, 20, 0.05), (10**6, 10**4, 1e-9), (10**12, 10**12, 1e-20)):
        bound, worst = 0, 0.0
        for size in range(1, max(1, int(noise.mean // 1)) + 1):
            worst = max(worst, noise.below(size) / size)
            if people * worst > risk:
                break
            bound = size
        single = noise.least(risk / min(people, bins))
        assert noise.least_of_small(risk, held=people, bins=bins) == (max(single, bound) if bound else single)
