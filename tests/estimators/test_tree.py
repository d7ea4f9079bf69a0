"""Trees of counts: least squares against a dense solution, coefficients of errors, bounds on their tails.

Statistical assertions fail on correct code with a probability of at most 1e-6 each, under fixed seeds.
"""

import math

import mpmath
import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.estimators.tree import MOST_LEAVES, LinearErrors, Tree
from shuffledp.estimators.tree_counts import (
    _divided,
    alone,
    distribution_widths,
    largest_deviation,
    leaf_errors,
    leaf_widths,
    prefix_errors,
    range_errors,
)
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.noise.discrete_laplace import DiscreteLaplace

SHAPES = [(1, 2), (2, 2), (5, 2), (6, 10), (7, 3), (8, 2), (9, 3), (10, 3), (13, 4), (17, 16), (23, 2), (65, 4)]
"""Leaves and branching: full trees, uneven ones, one with a single level, one whose last nodes have one child each."""

BINOMIAL = Binomial(trials=4000, probability=round_up_to_grid(0.02))
DISTRIBUTIONS = {
    "coins": BINOMIAL,
    "many coins": Binomial(trials=200, probability=0.5),
    "few messages": Binomial(trials=10**5, probability=round_up_to_grid(4e-5)),
    "Laplace": DiscreteLaplace(decay=round_up_to_grid(0.8)),
    "Poisson": CompoundPoisson(rate=30.0, size_weights=(SIZE_GRID,)),
}
shaped = pytest.mark.parametrize(("leaves", "branching"), SHAPES)
every_distribution = pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)


def memberships(tree):
    """Which leaves are below each node, by their definition: runs of neighbours of equal length."""
    rows = []
    for size in tree.sizes:
        width = next(w for w in (tree.branching**k for k in range(64)) if w * size >= tree.leaves)
        rows += [[first * width <= leaf < (first + 1) * width for leaf in range(tree.leaves)] for first in range(size)]
    return np.array(rows, dtype=float)


def dense_fit(tree, measured, people):
    """The least squares problem as it is written down: all trees whose leaves add up to the people."""
    matrix, leaves = memberships(tree), tree.leaves
    start = np.eye(leaves)[0] * people
    moves = np.eye(leaves)[:, : leaves - 1] - np.eye(leaves)[:, 1:]
    if leaves == 1:
        return start
    best, *_ = np.linalg.lstsq(matrix @ moves, measured - matrix @ start, rcond=None)
    return start + moves @ best


@shaped
def test_a_fit_is_the_dense_least_squares_solution(leaves, branching):
    tree, rng = Tree(leaves=leaves, branching=branching), np.random.default_rng(leaves)
    truth = rng.integers(0, 50, leaves)
    assert tree.totals(truth) == pytest.approx(memberships(tree) @ truth)
    measured = tree.totals(truth) + rng.normal(size=tree.nodes)
    fitted = tree.fit(measured, people=int(truth.sum()))
    assert fitted == pytest.approx(dense_fit(tree, measured, truth.sum()), abs=1e-9)
    assert fitted.sum() == pytest.approx(truth.sum())


@shaped
def test_nodes_above_a_leaf_are_those_that_hold_it(leaves, branching):
    tree = Tree(leaves=leaves, branching=branching)
    holding = memberships(tree)
    paths = tree.paths(np.arange(leaves))
    assert paths.shape == (leaves, tree.levels)
    for leaf, nodes in enumerate(paths):
        assert np.flatnonzero(holding[:, leaf]).tolist() == nodes.tolist()


@shaped
def test_errors_are_the_combinations_of_noise_that_a_fit_makes(leaves, branching):
    """Each coefficient by fitting one unit of noise in one node, against the walks along paths."""
    tree = Tree(leaves=leaves, branching=branching)
    responses = np.array([tree.fit(unit, people=0) for unit in np.eye(tree.nodes)])  # nodes x leaves
    before = np.cumsum(responses, axis=1)
    for errors, wanted in (
        (prefix_errors(tree, np.arange(1, leaves)), before[:, :-1]),
        (leaf_errors(tree, np.arange(leaves)), responses),
    ):
        for column in range(wanted.shape[1]):
            found = np.repeat(errors.coefficients[:, column], errors.numbers[:, column].astype(int))
            assert np.sort(found) == pytest.approx(np.sort(wanted[:, column]), abs=1e-12)
    first, stop = leaves // 3, max(leaves // 3 + 1, leaves - 1)
    single = range_errors(tree, first, stop)
    found = np.repeat(single.coefficients[:, 0], single.numbers[:, 0].astype(int))
    assert np.sort(found) == pytest.approx(np.sort(responses[:, first:stop].sum(axis=1)), abs=1e-12)


