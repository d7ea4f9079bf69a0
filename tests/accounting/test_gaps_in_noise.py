"""Noise that cannot take every value reveals a person who moves a count into a gap."""

import pytest

from shuffledp.accounting import PrivacyLoss
from shuffledp.accounting.curve import moved_bins
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID


def test_noise_of_even_numbers_hides_nobody():
    even = CompoundPoisson(rate=20.0, size_weights=(0, SIZE_GRID))
    for by in (1, -1):
        assert PrivacyLoss.of_shift(even, by).infinity == pytest.approx(1)
    assert moved_bins(even).delta(5.0) == 1.0
    assert PrivacyLoss.of_shift(even, 2).infinity < 1e-6
