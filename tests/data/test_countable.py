"""Columns of continuous values are refused by their type alone."""

import pyarrow as pa
import pytest

from shuffledp import ParameterError
from shuffledp.data.labels import Kind, check_countable

NUMBERS = [pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal256(50, 1)]
MOMENTS = [pa.timestamp("s"), pa.timestamp("ns", "UTC")]
DISCRETE = [
    pa.int8(), pa.uint64(), pa.string(), pa.large_string(), pa.bool_(), pa.date32(), pa.date64(), pa.decimal128(9, 0),
    pa.decimal128(9, -2), pa.time32("s"), pa.null(), None,
]  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_with_fractions_need_edges(kind):
    with pytest.raises(ParameterError, match=r"column 'income' holds numbers with fractions .*Edges"):
        check_countable(Kind(kind), listed=False, name="income")


@pytest.mark.parametrize("kind", MOMENTS)
def test_timestamps_need_periods(kind):
    with pytest.raises(ParameterError, match=r"column 'income' holds timestamps .*Periods"):
        check_countable(Kind(kind), listed=False, name="income")


@pytest.mark.parametrize("kind", DISCRETE)
def test_everything_else_can_be_counted(kind):
    check_countable(Kind(kind), listed=False, name="income")


@pytest.mark.parametrize("kind", NUMBERS + MOMENTS)
def test_a_list_and_a_type_that_may_come_from_the_values_are_never_refused(kind):
    check_countable(Kind(kind), listed=True, name="income")
    check_countable(Kind(kind, declared=False), listed=False, name="income")
