"""The guarantee of a noisy sum in shares, against its formulas, written down again with many digits."""

import math

import mpmath
import pytest

from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols import RealSum


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_shares_cost_both_datasets(epsilon):
    """A distance of 2^-sigma on either dataset, of which one counts e^epsilon times."""
    protocol = RealSum(users=100, scale=4, noise=DiscreteLaplace(decay=0.5), security_bits=12)
    told = (1 + math.exp(epsilon)) / 2**12
    assert protocol.privacy.delta(epsilon) == pytest.approx(protocol.privacy.noise.delta(epsilon) + told, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_noise_and_shares_are_enough_for_what_is_asked(epsilon, delta):
    """The largest number moves the sum by all its steps: decay^scale is the likelihood ratio that is left."""
    protocol = RealSum.calibrate(users=1000, epsilon=epsilon, delta=delta)
    with mpmath.workdps(40):
        assert mpmath.log(mpmath.mpf(protocol.noise.decay)) * protocol.scale >= -mpmath.mpf(epsilon)
        assert (1 + mpmath.exp(epsilon)) * mpmath.mpf(2) ** -protocol.security_bits <= delta
    assert protocol.privacy.noise.delta(0.9 * epsilon) > 0.001 * epsilon  # the noise is for no smaller epsilon
