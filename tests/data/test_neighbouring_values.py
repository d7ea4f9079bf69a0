"""Data in memory: whatever one person holds, the labels of all others stay the same.

Lists that differ in one value are converted to every kind of data with its usual constructor, and read. Negative
controls: readers with earlier faults fail the same tests.
"""

import warnings
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from shuffledp import DataError, ParameterError
from shuffledp.histogram.labels import symbol
from tests.oracles.hostile_rows import neighbours, objects, texts
from tests.oracles.readings import others_stay, published, read, spelled

BERLIN = timezone(timedelta(hours=1))
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
kinds = st.sampled_from([
    datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=BERLIN), datetime(2026, 1, 2, 2, 4, 5, 6, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=BERLIN), date(1, 1, 1), date(9999, 12, 31), timedelta(days=1), timedelta(microseconds=-1),
    np.datetime64("2026-01-02"), np.datetime64("NaT"), np.datetime64("12026-01-02"), np.datetime64(1, "ns"),
    np.float32(0.1), np.int8(1), np.bool_(True), np.str_("a"), np.float64("nan"), pd.NA, pd.NaT, pd.Timestamp(1),
    pd.Timestamp("2026-01-02", tz="Europe/Berlin"), pd.Timedelta(1), pd.Interval(0, 1), pd.Period("2026-01"),
    Fraction(1, 3), Fraction(1, 2), Decimal("NaN"), Decimal("1E+99999"), Decimal("0.1"), 2**5000, -(2**70), 1e300, 1j,
    "\ud800", b"\xff", b"\xc3\xa1",
])  # fmt: skip
"""Python values of kinds that columns of one type do not mix."""

anything = st.one_of(objects(), kinds, moments)
wide = st.integers(-(2**63), 2**63 - 1)
exact = st.one_of(st.integers(-(2**53), 2**53), st.floats(), st.booleans(), texts(), st.none(), moments, st.dates())
"""What pandas keeps exactly when one missing value or fraction makes a column of whole numbers one of floats."""


