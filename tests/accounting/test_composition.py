"""Curves of several releases: every mix of directions, against enumeration and against dp_accounting."""

import math
from fractions import Fraction
from itertools import product

import pytest

from shuffledp import BinarySum, Histogram, ParameterError
from shuffledp.noise import Binomial
from shuffledp.verification.exact.enumeration import shifted_delta
from tests.oracles.exact import assert_tight_upper_bound, law_table


def test_k_fold_equals_k_single_compositions():
    for protocol in (
        BinarySum.calibrate(users=10_000, epsilon=1, delta=1e-6),
        Histogram.calibrate(users=10_000, bins=3, epsilon=1, delta=1e-6),
    ):
        one = protocol.privacy
        singly = one.compose(one).compose(one).compose(one)
        assert one.times(4).delta(2.5) == pytest.approx(singly.delta(2.5), rel=1e-9)
        assert one.times(4).comparisons == one.compose(one, one, one).comparisons
        assert one.times(1) == one


@pytest.mark.parametrize(("releases", "ratio"), [(2, Fraction(2)), (3, Fraction(3)), (4, Fraction(5))])
def test_composed_binary_sums_bound_every_mix_of_directions(releases, ratio):
    law = Binomial(trials=6, probability=0.25)
    table = law_table(law)
    exact = max(shifted_delta([table] * releases, mix, ratio=ratio) for mix in product([1, -1], repeat=releases))
    curve = BinarySum(users=6, missing_probability=0.25).privacy.times(releases)
    assert Fraction(curve.delta(math.log(ratio))) >= exact
    assert curve.delta(math.log(ratio)) == pytest.approx(float(exact), rel=2e-3)


def test_a_mix_of_directions_can_be_the_worst():
    """Composing each direction with itself only, as add/remove accountants do, would be too optimistic here."""
    table = law_table(Binomial(trials=4, probability=30 / 64))
    ratio = Fraction(73, 16)
    same = max(shifted_delta([table] * 2, (s, s), ratio=ratio) for s in (1, -1))
    mixed = shifted_delta([table] * 2, (1, -1), ratio=ratio)
    assert mixed > same
    curve = BinarySum(users=4, missing_probability=30 / 64).privacy.times(2)
    assert_tight_upper_bound(curve.delta(math.log(ratio)), mixed)


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
def test_degenerate_laws_compose(users, gamma, releases, ratio):
    law = Binomial(trials=users, probability=gamma)
    exact = max(
        shifted_delta([law_table(law)] * releases, mix, ratio=ratio) for mix in product([1, -1], repeat=releases)
    )
    ours = BinarySum(users=users, missing_probability=gamma).privacy.times(releases).delta(math.log(ratio))
    assert Fraction(ours) >= exact
    assert ours == pytest.approx(float(exact), rel=0.02)


def test_too_many_mixes_are_refused():
    curves = [BinarySum(users=9, missing_probability=k / 64).privacy for k in range(1, 15)]
    with pytest.raises(ParameterError, match="mixes of directions"):
        curves[0].compose(*curves[1:])


def test_pld_of_mixed_directions_is_refused():
    with pytest.raises(ParameterError, match="mixed directions"):
        BinarySum(users=100, missing_probability=0.25).privacy.times(2).pld()
