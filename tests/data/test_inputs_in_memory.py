"""Data in memory of all common types can be counted, with natural labels."""

import gc
import io
from collections import Counter
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from shuffledp import DataError, Domain, Edges, Ledger, ParameterError, Periods, private_histogram, simulate
from shuffledp.data import Source
from shuffledp.data.arrow import store
from shuffledp.data.bins import OTHER, Codebook
from shuffledp.data.labels import Kind
from shuffledp.data.tables import comparable
from shuffledp.errors import ContinuousValuesWarning
from tests.oracles.readings import published, read, spelled

SECRET = "top secret value"


def spelling(counts):
    """Return expected counts by label and type."""
    return Counter({spelled(label): number for label, number in counts.items()})


FRAME = pd.DataFrame({0: ["a", "b", "a"], "who": [1, 2, 3]})
RECORDS = np.array([("a", 1), ("b", 2), ("a", 3)], dtype=[("v", "U1"), ("who", int)])


@pytest.mark.parametrize(
    ("data", "column"),
    [
        (FRAME, 0),
        (FRAME, "0"),
        (FRAME[[0]], None),
        (FRAME[0], None),
        (FRAME.rename(columns={0: ("v", 1)}), ("v", 1)),
        (pd.Index(["a", "b", "a"]), None),
        (pd.Categorical(["a", "b", "a"], categories=["z", "b", "a", "y"]), None),
        (pd.Series(pd.arrays.SparseArray(["a", "b", "a"])), None),
        (pl.Series(["a", "b", "a"]), None),
        (pl.LazyFrame({"v": ["a", "b", "a"]}), None),
        (pa.table({"v": ["a", "b", "a"]}), None),
        (pa.RecordBatch.from_pydict({"v": ["a", "b", "a"]}), None),
        (pa.table({"v": ["a", "b", "a"]}).to_reader(), None),
        (pyarrow.dataset.dataset(pa.table({"v": ["a", "b", "a"], "w": [1, 2, 3]})), "v"),
        ([{"v": "a"}, {"v": "b", "w": 1}, {"v": "a"}], "v"),
        (({"v": value} for value in "aba"), "v"),
        ({"v": ["a", "b", "a"]}, None),
        ({"v": iter("aba"), "w": 7 * np.ones(3)}, "v"),
        (Counter("aba"), None),
        (Counter({"a": np.int64(2), "b": 1, "c": 0}), None),
        (iter(["a", "b", "a"]), None),
        ((letter for letter in "aba"), None),
        (map(str.lower, "ABA"), None),
        (("a", "b", "a"), None),
        (np.array(["a", "b", "a"]), None),
        (np.array([b"a", b"b", b"a"]), None),
        (np.array(["a", "b", "a"], dtype=np.dtypes.StringDType()), None),
        (RECORDS, "v"),
        (pa.array([b"a", b"b", b"a"]), None),
        (pa.array(["a", "b", "a"], pa.string_view()), None),
    ],
    ids=lambda part: type(part).__name__,
)
def test_natural_inputs(data, column):
    assert published(data, column=column) == spelling({"a": 2, "b": 1})


@pytest.mark.slow
def test_a_relation_of_duckdb_with_wide_numbers():
    with duckdb.connect() as connection:
        wide = connection.sql("select (2::hugeint * 4611686018427387904) as v union all select 1 union all select null")
        assert published(wide) == spelling({2**63: 1, 1: 1, None: 1})
        del wide
        gc.collect()


