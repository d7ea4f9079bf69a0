"""The smallest noise for a guarantee: enough, and hardly more than enough."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import BinarySum, Histogram, ParameterError
from shuffledp.accounting import calibration
from shuffledp.accounting.calibration import (
    fewest_users,
    first_rate,
    moved_bins_fewest_users,
    moved_bins_probability,
    smallest_probability,
)
from shuffledp.accounting.curve import moved_bins
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.compound_poisson import SIZE_GRID
from tests.oracles.exact import distribution_table, shifted_delta

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


def moved_sum(users, probability):
    return BinarySum(users=users, missing_probability=probability).privacy


def moved_histogram(users, probability):
    return Histogram(users=users, bins=2, missing_probability=probability).privacy


@pytest.mark.slow
@settings(max_examples=60)
@given(st.floats(2, 9), st.floats(-2, 1), st.floats(-15, -2), st.sampled_from([moved_sum, moved_histogram]))
def test_calibration_is_sufficient_and_necessary(log_users, log_epsilon, log_delta, curve):
    users, epsilon, delta = int(10**log_users), 10**log_epsilon, 10**log_delta
    probability = smallest_probability(curve, users=users, epsilon=epsilon, delta=delta)
    if probability is None:
        assert curve(users, 0.5).delta(epsilon) > delta
        return
    assert curve(users, probability).delta(epsilon) <= delta
    less = round_up_to_grid(probability * (1 - 1e-7))
    if less < probability:
        assert curve(users, less).delta(epsilon) > delta


@pytest.mark.slow
@given(st.integers(2, 12), st.integers(1, 31), st.fractions(1, 6, max_denominator=9))
def test_more_noise_means_more_privacy(n, numerator, ratio):
    """What calibration relies on: delta falls as gamma grows to 1/2, and as people join."""

    def exact(n, numerator):
        distribution = Binomial(trials=n, probability=numerator / 64)
        return shifted_delta([distribution_table(distribution)] * 2, [1, -1], ratio=ratio)

    assert exact(n, numerator + 1) <= exact(n, numerator)
    assert exact(n + 1, numerator) <= exact(n, numerator)


@pytest.mark.parametrize("users", [40, 148, 10**6])
def test_histograms_of_one_coin_per_person_are_calibrated_once(users, monkeypatch):
    request = {"users": users, "epsilon": 1.0, "delta": 1e-6}
    calibration.moved_bins_probability.cache_clear()
    calibration.moved_bins_fewest_users.cache_clear()
    probability, fewest = moved_bins_probability(**request), moved_bins_fewest_users(epsilon=1.0, delta=1e-6)
    assert fewest == 148
    assert (probability is None) == (users < fewest)
    assert probability == smallest_probability(moved_histogram, **request)
    if probability is not None:
        assert moved_bins(Binomial(trials=users, probability=probability)).delta(1.0) <= 1e-6
    monkeypatch.setattr(calibration, "moved_bins", None)  # nothing is computed again
    assert moved_bins_probability(**request) == probability
    assert moved_bins_fewest_users(epsilon=1.0, delta=1e-6) == fewest


@pytest.mark.parametrize("shifts", [1, 2, 6])
def test_where_the_search_starts_does_not_matter(shifts):
    probability = smallest_probability(moved_histogram, users=10**5, epsilon=0.5, delta=1e-7, shifts=shifts)
    assert probability == pytest.approx(moved_bins_probability(users=10**5, epsilon=0.5, delta=1e-7), rel=2e-9)
    assert moved_histogram(10**5, probability).delta(0.5) <= 1e-7
    assert fewest_users(moved_histogram, epsilon=0.5, delta=1e-6, shifts=shifts) == 524


@pytest.mark.parametrize("start", [0.5, 30.0, 800.0])
def test_the_first_rate_is_enough_and_hardly_more(start):
    def excess(rate):
        return math.log(moved_bins(CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))).delta(1.0) / 1e-6)

    rate = first_rate(excess, start=start, largest=1e4)
    assert excess(rate) <= 0 < excess(rate * (1 - 2e-4))
    assert rate == pytest.approx(42.66, rel=1e-3)
    assert first_rate(excess, start=start, largest=40.0) is None
