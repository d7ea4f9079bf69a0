"""Privacy curves: against enumeration of messages, against the formula in fractions, against dp_accounting."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import BinarySum, Histogram, ParameterError, PrivacyCurve
from shuffledp.accounting import PrivacyLoss, Shift
from shuffledp.accounting.calibration import smallest_probability
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.verification.exact.enumeration import shifted_delta, shuffled_law
from shuffledp.verification.exact.finite import FiniteRandomizer

RATIOS = [Fraction(1), Fraction(9, 8), Fraction(3, 2), Fraction(3), Fraction(20)]
DYADIC = [1 / 2, 1 / 4, 3 / 16, 1 / 32]


def law_table(law):
    return {k: law.pmf_fraction(k) for k in range(law.trials + 1)}


def assert_tight_upper_bound(value, exact):
    """Never below the exact value, and within 1e-9 of it."""
    assert Fraction(value) >= exact
    assert value == pytest.approx(float(exact), rel=1e-9, abs=1e-29)


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


def test_the_enumerated_output_is_a_law():
    protocol = Histogram(users=2, bins=2, missing_probability=0.25)
    assert sum(shuffled_law(protocol.randomizer_law(v) for v in (0, 1)).values()) == 1


@given(st.integers(1, 25), st.integers(1, 64), st.fractions(1, 8, max_denominator=20))
def test_two_shifts_match_fractions(n, numerator, ratio):
    law = Binomial(trials=n, probability=numerator / 128)
    curve = PrivacyCurve.of_shifts(Shift(law=law, by=1), Shift(law=law, by=-1))
    exact = shifted_delta([law_table(law)] * 2, [1, -1], ratio=ratio)
    assert_tight_upper_bound(curve.delta(math.log(ratio)), exact)


@given(st.integers(1, 40), st.integers(1, 64), st.integers(-3, 3).filter(bool), st.fractions(1, 8, max_denominator=20))
def test_a_larger_shift_matches_fractions_in_both_directions(n, numerator, by, ratio):
    law = Binomial(trials=n, probability=numerator / 128)
    curve = PrivacyCurve.of_shifts(Shift(law=law, by=by))
    exact = max(shifted_delta([law_table(law)], [s], ratio=ratio) for s in (by, -by))
    assert_tight_upper_bound(curve.delta(math.log(ratio)), exact)


def test_each_direction_of_the_binary_sum_is_the_larger_one_somewhere():
    law = Binomial(trials=8, probability=0.25)
    curve = PrivacyCurve.of_shifts(Shift(law=law, by=1))
    larger = set()
    for sixteenths in range(17, 400, 8):
        ratio = Fraction(sixteenths, 16)
        up, down = (shifted_delta([law_table(law)], [by], ratio=ratio) for by in (1, -1))
        larger.add(up > down)
        assert_tight_upper_bound(curve.delta(math.log(ratio)), max(up, down))
    assert larger == {True, False}


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


def high_precision_delta(window, ratio_at, epsilon):
    """The histogram's delta with 40 digits: E over k of the other bin's delta(epsilon - loss)."""
    with mpmath.workdps(40):
        occupied = np.flatnonzero(window.pmf > 1e-60)
        size, first = int(occupied[-1] - occupied[0]) + 1, window.first + int(occupied[0])
        weights = [mpmath.mpf(1)]
        for k in range(first + 1, first + size):
            weights.append(weights[-1] * ratio_at(k))
        total = mpmath.fsum(weights)
        f = [w / total for w in weights]
        # one bin compares f(k) with f(k - 1), the other f(l) with f(l + 1): its ratio grows with l
        ratio = [f[k] / f[k - 1] for k in range(1, size)]
        tail_f, tail_next = [mpmath.mpf(0)] * (size + 1), [mpmath.mpf(0)] * (size + 1)
        for at in range(size - 2, -1, -1):
            tail_f[at] = tail_f[at + 1] + f[at]
            tail_next[at] = tail_next[at + 1] + f[at + 1]
        bound, delta, other = mpmath.exp(epsilon), f[0], size - 2
        for k in range(size - 1, 0, -1):
            needed = bound / ratio[k - 1]
            while other + 1 < size - 1 and 1 / ratio[other] <= needed:
                other += 1
            while other >= 0 and 1 / ratio[other] > needed:
                other -= 1
            delta += f[k] * (tail_f[other + 1] - needed * tail_next[other + 1])
        return delta


@pytest.mark.parametrize(
    ("users", "mean", "epsilon"),
    [(10**6, 42.65, 1.0), (10**6, 2648.1, 0.1), (10**9, 60.0, 3.0), (10**9, 1535.0, 0.01), (10**9, 929_007.0, 0.01)],
)
def test_large_numbers_of_people_match_high_precision(users, mean, epsilon):
    probability = round_up_to_grid(mean / users)
    odds = mpmath.mpf(probability) / (1 - mpmath.mpf(probability))
    window = Binomial(trials=users, probability=probability).window
    exact = high_precision_delta(window, lambda k: odds * (users - k + 1) / k, epsilon)
    ours = Histogram.curve(users, probability).delta(epsilon)
    assert mpmath.mpf(ours) >= exact
    assert ours == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize(("rate", "epsilon"), [(42.65, 1.0), (450.0, 0.25), (2641.2, 0.1), (9000.0, 0.05)])
def test_poisson_noise_matches_high_precision(rate, epsilon):
    """Also above the rate from which the law is made of halves."""
    law = CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))
    exact = high_precision_delta(law.window, lambda k: mpmath.mpf(rate) / k, epsilon)
    ours = PrivacyCurve.of_shifts(Shift(law=law, by=1), Shift(law=law, by=-1)).delta(epsilon)
    assert mpmath.mpf(ours) >= exact
    assert ours == pytest.approx(float(exact), rel=1e-8)


REFERENCE = [
    (BinarySum, 10**6, 1, 1e-6, 34.1),
    (Histogram, 10**6, 0.1, 1e-6, 2648.1),
    (Histogram, 10**6, 0.5, 1e-6, 136.1),
    (Histogram, 10**6, 1, 1e-6, 42.7),
    (Histogram, 10**4, 1, 1e-6, 42.7),
    (Histogram, 10**6, 1, 1e-8, 62.1),
    (Histogram, 10**6, 2, 1e-6, 18.1),
]


@pytest.mark.parametrize(("kind", "users", "epsilon", "delta", "mean"), REFERENCE)
def test_reference_noise_means(kind, users, epsilon, delta, mean):
    sizes = {"bins": 1000} if kind is Histogram else {}
    protocol = kind.calibrate(users=users, epsilon=epsilon, delta=delta, **sizes)
    assert round(protocol.noise.mean, 1) == mean


@pytest.mark.parametrize(("epsilon", "users"), [(2, 45), (1, 148), (0.5, 524)])
def test_fewest_users(epsilon, users):
    assert Histogram.minimum_users(epsilon=epsilon, delta=1e-6) == users
    Histogram.calibrate(users=users, bins=5, epsilon=epsilon, delta=1e-6)
    with pytest.raises(ParameterError, match=f"needs at least {users}"):
        Histogram.calibrate(users=users - 1, bins=5, epsilon=epsilon, delta=1e-6)


@settings(max_examples=60)
@given(st.floats(2, 9), st.floats(-2, 1), st.floats(-15, -2), st.sampled_from([BinarySum, Histogram]))
def test_calibration_is_sufficient_and_necessary(log_users, log_epsilon, log_delta, kind):
    users, epsilon, delta = int(10**log_users), 10**log_epsilon, 10**log_delta
    probability = smallest_probability(kind.curve, users=users, epsilon=epsilon, delta=delta)
    if probability is None:
        assert kind.curve(users, 0.5).delta(epsilon) > delta
        return
    assert kind.curve(users, probability).delta(epsilon) <= delta
    less = round_up_to_grid(probability * (1 - 1e-7))
    if less < probability:
        assert kind.curve(users, less).delta(epsilon) > delta


@given(st.integers(2, 12), st.integers(1, 31), st.fractions(1, 6, max_denominator=9))
def test_more_noise_means_more_privacy(n, numerator, ratio):
    """What calibration relies on: delta falls as gamma grows to 1/2, and as people join."""

    def exact(n, numerator):
        law = Binomial(trials=n, probability=numerator / 64)
        return shifted_delta([law_table(law)] * 2, [1, -1], ratio=ratio)

    assert exact(n, numerator + 1) <= exact(n, numerator)
    assert exact(n + 1, numerator) <= exact(n, numerator)


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
    assert half.privacy.delta(1) <= 1e-6 < Histogram.curve(500, everyone.missing_probability).delta(1)


# composition ------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("by", [3, 4, 9])
def test_a_shift_past_the_support_reveals_everything(by):
    law = Binomial(trials=2, probability=0.25)
    assert PrivacyCurve.of_shifts(Shift(law=law, by=by)).delta(1.0) == pytest.approx(1)
    assert PrivacyCurve.of_shifts(*[Shift(law=law, by=by)] * 3).delta(1.0) == pytest.approx(1)


def test_no_shift_at_all():
    law = Binomial(trials=2, probability=0.25)
    assert PrivacyCurve.of_shifts(*[Shift(law=law, by=0)] * 3).delta(0.0) == pytest.approx(0, abs=1e-9)
    with pytest.raises(ParameterError, match="at least one shift"):
        PrivacyCurve.of_shifts()


def test_too_many_mixes_are_refused():
    curves = [BinarySum(users=9, missing_probability=k / 64).privacy for k in range(1, 15)]
    with pytest.raises(ParameterError, match="mixes of directions"):
        curves[0].compose(*curves[1:])


def test_splitting_onto_a_grid_keeps_both_masses_and_never_lowers_delta():
    loss = Shift(law=Binomial(trials=30, probability=0.25), by=1).loss
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


# interop and errors -----------------------------------------------------------------------------------------------


def test_pld_is_a_dp_accounting_object():
    pld = BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6).privacy.pld()
    assert isinstance(pld, privacy_loss_distribution.PrivacyLossDistribution)


def test_pld_of_mixed_directions_is_refused():
    with pytest.raises(ParameterError, match="mixed directions"):
        BinarySum(users=100, missing_probability=0.25).privacy.times(2).pld()


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