def test_the_tree_of_a_number_of_levels_has_the_fewest_children():
    for leaves in (2, 3, 10, 100, 1000, 1024, 65536):
        for levels in range(1, leaves.bit_length() + 1):
            tree = Tree.with_levels(leaves=leaves, levels=levels)
            assert tree.levels <= levels
            assert tree.branching**levels >= leaves
            assert tree.branching == 2 or (tree.branching - 1) ** levels < leaves


@pytest.mark.parametrize("wrong", [{"leaves": 0}, {"branching": 1}, {"leaves": MOST_LEAVES + 1}, {"branching": 2.0}])
def test_impossible_trees_are_refused(wrong):
    with pytest.raises(ParameterError, match=r"leaves|branching"):
        Tree(**{"leaves": 10, "branching": 2, **wrong})


# noise under weights ----------------------------------------------------------------------------------------------


@every_distribution
@pytest.mark.parametrize("tilt", [-0.12, -0.01, 0.05, 0.12])
def test_tilted_distributions_match_their_probabilities(distribution, tilt):
    """Moments summed over the probabilities; the third absolute one of a sum of parts is at most the bound."""
    window = distribution.window
    k = np.arange(window.first, window.last + 1, dtype=float) - distribution.mean
    weights = window.pmf * np.exp(tilt * k)
    total, tilted = weights.sum(), distribution.tilted(np.array([tilt]))
    mean = (weights * k).sum() / total
    variance = (weights * (k - mean) ** 2).sum() / total
    assert tilted.cumulant[0] == pytest.approx(math.log(total), rel=1e-7)
    assert tilted.mean[0] == pytest.approx(mean, rel=1e-7)
    assert tilted.variance[0] == pytest.approx(variance, rel=1e-7)
    if isinstance(distribution, DiscreteLaplace):  # one part
        assert tilted.third[0] >= (weights * np.abs(k - mean) ** 3).sum() / total
    if isinstance(distribution, Binomial):
        q = distribution.probability * math.exp(tilt) / (1 + distribution.probability * math.expm1(tilt))
        assert tilted.third[0] == pytest.approx(distribution.trials * (q * (1 - q) ** 3 + (1 - q) * q**3))


@every_distribution
def test_cumulants_are_derivatives(distribution):
    with mpmath.workdps(40):
        window = distribution.window
        points = [(mpmath.mpf(int(window.first + at)), mpmath.mpf(float(p))) for at, p in enumerate(window.pmf)]

        def log_moment(t):
            return mpmath.log(mpmath.fsum(p * mpmath.exp(t * k) for k, p in points))

        found = mpmath.taylor(log_moment, 0, 4)
    for order, cumulant in enumerate(distribution.cumulants[:3], start=2):
        assert cumulant == pytest.approx(float(found[order]) * math.factorial(order), rel=1e-5, abs=1e-5)


# bounds -----------------------------------------------------------------------------------------------------------


@every_distribution
@pytest.mark.parametrize("risk", [0.2, 1e-3, 1e-7])
def test_bounds_hold_for_sums_whose_distribution_is_known(distribution, risk):
    """M1 + M2 - M3 by convolution: what it reaches with at most the risk, never less than that, and not much more."""
    pmf, window = distribution.window.pmf, distribution.window
    joined = np.convolve(np.convolve(pmf, pmf), pmf[::-1])
    first = 2 * window.first - window.last
    values = first + np.arange(joined.size) - distribution.mean  # centred: 2 mean - mean
    errors = LinearErrors.single(np.array([1.0, 1.0, -1.0]))
    for signed, side in ((errors, joined), (errors.reversed, joined[::-1])):
        at = values if signed is errors else -values[::-1]
        tail = np.cumsum(side[::-1])[::-1]
        exact = at[np.argmax(tail <= risk)]
        (bound,) = signed.above(distribution, risk)
        assert tail[np.searchsorted(at, bound - 1e-9)] <= risk * (1 + 1e-9)
        # the tails of single Laplace noises are far from normal, and the bound is Chernoff's
        assert bound <= (2.5 if isinstance(distribution, DiscreteLaplace) else 1.5) * exact + 2


def test_bounds_are_close_to_normal_ones_where_noise_is_large():
    distribution = Binomial(trials=10**8, probability=round_up_to_grid(1e-3))
    spread = math.sqrt(3 * distribution.variance)
    errors = LinearErrors.single(np.array([1.0, 1.0, -1.0]))
    for risk, normal in ((0.025, 1.959964), (1e-6, 4.753424)):
        assert normal * spread <= errors.above(distribution, risk)[0] <= 1.02 * normal * spread