@pytest.mark.slow
def test_bins_of_pandas_are_labelled_by_their_text():
    ages = [5, 15, 17, float("nan")]
    cut = pd.cut(ages, [0, 10, 20])
    assert published(cut) == spelling({"(0, 10]": 1, "(10, 20]": 2, None: 1})
    assert published(pd.DataFrame({"age": cut}), domain=cut.categories, drop_missing=True) == spelling(
        {"(0, 10]": 1, "(10, 20]": 2}
    )
    assert published(pd.Series(cut).astype(object)) == published(cut)
    months = pd.Series(pd.PeriodIndex(["2026-01", "2026-02", "2026-01"], freq="M"))
    assert published(months) == spelling({"2026-01": 2, "2026-02": 1})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1, 2, 2.5], {1: 1, 2: 1, 2.5: 1}),
        ([Decimal("1.5"), Decimal("1.123456")], {1.5: 1, Decimal("1.123456"): 1}),
        (pd.DataFrame({"v": [1, 2, None]}), {1: 1, 2: 1, None: 1}),
        (pd.DataFrame({"v": [1, 2, 2.5]}), {1: 1, 2: 1, 2.5: 1}),
        (pd.DataFrame({"v": [True, False, None]}), {True: 1, False: 1, None: 1}),
        (pd.Series([2**53 + 1, None], dtype="Int64"), {2**53 + 1: 1, None: 1}),
        (pd.Series([1, 2.5, None], dtype="category"), {1: 1, 2.5: 1, None: 1}),
        ([2**70, 1], {2**70: 1, 1: 1}),
        (pl.Series([2**70, 1]), {2**70: 1, 1: 1}),
        (np.array([0.1, 1], dtype=np.float32), {0.1: 1, 1: 1}),
        (np.array([0.1, 1], dtype=np.float16), {0.1: 1, 1: 1}),
        (np.array([1, 2], dtype=">i4"), {1: 1, 2: 1}),
        (np.array([1, 1 + 2j]), {1: 1, "(1+2j)": 1}),
        (np.ma.array([1, 2], mask=[False, True]), {1: 1, None: 1}),
        (np.array(["a\0b", "a"]), {"a\0b": 1, "a": 1}),
        (np.array(["2026-01-02", "NaT"], dtype="M8[D]"), {date(2026, 1, 2): 1, None: 1}),
        (np.array(["2026", "2027"], dtype="M8[25s]"), {datetime(2026, 1, 1): 1, datetime(2027, 1, 1): 1}),
        (np.array([1, 2], dtype="m8[h]"), {timedelta(hours=1): 1, timedelta(hours=2): 1}),
        (pd.Series([timedelta(1), None]), {timedelta(1): 1, None: 1}),
        (pa.array([time(3, 4)], pa.time64("ns")), {time(3, 4): 1}),
        (pa.array([Decimal("1.50"), Decimal(2)], pa.decimal256(50, 6)), {1.5: 1, 2: 1}),
        (pa.array([Decimal("1"), Decimal(2)], pa.decimal128(20, 0)), {1: 1, 2: 1}),
        (pa.array([b"ab", b"cd"], pa.binary(2)), {"ab": 1, "cd": 1}),
        (np.array([np.timedelta64(1, "s"), np.timedelta64("NaT")], dtype=">m8[s]"), {timedelta(seconds=1): 1, None: 1}),
        (pa.nulls(2), {None: 2}),
    ],
    ids=str,
)
def test_labels_are_natural_and_from_the_value_alone(data, expected):
    assert published(data) == spelling(expected)


@pytest.mark.slow
def test_a_number_its_text_and_a_truth_value_are_three_labels():
    for make in (list, pd.Series, lambda values: pd.Series(values, dtype="category")):
        assert published(make([1, "1", True, 1.0, "1"])).total() == 5
    assert published([1, "1", True, 1.0, "1"]) == spelling({1: 2, "1": 2}) + spelling({True: 1})


