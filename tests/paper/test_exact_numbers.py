"""Numbers that have to stay exact."""

import math
from fractions import Fraction

import pytest

from shuffledp import ParameterError
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.paper.gap import Gap, best_gap
from shuffledp.paper.pure_privacy import generating_ratio, removal_cost, shuffler_removal
from shuffledp.protocols.local import RandomizedResponse
from tests.oracles.random_randomizers import HALF


@pytest.mark.slow
def test_floats_are_the_fractions_that_they_are():
    coin = FiniteRandomizer.of(RandomizedResponse(users=1, bins=2, epsilon=1), range(2))
    exact = coin.shuffled_privacy(users=5, delta=Fraction(0.01))
    assert coin.shuffled_privacy(users=5, delta=0.01) == exact
    assert removal_cost(coin, users=5, delta=0.01).shuffled == exact
    assert coin.shuffled_delta(users=3, ratio=1.5) == coin.shuffled_delta(users=3, ratio=Fraction(3, 2))
    assert shuffler_removal(coin, users=3, ratio=1.5).ratio == Fraction(3, 2)
    assert generating_ratio(coin, {0: 0.5, 1: 2}) == generating_ratio(coin, {0: HALF, 1: Fraction(2)})
    best = best_gap(users=2, hole=0.05, restarts=0)
    assert best.hole == Fraction(0.05)
    assert all(type(p) is Fraction for p in (*best.zero, *best.one))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, "1/2", None, True])
def test_what_is_no_number_is_refused_by_name(wrong):
    coin = FiniteRandomizer.of(RandomizedResponse(users=1, bins=2, epsilon=1), range(2))
    for name, question in {
        "ratio": lambda: coin.shuffled_delta(users=2, ratio=wrong),
        "delta": lambda: coin.privacy(delta=wrong),
        "hole": lambda: best_gap(users=2, hole=wrong),
        "weight": lambda: generating_ratio(coin, {0: wrong, 1: 1}),
        "zero": lambda: Gap(zero=(wrong,) * 5, one=Gap.uniform().one),
    }.items():
        with pytest.raises(ParameterError, match=rf"^{name} must be"):
            question()
