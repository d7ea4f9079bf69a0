from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.words import at_most, counted, share_at_most


@given(st.floats(min_value=0, max_value=1e15))
def test_a_printed_number_of_people_is_an_upper_bound(bound: float) -> None:
    assert bound <= int(at_most(bound).replace(",", "")) <= bound + 1


@given(st.floats(min_value=1e-300, max_value=1e6), st.integers(1, 9))
def test_a_printed_share_is_an_upper_bound_and_close(bound: float, digits: int) -> None:
    printed = Fraction(share_at_most(bound, digits=digits))
    assert Fraction(repr(bound)) <= printed <= Fraction(bound) * (1 + Fraction(11, 10**digits))


@pytest.mark.parametrize(
    ("bound", "printed"), [(0.1, "0.1"), (0.30000000000000004, "0.31"), (1e-06, "1e-06"), (0, "0")]
)
def test_a_share_that_is_written_in_few_digits_stays(bound: float, printed: str) -> None:
    assert share_at_most(bound) == printed


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 values"), (1, "1 value"), (2_000, "2,000 values"), (2**100, "about 2^100 values")]
)
def test_nouns_follow_their_number(number: int, words: str) -> None:
    assert counted(number, "value") == words


def test_irregular_nouns() -> None:
    assert (counted(1, "person", things="people"), counted(3, "person", things="people")) == ("1 person", "3 people")


def test_a_bound_without_an_end_has_words() -> None:
    assert (at_most(float("inf")), share_at_most(float("inf"))) == ("any number of", "inf")
