"""Bounds from power sums against those from all coefficients: the same, and left to them where they are inaccurate."""

import mpmath
import numpy as np
import pytest

from shuffledp.estimators import tree_counts
from shuffledp.estimators.tree import _REACH, PowerSums, Tree, _polynomials, has_polynomials
from shuffledp.estimators.tree_counts import _groups, alone, distribution_widths, normal_width, prefix_errors
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.compound_poisson import SIZE_GRID, gamma_sizes
from shuffledp.noise.discrete_laplace import DiscreteLaplace

COINS = Binomial(trials=10**5, probability=round_up_to_grid(6e-3))
SMOOTH = {
    "coins": COINS,
    "fair coins": Binomial(trials=4000, probability=0.5),
    "Poisson": CompoundPoisson(rate=800.0, size_weights=(SIZE_GRID,)),
}
LAPLACE = DiscreteLaplace(decay=round_up_to_grid(0.8))


def all_places(tree):
    return np.arange(1, tree.leaves)


def sums_of(tree):
    return PowerSums.of(_groups(tree, all_places(tree), left=1.0, leaf=0.0), size=tree.leaves - 1)


@pytest.mark.parametrize(("leaves", "branching"), [(2, 2), (23, 2), (65, 4), (40, 40), (100, 3)])
def test_power_sums_are_those_of_all_coefficients(leaves, branching):
    tree = Tree(leaves=leaves, branching=branching)
    errors, sums = prefix_errors(tree, all_places(tree)), sums_of(tree)
    a, n = errors.coefficients, errors.numbers
    for order in (2, 3, 7, 10):
        assert sums.positive[order] == pytest.approx((n * np.maximum(a, 0) ** order).sum(axis=0), rel=1e-12, abs=1e-300)
        assert sums.negative[order] == pytest.approx(
            (n * np.maximum(-a, 0) ** order).sum(axis=0), rel=1e-12, abs=1e-300
        )
    assert sums.largest == pytest.approx(np.abs(a).max(axis=0))


@pytest.mark.parametrize("distribution", SMOOTH.values(), ids=SMOOTH)
@pytest.mark.parametrize(("leaves", "branching"), [(2000, 3), (700, 700)])
def test_bounds_are_those_of_all_coefficients(distribution, leaves, branching):
    tree = Tree(leaves=leaves, branching=branching)
    places = all_places(tree)
    risks = np.geomspace(1e-9, 1e-3, places.size)
    asked = []

    def exact(some):
        asked.append(some.size)
        return prefix_errors(tree, places[some])

    found = sums_of(tree).above(distribution, risks, exact=exact)
    assert found == pytest.approx(prefix_errors(tree, places).above(distribution, risks), rel=1e-11)
    assert sum(asked) < places.size / 2  # most need no coefficients


@pytest.mark.parametrize("distribution", SMOOTH.values(), ids=SMOOTH)
@pytest.mark.parametrize("risk", [0.5, 1e-12, 1e-30])
def test_tilts_that_are_not_good_enough_are_left_to_the_coefficients(distribution, risk):
    tree = Tree(leaves=100, branching=3)
    places = all_places(tree)
    risks = np.full(places.size, risk)
    found = sums_of(tree).above(distribution, risks, exact=lambda some: prefix_errors(tree, places[some]))
    assert found == pytest.approx(prefix_errors(tree, places).above(distribution, risks), rel=1e-11)


@pytest.mark.parametrize("distribution", SMOOTH.values(), ids=SMOOTH)
def test_polynomials_are_accurate_to_twelve_digits(distribution):
    """The cumulant over x^2, by mpmath where it has a closed form."""
    if isinstance(distribution, CompoundPoisson):
        return
    (cumulant, *_), p = _polynomials(distribution), mpmath.mpf(distribution.probability)
    with mpmath.workdps(40):
        for x in np.linspace(-_REACH, _REACH, 10):
            exact = distribution.trials * (mpmath.log1p(p * mpmath.expm1(mpmath.mpf(x))) - p * mpmath.mpf(x)) / x**2
            assert np.polyval(cumulant[::-1], x) == pytest.approx(float(exact), rel=1e-12)


def test_heavy_tails_have_no_polynomials():
    assert not has_polynomials(LAPLACE)
    assert has_polynomials(COINS)


@pytest.mark.parametrize("mean", [2.0, 5.0])
def test_clusters_whose_polynomials_are_not_accurate_have_none(mean):
    clusters = CompoundPoisson(rate=3.0, size_weights=gamma_sizes(mean=mean, shape=4.0))
    assert clusters.largest_tilt > 2 * _REACH
    assert not has_polynomials(clusters)


@pytest.mark.parametrize("distribution", [COINS, LAPLACE], ids=["coins", "Laplace"])
def test_bands_do_not_depend_on_blocks(distribution, monkeypatch):
    tree = Tree(leaves=150, branching=4)
    whole = distribution_widths(tree, distribution, risk=0.05)
    monkeypatch.setattr(tree_counts, "_PLACES_AT_ONCE", 7)
    for found, expected in zip(distribution_widths(tree, distribution, risk=0.05), whole, strict=True):
        assert found == pytest.approx(expected, rel=1e-12)


def test_normal_widths_are_below_those_of_heavy_tails():
    """So a curator's noise need not be bounded where even its normal width is larger than another band."""
    for leaves, branching in ((2, 2), (150, 12), (1000, 10)):
        tree = Tree(leaves=leaves, branching=branching)
        least = normal_width(tree, LAPLACE, risk=0.05)
        assert 0 < least < np.max(distribution_widths(tree, LAPLACE, risk=0.05))
    assert normal_width(Tree(leaves=1, branching=2), LAPLACE, risk=0.05) == 0


def test_every_place_gets_its_own_risk():
    """The width at a place is the bound for half of its risk on either side."""
    tree, risk = Tree(leaves=80, branching=3), 0.05
    risks, _ = tree_counts._divided(tree_counts._prefix_deviations(tree, COINS), risk)
    expected = alone(prefix_errors(tree, all_places(tree)), COINS, risks=risks)
    for found, wanted in zip(distribution_widths(tree, COINS, risk=risk), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-9)
