"""Every margin is at least twice the error that it covers, measured against fractions or many digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp.accounting import PrivacyLoss, loss, rounding
from shuffledp.accounting.support_curves import SupportCurve
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.binomial import half_pmf, half_tail, round_up_to_grid, safely_up
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.paper.divergence import logarithm_above
from tests.oracles.exact import fair_coins, fair_coins_tail, high_precision_delta

SAFETY = 2
EPSILONS = np.random.default_rng(40).uniform(0.01, 30, 200).tolist()


def relative_error(got, exact):
    with mpmath.workdps(60):
        return float(abs(mpmath.mpf(float(got)) / exact - 1))


def many_digits(function):
    with mpmath.workdps(60):
        return function()


def binomial_case(users, mean):
    distribution = Binomial(trials=users, probability=round_up_to_grid(mean / users))
    odds = many_digits(lambda: mpmath.mpf(distribution.probability) / (1 - mpmath.mpf(distribution.probability)))
    return distribution, lambda k: odds * (users - k + 1) / k


def poisson_case(rate):
    return CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,)), lambda k: mpmath.mpf(rate) / k


LOSSES = [
    (*binomial_case(10**6, 42.65), 1.0),
    (*binomial_case(10**6, 2648.1), 0.1),
    (*binomial_case(10**9, 1535.0), 0.01),
    (*poisson_case(42.65), 1.0),
    (*poisson_case(2641.2), 0.1),
    (*poisson_case(9000.0), 0.05),
]


def moved_delta(distribution, epsilon):
    up, down = (PrivacyLoss.of_shift(distribution, by) for by in (1, -1))
    return down.delta_with(up, epsilon)


@pytest.mark.slow
def test_a_delta_over_losses_is_covered_and_would_not_be_without_a_margin(monkeypatch):
    exact = [high_precision_delta(distribution.window, ratio, epsilon) for distribution, ratio, epsilon in LOSSES]
    for (distribution, _, epsilon), truth in zip(LOSSES, exact, strict=True):
        assert mpmath.mpf(moved_delta(distribution, epsilon)) >= truth
    monkeypatch.setattr(loss, "PRIVACY_LOSS", 0.0)
    bare = [moved_delta(distribution, epsilon) for distribution, _, epsilon in LOSSES]
    assert any(mpmath.mpf(got) < truth for got, truth in zip(bare, exact, strict=True))
    errors = [relative_error(got, truth) for got, truth in zip(bare, exact, strict=True)]
    assert SAFETY * max(errors) <= rounding.PRIVACY_LOSS


@pytest.mark.slow
@pytest.mark.parametrize("trials", [30, 1000, 10**6, 10**8, 10**9, 10**12])
def test_fair_coins_are_covered(trials):
    for deviations in (0.01, 1.3, 5, 13, 31):
        k = min(trials - 1, math.floor(trials / 2 + deviations * math.sqrt(trials) / 2) + 1)
        coins, at = np.array([trials]), np.array([k])
        (margin,) = rounding.half_binomial(coins)
        assert SAFETY * relative_error(half_tail(coins, at)[0], fair_coins_tail(trials, k)) <= margin
        error = relative_error(half_pmf(coins, at)[0], fair_coins(trials, k))
        # the blanket curve sums such probabilities as losses
        assert SAFETY * error <= min(margin, rounding.PRIVACY_LOSS)


def test_the_margin_of_fair_coins_grows_with_their_number():
    assert rounding.half_binomial(np.array([1, 10**8])).tolist() == [1e-10, 1e-10]
    assert rounding.half_binomial(np.array([10**12])).tolist() == pytest.approx([1e-8])


def test_several_operations_are_covered():
    errors = []
    for epsilon in EPSILONS:
        e = many_digits(lambda e=epsilon: mpmath.exp(mpmath.mpf(e)))
        got = math.exp(epsilon)
        flip = 1 / (1 + math.exp(epsilon / 2))
        root = many_digits(lambda e=epsilon: mpmath.exp(mpmath.mpf(e) / 2))
        errors += [
            relative_error(math.exp(-epsilon), many_digits(lambda e=e: 1 / e)),
            relative_error(2 / (1 + got), many_digits(lambda e=e: 2 / (1 + e))),
            relative_error((got + 1) / (got + 36), many_digits(lambda e=e: (e + 1) / (e + 36))),
            relative_error(2 * flip * (1 - flip), many_digits(lambda r=root: 2 * r / (1 + r) ** 2)),
        ]
    assert 0 < SAFETY * max(errors) <= rounding.SEVERAL_OPERATIONS


def test_few_operations_are_covered():
    for epsilon in EPSILONS:
        exact = many_digits(lambda e=epsilon: 1 / (1 + mpmath.exp(mpmath.mpf(e))))
        bare = 1 / (1 + math.exp(epsilon))
        assert mpmath.mpf(safely_up(bare)) >= exact
        assert SAFETY * relative_error(bare, exact) <= rounding.FEW_OPERATIONS


@pytest.mark.parametrize(("trials", "mean"), [(10**3, 44.0), (10**9, 929_007.0), (10**9, 5e8)])
def test_probabilities_of_a_window_are_covered(trials, mean):
    distribution, ratio = binomial_case(trials, mean)
    window = distribution.window
    for at in np.linspace(3, window.log_pmf.size - 1, 9).astype(int).tolist():
        k = window.first + at
        exact = many_digits(
            lambda k=k: (
                mpmath.loggamma(trials + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(trials - k + 1)
                + k * mpmath.log(distribution.probability)
                + (trials - k) * mpmath.log1p(-mpmath.mpf(distribution.probability))
            )
        )  # fmt: skip
        assert SAFETY * abs(float(window.log_pmf[at] - exact)) <= rounding.WINDOW_SUM
        for shift in (1, 3):
            step = many_digits(lambda k=k, shift=shift: mpmath.fsum(mpmath.log(ratio(k - i)) for i in range(shift)))
            got = float(window.log_pmf[at]) - float(window.log_pmf[at - shift])
            assert SAFETY * abs(float(got - step)) <= rounding.LOG_RATIO


@pytest.mark.slow
@pytest.mark.parametrize(("messages", "elements"), [(5, 1), (40, 3), (100, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 2.0])
def test_the_sum_of_the_support_curve_is_covered(messages, elements, epsilon):
    t, factor = Fraction(1, 2**elements), Fraction(math.exp(epsilon))
    own, other = ([math.comb(m, k) * t**k * (1 - t) ** (m - k) for k in range(m + 1)] for m in (messages, messages + 1))
    event = [
        (p * q, 1 - factor * k / (n + 1)) for n, p in enumerate(own) for k, q in enumerate(other) if n + 1 > factor * k
    ]
    exact, mass = sum(p * gain for p, gain in event), sum(p for p, _ in event)
    gained, _, _ = SupportCurve(noise_messages=messages, elements=elements)._gain(epsilon)
    assert SAFETY * abs(Fraction(gained) - exact) <= Fraction(rounding.WINDOW_SUM) * mass


@pytest.mark.parametrize("digits", [320, 5000, 200_000])
def test_a_difference_of_large_logarithms_is_covered(digits):
    ratio = Fraction(3 * 10**digits + 1, 10 ** (digits - 310) + 3)
    exact = many_digits(lambda: mpmath.log(mpmath.mpf(ratio.numerator)) - mpmath.log(mpmath.mpf(ratio.denominator)))
    bare = math.log(ratio.numerator) - math.log(ratio.denominator)
    assert SAFETY * relative_error(bare, exact) <= rounding.LARGE_LOGARITHMS
    assert mpmath.mpf(logarithm_above(ratio)) >= exact


@pytest.mark.parametrize(
    ("margin", "largest"), [(rounding.COUNT_AGAINST_MEAN, 4e6), (rounding.SUPPORTS_AGAINST_MEAN, 5e8)]
)
def test_means_that_are_compared_with_counts_are_covered(margin, largest):
    """Two operands, each rounded by half a unit in its last place at most."""
    assert SAFETY * math.ulp(largest) / 2 <= margin
    mean = largest - 1 / 3
    assert 0 < abs(Fraction(mean) - (Fraction(largest) - Fraction(1, 3))) <= Fraction(margin) / 2


def test_a_rate_scaled_up_and_back_down_is_never_less():
    rng = np.random.default_rng(41)
    lost = 0
    for _ in range(2000):
        rate, users = rng.uniform(1, 10**4), int(rng.integers(2, 10**9))
        honest = int(rng.integers(1, users))
        lost += rate * users / honest * honest / users < rate
        assert rate * (1 + rounding.SHARE_OF_A_RATE) * users / honest * honest / users >= rate
    assert lost > 0  # without the margin it would be


def test_every_margin_says_what_it_covers():
    """A list that is complete, of small positive numbers."""
    margins = {name: value for name, value in vars(rounding).items() if name.isupper()}
    assert set(margins) | {"half_binomial"} == set(rounding.__all__)
    assert all(0 < value <= 1e-5 for value in margins.values())
