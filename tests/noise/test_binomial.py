"""The binomial distribution: probabilities against exact arithmetic and mpmath, draws against the distribution."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.errors import ParameterError
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid
from tests.oracles.goodness import assert_distribution, assert_not_distribution

trials = st.integers(1, 60)


probabilities = st.integers(1, 2**52).map(lambda k: k / 2**53)


@pytest.mark.slow
@given(trials, probabilities)
def test_window_matches_fractions(n, p):
    window = Binomial(trials=n, probability=p).window
    exact = [Binomial(trials=n, probability=p).pmf_fraction(k) for k in range(window.first, window.last + 1)]
    assert window.mass_below == 0.0 or float(sum(exact)) == pytest.approx(1)
    for got, expected in zip(window.pmf, exact, strict=True):
        assert got == pytest.approx(float(expected), rel=1e-11)


@pytest.mark.parametrize(
    ("n", "mean"), [(10**3, 44.0), (10**6, 2648.1), (10**9, 42.65), (10**9, 929007.0), (10**9, 5e8)]
)
def test_window_matches_high_precision(n, mean):
    distribution = Binomial(trials=n, probability=round_up_to_grid(mean / n))
    window = distribution.window
    with mpmath.workdps(40):
        p = mpmath.mpf(distribution.probability)
        for at in np.linspace(0, window.log_pmf.size - 1, 25).astype(int):
            k = window.first + int(at)
            exact = (
                mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
                + k * mpmath.log(p) + (n - k) * mpmath.log1p(-p)
            )  # fmt: skip
            assert window.log_pmf[at] == pytest.approx(float(exact), abs=1e-11)


@pytest.mark.slow
@given(st.integers(1, 10**9), probabilities)
def test_tail_bounds_are_upper_bounds_and_complement(n, p):
    window = Binomial(trials=n, probability=max(p, 2.0**-20)).window if n < 10**6 else Binomial(
        trials=n, probability=round_up_to_grid(min(p, 1e-4))
    ).window  # fmt: skip
    middle = (window.first + window.last) // 2
    for k in (window.first, middle, window.last):
        total = window.below(k) + window.above(k) + window.pmf[k - window.first]
        assert total == pytest.approx(1, abs=1e-9)
    assert window.above(n) == 0.0
    assert window.below(0) == 0.0 or window.first > 0


@pytest.mark.parametrize("p", [0.0, -0.1, 0.6, math.nan, "half", 2.0**-60])
def test_bad_probabilities_are_refused(p):
    with pytest.raises(ParameterError, match="probability"):
        Binomial(trials=10, probability=p)


@given(st.floats(2.0**-53, 0.5))
def test_rounding_up_to_the_grid(p):
    rounded = Fraction(round_up_to_grid(p))
    assert (rounded * 2**53).denominator == 1
    assert 0 <= rounded - Fraction(p) < Fraction(1, 2**53)


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.5), (3, 0.25), (50, 2.0**-4 + 2.0**-50), (10**6, round_up_to_grid(42.6e-6))]
)
def test_inversion_follows_the_distribution_at_every_value(n, p):
    distribution = Binomial(trials=n, probability=p)
    draws = distribution.sample(200_000, rng=np.random.default_rng(2))
    assert_distribution(draws, distribution.window.first, distribution.window.pmf)


@pytest.mark.parametrize("scale", [0.7, 1.3])
def test_inversion_with_wrong_noise_is_rejected(scale):
    distribution = Binomial(trials=10**5, probability=round_up_to_grid(42.6e-5))
    wrong = Binomial(trials=10**5, probability=round_up_to_grid(scale * 42.6e-5))
    assert_not_distribution(
        wrong.sample(200_000, rng=np.random.default_rng(3)), distribution.window.first, distribution.window.pmf
    )
