"""Privacy curves: against enumeration of messages, against the formula in fractions, against dp_accounting."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import BinarySum, Histogram, ParameterError, PrivacyCurve
from shuffledp.accounting import Amplification, Shift
from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.accounting.curve import REPLACE_ONE, moved_bins
from shuffledp.accounting.support_curves import SupportCurve
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from tests.oracles.exact import (
    assert_tight_upper_bound,
    distribution_table,
    high_precision_delta,
    shifted_delta,
    shuffled_distribution,
)

RATIOS = [Fraction(1), Fraction(9, 8), Fraction(3, 2), Fraction(3), Fraction(20)]


DYADIC = [1 / 2, 1 / 4, 3 / 16, 1 / 32]


@pytest.mark.parametrize(("users", "gamma"), list(product([1, 2, 5], DYADIC)))
@pytest.mark.parametrize("ratio", RATIOS)
def test_binary_sum_matches_enumeration_of_messages(users, gamma, ratio):
    protocol = BinarySum(users=users, missing_probability=gamma)
    exact = FiniteRandomizer.of(protocol, [0, 1]).shuffled_delta(users=users, ratio=ratio)
    assert_tight_upper_bound(protocol.privacy.delta(math.log(ratio)), exact.delta)


@pytest.mark.parametrize(
    ("users", "bins", "gamma"), [(1, 2, 0.5), (2, 2, 0.25), (3, 2, 3 / 16), (2, 3, 0.5), (3, 3, 0.25)]
)
@pytest.mark.parametrize("ratio", RATIOS)
def test_histogram_matches_enumeration_of_messages(users, bins, gamma, ratio):
    protocol = Histogram(users=users, bins=bins, missing_probability=gamma)
    exact = FiniteRandomizer.of(protocol, range(bins)).shuffled_delta(users=users, ratio=ratio)
    assert_tight_upper_bound(protocol.privacy.delta(math.log(ratio)), exact.delta)


def test_the_enumerated_output_is_a_distribution():
    protocol = Histogram(users=2, bins=2, missing_probability=0.25)
    assert sum(shuffled_distribution(protocol.randomizer_distribution(v) for v in (0, 1)).values()) == 1


@pytest.mark.slow
@given(st.integers(1, 25), st.integers(1, 64), st.fractions(1, 8, max_denominator=20))
def test_two_shifts_match_fractions(n, numerator, ratio):
    distribution = Binomial(trials=n, probability=numerator / 128)
    curve = PrivacyCurve.of_shifts(Shift(distribution=distribution, by=1), Shift(distribution=distribution, by=-1))
    exact = shifted_delta([distribution_table(distribution)] * 2, [1, -1], ratio=ratio)
    assert_tight_upper_bound(curve.delta(math.log(ratio)), exact)


@pytest.mark.slow
@given(st.integers(1, 40), st.integers(1, 64), st.integers(-3, 3).filter(bool), st.fractions(1, 8, max_denominator=20))
def test_a_larger_shift_matches_fractions_in_both_directions(n, numerator, by, ratio):
    distribution = Binomial(trials=n, probability=numerator / 128)
    curve = PrivacyCurve.of_shifts(Shift(distribution=distribution, by=by))
    exact = max(shifted_delta([distribution_table(distribution)], [s], ratio=ratio) for s in (by, -by))
    assert_tight_upper_bound(curve.delta(math.log(ratio)), exact)


def test_each_direction_of_the_binary_sum_is_the_larger_one_somewhere():
    distribution = Binomial(trials=8, probability=0.25)
    curve = PrivacyCurve.of_shifts(Shift(distribution=distribution, by=1))
    larger = set()
    for sixteenths in range(17, 400, 8):
        ratio = Fraction(sixteenths, 16)
        up, down = (shifted_delta([distribution_table(distribution)], [by], ratio=ratio) for by in (1, -1))
        larger.add(up > down)
        assert_tight_upper_bound(curve.delta(math.log(ratio)), max(up, down))
    assert larger == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("users", [10**4, 10**6])
@pytest.mark.parametrize("kind", [BinarySum, Histogram])
def test_curves_match_dp_accounting(users, kind):
    sizes = {"bins": 10} if kind is Histogram else {}
    protocol = kind.calibrate(users=users, epsilon=1, delta=1e-6, **sizes)
    pld = protocol.privacy.pld(value_discretization_interval=1e-4)
    for epsilon in (0.3, 1.0, 1.7):
        ours, theirs = protocol.privacy.delta(epsilon), pld.get_delta_for_epsilon(epsilon)
        assert ours <= theirs * (1 + 1e-6)
        assert ours == pytest.approx(theirs, rel=2e-3)
    assert protocol.privacy.epsilon(1e-6) == pytest.approx(pld.get_epsilon_for_delta(1e-6), abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("users", "mean", "epsilon"),
    [(10**6, 42.65, 1.0), (10**6, 2648.1, 0.1), (10**9, 60.0, 3.0), (10**9, 1535.0, 0.01), (10**9, 929_007.0, 0.01)],
)
def test_large_numbers_of_people_match_high_precision(users, mean, epsilon):
    probability = round_up_to_grid(mean / users)
    odds = mpmath.mpf(probability) / (1 - mpmath.mpf(probability))
    window = Binomial(trials=users, probability=probability).window
    exact = high_precision_delta(window, lambda k: odds * (users - k + 1) / k, epsilon)
    ours = Histogram(users=users, bins=2, missing_probability=probability).privacy.delta(epsilon)
    assert mpmath.mpf(ours) >= exact
    assert ours == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize(("rate", "epsilon"), [(42.65, 1.0), (450.0, 0.25), (2641.2, 0.1), (9000.0, 0.05)])
def test_poisson_noise_matches_high_precision(rate, epsilon):
    """Also above the rate from which the distribution is made of halves."""
    distribution = CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))
    exact = high_precision_delta(distribution.window, lambda k: mpmath.mpf(rate) / k, epsilon)
    ours = PrivacyCurve.of_shifts(
        Shift(distribution=distribution, by=1), Shift(distribution=distribution, by=-1)
    ).delta(epsilon)
    assert mpmath.mpf(ours) >= exact
    assert ours == pytest.approx(float(exact), rel=1e-8)


@given(st.floats(1e-14, 0.5))
def test_epsilon_inverts_delta(delta):
    curve = Histogram.calibrate(users=10_000, bins=3, epsilon=0.7, delta=1e-7).privacy
    epsilon = curve.epsilon(delta)
    assert curve.delta(epsilon) <= delta
    assert epsilon == 0 or curve.delta(epsilon - 1e-6) > delta


def test_epsilon_is_infinite_below_the_mass_that_is_always_revealed():
    curve = BinarySum(users=10, missing_probability=0.5).privacy
    assert curve.epsilon(2.0**-11) == math.inf
    assert curve.epsilon(2.0**-9) < math.inf


def test_honest_users_pay_for_the_others():
    everyone = Histogram.calibrate(users=1000, bins=5, epsilon=1, delta=1e-6)
    half = Histogram.calibrate(users=1000, bins=5, epsilon=1, delta=1e-6, honest_users=500)
    assert half.missing_probability > 1.9 * everyone.missing_probability
    assert half.privacy.delta(1) <= 1e-6 < replace(everyone, honest_users=500).privacy.delta(1)


@pytest.mark.parametrize("by", [3, 4, 9])
def test_a_shift_past_the_support_reveals_everything(by):
    distribution = Binomial(trials=2, probability=0.25)
    assert PrivacyCurve.of_shifts(Shift(distribution=distribution, by=by)).delta(1.0) == pytest.approx(1)
    assert PrivacyCurve.of_shifts(*[Shift(distribution=distribution, by=by)] * 3).delta(1.0) == pytest.approx(1)


def test_no_shift_at_all():
    distribution = Binomial(trials=2, probability=0.25)
    assert PrivacyCurve.of_shifts(*[Shift(distribution=distribution, by=0)] * 3).delta(0.0) == pytest.approx(
        0, abs=1e-9
    )
    with pytest.raises(ParameterError, match="at least one shift"):
        PrivacyCurve.of_shifts()


def test_pld_is_a_dp_accounting_object():
    pld = BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6).privacy.pld()
    assert isinstance(pld, privacy_loss_distribution.PrivacyLossDistribution)


def test_an_enormous_epsilon_leaves_only_what_is_always_revealed():
    curve = BinarySum(users=3, missing_probability=0.25).privacy
    assert curve.delta(1e6) == pytest.approx(0.75**3)


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf, "1", None, True])
def test_bad_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        BinarySum(users=10, missing_probability=0.25).privacy.delta(epsilon)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, math.nan, "small"])
def test_bad_delta_is_refused(delta):
    with pytest.raises(ParameterError, match="delta"):
        BinarySum(users=10, missing_probability=0.25).privacy.epsilon(delta)


@pytest.mark.parametrize(
    ("curve", "exact"),
    [
        (moved_bins(Binomial(trials=50, probability=0.25)), True),
        (moved_bins(Binomial(trials=50, probability=0.25)).times(2), False),
        (BlanketCurve(users=50, flip_probability=0.125, shifts=2), False),
        (SupportCurve(noise_messages=500, elements=3), False),
        (Amplification(local_epsilon=2.0, users=50), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_curve_answers_the_same_four_questions(curve, exact):
    assert curve.neighbours == REPLACE_ONE
    assert curve.exact == exact
    assert 0 < curve.epsilon(0.01) < math.inf
    assert curve.delta(curve.epsilon(0.01)) <= 0.01 < curve.delta(curve.epsilon(0.01) - 1e-5)
    assert curve.delta(0.0) >= curve.delta(0.5) >= curve.delta(1.0)
