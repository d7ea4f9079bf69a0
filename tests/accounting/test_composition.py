"""Curves of several releases, also chosen one after the other: against all decision trees and dp_accounting."""

import math
from fractions import Fraction
from itertools import permutations, product

import pytest

from shuffledp import BinarySum, Histogram
from shuffledp.accounting.curve import Comparison, Shift
from shuffledp.noise import Binomial
from tests.oracles.adaptive import adaptive_delta, every_tree
from tests.oracles.documents import document
from tests.oracles.exact import distribution_table, exact_exp, shifted_delta


def test_k_fold_equals_k_single_compositions():
    for protocol in (
        BinarySum.calibrate(users=10_000, epsilon=1, delta=1e-6),
        Histogram.calibrate(users=10_000, bins=3, epsilon=1, delta=1e-6),
    ):
        one = protocol.privacy
        singly = one.compose(one).compose(one).compose(one)
        assert one.times(4).delta(2.5) == pytest.approx(singly.delta(2.5), rel=1e-9)
        assert one.times(4) == one.compose(one, one, one) == one.times(2).compose(one.times(2))
        assert one.times(1) == one


DISTRIBUTIONS = [(6, 0.25), (4, 30 / 64), (5, 0.5), (3, 0.125), (1, 0.25), (7, 5 / 64)]


@pytest.mark.parametrize(("trials", "gamma"), DISTRIBUTIONS)
@pytest.mark.parametrize("ratio", [Fraction(11, 10), Fraction(2), Fraction(73, 16), Fraction(20)])
def test_two_binary_sums_bound_every_decision_tree(trials, gamma, ratio):
    """Never below the truth where the second bit is chosen by the first result, and within 4 % of it."""
    table = distribution_table(Binomial(trials=trials, probability=gamma))
    exact = adaptive_delta([table] * 2, ratio=ratio)
    assert exact == every_tree(table, ratio=ratio) if trials < 6 else True
    curve = BinarySum(users=trials, missing_probability=gamma).privacy.times(2)
    assert Fraction(curve.delta(math.log(ratio))) >= exact
    assert curve.delta(math.log(ratio)) == pytest.approx(float(exact), rel=0.04)
    assert not curve.exact


@pytest.mark.parametrize(("releases", "ratio"), [(3, Fraction(3)), (4, Fraction(5))])
def test_more_binary_sums_bound_every_decision_tree(releases, ratio):
    table = distribution_table(Binomial(trials=4, probability=30 / 64))
    exact = adaptive_delta([table] * releases, ratio=ratio)
    curve = BinarySum(users=4, missing_probability=30 / 64).privacy.times(releases)
    assert Fraction(curve.delta(math.log(ratio))) >= exact
    assert curve.delta(math.log(ratio)) == pytest.approx(float(exact), rel=0.05)


@pytest.mark.parametrize("ratio", [Fraction(3, 2), Fraction(4)])
def test_different_binary_sums_bound_every_decision_tree(ratio):
    """In either order, whatever it is composed with first."""
    settings = [(4, 30 / 64), (5, 0.25), (3, 0.5)]
    tables = [distribution_table(Binomial(trials=n, probability=gamma)) for n, gamma in settings]
    one, *others = (BinarySum(users=n, missing_probability=gamma).privacy for n, gamma in settings)
    exact = max(adaptive_delta(order, ratio=ratio) for order in permutations(tables))
    composed = one.compose(*others).delta(math.log(ratio))
    assert Fraction(composed) >= exact
    assert composed == pytest.approx(float(exact), rel=0.05)


def test_a_bit_that_is_chosen_after_a_result_tells_more_than_any_fixed_mix_of_directions():
    """The figures of docs/proofs/exact-privacy.md: what the best fixed mix gives is below the truth."""
    table = distribution_table(Binomial(trials=4, probability=30 / 64))
    ratio = exact_exp(1.5)
    fixed = max(shifted_delta([table] * 2, mix, ratio=ratio) for mix in product([1, -1], repeat=2))
    adaptive = adaptive_delta([table] * 2, ratio=ratio)
    published = BinarySum(users=4, missing_probability=30 / 64).privacy.times(2).delta(1.5)
    assert [f"{float(value):.5f}" for value in (fixed, adaptive)] == ["0.21546", "0.22384"]
    assert adaptive <= Fraction(published)
    page = document("exact-privacy.md")
    assert all(f"{float(value):.5f}" in page for value in (fixed, adaptive, published))


