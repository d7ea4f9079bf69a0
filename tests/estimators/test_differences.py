"""The distribution of the difference of two errors, against sums of fractions over both noises."""

from fractions import Fraction
from math import comb

import pytest

from shuffledp.estimators.base import ErrorNoise
from shuffledp.estimators.differences import ErrorDifference
from shuffledp.noise import Binomial
from shuffledp.noise.discrete_laplace import DiscreteLaplace

SIGNS = [(1, 1), (-1, -1), (1, -1), (-1, 1)]
EARLIER, LATER = (5, Fraction(1, 4)), (7, Fraction(3, 8))
"""Trials and success probabilities of the two noises."""

CLOSE = 1e-9


def noise(trials, probability):
    return Binomial(trials=trials, probability=float(probability))


def chances(trials, probability):
    """The probability of each value."""
    return {k: comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(trials + 1)}


def errors(signs, weights):
    """The probability of each value of the difference, by brute force."""
    found = {}
    for one, chance in chances(*EARLIER).items():
        for other, more in chances(*LATER).items():
            off = weights[1] * signs[1] * (other - LATER[0] * LATER[1])
            off -= weights[0] * signs[0] * (one - EARLIER[0] * EARLIER[1])
            found[off] = found.get(off, 0) + chance * more
    return found


def difference(signs, weights):
    return ErrorDifference(
        one=ErrorNoise(noise=noise(*EARLIER), sign=signs[0]),
        other=ErrorNoise(noise=noise(*LATER), sign=signs[1]),
        weight_of_one=float(weights[0]),
        weight_of_other=float(weights[1]),
    )


WEIGHTS = [(Fraction(1), Fraction(1)), (Fraction(1, 40), Fraction(1, 50))]


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("weights", WEIGHTS, ids=["people", "shares"])
def test_tails_are_sums_over_both_noises(signs, weights):
    truth, found = errors(signs, weights), difference(signs, weights)
    for bound in sorted(truth):
        between = bound + weights[1] / 1000
        above = sum(chance for off, chance in truth.items() if off > between)
        below = sum(chance for off, chance in truth.items() if off < between)
        assert float(above) <= found.above(float(between)) <= float(above) + CLOSE
        assert float(below) <= found.below(float(between)) <= float(below) + CLOSE


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("weights", WEIGHTS, ids=["people", "shares"])
@pytest.mark.parametrize("risk", [0.5, 0.1, 0.01, 1e-4])
def test_a_range_is_the_shortest_with_its_risk_on_either_side(signs, weights, risk):
    truth = errors(signs, weights)
    least, most = difference(signs, weights).range(risk)
    assert sum(chance for off, chance in truth.items() if off > most) <= Fraction(risk) / 2
    assert sum(chance for off, chance in truth.items() if off < least) <= Fraction(risk) / 2
    # the next value inside has too much risk beyond it
    largest, smallest = max(off for off in truth if off <= most), min(off for off in truth if off >= least)
    assert sum(chance for off, chance in truth.items() if off >= largest) > Fraction(risk) / 2 * (
        1 - Fraction(1, 10**6)
    )
    assert sum(chance for off, chance in truth.items() if off <= smallest) > Fraction(risk) / 2 * (
        1 - Fraction(1, 10**6)
    )


def test_a_value_on_the_bound_counts_whatever_its_rounding():
    found = difference((1, 1), WEIGHTS[0])
    on_it = 3 - float(LATER[0] * LATER[1] - EARLIER[0] * EARLIER[1])
    assert found.above(on_it) >= found.above(on_it + 0.5)
    assert found.below(on_it) >= found.below(on_it - 0.5)


def test_the_same_two_sided_noise_gives_a_symmetric_range():
    laplace = ErrorNoise(noise=DiscreteLaplace(decay=0.8), sign=1)
    least, most = ErrorDifference(one=laplace, other=laplace).range(0.01)
    assert least == -most
    alone = next(k for k in range(200) if laplace.noise.window.above(k) <= 0.005)
    assert alone < most < 2 * alone


def test_a_risk_below_the_windows_has_no_range():
    laplace = ErrorNoise(noise=DiscreteLaplace(decay=0.8), sign=1)
    least, most = ErrorDifference(one=laplace, other=laplace).range(1e-40)
    assert most == float("inf")
    assert least == -most
