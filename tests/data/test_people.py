"""Which rows count as people, and errors of libraries, which must not show their values."""

from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.data import Source, find_files, open_engine
from shuffledp.errors import DataError, ParameterError

TABLE = {"value": ["x", "x", "y", "y"], "user": [1, None, 2, None]}


def opened(**options):
    return closing(open_engine(Source.of(TABLE, column="value", **options)))


def test_rows_that_name_nobody_are_left_out():
    """The number of people does not reveal whether there are such rows."""
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


def test_values_are_not_their_own_people():
    """The published number of people would be the exact number of distinct values."""
    with pytest.raises(ParameterError, match="same column"):
        Source(data=TABLE, names=("value",), user="value")
    with pytest.raises(ParameterError, match="same column"):
        Source.of(TABLE, column="value", user="value")


def test_the_name_of_a_folder_does_not_stand_in_for_a_column(tmp_path):
    folder = tmp_path / "value=7"
    folder.mkdir()
    pq.write_table(pa.table({"value": ["x", "y"]}), folder / "people.parquet")
    with closing(open_engine(Source.of(find_files([folder]), column="value"))) as engine:
        assert sorted(label for labels, _ in engine.counts() for label in labels.to_pylist()) == ["x", "y"]