@pytest.mark.parametrize("ratio", [Fraction(3, 2), Fraction(4)])
def test_a_histogram_and_then_a_sum_bound_every_decision_tree(ratio):
    """The two ways round of a histogram are the same, so it does not matter how its result is used."""
    table = distribution_table(Binomial(trials=3, probability=0.25))
    pairs = {(k, m): p * q for k, p in table.items() for m, q in table.items()}
    truth = sum(
        p * adaptive_delta([table], ratio=ratio * table.get(k - 1, Fraction(0)) * table.get(m + 1, Fraction(0)) / p)
        for (k, m), p in pairs.items()
    )
    histogram = Histogram(users=3, bins=2, missing_probability=0.25).privacy
    both = histogram.compose(BinarySum(users=3, missing_probability=0.25).privacy)
    assert Fraction(both.delta(math.log(ratio))) >= truth
    assert both.delta(math.log(ratio)) == pytest.approx(float(truth), rel=0.05)


@pytest.mark.parametrize(("trials", "gamma"), [*DISTRIBUTIONS, (1000, 0.0361328125), (10**6, 2.0**-15)])
def test_a_pair_as_bad_as_either_direction_is_no_better_than_it_and_no_worse_than_it_must_be(trials, gamma):
    """Its delta is the larger one of both, for every epsilon, also below 0, and hardly more."""
    up, down = (Shift(distribution=Binomial(trials=trials, probability=gamma), by=by) for by in (1, -1))
    step = max(shift.loss.span for shift in (up, down)) / 4000 or 1e-3
    either = Comparison.of([up]).on_grid(step, cut=1e-30).loss
    for epsilon in (-6.0, -2.0, -0.5, -0.01, 0.0, 0.01, 0.3, 1.0, 1.5, 2.5, 6.0):
        larger = max(float(shift.loss.delta(epsilon)) for shift in (up, down))
        assert float(either.delta(epsilon)) >= larger * (1 - 1e-11)
        assert float(either.delta(epsilon)) == pytest.approx(larger, rel=2e-3, abs=1e-12)
    assert (either.masses >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("releases", [3, 16, 100])
def test_composition_matches_dp_accounting(releases):
    curve = Histogram.calibrate(users=10**5, bins=3, epsilon=0.3, delta=1e-8).privacy
    theirs = curve.pld(value_discretization_interval=2e-5).self_compose(releases)
    ours = curve.times(releases)
    for delta in (1e-4, 1e-6):
        assert ours.epsilon(delta) == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=2e-3)
    assert not ours.exact
    assert curve.exact


def test_different_releases_compose():
    histogram = Histogram.calibrate(users=5000, bins=9, epsilon=0.5, delta=1e-7)
    total = BinarySum.calibrate(users=5000, epsilon=0.5, delta=1e-7)
    both = histogram.privacy.compose(total.privacy)
    assert max(histogram.privacy.epsilon(1e-6), total.privacy.epsilon(1e-6)) < both.epsilon(1e-6) < 1.0
    # against the theorem of basic composition
    assert both.delta(1.0) <= 2e-7


@pytest.mark.parametrize(
    ("users", "gamma", "releases"), [(1, 0.25, 3), (1, 0.5, 3), (1, 2.0**-53, 4), (2, 2.0**-53, 4), (2, 0.5, 5)]
)
@pytest.mark.parametrize("ratio", [Fraction(2), Fraction(1500)])
def test_degenerate_distributions_compose(users, gamma, releases, ratio):
    distribution = Binomial(trials=users, probability=gamma)
    exact = adaptive_delta([distribution_table(distribution)] * releases, ratio=ratio)
    ours = BinarySum(users=users, missing_probability=gamma).privacy.times(releases).delta(math.log(ratio))
    assert Fraction(ours) >= exact
    assert ours == pytest.approx(float(exact), rel=0.02)


def test_many_different_releases_compose():
    curves = [BinarySum(users=9, missing_probability=k / 64).privacy for k in range(1, 15)]
    together = curves[0].compose(*curves[1:])
    assert together.shifts == 14
    assert together.delta(3.0) <= sum(curve.delta(0.2) for curve in curves)


def test_pld_of_sums_bounds_every_decision_tree():
    """The other library composes each direction with itself only, so it is given one that is as bad as either."""
    table = distribution_table(Binomial(trials=4, probability=30 / 64))
    sums = BinarySum(users=4, missing_probability=30 / 64).privacy
    exact = float(adaptive_delta([table] * 2, ratio=exact_exp(1.5)))
    for pld in (sums.pld().self_compose(2), sums.pld().compose(sums.pld()), sums.times(2).pld()):
        assert exact <= pld.get_delta_for_epsilon(1.5) == pytest.approx(sums.times(2).delta(1.5), rel=0.01)
