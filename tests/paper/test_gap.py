"""R^gap: its exact epsilon, and the best probabilities for it."""

import math
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ParameterError
from shuffledp.paper.gap import Gap, best_gap, log_ratios
from tests.oracles.documents import document
from tests.oracles.random_randomizers import HALF, distributions


def largest_log_ratio(zero, one, *, users):
    return np.abs(log_ratios(zero, one, users=users)).max()


def test_r_gap_is_finite_from_two_people_on():
    gap = Gap.uniform()
    assert gap.randomizer.pre_shuffled().privacy().ratio is None
    alone = gap.privacy(users=1)
    assert (alone.ratio, sum(alone.outcome)) == (None, 2)
    ratios = [gap.privacy(users=n).ratio for n in range(2, 12)]
    assert ratios[:2] == [Fraction(5, 2), Fraction(125, 64)]
    assert ratios == sorted(ratios, reverse=True)
    # the ends, no ones or all of them, are as telling for any number of people: 10 / 16
    assert set(ratios[2:]) == {Fraction(16, 10)}
    assert gap.floor == pytest.approx(math.log(1.6))


@settings(max_examples=40, deadline=None)
@given(distributions(range(5), zeros=False), distributions([0, 1, 3, 4], zeros=False), st.integers(2, 5))
def test_r_gap_with_any_probabilities(zero, one, users):
    gap = Gap(zero=tuple(zero.values()), one=(one[0], one[1], Fraction(0), one[3], one[4]))
    exact = gap.privacy(users=users)
    assert exact.ratio is not None
    in_floats = largest_log_ratio(
        *(np.array([float(p) for p in distribution]) for distribution in (gap.zero, gap.one)), users=users
    )
    assert exact.epsilon == pytest.approx(in_floats, rel=1e-9)
    assert exact.epsilon >= gap.floor - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("users", "hole"), [(2, Fraction(3, 8)), (3, Fraction(3, 8)), (4, Fraction(1, 20))])
def test_the_best_r_gap_is_better_than_all_on_a_grid(users, hole):
    best = best_gap(users=users, hole=hole, rng=np.random.default_rng(0), restarts=3)
    assert best.hole == hole
    epsilon = best.privacy(users=users).epsilon
    width = float(1 - hole) / 2
    for x, y in product(np.linspace(0.02, 0.98, 49), repeat=2):
        zero = np.array([width * x, width * (1 - x), float(hole), width * (1 - x), width * x])
        one = np.array([y, 1 - y, 0, 1 - y, y]) / 2
        assert largest_log_ratio(zero, one, users=users) >= epsilon * (1 - 1e-5)
    if hole == Fraction(3, 8):  # that of the uniform choice
        assert epsilon < Gap.uniform().privacy(users=users).epsilon


@pytest.mark.slow
def test_the_best_r_gap_need_not_be_symmetric():
    symmetric = best_gap(users=3, hole=Fraction(3, 8), restarts=0)
    assert symmetric.zero == symmetric.zero[::-1]
    free = best_gap(users=3, hole=Fraction(3, 8), rng=np.random.default_rng(0), restarts=6)
    assert free.privacy(users=3).epsilon < 0.9 * symmetric.privacy(users=3).epsilon


@pytest.mark.slow
def test_the_best_r_gaps_of_the_documentation_are_reached():
    text = document("pure-privacy.md")
    rows = re.findall(r"^\| (\d+/\d+) \|(.*)\|$", text, flags=re.MULTILINE)
    assert len(rows) == 2
    for hole, figures in rows:
        stated = dict(zip((2, 3, 5, 10, 20), map(float, figures.split("|")), strict=True))
        for users in (2, 10):  # where the best one that is found is symmetric
            epsilon = best_gap(users=users, hole=Fraction(hole), restarts=0).privacy(users=users).epsilon
            assert epsilon == pytest.approx(stated[users], rel=0.01)


@pytest.mark.slow
def test_a_small_hole_makes_r_gap_as_private_as_one_likes():
    epsilons = [best_gap(users=2, hole=Fraction(1, k), restarts=0).privacy(users=2).epsilon for k in (10, 100, 1000)]
    assert epsilons[2] < 0.002
    assert epsilons == sorted(epsilons, reverse=True)


def test_what_is_not_r_gap_is_refused():
    good = Gap.uniform()
    with pytest.raises(ParameterError, match="but two"):
        Gap(zero=good.one, one=good.zero)
    with pytest.raises(ParameterError, match="five"):
        Gap(zero=good.zero[:4], one=good.one)
    with pytest.raises(ParameterError, match="hole"):
        best_gap(users=2, hole=Fraction(0))
    with pytest.raises(ParameterError, match="at least 2"):
        best_gap(users=1, hole=HALF)


@pytest.mark.slow
def test_probabilities_of_r_gap_sum_to_one():
    good = Gap.uniform()
    for wrong in ((HALF,) * 5, (0.1, 0.2, 0.4, 0.2, 0.1)):
        with pytest.raises(ParameterError, match="sum to exactly 1"):
            Gap(zero=wrong, one=good.one)
    assert Gap(zero=(0.125, 0.125, 0.5, 0.125, 0.125), one=good.one).hole == HALF
    assert best_gap(users=2, hole=1 - Fraction(1, 10**6), restarts=0).hole == 1 - Fraction(1, 10**6)
    with pytest.raises(ParameterError, match="hole must lie"):
        best_gap(users=2, hole=1 - 1e-12)
