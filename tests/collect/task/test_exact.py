"""Numbers in task files: exact, in one spelling."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.collect.task.public_file import decimal_text, exact_text, read_decimal, read_exact
from shuffledp.errors import TaskError


@pytest.mark.slow
@given(st.floats(min_value=0, max_value=2.0**50, allow_subnormal=False))
def test_exact_numbers_round_trip(number):
    text = exact_text(number)
    assert read_exact(text, name="x") == number
    numerator, _, power = text.partition("/2^")
    assert Fraction(int(numerator), 2 ** int(power or 0)) == Fraction(number)
    assert not power or int(numerator) % 2 == 1


@pytest.mark.parametrize(
    "text",
    ["", "1/2", "1/2^0", "01", "1/2^01", "2/2^1", "-1", "+1", "1.5", "1e3", " 1", "1 ", "1/2^10000", "0/2^3", "1/3",
     "9007199254740993", "18014398509481985/2^3", "1/2^1080", "\N{ARABIC-INDIC DIGIT ONE}", "1\n", None,
     1, 1.5, [], {}],
)  # fmt: skip
def test_any_other_spelling_is_refused(text):
    with pytest.raises(TaskError, match=r"x must be a whole number or a fraction|must be in lowest terms"):
        read_exact(text, name="x")


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (1.0, "1"), (0.5, "1/2^1"), (5161 / 2**13, "5161/2^13"), (0.1, "3602879701896397/2^55"),
     (math.ulp(0.0), "1/2^1074"), (2.0**53 - 1, "9007199254740991")],
)  # fmt: skip
def test_written(number, text):
    assert exact_text(number) == text
    assert read_exact(text, name="x") == number


@given(st.floats(min_value=1e-20, max_value=50, exclude_min=True))
def test_decimal_numbers_round_trip(number):
    assert read_decimal(decimal_text(number), name="x") == number


@pytest.mark.parametrize(
    "text", ["", "1e-06", "1E-6", ".5", "5.", "01", "-1", "1e6", "1e+6", "inf", "nan", "1,5", "1_0", "1e-6 ", 1, None]
)
def test_other_spellings_of_decimals_are_refused(text):
    with pytest.raises(TaskError, match="x must be a decimal number as text, such as"):
        read_decimal(text, name="x")


@pytest.mark.parametrize(
    ("number", "text"), [(1.0, "1"), (0.5, "0.5"), (1e-6, "1e-6"), (1.5e-10, "1.5e-10"), (50.0, "50")]
)
def test_stated(number, text):
    assert decimal_text(number) == text
