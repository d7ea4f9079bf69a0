"""The guarantee of a noisy sum in shares, against its formulas, written down again with many digits."""

import mpmath
import pytest

from shuffledp.protocols import RealSum


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_noise_and_shares_are_enough_for_what_is_asked(epsilon, delta):
    """The largest number moves the sum by all its steps: decay^scale is the likelihood ratio that is left."""
    protocol = RealSum.calibrate(users=1000, epsilon=epsilon, delta=delta)
    with mpmath.workdps(40):
        assert mpmath.log(mpmath.mpf(protocol.noise.decay)) * protocol.scale >= -mpmath.mpf(epsilon)
        assert (1 + mpmath.exp(epsilon)) * mpmath.mpf(2) ** -protocol.security_bits <= delta
    assert protocol.privacy.noise.delta(0.9 * epsilon) > 0.001 * epsilon  # the noise is for no smaller epsilon