def test_sums_without_noise_need_no_bound():
    errors = LinearErrors(coefficients=np.array([[0.0, 1.0]]), numbers=np.ones((1, 2)))
    assert errors.above(BINOMIAL, 0.01)[0] == 0
    assert errors.above(BINOMIAL, 0.01)[1] > 0
    assert [part.size for part in distribution_widths(Tree(leaves=1, branching=2), BINOMIAL, risk=0.1)] == [0, 0]


def largest_errors(tree, distribution, *, trials, scale=1.0, seed=0):
    """For every trial the numbers of people before each place, from noise alone, and the leaves."""
    rng = np.random.default_rng(seed)
    noise = (distribution.sample(trials * tree.nodes, rng=rng) - distribution.mean).reshape(trials, tree.nodes) / scale
    leaves = np.array([tree.fit(row, people=0) for row in noise])
    return np.cumsum(leaves, axis=1)[:, :-1], leaves


@pytest.mark.slow
@pytest.mark.parametrize(("leaves", "branching"), [(64, 4), (50, 3), (12, 12)])
@pytest.mark.parametrize("distribution", [BINOMIAL, DISTRIBUTIONS["Laplace"]], ids=["coins", "Laplace"])
def test_the_band_holds_everywhere_at_once_and_is_not_much_wider_than_needed(leaves, branching, distribution):
    """Of 2000 trials at most 5 % may leave a band of 95 %, which in truth at most 3 % leave: by luck more do with
    probability 1e-7. Of trials with noise of 1/0.7 times the size three times as many do; with Laplace noise, for which
    the band is wider, at 1/0.6."""
    tree, trials = Tree(leaves=leaves, branching=branching), 2000
    too_high, too_low = distribution_widths(tree, distribution, risk=0.05)
    before, _ = largest_errors(tree, distribution, trials=trials)
    missed = ((before > too_high) | (before < -too_low)).any(axis=1).mean()
    assert missed <= 0.05
    wide, _ = largest_errors(tree, distribution, trials=trials, scale=0.7 if distribution is BINOMIAL else 0.6, seed=1)
    assert ((wide > too_high) | (wide < -too_low)).any(axis=1).mean() > (0.15 if distribution is BINOMIAL else 0.06)
    needed = np.quantile(np.abs(before).max(axis=1), 0.95)
    widest = max(too_high.max(), too_low.max())
    assert needed < widest <= (1.2 if distribution is BINOMIAL else 1.6) * needed


def test_the_band_is_a_union_over_all_places_and_both_sides():
    """The risks of all places and sides add up to the one that was asked for, as their own bounds say."""
    tree, risk = Tree(leaves=30, branching=3), 0.05
    too_high, too_low = distribution_widths(tree, BINOMIAL, risk=risk)
    errors = prefix_errors(tree, np.arange(1, 30))
    one_by_one = [alone(errors, BINOMIAL, risks=part) for part in (risk / 29 / 1.2, risk / 29 / 12)]
    assert (too_high <= 1.03 * one_by_one[1][0]).all()
    assert too_high.max() >= errors.above(BINOMIAL, risk / 2).max() * 1.2
    assert too_low.max() <= one_by_one[0][1].max()


def test_the_risks_of_all_places_add_up_to_the_whole_risk():
    for deviations in (np.array([1.0]), np.linspace(0.1, 3, 40), np.full(7, 2.0)):
        risks, _ = _divided(deviations, 0.05)
        assert 0.049 <= risks.sum() <= 0.05 * (1 + 1e-9)


@pytest.mark.slow
def test_leaves_are_bounded_alone_and_together():
    tree, trials = Tree(leaves=50, branching=3), 2000
    _, leaves = largest_errors(tree, BINOMIAL, trials=trials)
    together = leaf_widths(tree, BINOMIAL, risk=0.05 / 50)
    one = leaf_widths(tree, BINOMIAL, risk=0.05)
    outside = (leaves > together[0]) | (leaves < -together[1])
    assert outside.any(axis=1).mean() <= 0.05
    alone_outside = ((leaves > one[0]) | (leaves < -one[1])).mean(axis=0)
    assert alone_outside.max() <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / trials)
    assert alone_outside.min() >= 0.02
    assert (together[0] > one[0]).all()
    every = leaf_errors(tree, np.arange(50)).above(BINOMIAL, 0.025)
    assert one[0] == pytest.approx(every)


def test_the_largest_deviation_is_that_of_a_place():
    tree = Tree(leaves=40, branching=3)
    dense = np.array([tree.coefficients((np.arange(40) < place).astype(float)) for place in range(1, 40)])
    assert largest_deviation(tree, places=100) == pytest.approx(np.sqrt((dense**2).sum(axis=1)).max())
    assert largest_deviation(Tree(leaves=1, branching=2), places=5) == 0
