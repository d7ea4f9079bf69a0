"""Privacy-loss distributions on grids and without their ends: never less than the truth."""

import numpy as np
import pytest

from shuffledp.accounting import PrivacyLoss, Shift
from shuffledp.noise import Binomial


def test_splitting_onto_a_grid_keeps_both_masses_and_never_lowers_delta():
    loss = Shift(distribution=Binomial(trials=30, probability=0.25), by=1).loss
    coarse = loss.on_grid(0.37, cut=1e-25).loss
    assert coarse.masses.sum() == pytest.approx(loss.masses.sum(), rel=1e-10)
    assert (coarse.masses * np.exp(-coarse.losses)).sum() == pytest.approx(
        (loss.masses * np.exp(-loss.losses)).sum(), rel=1e-10
    )
    grid = np.linspace(-2, 4, 200)
    assert (coarse.delta(grid) >= loss.delta(grid) * (1 - 1e-11)).all()


def test_shortening_only_raises_delta():
    masses = np.array([1e-26, 0.25, 0.5, 0.25, 1e-26])
    full = PrivacyLoss(0.1 * np.arange(-2.0, 3.0), masses, 0.0)
    cut = full.shortened(1e-25)
    assert cut.masses.size == 3
    coarse = full.shortened(0.3)
    assert coarse.masses.size < 3
    for epsilon in (-0.3, 0.0, 0.05, 0.15, 0.3):
        assert float(coarse.delta(epsilon)) >= float(cut.delta(epsilon)) >= float(full.delta(epsilon))
    assert full.shortened(2.0).delta(0.0) == pytest.approx(1)
