"""Collecting coupons, against enumeration and closed forms."""

import math
from fractions import Fraction
from itertools import product

import pytest
from scipy import stats

from shuffledp.paper.support_identification import chance_all_found, everybody_has


def enumerated(users, items, wanted, chance):
    """The same probability, by listing who holds what."""
    total = Fraction(0)
    for held in product(range(items), repeat=users):
        total += math.prod(chance(held.count(item)) for item in range(wanted))
    return total / items**users


@pytest.mark.parametrize(("users", "items", "wanted"), [(7, 3, 3), (8, 2, 2), (6, 3, 1), (5, 4, 2), (4, 1, 1)])
def test_coupons_match_enumeration(users, items, wanted):
    def chance(count):
        return Fraction(count * count, count * count + 3)

    exact = enumerated(users, items, wanted, chance)
    found = chance_all_found(users=users, items=items, wanted=wanted, chance=lambda count: float(chance(count)))
    assert found == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize(("users", "items"), [(10, 10), (60, 10), (400, 50), (3000, 300)])
def test_classical_coupons_match_inclusion_and_exclusion(users, items):
    ways = sum((-1) ** j * math.comb(items, j) * (items - j) ** users for j in range(items + 1))
    exact = float(Fraction(ways, items**users))
    assert everybody_has(users=users, items=items, copies=1) == pytest.approx(exact, abs=1e-9)


def test_two_items_are_a_binomial_interval():
    users, copies = 100_000, 49_700
    exact = stats.binom.cdf(users - copies, users, 0.5) - stats.binom.cdf(copies - 1, users, 0.5)
    assert everybody_has(users=users, items=2, copies=copies) == pytest.approx(exact, abs=1e-9)
