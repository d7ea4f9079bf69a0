"""The curve of a message by itself: the curve of binary randomized response, the worst case."""

import mpmath
import pytest

from shuffledp.accounting.bounds import PureCurve


@pytest.mark.parametrize("pure_epsilon", [0.1, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.96, 0.999])
def test_the_curve_is_that_of_randomized_response_and_never_below(pure_epsilon, share):
    epsilon = share * pure_epsilon
    with mpmath.workdps(40):
        likely = mpmath.exp(mpmath.mpf(pure_epsilon))
        exact = (likely - mpmath.exp(mpmath.mpf(epsilon))) / (1 + likely)
        got = mpmath.mpf(PureCurve(pure_epsilon=pure_epsilon).delta(epsilon))
        assert exact <= got <= exact * (1 + mpmath.mpf("1e-11"))


def test_from_its_own_epsilon_on_nothing_is_left():
    curve = PureCurve(pure_epsilon=1.0)
    assert curve.delta(1.0) == 0.0
    assert curve.epsilon(1e-12) == pytest.approx(1.0)