@pytest.mark.parametrize(
    "data",
    [
        pa.array([2932897, 0], pa.int32()).view(pa.date32()),
        pa.array([253402300800, 0], pa.int64()).view(pa.timestamp("s")),
        pa.array([-719163 * 86400, 0], pa.int64()).view(pa.timestamp("s", tz="Europe/Berlin")),
        np.array(["12026-01-02", "1970-01-01"], dtype="M8[D]"),
        np.array(["9999999-01-02", "1970-01-01"], dtype="M8[D]"),
        np.array(["12026-01-02", "1970-01-01"], dtype="M8[us]"),
        pd.Series(np.array(["12026-01-02", "1970-01-01"], dtype="M8[s]")),
        pl.Series([2932897, 0], dtype=pl.Int32).cast(pl.Date),
    ],
    ids=lambda data: f"{type(data).__module__.split('.')[0]} {getattr(data, 'type', getattr(data, 'dtype', ''))}",
)
def test_a_date_that_python_has_not_is_text(data):
    """Also in a release with a listed domain; without one, timestamps are refused by their type."""
    labels = [label for kind, label in read(data) if kind == "str"]
    assert len(labels) == 1
    label = labels[0].strip("'")
    assert published(data, domain=[label], other=True)[spelled(label)] == 1


@pytest.mark.slow
def test_a_release_of_such_dates_can_be_compared_with_the_truth():
    days = pa.array(np.repeat([2932897, 0], 800).astype(np.int32)).view(pa.date32())
    release = private_histogram(days, epsilon=1, delta=1e-6, evaluate=True)
    assert set(release.estimate) == {"10000-01-01", date(1970, 1, 1)}
    assert release.evaluation.true_counts.tolist() == [800, 800]
    mixed = private_histogram([True, 1.0, "1", None] * 800, epsilon=1, delta=1e-6, evaluate=True)
    assert {spelled(label) for label in mixed.estimate} == {spelled(label) for label in (True, 1, "1", None)}
    assert mixed.evaluation.true_counts.tolist() == [800] * 4


# listed domains ---------------------------------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.slow
@pytest.mark.parametrize("data", [["a"], ["a", None], ["a", "z"]], ids=str)
@pytest.mark.parametrize("make", [list, pd.Series, lambda values: pa.table({"v": values})])
def test_bins_of_missing_and_other_values_always_exist(data, make):
    def bins(**options):
        return list(published(make(data), domain=["a", "b"], **options))

    expected = [spelled(label) for label in ("a", "b", None, OTHER)]
    assert bins(other=True) == expected
    if "z" not in data:
        assert bins() == expected[:3]
        assert bins(drop_missing=True) == expected[:2]
    assert bins(other=True, drop_missing=True) == [*expected[:2], expected[3]]
    assert private_histogram(make(data), epsilon=1, delta=1e-6, domain=["a", "b"], other=True).estimate.bins == 4


@pytest.mark.parametrize(
    ("data", "domain", "expected"),
    [
        ([1, 3], range(1, 4), {1: 1, 2: 0, 3: 1}),
        ([1, 3], np.array([1, 2, 3]), {1: 1, 2: 0, 3: 1}),
        ([1.0, 3], pd.Index([1, 3]), {1: 1, 3: 1}),
        (["1", "3"], range(1, 4), {1: 1, 2: 0, 3: 1}),
        (np.array([1.0, 3.0]), ["1", "3.0"], {"1": 1, "3.0": 1}),
        (["red", Colour.BLUE], Colour, {"red": 1, "blue": 1}),
        (["a"], pd.CategoricalDtype(["b", "a"]), {"b": 0, "a": 1}),
        (["a"], pa.array(["b", "a"]), {"b": 0, "a": 1}),
        (["a"], (letter for letter in "ba"), {"b": 0, "a": 1}),
        ([True, False], [0, 1], {0: 1, 1: 1}),
        ([True, False], ["true", "false"], {"true": 1, "false": 1}),
        ([Decimal("0.10"), 0.1], [0.1], {0.1: 2}),
        (pa.array([Decimal("0.10")], pa.decimal128(5, 2)), ["0.1"], {"0.1": 1}),
        ([date(2026, 1, 2), datetime(2026, 1, 2)], ["2026-01-02"], {"2026-01-02": 2}),
        (np.array(["2026-01-02"], dtype="M8[us]"), [date(2026, 1, 2)], {date(2026, 1, 2): 1}),
        (np.array(["2026-01-02"], dtype="M8[us]"), np.array(["2026-01-02"], dtype="M8[ns]"), {datetime(2026, 1, 2): 1}),
        ([7, "7", "007"], [7, "007"], {7: 2, "007": 1}),
        ([7, "7"], ["7", 7], {"7": 1, 7: 1}),
        (pd.Series([1, 2]), [1, 2, "refused"], {1: 1, 2: 1, "refused": 0}),
        (pd.Series([1, "refused"]), [1, 2, "refused"], {1: 1, 2: 0, "refused": 1}),
    ],
    ids=lambda part: type(part).__name__,
)
def test_labels_of_a_domain_are_shown_as_they_are_given_and_found_as_they_read(data, domain, expected):
    assert published(data, domain=domain, drop_missing=True) == spelling(expected)


