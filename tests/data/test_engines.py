"""All formats and tables give the same counts; other data is refused without showing it."""

import gzip
import json
from collections import Counter
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from shuffledp.data import Source, find_files, open_engine
from shuffledp.data.bins import OTHER, Codebook
from shuffledp.data.labels import Kind
from shuffledp.errors import DataError, ParameterError

VALUES = ["x", "y", None, "x", "", "a,b", 'quo"te', "two\nlines", "007", "x"]
USERS = [1, 1, 2, 2, 3, 4, 5, 6, 7, None]
EXPECTED = Counter(VALUES)
TABLE = pa.table({"value": VALUES, "user": USERS, "other thing": list(range(10))})


def count(data, column="value", **options):
    with closing(open_engine(Source.of(data, column=column, **options))) as engine:
        found = {}
        for labels, people in engine.counts():
            found.update(zip(labels.to_pylist(), people.tolist(), strict=True))
        assert engine.people() == sum(found.values())
        return found


def csv_line(fields, delimiter):
    quoted = ['"' + f.replace('"', '""') + '"' if isinstance(f, str) else "" if f is None else str(f) for f in fields]
    return delimiter.join(quoted) + "\n"


def write_csv(path, delimiter=",", values=VALUES):
    rows = zip(values, USERS, strict=True)
    text = delimiter.join(["value", "user"]) + "\n" + "".join(csv_line(row, delimiter) for row in rows)
    return path.write_bytes(gzip.compress(text.encode())) if path.suffix == ".gz" else path.write_text(text)


def write_json(path):
    lines = [
        json.dumps({"user": u} if v is None else {"value": v, "user": u}) for v, u in zip(VALUES, USERS, strict=True)
    ]
    text = "\n".join(lines) + "\n"
    return path.write_bytes(gzip.compress(text.encode())) if path.suffix == ".gz" else path.write_text(text)


def write_zstd(path):
    plain = path.with_suffix("")
    write_csv(plain)
    with pa.output_stream(str(path), compression="zstd") as file:
        file.write(plain.read_bytes())
    plain.unlink()


def write_stream(path):
    with pa.output_stream(str(path)) as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        for batch in TABLE.to_batches(max_chunksize=3):
            writer.write(batch)


WRITERS = {
    "people.csv": write_csv,
    "people.csv.gz": write_csv,
    "people.csv.zst": write_zstd,
    "people.tsv": lambda path: write_csv(path, "\t"),
    "people.jsonl": write_json,
    "people.ndjson.gz": write_json,
    "people.parquet": lambda path: pa.parquet.write_table(TABLE, path, compression="zstd", row_group_size=4),
    "people.feather": lambda path: pa.feather.write_feather(TABLE, str(path), compression="lz4"),
    "people.arrow": lambda path: pa.feather.write_feather(TABLE, str(path), compression="zstd"),
    "people.arrows": write_stream,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_every_format(tmp_path, name):
    WRITERS[name](tmp_path / name)
    files = find_files([tmp_path / name])
    assert count(files) == EXPECTED
    assert count(files, drop_missing=True) == {v: n for v, n in EXPECTED.items() if v is not None}


def test_several_files_patterns_and_folders(tmp_path):
    for part in range(3):
        write_csv(tmp_path / f"part-{part}.csv")
    (tmp_path / "_SUCCESS").write_text("")
    thrice = {value: 3 * number for value, number in EXPECTED.items()}
    assert count(find_files([tmp_path / f"part-{part}.csv" for part in range(3)])) == thrice
    assert count(find_files([f"{tmp_path}/part-*.csv"])) == thrice
    assert count(find_files([tmp_path])) == thrice


def test_files_with_columns_in_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("value,user\nx,1\n")
    (tmp_path / "b.csv").write_text("user,value\n2,x\n")
    assert count(find_files([tmp_path])) == {"x": 2}


def test_another_delimiter(tmp_path):
    write_csv(tmp_path / "people.csv", ";")
    assert count(find_files([tmp_path / "people.csv"], delimiter=";")) == EXPECTED
    with pytest.raises(ParameterError, match="delimiter"):
        find_files([tmp_path / "people.csv"], delimiter="ab")


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_pandas(),
        pl.from_arrow(TABLE),
        pl.from_arrow(TABLE).lazy(),
        TABLE.to_pydict(),
        np.array(VALUES, dtype=object),
        VALUES,
        pd.Series(VALUES, dtype=object),
        pl.Series(VALUES),
        pd.DataFrame({"value": pd.Categorical(VALUES)}),
        pl.DataFrame({"value": pl.Series(VALUES, dtype=pl.Categorical)}),
        pa.array(VALUES),
    ],
    ids=lambda data: f"{type(data).__module__.split('.')[0]}.{type(data).__name__}",
)
def test_every_table_and_array(data):
    assert count(data) == EXPECTED


