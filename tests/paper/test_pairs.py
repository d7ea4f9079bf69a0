"""Pairs of listed distributions: products, both directions, and whole numbers, each against fractions outcome by
outcome.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.paper.divergence import (
    Pair,
    binomial,
    binomial_shift_delta,
    compound_poisson,
    exponential_above,
    exponential_below,
    worse_way,
)
from tests.oracles.exact import shifted_delta

RATIO = Fraction(3, 2)


def distribution(people, probability):
    p = Fraction(probability)
    return {k: math.comb(people, k) * p**k * (1 - p) ** (people - k) for k in range(people + 1)}


@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("probability", [0.125, 0.5])
def test_whole_numbers_are_the_definition(moved, probability):
    shifts = [1] if moved == 1 else [1, -1]
    distributions = [distribution(5, probability)] * moved
    expected = max(shifted_delta(distributions, [sign * by for by in shifts], ratio=RATIO) for sign in (1, -1))
    assert binomial_shift_delta(people=5, probability=probability, moved=moved, ratio=RATIO) == expected


@pytest.mark.parametrize("shifts", [[1], [1, -1], [1, 1, -1], [1, -1, 1, -1]])
def test_products_of_pairs_are_the_definition(shifts):
    listed = [Pair.shifted(binomial(3, 0.25), by) for by in shifts]
    exact = max(
        shifted_delta([distribution(3, 0.25)] * len(shifts), [sign * by for by in shifts], ratio=RATIO)
        for sign in (1, -1)
    )
    assert worse_way(listed, float(RATIO)) == pytest.approx(float(exact), rel=1e-12)


def test_both_directions_are_looked_at():
    pair = Pair(np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5]))
    assert pair.delta(1.5) != pair.reversed.delta(1.5)
    assert worse_way([pair], 1.5) == max(pair.delta(1.5), pair.reversed.delta(1.5))


def test_distributions_are_their_definitions():
    assert binomial(40, 0.3) == pytest.approx([float(p) for p in distribution(40, 0.3).values()], rel=1e-11)
    poisson = [math.exp(-2.5) * 2.5**k / math.factorial(k) for k in range(20)]
    assert compound_poisson(2.5, np.ones(1), most=19) == pytest.approx(poisson, rel=1e-12)


@pytest.mark.parametrize("number", [0.1, 1.0, 2.5])
def test_the_exponential_is_enclosed(number):
    below, above = exponential_below(number), exponential_above(number)
    assert below < above
    assert float(below) == pytest.approx(math.exp(number), rel=1e-14)
    assert above - below < Fraction(1, 10**20)
