"""The paper statement by statement: Theorems 3.1 and 3.2, and the conditions they come with."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import BinarySum, Histogram, ParameterError, TooFewUsersError, run
from shuffledp.accounting import theorems

GRID = [(epsilon, delta) for epsilon in (0.1, 0.5, 1.0) for delta in (1e-2, 1e-6, 1e-10)]


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
@pytest.mark.parametrize("factor", [1, 30])
def test_theorem_3_1_i_privacy(epsilon, delta, factor):
    users = factor * theorems.theorem_users(epsilon=epsilon, delta=delta)
    protocol = BinarySum.published(users=users, epsilon=epsilon, delta=delta)
    assert protocol.guarantee.epsilon == epsilon
    assert protocol.privacy.delta(epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_theorem_3_1_ii_error(epsilon, delta, beta):
    users = 3 * theorems.theorem_users(epsilon=epsilon, delta=delta)
    protocol = BinarySum.published(users=users, epsilon=epsilon, delta=delta)
    bound = theorems.sum_error_bound(epsilon=epsilon, delta=delta, beta=beta)
    exact = protocol.error(beta).per_bin
    assert exact <= bound
    assert protocol.estimator.failure(bound, bins=1, occupied=1) <= beta


@pytest.mark.slow
def test_theorem_3_1_iii_nobody_is_zero_always():
    protocol = BinarySum.calibrate(users=300, epsilon=1, delta=1e-6)
    rng = np.random.default_rng(0)
    assert all(run(protocol, np.zeros(300, dtype=int), rng=rng)[1] == 0 for _ in range(2000))
    assert all(protocol.estimate(protocol.sample_tally(0, rng=rng))[1] == 0 for _ in range(5000))
    # not by luck: with someone there it is not always 0
    assert any(protocol.estimate(protocol.sample_tally(60, rng=rng))[1] > 0 for _ in range(100))


def test_theorem_3_1_iv_at_most_two_one_bit_messages():
    protocol = BinarySum(users=3, missing_probability=0.25)
    rng = np.random.default_rng(1)
    for bit in (0, 1):
        sizes = {protocol.randomize(bit, rng=rng).size for _ in range(200)}
        assert sizes == {bit, bit + 1}
    assert protocol.messages_per_user.maximum == 2
    assert protocol.bits_per_message == 1


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_theorem_3_2_i_privacy(epsilon, delta):
    users = 2 * theorems.theorem_users(epsilon=epsilon, delta=delta)
    protocol = Histogram.published(users=users, bins=7, epsilon=2 * epsilon, delta=2 * delta)
    assert (protocol.guarantee.epsilon, protocol.guarantee.delta) == (2 * epsilon, 2 * delta)
    assert protocol.privacy.delta(2 * epsilon) <= 2 * delta


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_theorem_3_2_ii_error_per_query(epsilon, delta):
    users = 2 * theorems.theorem_users(epsilon=epsilon, delta=delta)
    protocol = Histogram.published(users=users, bins=1000, epsilon=2 * epsilon, delta=2 * delta)
    assert protocol.error(0.01).per_bin <= theorems.sum_error_bound(epsilon=epsilon, delta=delta, beta=0.01)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
@pytest.mark.parametrize("bins", [10, 10**9, 2 * math.factorial(1000)])
def test_theorem_3_2_iii_error_simultaneous(epsilon, delta, bins):
    users = 2 * theorems.theorem_users(epsilon=epsilon, delta=delta)
    protocol = Histogram.published(users=users, bins=bins, epsilon=2 * epsilon, delta=2 * delta)
    bound = theorems.simultaneous_error_bound(users=users, epsilon=epsilon, delta=delta, beta=0.01)
    assert protocol.error(0.01).simultaneous <= bound


def test_theorem_3_2_iv_at_most_d_plus_one_messages():
    protocol = Histogram(users=2, bins=5, missing_probability=2.0**-3)
    rng = np.random.default_rng(2)
    sizes = {protocol.randomize(3, rng=rng).size for _ in range(2000)}
    assert max(sizes) == 6 == protocol.messages_per_user.maximum
    assert protocol.bits_per_message == 3
    assert Histogram(users=2, bins=2**64, missing_probability=0.5).bits_per_message == 64


@pytest.mark.slow
def test_an_empty_bin_is_never_reported_in_a_large_simulation():
    protocol = Histogram.calibrate(users=1000, bins=100_000, epsilon=1, delta=1e-6)
    counts = np.zeros(100_000, dtype=int)
    counts[:20] = 50
    rng = np.random.default_rng(3)
    for _ in range(30):
        estimate = protocol.estimate(protocol.sample_tally(counts, rng=rng))
        assert estimate.symbols.max() < 20


def test_theorem_noise_is_the_papers_formula():
    protocol = Histogram.published(users=10**6, bins=3, epsilon=1, delta=1e-6)
    assert protocol.noise.mean == pytest.approx(50 * math.log(2 / 5e-7) / 0.25, rel=1e-9)
    assert round(protocol.noise.mean) == 3040
    assert Fraction(protocol.missing_probability) * 10**6 >= Fraction(50 * math.log(2 / 5e-7) / 0.25) * (
        1 - Fraction(1, 10**15)
    )


@pytest.mark.parametrize(("epsilon", "needed", "exact"), [(1.0, 1521, 45), (0.5, 6081, 148), (0.25, 24323, 524)])
def test_too_few_users_for_the_theorem(epsilon, needed, exact):
    with pytest.raises(TooFewUsersError, match=f"at least {needed}.*calibrate exactly.*only {exact}") as caught:
        Histogram.published(users=needed - 1, bins=3, epsilon=2 * epsilon, delta=1e-6)
    assert caught.value.minimum_users == needed
    Histogram.published(users=needed, bins=3, epsilon=2 * epsilon, delta=1e-6)


def test_conditions_of_the_theorems():
    with pytest.raises(ParameterError, match="above 1"):
        BinarySum.published(users=10**6, epsilon=1.5, delta=1e-6)
    with pytest.raises(ParameterError, match="above 2"):
        Histogram.published(users=10**6, bins=3, epsilon=2.5, delta=1e-6)
    with pytest.raises(ParameterError, match=r"delta\^25"):
        theorems.sum_error_bound(epsilon=1, delta=0.5, beta=1e-9)
    with pytest.raises(ParameterError, match=r"n delta\^25"):
        theorems.simultaneous_error_bound(users=10**6, epsilon=1, delta=0.5, beta=0.01)