def in_category(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # categories of mixed kinds cannot be sorted
        return pd.Series(values, dtype="category")


def of_mixed_kinds(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas looks whether all are dates
        return pd.DataFrame({"v": values})


def in_relation(type_):
    def build(values):
        connection = duckdb.connect()
        connection.register("people", pa.table({"v": pa.array(values, type_)}))
        return connection.sql("select * from people")

    return build


def in_dataset(type_):
    return lambda values: pyarrow.dataset.dataset(pa.table({"v": pa.array(values, type_)}))


def in_arrow(type_):
    return lambda values: pa.table({"v": pa.array(values, type_)})


wide = st.integers(-(2**63), 2**63 - 1)
maybe = st.one_of(st.none(), wide)
ticks = st.integers(-(2**62), 2**62)
decimals = st.decimals(-1000, 1000, places=2)
UNTYPED = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "dictionary of lists": lambda values: {"v": values},
    "list of dictionaries": lambda values: [{"v": value} for value in values],
    "iterator of dictionaries": lambda values: ({"v": value} for value in values),
    "numpy objects": lambda values: np.fromiter(values, dtype=object, count=len(values)),
    "pandas objects": lambda values: pd.DataFrame({"v": pd.Series(values, dtype=object)}),
}
TYPED = {
    "pandas, any type": (of_mixed_kinds, exact),
    "pandas categories": (in_category, exact.filter(lambda value: not isinstance(value, bool))),  # pandas: True is 1
    "pandas text": (lambda values: pd.Series(values, dtype="str"), st.one_of(texts(), st.none())),
    "pandas Int64": (lambda values: pd.Series(values, dtype="Int64"), maybe),
    "pandas Float64": (lambda values: pd.Series(values, dtype="Float64"), st.floats()),
    "pandas boolean": (lambda values: pd.Series(values, dtype="boolean"), st.one_of(st.none(), st.booleans())),
    "pandas moments": (lambda values: pd.Series(values, dtype="datetime64[us, Europe/Berlin]"), moments),
    "pandas index": (lambda values: pd.Index(values, dtype="float64"), st.floats()),
    "numpy text": (lambda values: np.array(values, dtype=str), texts()),
    "numpy int64": (lambda values: np.array(values, dtype=np.int64), wide),
    "numpy float64": (np.array, st.floats()),
    "numpy float32": (lambda values: np.array(values, dtype=np.float32), st.floats(width=32)),
    "numpy days": (lambda values: np.array(values, dtype="i8").view("M8[D]"), st.integers(-(2**40), 2**40)),
    "numpy hours": (lambda values: np.array(values, dtype="i8").view("M8[h]"), ticks),
    "numpy nanoseconds": (lambda values: np.array(values, dtype="i8").view("M8[ns]"), ticks),
    "numpy lengths": (lambda values: np.array(values, dtype="i8").view("m8[ms]"), ticks),
    "polars Int64": (lambda values: pl.DataFrame({"v": pl.Series(values, dtype=pl.Int64)}), maybe),
    "polars, lazy": (lambda values: pl.LazyFrame({"v": pl.Series(values, dtype=pl.Int64)}), wide),
    "polars text": (lambda values: pl.Series(values, dtype=pl.String), st.one_of(texts(), st.none())),
    "polars objects": (lambda values: pl.Series(values, dtype=pl.Object), exact),
    "Arrow text": (in_arrow(pa.string()), texts()),
    "Arrow numbers": (in_arrow(pa.float64()), st.one_of(st.none(), st.floats())),
    "Arrow decimals": (in_arrow(pa.decimal128(20, 6)), decimals),
    "Arrow seconds": (in_arrow(pa.timestamp("s")), ticks),
    "Arrow days": (in_arrow(pa.date32()), st.integers(-(2**31) + 2, 2**31 - 2)),
    "Arrow dictionary": (lambda values: pa.array(values).dictionary_encode(), texts()),
    "Arrow dataset": (in_dataset(pa.duration("ns")), ticks),
    "Arrow dataset of text": (in_dataset(pa.string()), st.one_of(texts(), st.none())),
    "DuckDB relation": (in_relation(pa.int64()), st.one_of(st.none(), wide)),
    "Counter": (Counter, texts()),
}
FEW = settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
MANY = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", UNTYPED)
@MANY
@given(pair=neighbours(anything))
def test_every_value_without_a_type_is_read_as_if_it_were_alone(name, pair):
    build = UNTYPED[name]
    for values in (pair.first, pair.second):
        assert read(build(values), column="v") == sum((read([value]) for value in values), Counter())


@pytest.mark.parametrize("name", [name for name in TYPED if name != "DuckDB relation"])  # which is slow to open
@MANY
@given(data=st.data())
def test_the_labels_of_others_stay_the_same(name, data):
    build, values = TYPED[name]
    pair = data.draw(neighbours(values))
    assert others_stay(read(build(pair.first)), read(build(pair.second)))


THE_WHOLE_PATH = (
    "list", "iterator of dictionaries", "pandas, any type", "pandas categories", "numpy text", "numpy float64",
    "numpy nanoseconds", "polars, lazy", "Arrow decimals", "Arrow dataset", "DuckDB relation", "Counter",
)  # fmt: skip
"""One for each way into the engine."""

CONTINUOUS = {"Arrow decimals"}
"""Refused without a list, by their declared type."""


@pytest.mark.slow
@pytest.mark.parametrize("name", THE_WHOLE_PATH)
@FEW
@given(data=st.data())
def test_the_labels_of_others_stay_the_same_on_the_whole_path(name, data):
    """With the engine, which adds and loses nothing."""
    build, values = TYPED.get(name) or (UNTYPED[name], anything)
    pair = data.draw(neighbours(values))
    column = "v" if "dictionar" in name and name in UNTYPED else None
    if name in CONTINUOUS:  # refused by the declared type, whatever the values are
        for values in (pair.first, pair.second):
            with pytest.raises(ParameterError, match="hardly ever repeat"):
                published(build(values), column=column)
        return
    first, second = published(build(pair.first), column=column), published(build(pair.second), column=column)
    assert others_stay(first, second)
    assert first == read(build(pair.first), column=column)


@pytest.mark.slow
@FEW
@given(pair=neighbours(exact), domain=st.lists(exact, min_size=1, max_size=4, unique_by=symbol))
def test_the_bins_of_others_stay_the_same_in_a_listed_domain(pair, domain):
    """Also if pandas infers another type for one of the lists."""
    results = []
    for values in (pair.first, pair.second):
        for frame in (of_mixed_kinds(values), values):
            results.append(published(frame, domain=domain, other=True))
    assert results[0] == results[1]
    assert results[2] == results[3]
    assert others_stay(results[0], results[2])


# faults that we had -----------------------------------------------------------------------------------------------


def with_a_type_for_all(values):
    """Let Arrow infer a type from all values together."""
    try:
        return Counter(map(spelled, pa.array(values, from_pandas=True).to_pylist()))
    except (pa.ArrowException, UnicodeError, OverflowError):
        return Counter()


def with_the_type_of_pandas(values):
    """Keep floats, including those that pandas made from whole numbers."""
    return Counter(map(spelled, of_mixed_kinds(values)["v"].tolist()))


def with_the_scale_of_all(values):
    """Write all decimal numbers with the digits of the longest one."""
    return Counter(map(spelled, pa.array(values).to_pylist()))


def after_the_first_holder(values):
    """Count equal values under the first spelling."""
    return Counter({spelled(value): count for value, count in Counter(values).items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faulty", "values"),
    [
        (with_a_type_for_all, st.one_of(st.integers(0, 3), st.floats(0, 3))),
        (with_a_type_for_all, st.one_of(st.integers(0, 3), st.text(max_size=1))),
        (with_the_type_of_pandas, st.one_of(st.integers(0, 3), st.none())),
        (with_the_scale_of_all, st.decimals(0, 3, places=1) | st.decimals(0, 3, places=2)),
        (after_the_first_holder, st.sampled_from([True, 1, 1.0, -0.0, 0.0])),
    ],
)
def test_faulty_readers_are_caught(faulty, values):
    """The same search finds no fault in our own reader."""
    search = settings(max_examples=2000, derandomize=True, database=None, phases=[Phase.generate])
    find(neighbours(values), lambda pair: not others_stay(faulty(pair.first), faulty(pair.second)), settings=search)
    with pytest.raises(NoSuchExample):
        find(
            neighbours(values),
            lambda pair: not others_stay(read(pair.first), read(pair.second)),
            settings=settings(search, max_examples=50),
        )


def test_a_reader_that_loses_a_person_is_caught():
    assert not others_stay(Counter("aab"), Counter("aa"))
    assert not others_stay(Counter("aab"), Counter("AAb"))
    assert others_stay(Counter("aab"), Counter("aac"))


def test_no_row_decides_which_key_is_meant():
    """A row whose key is text, among rows whose key is the number that reads like it."""
    rows = [{0: "a"}] * 5
    assert others_stay(read([*rows, {0: "b"}], column=0), read([*rows, {"0": "b"}], column=0))
    assert read([*rows, {"0": "b"}], column="0").total() == 6
    with pytest.raises(DataError, match="no row has it"):  # and not the numbers, as long as nobody has the text
        read(rows, column="0")
