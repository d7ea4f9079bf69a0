"""Limits of parameters: the limit itself works, and values beyond it are refused."""

import numpy as np
import pytest

from shuffledp.accounting.amplification import Amplification
from shuffledp.errors import ParameterError
from shuffledp.protocols import CATALOGUE, RealSum, Target
from shuffledp.validation import LEAST_BETA

QUICK = ["laplace", "stability", "unary", "hist", "sparse", "dummy", "dummy-poisson", "private-coin"]


@pytest.mark.parametrize("name", QUICK)
def test_the_smallest_beta_works_and_smaller_ones_are_refused(name):
    protocol = CATALOGUE[name].make(Target(users=300, bins=4, epsilon=1.0, delta=1e-3))
    counts = np.array([200, 90, 10, 0])
    assert protocol.error(LEAST_BETA).simultaneous >= protocol.error(0.05).simultaneous
    assert protocol.estimate(protocol.sample_tally(counts), beta=LEAST_BETA).beta == LEAST_BETA
    for beta in (1e-16, 1e-40, 5e-324):
        with pytest.raises(ParameterError, match="beta must be at least 1e-15"):
            protocol.error(beta)
        with pytest.raises(ParameterError, match="beta must be at least 1e-15"):
            protocol.estimate(protocol.sample_tally(counts), beta=beta)


def test_real_sums_have_the_same_limit():
    protocol = RealSum.calibrate(users=100, epsilon=1, delta=1e-6)
    assert protocol.error(LEAST_BETA).per_bin > protocol.error(0.05).per_bin
    with pytest.raises(ParameterError, match="beta must be at least"):
        protocol.error(1e-30)


def test_an_error_about_a_local_epsilon_has_the_name_of_the_option_too():
    with pytest.raises(ParameterError, match=r"local_epsilon \(epsilon0\) must lie in"):
        Amplification(local_epsilon=-2, users=10)