def test_a_duckdb_relation():
    with duckdb.connect() as connection:
        connection.register("people", TABLE)
        relation = connection.sql("select * from people")
        assert count(relation) == EXPECTED
        assert sum(count(relation, user="user").values()) == 7


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([3, -1, 3], dtype=np.int16), {3: 2, -1: 1}),
        (np.array([0.5, 0.5, 2.0]), {0.5: 2, 2.0: 1}),
        (np.array([True, False, True]), {True: 2, False: 1}),
        (np.array(["2026-01-01", "2026-01-02", "2026-01-01"], dtype="datetime64[D]"), 2),
    ],
)
def test_numbers_truth_values_and_dates_keep_their_kind(values, expected):
    found = count(values)
    assert (found if isinstance(expected, dict) else len(found)) == expected


def test_equal_numbers_are_one_label_whatever_their_sign_or_source():
    """0.0 and -0.0 are equal: one person must not decide which of them is published."""
    for values in ([0.0] * 3 + [-0.0], [-0.0] * 3 + [0.0], [-0.0] * 4):
        (label,) = count(np.array(values))
        assert str(label) == "0.0"
    book = Codebook([-0.0, 1.0], kind=Kind(pa.float64()), missing=False, other=False)
    assert book(pa.array([0.0, 1.0])).tolist() == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_nan_is_missing(tmp_path, kind):
    table = pa.table({"value": pa.array([1.0, float("nan"), None], kind)})
    pa.parquet.write_table(table, tmp_path / "people.parquet")
    for data in (table, pl.from_arrow(table), table.to_pandas(), find_files([tmp_path])):
        assert count(data) == {1.0: 1, None: 2}
        assert count(data, drop_missing=True) == {1.0: 1}


@pytest.mark.parametrize("name", ["a[1].csv", "a*.csv", "a?.csv", "it's.csv"])
def test_marks_in_a_name_are_no_pattern(tmp_path, name):
    for other in ("a1.csv", "ab.csv"):
        (tmp_path / other).write_text("value\nwrong\n")
    (tmp_path / name).write_text("value\nright\n")
    assert count(find_files([tmp_path / name])) == {"right": 1}


def test_endings_in_capitals_and_empty_parts_of_a_folder(tmp_path):
    write_csv(tmp_path / "PEOPLE.CSV")
    (tmp_path / "part-1.csv").write_text("")
    assert count(find_files([tmp_path])) == EXPECTED
    (tmp_path / "people.parquet.gz").write_text("compressed inside, not outside")
    with pytest.raises(DataError, match="no known format"):
        find_files([tmp_path / "people.parquet.gz"])


def test_one_row_for_each_person_uniformly():
    """400 groups: one person has rows x and y, another z and a missing value; all four choices are equally likely."""
    groups = range(400)
    values = [value for group in groups for value in (f"{group} x", f"{group} y", f"{group} z", None)]
    table = {
        "value": values,
        "user": [user for group in groups for user in (2 * group, 2 * group, *[2 * group + 1] * 2)],
    }
    counted = count(table, user="user")
    assert sum(counted.values()) == 800
    assert all((f"{group} x" in counted) != (f"{group} y" in counted) for group in groups)
    outcomes = Counter((f"{group} x" in counted, f"{group} z" in counted) for group in groups)
    assert len(outcomes) == 4
    assert min(outcomes.values()) > 50  # 100 expected; fails with probability below 1e-7
    assert count(table, user="user") != counted  # other rows the next time


def test_missing_values_are_dropped_before_a_row_is_chosen():
    table = {"value": ["x", None, None], "user": [1, 1, 2]}
    assert count(table, user="user", drop_missing=True) == {"x": 1}


SECRET = "top secret value"


