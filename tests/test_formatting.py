import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.formatting import (
    at_most,
    confidence_level,
    confidence_percent,
    counted,
    magnitude,
    people_at_most,
    percent_at_most,
    privacy_figure,
    share_at_most,
)


@given(st.floats(min_value=0, max_value=1e15))
def test_a_printed_number_of_people_is_an_upper_bound(bound: float) -> None:
    assert bound <= int(at_most(bound).replace(",", "")) <= bound + 1


@given(st.floats(min_value=1e-300, max_value=1e6), st.integers(1, 9))
def test_a_printed_share_is_an_upper_bound_and_close(bound: float, digits: int) -> None:
    printed = Fraction(share_at_most(bound, digits=digits))
    assert Fraction(repr(bound)) <= printed <= Fraction(bound) * (1 + Fraction(11, 10**digits))


@given(figure=st.floats(1e-20, 60))
def test_a_printed_privacy_figure_is_an_upper_bound_and_close(figure: float) -> None:
    printed = float(privacy_figure(figure))
    assert figure <= printed <= figure * (1 + 2e-5)


@pytest.mark.parametrize(
    ("figure", "printed"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (1e-6, "1e-6"),
        (1.23456789, "1.23456789"),
        (1.0000001234, "1.00001"),
        (2 / 3, "0.666667"),
    ],
)
def test_requested_figures_are_unchanged_and_computed_ones_rounded_up(figure: float, printed: str) -> None:
    assert privacy_figure(figure) == printed


@pytest.mark.parametrize(("bound", "printed"), [(0.1, "0.1"), (0.30000000000000004, "0.31"), (1e-6, "1e-6"), (0, "0")])
def test_a_share_with_few_digits_is_not_rounded(bound: float, printed: str) -> None:
    assert share_at_most(bound) == printed


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 values"), (1, "1 value"), (2_000, "2,000 values"), (2**100, "about 2^100 values")]
)
def test_nouns_follow_their_number(number: int, words: str) -> None:
    assert counted(number, "value") == words


def test_irregular_nouns() -> None:
    assert (counted(1, "person", things="people"), counted(3, "person", things="people")) == ("1 person", "3 people")


def test_infinite_bounds_have_words() -> None:
    assert (at_most(float("inf")), share_at_most(float("inf"))) == ("any number of", "inf")


@given(st.floats(min_value=0, max_value=1e12), st.integers(1, 10**12))
def test_a_printed_percentage_is_an_upper_bound_and_close(part: float, whole: int) -> None:
    printed = Fraction(percent_at_most(part, whole).removesuffix("%")) / 100
    assert (
        Fraction(repr(part)) / whole
        <= printed
        <= Fraction(repr(part)) / whole * Fraction(11, 10) + Fraction(1, 10**300)
    )


@given(st.floats(min_value=1e-12, max_value=0.999))
def test_a_printed_probability_is_a_lower_bound_and_close(beta: float) -> None:
    risk = Fraction(repr(beta))
    assert 1 - risk * Fraction(101, 100) <= Fraction(confidence_level(beta)) <= 1 - risk
    assert Fraction(confidence_percent(beta)) == 100 * Fraction(confidence_level(beta))


@pytest.mark.parametrize(
    ("beta", "printed"), [(0.05, "0.95"), (0.07, "0.93"), (1e-6, "0.999999"), (0.5, "0.5"), (0.0123456, "0.9876")]
)
def test_probabilities_are_written_in_few_digits(beta: float, printed: str) -> None:
    assert confidence_level(beta) == printed


@pytest.mark.parametrize(
    ("number", "words"),
    [(0.5, "0.5"), (37.654, "37.7"), (1234.5, "1,234"), (2**64, "1.8e+19"), (2**1000, "about 2^1000"),
     (2**5000 + 1, "about 2^5000"), (float("inf"), "no limit")],
)  # fmt: skip
def test_huge_numbers_stay_short(number: float, words: str) -> None:
    assert magnitude(number) == words


def test_bounds_on_people_have_their_noun():
    shown = [people_at_most(bound) for bound in (0, 0.2, 1, 1.1, 57, 1234.5, math.inf)]
    assert shown == [
        "0 people",
        "1 person",
        "1 person",
        "2 people",
        "57 people",
        "1,235 people",
        "any number of people",
    ]
