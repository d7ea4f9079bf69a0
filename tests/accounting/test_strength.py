"""The strength of a guarantee: one rule on epsilon and delta, the same word everywhere."""

import math
from decimal import Decimal
from pathlib import Path

import pytest

from shuffledp.accounting.curve import Guarantee
from shuffledp.accounting.strength import MODERATE, STRONG, Strength
from shuffledp.errors import ParameterError
from shuffledp.explain.protocols import times
from tests.collect.test_vectors import read


def expected(epsilon, delta):
    """Return the word by the rule in the documentation, from decimal digits."""
    if epsilon <= 1 and delta <= Decimal("0.00001"):
        return "strong"
    return "moderate" if epsilon <= 3 and delta <= Decimal("0.001") else "weak"


def test_the_vectors_follow_the_rule():
    vectors = read("strengths.json")
    for vector in vectors:
        assert Strength.of(float(vector["epsilon"]), float(vector["delta"])) == vector["strength"]
        assert expected(Decimal(vector["epsilon"]), Decimal(vector["delta"])) == vector["strength"]
    assert {vector["strength"] for vector in vectors} == set(Strength)


def test_a_larger_epsilon_or_delta_is_never_stronger():
    order = list(Strength)
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0, 8.0):
        for delta in (0.0, 1e-9, 1e-5, 1e-4, 1e-3, 0.1):
            found = order.index(Strength.of(epsilon, delta))
            assert found <= order.index(Strength.of(1.1 * epsilon, delta))
            assert found <= order.index(Strength.of(epsilon, 1.1 * delta))


def test_the_reasons_of_the_limits_are_true():
    """What an observer thinks who held an answer for as likely as not, and sees the most telling outcome."""
    sure = [math.exp(limit) / (1 + math.exp(limit)) for limit, _ in (STRONG, MODERATE)]
    assert math.exp(STRONG[0]) < 3
    assert 0.731 < sure[0] <= 0.732
    assert math.exp(MODERATE[0]) <= 20.1
    assert 0.952 < sure[1] <= 0.953


def test_the_documented_rule_is_the_rule():
    page = Path(__file__).parents[2].joinpath("docs", "explanation", "collection.md").read_text(encoding="utf-8")
    for strength, (epsilon, delta), sure in (("strong", STRONG, 73.2), ("moderate", MODERATE, 95.3)):
        likely = f"up to {times(epsilon)} times | at most {sure}% sure |"
        assert f"| {strength} | at most {epsilon:g} | at most {delta:.0e} | {likely}".replace("e-0", "e-") in page
    assert f"for epsilon 8, up to {times(8)} times" in page


def test_a_release_without_any_epsilon_is_weak():
    assert Guarantee(epsilon=math.inf, delta=1e-9, basis="too few people").strength == "weak"
    assert Guarantee(epsilon=1, delta=0.0, basis="stated").strength == "strong"


@pytest.mark.parametrize(
    ("guarantee", "reason"),
    [
        ((math.nan, 1e-6), "^epsilon must be finite"),
        ((1, math.inf), "^delta must be finite"),
        ((-1, 1e-6), "^epsilon must not be negative, got -1"),
        (("1", 1e-6), "^epsilon must be a number"),
        ((1, math.nan), "^delta must be finite"),
        ((1, 1.0), "^delta must be at least 0 and below 1"),
        ((1, None), "^delta must be a number"),
    ],
)
def test_what_is_no_guarantee_has_no_strength(guarantee, reason):
    with pytest.raises(ParameterError, match=reason):
        Strength.of(*guarantee)
