"""Sums count on the honest people only, and are calibrated for what is asked: against an oracle that did not calibrate.

The statistical assertion fails on correct code with a probability of at most 1e-6, under a fixed seed.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.protocols import RealSum
from shuffledp.protocols.shuffled.blanket import BlanketSum
from shuffledp.protocols.sums.binary_sum import BinarySum
from tests.oracles.goodness import assert_distribution

USERS, HONEST, EPSILON, DELTA = 1000, 300, 1.0, 1e-4


def shifted_delta(distribution, epsilon):
    """Of noise with these probabilities against the same noise moved by one, in the worse direction."""
    one, other = np.append(distribution, 0.0), np.append(0.0, distribution)
    return max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((one, other), (other, one)))


@pytest.mark.parametrize("honest", [HONEST, USERS])
def test_a_sum_of_bits_is_calibrated_for_them(honest):
    protocol = BinarySum.calibrate(users=USERS, honest_users=honest, epsilon=EPSILON, delta=DELTA)

    def truth(factor):
        return shifted_delta(binom.pmf(np.arange(honest + 1), honest, factor * protocol.missing_probability), EPSILON)

    assert truth(1) <= DELTA * (1 + 1e-9)
    assert truth(0.99) > DELTA
    assert protocol.privacy.delta(EPSILON) == pytest.approx(truth(1), rel=1e-9)


@pytest.mark.parametrize("kind", [BinarySum, BlanketSum], ids=lambda kind: kind.__name__)
def test_sums_for_all_are_not_private_with_some(kind):
    careful = kind.calibrate(users=USERS, honest_users=HONEST, epsilon=EPSILON, delta=DELTA)
    careless = replace(kind.calibrate(users=USERS, epsilon=EPSILON, delta=DELTA), honest_users=HONEST)
    assert careful.privacy.delta(EPSILON) <= DELTA < careless.privacy.delta(EPSILON)


def test_a_sum_of_numbers_has_its_noise_from_them():
    protocol, rng = RealSum.calibrate(users=190, honest_users=19, epsilon=1, delta=1e-6, scale=2), 84
    parts = protocol._noise_parts(19 * 3000, np.random.default_rng(rng)).reshape(3000, 19).sum(axis=1)
    window = protocol.noise.window
    assert_distribution(parts, window.first, window.pmf)


def test_a_sum_of_numbers_mixes_with_them():
    few, many = (RealSum.calibrate(users=10**4, honest_users=n, epsilon=1, delta=1e-6, scale=10) for n in (100, 10**4))
    for protocol, honest in ((few, 100), (many, 10**4)):
        needed = 2 + (2 * protocol.security_bits + protocol.modulus_bits) / (math.log2(honest) - math.log2(math.e))
        assert protocol.shares == math.ceil(needed)
    assert few.shares > many.shares
