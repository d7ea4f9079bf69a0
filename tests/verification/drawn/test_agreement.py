"""The tests that `verify` makes: exact tails, as rarely wrong as stated, and strong enough on both sides."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.verification.drawn.agreement import FAILURE, TOTAL_FAILURE, agreement, counted, sum_agreement, worst_of

COIN = {"heads": 0.25, "tails": 0.75}


def exact_tails(times, draws, probability):
    p = Fraction(probability)
    weights = [math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(draws + 1)]
    return sum(weights[times:]), sum(weights[: times + 1])


@pytest.mark.parametrize(("times", "draws"), [(0, 30), (3, 30), (18, 30), (30, 30)])
def test_the_chance_of_an_event_is_its_binomial_tail(times, draws):
    """Two events are counted, heads and tails, and each has two tails."""
    found = counted([(0.25, times), (0.75, draws - times)], draws=draws)
    tails = exact_tails(times, draws, 0.25)
    assert found.chance == pytest.approx(min(1.0, 4 * float(min(tails))), rel=1e-10)


def test_false_alarms_are_as_rare_as_stated():
    """A chance below 0.05 occurs in at most 5 % of 2000 tests of 300 draws: more than 150 of them has chance 1e-6."""
    rng = np.random.default_rng(0)
    law = dict(enumerate([0.5, 0.25, 0.125, 0.125]))
    draws = rng.choice(4, p=list(law.values()), size=(2000, 300))
    alarms = sum(agreement(row.tolist(), law, numbers=[float]).chance < 0.05 for row in draws)
    assert alarms <= 150


def test_what_cannot_happen_is_noticed_at_once():
    found = agreement(["heads"] * 250 + ["tails"] * 749 + ["edge"], COIN)
    assert found.chance == 0
    assert not found.holds


@pytest.mark.parametrize("chance", [0.25 * 0.49, 0.25 * 1.69])
def test_noise_30_percent_too_small_or_too_large_is_noticed(chance):
    """As a standard deviation, of a rare event, at its expected number in 600 draws."""
    heads = round(600 * chance)
    assert not agreement(["heads"] * heads + ["tails"] * (600 - heads), COIN).holds
    assert agreement(["heads"] * 150 + ["tails"] * 450, COIN).holds


def test_a_narrow_law_is_noticed_by_the_numbers_looked_at():
    """The right outcomes, in wrong shares each too small to notice alone."""
    law = {k: math.comb(40, k) / 2**40 for k in range(41)}
    rng = np.random.default_rng(1)
    narrow = (20 + np.rint(0.7 * (rng.binomial(40, 0.5, size=1500) - 20))).astype(int).tolist()
    assert not agreement(narrow, law, numbers=[float]).holds
    assert agreement(rng.binomial(40, 0.5, size=1500).tolist(), law, numbers=[float]).holds


def test_a_sum_that_is_off_is_noticed():
    assert sum_agreement(5000, draws=20_000, mean=0.25, variance=0.1875, largest=1).holds
    assert not sum_agreement(5500, draws=20_000, mean=0.25, variance=0.1875, largest=1).holds


def test_several_chances_are_paid_for():
    one, other = (counted([(0.5, times)], draws=100) for times in (70, 50))
    assert worst_of([one, other]).chance == 2 * one.chance
    assert FAILURE < TOTAL_FAILURE == 1e-6