def test_a_label_that_no_value_of_a_declared_type_can_have_is_refused():
    """The type of an Arrow table is declared; the type of a pandas column may come from people's values."""
    with pytest.raises(ParameterError, match="does not fit"):
        published(pa.table({"v": [1]}), domain=["one"], other=True)
    with pytest.raises(ParameterError, match="does not fit"):
        Codebook([2**40], kind=Kind(pa.int32()), missing=False, other=False)
    assert published(pd.DataFrame({"v": [1]}), domain=["one"], other=True)[spelled(OTHER)] == 1
    with pytest.raises(ParameterError, match="nested"):
        published([1], domain=[(1, 2)])


def test_a_value_outside_a_domain_is_refused_with_a_way_out_and_without_showing_it():
    with pytest.raises(DataError, match=r"count all others together with other") as error:
        published(["a", SECRET], domain=["a"])
    assert SECRET not in str(error.value)


def test_a_domain_of_the_pipeline_is_found_alike():
    assert published(pd.DataFrame({"v": [18, 20, None]}), domain=Domain.range(18, 21)) == spelling(
        {18: 1, 19: 0, 20: 1, None: 1}
    )


# refused ----------------------------------------------------------------------------------------------------------


def loud_frame():
    return pl.LazyFrame({"v": [SECRET]}).select(pl.col("v").cast(pl.Int64))


