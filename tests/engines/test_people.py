"""Who counts as a person, and what an error of a library may say about them."""

from contextlib import closing

import duckdb
import pyarrow as pa
import pytest

from shuffledp.engines import Column, open_engine
from shuffledp.errors import DataError

TABLE = {"value": ["x", "x", "y", "y"], "user": [1, None, 2, None]}


def opened(**options):
    return closing(open_engine(Column(data=TABLE, name="value", **options)))


def test_rows_that_name_nobody_are_left_out():
    """Whether or not there are any: the number of people does not tell."""
    with opened(user="user") as engine:
        assert engine.people() == 2
        counted = {}
        for labels, people in engine.counts():
            counted.update(zip(labels.to_pylist(), people.tolist(), strict=True))
    assert counted == {"x": 1, "y": 1}


@pytest.mark.parametrize("error", [duckdb.ConversionException, duckdb.InvalidInputException, pa.ArrowInvalid])
def test_errors_of_libraries_are_not_passed_on(error):
    with opened() as engine, pytest.raises(DataError) as caught, engine._clear_errors():
        raise error("Could not convert string 'secret' to INT32")
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
