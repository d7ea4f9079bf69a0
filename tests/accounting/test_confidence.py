"""Clopper-Pearson bounds against scipy and against sums with 40 digits."""

from fractions import Fraction

import pytest
from scipy.special import betaincinv
from scipy.stats import beta

from shuffledp import ParameterError
from shuffledp.accounting.participation import lower_bound, upper_bound
from shuffledp.accounting.rounding import CLOPPER_PEARSON_TAIL
from tests.oracles.binomial_tails import exact_tail, precise_tail


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 4000), (3900, 4000)])
@pytest.mark.parametrize("failure", [0.05, 1e-7])
def test_confidence_bounds_are_those_of_clopper_and_pearson(successes, trials, failure):
    low = beta.ppf(failure, successes, trials - successes + 1) if successes else 0
    high = beta.isf(failure, successes + 1, trials - successes) if successes < trials else 1
    assert lower_bound(successes, trials, failure=failure) == pytest.approx(low, rel=1e-6)
    assert lower_bound(successes, trials, failure=failure) <= low
    assert upper_bound(successes, trials, failure=failure) == pytest.approx(high, rel=1e-6)
    assert upper_bound(successes, trials, failure=failure) >= high


@pytest.mark.slow
@pytest.mark.parametrize("failure", [0.3, 0.05, 1e-7, 1e-15])
@pytest.mark.parametrize("trials", [1, 10, 67, 200])
def test_a_lower_bound_spends_no_more_than_it_may(trials, failure):
    """In fractions: the tail at the bound is at most the failure probability, by less than a millionth of it."""
    for successes in {1, trials // 3 + 1, trials}:
        tail = exact_tail(successes, trials, lower_bound(successes, trials, failure=failure))
        assert Fraction(failure) * (1 - Fraction(1, 10**6)) < tail <= failure


FARTHEST = [
    (93_618, 17_347, 9.8e-14),
    (930_551, 157_558, 5.8e-13),
    (2_251_285, 423_087, 4e-8),
    (6_707_037, 928_419, 4.3e-16),
    (9_296_267, 1_046_603, 8.1e-14),
    (30_102_921, 5_992_436, 3.6e-9),
]
"""Where scipy was farthest off, among 15,000 random settings of up to 3 * 10^7 trials: it grows with their number."""


@pytest.mark.parametrize(("trials", "successes", "failure"), FARTHEST)
def test_the_margin_is_more_than_twice_what_scipy_is_off(trials, successes, failure):
    found = float(betaincinv(successes, trials - successes + 1, failure))
    assert abs(precise_tail(successes, trials, found) / failure - 1) < CLOPPER_PEARSON_TAIL / 2
    assert precise_tail(successes, trials, lower_bound(successes, trials, failure=failure)) < failure
    low = 1 - upper_bound(trials - successes, trials, failure=failure)
    assert precise_tail(successes, trials, low) < failure


def test_more_successes_than_trials_are_refused():
    with pytest.raises(ParameterError, match="successes"):
        lower_bound(3, 2, failure=0.1)
