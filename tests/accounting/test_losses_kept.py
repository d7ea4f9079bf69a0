"""No mass is lost where losses are shortened, and the number of releases is exact."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from shuffledp.accounting import PrivacyCurve, PrivacyLoss, Shift
from shuffledp.noise import Binomial


@pytest.mark.parametrize("cut", [1e-6, 1e-3, 0.05, 0.4])
def test_shortening_keeps_all_mass(cut):
    full = Shift(distribution=Binomial(trials=40, probability=0.25), by=1).loss
    kept = full.shortened(cut)
    assert kept.losses.size < full.losses.size
    assert kept.masses.sum() + kept.infinity == pytest.approx(full.masses.sum() + full.infinity, rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 11])
def test_a_multiple_is_a_sum(count):
    loss = PrivacyLoss(np.array([-0.5, 0.0, 1.0]), np.array([0.3, 0.4, 0.2]), 0.1)
    grid = loss.on_grid(0.5, cut=0.0)
    at_once, one_by_one = grid.times(count), reduce(add, [grid] * count)
    assert at_once.first == one_by_one.first
    assert at_once.masses == pytest.approx(one_by_one.masses, rel=1e-12)
    assert at_once.infinity == pytest.approx(1 - 0.9**count, rel=1e-12)


def test_several_releases_are_not_called_exact():
    """They are composed on a grid, and in the worse direction each time: an upper bound."""
    one, other = (
        PrivacyCurve.of_shifts(Shift(distribution=Binomial(trials=40, probability=p), by=1)) for p in (0.25, 0.5)
    )
    assert one.exact
    assert not one.times(2).exact
    assert not one.compose(other).exact