@pytest.mark.parametrize(
    ("data", "column", "reason"),
    [
        (FRAME, None, "column must be"),
        ([{"v": 1}], None, "column must be"),
        (FRAME, "none", "there is no column 'none': there are 0, who"),
        ([{SECRET: 1}], "v", "there is no column 'v': no row has it"),
        (pd.DataFrame([[1, 2]], columns=["v", "v"]), "v", "several columns"),
        ({"v": 7}, "v", "use a Counter"),
        ({"a", "b"}, None, "only once"),
        (Counter({SECRET: 1.5}), None, "a whole number, at least 0"),
        (Counter({SECRET: -1}), None, "a whole number, at least 0"),
        ([1, [SECRET]], None, "nested"),
        (np.array([[SECRET]]), None, "flat array"),
        (loud_frame(), None, "cannot be read"),
        (7, None, "a table, an array"),
        (io.StringIO(SECRET), None, "got StringIO: give the name of the file"),
        (io.BytesIO(SECRET.encode()), "v", "got BytesIO: give the name of the file"),
        (FRAME.groupby("who"), "who", "got DataFrameGroupBy: leave out the grouping"),
        (FRAME.groupby("who")["who"], None, "got SeriesGroupBy: leave out the grouping"),
        (pl.DataFrame({"v": [SECRET]}).group_by("v"), None, "got GroupBy: leave out the grouping"),
        (pa.table({"v": [{"a": SECRET}]}), None, "holds STRUCT values"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_cannot_be_counted_is_refused_without_showing_it(data, column, reason):
    with pytest.raises((DataError, ParameterError), match=reason) as error:
        published(data, column=column)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("data", [FRAME, {0: [1], "who": [2]}, pa.table({"0": [1], "who": [2]})])
def test_a_column_is_not_its_own_user(data):
    """Each value would be a person, and the number of people would reveal the exact number of distinct values."""
    for column, user in (("who", "who"), ("0", "0"), *(((0, "0"),) if not isinstance(data, pa.Table) else ())):
        with pytest.raises(ParameterError, match="same column"):
            published(data, column=column, user=user)


def test_a_column_of_a_file_is_not_its_own_user(tmp_path):
    (tmp_path / "people.csv").write_text("v\na\n")
    with pytest.raises(ParameterError, match="same column"):
        published(tmp_path / "people.csv", column="v", user="v")


@pytest.mark.slow
def test_users_differ_by_their_own_value():
    rows = {"v": ["a"] * 6, "V": [1, 1.0, "1", True, None, float("nan")]}
    assert published(rows, column="v", user="V").total() == 3
    frame = pd.DataFrame({"v": ["a"] * 4, "who": [1, 1, 2, None]})
    assert published(frame, column="v", user="who").total() == 2
    table = pa.table({"v": ["a"] * 3, "who": [1.0, float("nan"), None]})
    assert published(table, column="v", user="who").total() == 1
    assert published(pyarrow.dataset.dataset(table), column="v", user="who").total() == 1
    with pytest.raises(DataError, match="differ in length"):
        published({"v": ["a"], "who": [1, 2]}, column="v", user="who")
    with pytest.raises(ParameterError, match="needs a table"):
        published(["a"], user="who")


@pytest.mark.slow
def test_options_of_files_can_be_given_in_python(tmp_path):
    (tmp_path / "people.txt").write_bytes(("id;name\n" + "1;Jos\u00e9\n" * 400).encode("latin-1"))
    estimator = {"column": "name", "delimiter": ";", "encoding": "latin-1", "format": "csv"}
    release = private_histogram(tmp_path / "people.txt", epsilon=2, delta=1e-3, **estimator)
    assert list(release.estimate) == ["Jos\u00e9"]
    simulation = simulate(tmp_path / "people.txt", epsilon=2, delta=1e-3, trials=2, seed=1, **estimator)
    assert simulation.people == 400
    with pytest.raises(ParameterError, match="delimiter and encoding must be left out"):
        private_histogram(["a", "b"], epsilon=1, delta=1e-6, delimiter=";", encoding="latin-1")


@pytest.mark.parametrize("values", [["secret", "other"], ["what*", "other"]])
def test_a_list_of_text_with_a_column_that_is_no_list_of_files_is_not_quoted(values):
    with pytest.raises(DataError, match=r"entry 1 of the list is no file.*leave out column") as error:
        private_histogram(values, column="theme", epsilon=1, delta=1e-6)
    assert not any(value in str(error.value) for value in values)


def test_a_table_of_several_columns_says_which_there_are():
    with pytest.raises(ParameterError, match="there are page, age"):
        private_histogram({"page": ["a"], "age": [1]}, epsilon=1, delta=1e-6)


@pytest.mark.parametrize("make", [pd.Categorical, pd.CategoricalIndex, lambda held: pd.Series(held, dtype="category")])
def test_the_categories_of_a_column_are_no_domain(make):
    """If pandas found them in the data, one person's value would be a public label."""
    column = make(["anna", "bert", "zoe"])
    with pytest.raises(ParameterError, match="known without the data"):
        private_histogram(column, domain=column, epsilon=1, delta=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [lambda name: pd.Series(["a"] * 1000, name=name), lambda name: pl.Series(name, ["a"] * 1000)]
)
def test_a_series_is_called_by_its_name(make):
    assert private_histogram(make("v"), epsilon=1, delta=1e-6).column == "v"
    assert private_histogram(make(""), epsilon=1, delta=1e-6).column == "value"
    assert private_histogram(make("v"), epsilon=1, delta=1e-6, column="theme").column == "theme"


# what may hardly ever repeat ----------------------------------------------------------------------------------------

CONTINUOUS = [
    np.array([1.5, 2.5]),
    np.array([1.5, 2.5], dtype=np.float32),
    pd.Series([1.5, None]),
    pd.Series([1.5, None], dtype="Float64"),
    pd.Series(pd.to_datetime(["2026-01-01", None])),
    pd.Series(pd.to_datetime(["2026-01-01", None], utc=True)),
    np.array(["2026-01-01"], dtype="datetime64[s]"),
    pd.DataFrame({"v": [1.5]}),
]
COUNTABLE = [
    np.array([1, 2]),
    np.array(["2026-01-01"], dtype="datetime64[D]"),
    pd.Series([1, 2]),
    pd.Series(["a", None]),
    # without a dtype, each value is read by itself, and must not decide anything
    [1.5, 2.5],
    np.array([1.5, datetime(2026, 1, 1)], dtype=object),
    pd.Series([1.5, datetime(2026, 1, 1)], dtype=object),
]


@pytest.mark.parametrize(
    ("data", "warned"), [*((one, True) for one in CONTINUOUS), *((one, False) for one in COUNTABLE)]
)
def test_a_dtype_of_floats_or_timestamps_is_known_before_anything_is_counted(data, warned):
    assert bool(Source.of(data).continuous) is warned
    domain = Periods("month", start="2026", stop="2027") if "date" in str(getattr(data, "dtype", "")) else Edges("0,2")
    assert not Source.of(data, domain=domain).continuous


@pytest.mark.slow
def test_the_warning_comes_before_the_ledger_is_charged(tmp_path):
    ledger = Ledger.create(tmp_path / "l.ledger", epsilon=2, delta=1e-5, population="people")
    heights = pd.DataFrame({"height": np.linspace(1.5, 2, 500)})
    asked = {"epsilon": 1, "delta": 1e-6, "ledger": ledger}
    with pytest.warns(
        ContinuousValuesWarning, match=r"column 'height' has the dtype float64: .*domain=Edges"
    ) as caught:
        release = private_histogram(heights, **asked)
    assert caught[0].filename == __file__
    assert release.warnings == private_histogram(heights.height.astype(object), **asked).warnings
    with pytest.raises(ContinuousValuesWarning):  # warnings are errors in tests
        private_histogram(heights, **asked)
    assert len(ledger.entries) == 2


@pytest.mark.parametrize("options", [{}, {"normalize": True}])
def test_the_result_of_value_counts_is_refused(options):
    counts = pd.Series(["a", "a", SECRET], name="v").value_counts(**options)
    with pytest.raises(DataError, match=r"a series of counts.* collections\.Counter\(data\.to_dict\(\)\)") as error:
        private_histogram(counts, epsilon=1, delta=1e-6)
    assert SECRET not in str(error.value)
    if not options:
        assert published(Counter(counts.to_dict())).total() == 3
        assert published(counts, column="count") == {spelled(2): 1, spelled(1): 1}
    assert published(pd.Series([1, 2], name="count")).total() == 2


# columns of a condition ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, 2, None], ["1", "2", None]),
        ([1, 2.5, None], ["1", "2.5", None]),
        ([1.0, 2.5], ["1", "2.5"]),
        ([True, False, None], ["true", "false", None]),
        ([True, "x"], ["true", "x"]),
        ([1, "x", float("nan")], ["1", "x", None]),
        ([date(2026, 1, 31), None], ["2026-01-31", None]),
        ([10**400, "x"], ["1" + "0" * 400, "x"]),
        (np.array([1, 2]), ["1", "2"]),
        (pd.Series([1, None]), ["1", None]),
    ],
)
def test_values_without_a_declared_type_are_compared_as_their_own_text(values, texts):
    """One person's value changes the type of such a column, and must not change how the values of others compare."""
    found = comparable(store(values))
    assert found.type == pa.string()
    assert found.to_pylist() == texts


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.bool_(), pa.string()])
def test_values_with_a_declared_type_are_compared_as_they_are(kind):
    assert comparable(store(pa.array([1, 0, None]).cast(kind))).type == kind


def test_a_number_too_long_to_be_printed_is_compared_as_some_text():
    assert comparable(store([10**5000, "x"])).type == pa.string()
