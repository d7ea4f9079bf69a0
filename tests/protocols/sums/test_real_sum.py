"""Real-valued sums by splitting and mixing."""

import math
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest

from shuffledp import run
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols import RealSum
from tests.oracles.goodness import assert_distribution, assert_not_distribution, p_value

WISH = {"epsilon": 1.0, "delta": 1e-6}


def test_parts_of_the_noise_add_up_to_its_distribution():
    protocol = RealSum(users=25, scale=3, noise=DiscreteLaplace(decay=0.75), security_bits=10)
    rng = np.random.default_rng(90)
    sums = protocol._noise_parts(25 * 4000, rng).reshape(4000, 25).sum(axis=1)
    reach = 60
    for decay, check in (
        (0.75, assert_distribution),
        (0.75**0.7, assert_not_distribution),
        (0.75**1.3, assert_not_distribution),
    ):
        k = np.arange(-reach, reach + 1)
        check(sums, -reach, decay ** np.abs(k) * (1 - decay) / (1 + decay))


def test_shares_add_up_to_the_noisy_sum_and_each_is_uniform():
    protocol = RealSum(users=20, scale=1, noise=DiscreteLaplace(decay=2.0**-20), security_bits=4)
    values, rng = np.array([1.0] * 7 + [0.0] * 13), np.random.default_rng(91)
    shares = protocol.randomize(values, rng=rng).reshape(20, protocol.shares)
    modulus = 1 << protocol.modulus_bits
    assert (shares.sum(axis=1) % modulus).tolist() == values.astype(int).tolist()  # such noise is nearly always 0
    many = np.concatenate([protocol.randomize(values, rng=rng).reshape(20, -1) for _ in range(200)])
    for column in many.T:
        seen = np.bincount((column * 16 // modulus).astype(int), minlength=16)
        assert p_value(seen, np.full(16, 1 / 16)) > 1e-6


def test_mixed_shares_tell_less_the_more_there_are():
    """Distance between the shuffled shares of (0, 0) and of (1, 1) modulo 2, whose sums are equal, enumerated."""

    def distribution(values, shares):
        outcomes = Counter()
        for free in product(range(2), repeat=len(values) * (shares - 1)):
            sent = []
            for i, value in enumerate(values):
                own = free[i * (shares - 1) : (i + 1) * (shares - 1)]
                sent += [*own, (value - sum(own)) % 2]
            outcomes[sum(sent)] += 1
        total = sum(outcomes.values())
        return {k: v / total for k, v in outcomes.items()}

    distances = []
    for shares in (1, 2, 3, 4):
        one, other = distribution((0, 0), shares), distribution((1, 1), shares)
        distances.append(sum(abs(one.get(k, 0) - other.get(k, 0)) for k in range(9)) / 2)
    assert distances[0] == 1
    assert all(later < earlier for earlier, later in pairwise(distances))


@pytest.mark.slow
@pytest.mark.parametrize("users", [19, 1000, 10**5, 10**8])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_calibration_reaches_its_guarantee(users, epsilon):
    protocol = RealSum.calibrate(users=users, epsilon=epsilon, delta=1e-6)
    assert protocol.privacy.delta(epsilon) <= 1e-6
    assert protocol.privacy.epsilon(1e-6) <= epsilon
    mixing = math.log2(users / math.e)
    assert protocol.shares >= 2 + (2 * math.log2((1 + math.e**epsilon) / 1e-6) + protocol.modulus_bits) / mixing


def test_the_published_example_needs_twelve_shares():
    """32-bit numbers, 10^4 people, security 2^-40."""
    assert math.ceil(2 + (2 * 40 + 32) / (math.log2(10**4) - math.log2(math.e))) == 12


@pytest.mark.parametrize("honest", [None, 300])
def test_sums_are_unbiased_and_covered(honest):
    rng = np.random.default_rng(92)
    values = rng.random(400) ** 2
    protocol = RealSum.calibrate(users=400, honest_users=honest, **WISH)
    sent = np.array([run(protocol, values, rng=rng)[1] for _ in range(150)])
    drawn = np.array([protocol.estimate(protocol.sample_tally(values, rng=rng))[1] for _ in range(300)])
    more = 400 / (honest or 400)
    variance = (more * protocol.noise.variance + 400 / 6) / protocol.scale**2  # of rounding a fraction: 1/6 on average
    for found in (sent, drawn):
        assert found.mean() == pytest.approx(values.sum(), abs=5.5 * math.sqrt(variance / found.size))
        assert found.var() == pytest.approx(variance, rel=0.6)
        assert (np.abs(found - values.sum()) > protocol.error(0.05).per_bin).mean() <= 0.05 + 0.06
    assert "shares" in run(protocol, values, rng=rng).explain()


def test_the_error_is_that_of_the_central_model_whatever_the_number_of_people():
    errors = [RealSum.calibrate(users=users, **WISH).error(0.05).per_bin for users in (10**3, 10**5, 10**7)]
    assert max(errors) < 1.1 * min(errors) < 6


def test_noise_below_zero_is_read_as_such():
    protocol = RealSum.calibrate(users=100, epsilon=0.1, delta=1e-6)
    rng = np.random.default_rng(93)
    found = [run(protocol, np.zeros(100), rng=rng)[1] for _ in range(40)]
    assert min(found) < 0 < max(found)


def test_wrong_parameters_and_data():
    with pytest.raises(TooFewUsersError, match="at least 19"):
        RealSum.calibrate(users=18, **WISH)
    with pytest.raises(ParameterError, match="smaller scale"):
        RealSum.calibrate(users=10**12, scale=10**6, **WISH)
    protocol = RealSum.calibrate(users=100, **WISH)
    with pytest.raises(DataError, match="between 0 and 1"):
        protocol.randomize([1.5])
    with pytest.raises(DataError, match="between 0 and 1"):
        protocol.randomize([float("nan")])
    with pytest.raises(DataError, match="numbers"):
        protocol.randomize(["a"])
    with pytest.raises(DataError, match="shares"):
        protocol.tally([2**60])
    with pytest.raises(DataError, match="less noise"):
        protocol.estimate(protocol.tally(protocol.randomize(np.zeros(90))), reports=90)


def test_a_missing_person_may_be_one_who_makes_the_noise():
    """Also while at least honest_users people report."""
    protocol = RealSum.calibrate(users=100, honest_users=80, **WISH)
    tally = protocol.tally(protocol.randomize(np.zeros(90), rng=np.random.default_rng(0)))
    with pytest.raises(DataError, match="reports must be users=100, got 90"):
        protocol.estimate(tally, reports=90)