@pytest.mark.parametrize(
    ("name", "content", "column", "reason"),
    [
        ("people.csv", f"value,x\n{SECRET},1\n{SECRET},1,2\n", "value", "cannot be read as csv"),
        ("people.csv", f"{SECRET},1\nb,2\n", "value", "compare it with the first line"),
        ("people.jsonl", '{"value": "a"}\n{"value": "' + SECRET + "\n", "value", "cannot be read as json"),
        ("people.jsonl", '{"value": "' + SECRET + '"}\n', "other", "no column 'other' in any line"),
        ("people.parquet", SECRET * 100, "value", "cannot be read as parquet"),
        ("people.arrow", SECRET * 100, "value", "cannot be read"),
        ("people.xlsx", SECRET, "value", "no known format"),
        ("people.csv", "", "value", "is empty"),
        ("people.csv.gz", SECRET, "value", "cannot be read"),
    ],
)
def test_bad_files_are_refused_without_showing_their_content(tmp_path, name, content, column, reason):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=reason) as error:
        count(find_files([tmp_path / name]), column)
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_files_and_mixed_formats(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        find_files([tmp_path / "none.csv"])
    with pytest.raises(DataError, match="no file with content matches"):
        find_files([str(tmp_path / "*.csv")])
    with pytest.raises(DataError, match="has no files with content"):
        find_files([tmp_path])
    write_csv(tmp_path / "a.csv")
    write_json(tmp_path / "b.jsonl")
    with pytest.raises(DataError, match="different formats"):
        find_files([tmp_path])
    with pytest.raises(ParameterError, match="data must be at least one file"):
        find_files([])
    with pytest.raises(DataError, match="Spark"):
        count(find_files(["hdfs://somewhere/people.parquet"]))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([1, [SECRET]], "nested or cannot be written"),
        ([SECRET, object()], "nested or cannot be written"),
        ({"value": [[1], [2]]}, "choose one of text"),
        (np.zeros((2, 2)), "flat array"),
        (7, "a table, an array"),
        (pd.DataFrame({"a": [1]}), "there is no column 'value': there are a"),
    ],
)
def test_bad_tables_are_refused(data, reason):
    with pytest.raises(DataError, match=reason) as error:
        count(data)
    assert SECRET not in str(error.value)


def test_engine_names_are_checked():
    with pytest.raises(ParameterError, match="engine must be local or spark, got 'flink'"):
        Source.of(["x"], engine="flink")
    with pytest.raises(ParameterError, match="engine must be spark for a Spark DataFrame or a master"):
        Source.of(["x"], master="local[2]")
    with pytest.raises(ParameterError, match="name of a column"):
        Source.of(find_files([__file__], format="csv"), column="")


def test_temporary_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    count(["x"], None)
    with pytest.raises(DataError):
        count(TABLE, "none")
    assert list(tmp_path.iterdir()) == []


# codebooks --------------------------------------------------------------------------------------------------------


def test_codebook_always_has_bins_for_missing_and_other_values():
    book = Codebook(["b", "a"], kind=Kind(pa.string()), missing=True, other=True)
    assert book.domain.decode(np.arange(4)).tolist() == ["b", "a", None, OTHER]
    assert book(pa.array(["a", None, "z", "b"])).tolist() == [1, 2, 3, 0]


def test_codebook_reads_text_as_the_kind_of_the_column():
    book = Codebook(["10", "20"], kind=Kind(pa.int32()), missing=False, other=False)
    assert book(pa.array([20, 10, 20], pa.int32())).tolist() == [1, 0, 1]
    with pytest.raises(ParameterError, match="does not fit the column"):
        Codebook(["ten"], kind=Kind(pa.int32()), missing=False, other=False)


def test_codebook_refuses_other_values_without_showing_or_counting_them():
    book = Codebook(["a"], kind=Kind(pa.string()), missing=False, other=False)
    with pytest.raises(DataError, match="not in the domain") as error:
        book(pa.array(["a", SECRET, None]))
    assert SECRET not in str(error.value)
    assert not any(character.isdigit() for character in str(error.value))


def test_codebook_refuses_repeated_and_reserved_labels():
    with pytest.raises(ParameterError, match="more than once"):
        Codebook(["a", "a"], kind=Kind(pa.string()), missing=False, other=False)
    with pytest.raises(ParameterError, match="of its own"):
        Codebook([OTHER], kind=Kind(pa.string()), missing=False, other=True)
