"""The engine on Apache Spark, in two threads of one process; test_spark_with_executors uses several processes."""

import warnings
from collections import Counter
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from shuffledp import Histogram, SparseHistogram, private_histogram
from shuffledp.data import Source, find_files, open_engine
from shuffledp.data.bins import Codebook
from shuffledp.data.labels import Kind
from shuffledp.data.spark_files import read_json_lines, read_separated_text
from shuffledp.errors import DataError, ParameterError
from tests.data.test_engines import EXPECTED, SECRET, TABLE, WRITERS, write_csv
from tests.data.test_files import write
from tests.data.test_neighbouring_files import AFTER, ALL_TEXTS, BEFORE, label, lines_with
from tests.data.test_neighbouring_files import WRITERS as FILE_WRITERS
from tests.oracles.goodness import assert_distribution

BINS, PEOPLE_PER_BIN = 500, 40
USERS = BINS * PEOPLE_PER_BIN


pytestmark = pytest.mark.xdist_group("spark")


def engine(data, column="value", **options):
    return open_engine(Source.of(data, column=column, engine="spark", **options))


def count(data, column="value", **options):
    with closing(engine(data, column, **options)) as opened:
        found = Counter()
        for labels, people in opened.counts():
            found.update(dict(zip(labels.to_pylist(), people.tolist(), strict=True)))
        assert opened.people() == found.total()
        return found


def frame(spark, table, partitions=4):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return spark.createDataFrame(table).repartition(partitions)


@pytest.fixture
def people(spark):
    """The bins of all people in a file, so that each partition always has the same rows."""
    return pa.table({"value": np.repeat(np.arange(BINS), PEOPLE_PER_BIN)})


FORMATS = ["people.csv", "people.csv.gz", "people.tsv", "people.jsonl", "people.parquet"]


@pytest.mark.parametrize("name", FORMATS)
def test_files_are_counted_as_in_process(spark, tmp_path, name):
    expected = EXPECTED
    if "csv" in name or "tsv" in name:  # on Spark, a line of these is a record
        expected = Counter({"two lines" if value == "two\nlines" else value: n for value, n in EXPECTED.items()})
        write_csv(tmp_path / name, "\t" if "tsv" in name else ",", [*expected.elements()])
    else:
        WRITERS[name](tmp_path / name)
    assert count(find_files([tmp_path / name])) == expected
    assert count(find_files([tmp_path / name]), drop_missing=True).total() == 9


def test_a_data_frame_and_one_row_for_each_person(spark):
    assert count(frame(spark, TABLE)) == EXPECTED
    found = count(frame(spark, TABLE), user="user")
    assert found.total() == 7
    assert found["x"] + found["y"] <= 3


def test_the_whole_release(spark):
    table = pa.table({"page": ["a"] * 900 + ["b"] * 600 + ["c"]})
    release = private_histogram(frame(spark, table), column="page", epsilon=1, delta=1e-6, evaluate=True)
    assert set(release.estimate) == {"a", "b"}
    assert release.evaluation.largest_error < 100
    sent = private_histogram(
        frame(spark, table), column="page", epsilon=1, delta=1e-6, domain=["a", "b", "c"], messages=True
    )
    assert sent.messages > 1501
    assert abs(sent.estimate["a"] - 900) < 100


def message_tally(data, protocol):
    book = Codebook(range(BINS), kind=Kind(pa.int64()), missing=False, other=False)
    with closing(engine(data)) as opened:
        return opened.tally(protocol, book)


def test_messages_follow_the_distribution(spark, people):
    protocol = SparseHistogram.calibrate(users=USERS, bins=BINS, epsilon=1, delta=1e-6)
    tally = message_tally(frame(spark, people), protocol)
    pairs = tally.counts[:, 0] - PEOPLE_PER_BIN
    lone = tally.counts[:, 1] - pairs
    for draws, distribution in ((pairs, protocol.pairs), (lone, protocol.lone)):
        assert_distribution(draws, distribution.window.first, distribution.window.pmf)
    paper = Histogram.calibrate(users=4 * BINS, bins=BINS, epsilon=1, delta=1e-6)
    few = pa.table({"value": np.repeat(np.arange(BINS), 4)})
    missing = 4 + paper.users - message_tally(frame(spark, few), paper).counts
    assert_distribution(missing, paper.noise.window.first, paper.noise.window.pmf)


def test_two_runs_sample_different_noise(spark, people):
    protocol = SparseHistogram.calibrate(users=USERS, bins=BINS, epsilon=1, delta=1e-6)
    first, second = (message_tally(frame(spark, people), protocol) for _ in range(2))
    assert not np.array_equal(first.counts, second.counts)


@pytest.mark.parametrize(
    ("name", "content", "column", "reason"),
    [
        ("people.csv", f"value,x\n{SECRET},1\n{SECRET},1,2\n", "value", "a line has more fields than the header"),
        ("people.csv", f'value,x\n"two\n{SECRET}",1\n', "value", "on Spark, text in CSV files has no line breaks"),
        ("people.csv", f"{SECRET},1\nb,2\n", "value", "compare it with the first line"),
        ("people.jsonl", '{"value": "a"}\n{"value": "' + SECRET + "\n", "value", "a line is not a JSON object"),
        ("people.jsonl", '{"value": "' + SECRET + '"}\n', "other", "no column 'other' in any line"),
        ("people.parquet", SECRET * 100, "value", "damaged"),
        ("people.arrow", SECRET * 100, "value", "cannot read Arrow"),
    ],
)
def test_bad_files_are_refused_without_showing_their_content(spark, tmp_path, name, content, column, reason):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=reason) as error:
        count(find_files([tmp_path / name]), column)
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_value_outside_the_domain_is_not_shown(spark):
    table = pa.table({"value": ["a"] * 500 + [SECRET]})
    for messages in (False, True):
        with pytest.raises(DataError, match="not in the domain") as error:
            private_histogram(
                frame(spark, table), column="value", epsilon=1, delta=1e-6, domain=["a"], messages=messages
            )
        assert SECRET not in str(error.value)


def test_marks_in_a_name_are_no_pattern(spark, tmp_path):
    (tmp_path / "a1.csv").write_text("value\nwrong\n")
    (tmp_path / "a[1].csv").write_text("value\nright\n")
    assert count(find_files([tmp_path / "a[1].csv"])) == {"right": 1}


def test_equal_numbers_and_what_is_no_number(spark, tmp_path):
    pa.parquet.write_table(pa.table({"value": [0.0, -0.0, float("nan"), None]}), tmp_path / "people.parquet")
    found = count(find_files([tmp_path]))
    assert found == {0.0: 2, None: 2}
    assert "-0.0" not in map(str, found)


def test_a_table_in_memory_is_refused(spark):
    with pytest.raises(ParameterError, match="data must be files or a Spark DataFrame"):
        engine(np.arange(3))


@pytest.mark.parametrize("protocol", ["amplified", "private-coin"])
def test_messages_that_are_not_numbers_are_refused(spark, protocol):
    frame = spark.createDataFrame([("a",), ("b",)] * 50, ["x"])
    with pytest.raises(ParameterError, match="engine must be local for this protocol"):
        private_histogram(frame, column="x", domain=["a", "b"], epsilon=1, delta=1e-6, protocol=protocol, messages=True)


def test_hashed_messages_are_decoded_in_the_executors(spark, people, tmp_path):
    """The driver receives a count for each value instead of all messages."""
    pa.parquet.write_table(people, tmp_path / "people.parquet")
    question = {"column": "value", "domain": range(BINS), "epsilon": 1, "delta": 1e-6, "protocol": "hashed"}
    release = private_histogram(tmp_path, **question, engine="spark", messages=True, evaluate=True, beta=1e-6)
    expected = USERS * release.protocol.messages_per_user.expected
    assert abs(release.messages - expected) < 6 * np.sqrt(expected)
    assert release.evaluation.covered
    assert release.evaluation.largest_error > 0
    assert release.lookup([3, 7]).keys() == [3, 7]
    sets = {"user": "person", "values_per_person": 2}
    rows = pa.table({"person": np.arange(USERS) // 2, "value": np.arange(USERS) % BINS})
    pa.parquet.write_table(rows, tmp_path / "people.parquet")
    several = private_histogram(tmp_path, **question, **sets, engine="spark", messages=True, evaluate=True, beta=1e-6)
    assert several.evaluation.covered
    assert several.people == USERS // 2


def test_another_master_while_a_session_runs_is_refused(spark, tmp_path):
    WRITERS["people.csv"](tmp_path / "people.csv")
    with pytest.raises(ParameterError, match="already running"):
        open_engine(Source.of(tmp_path, column="value", engine="spark", master="local[1]"))


def test_without_java_one_sentence_says_what_to_do(monkeypatch):
    from shuffledp.data.spark_files import check_java

    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(DataError, match="Spark needs Java 17"):
        check_java()


# files --------------------------------------------------------------------------------------------------------------

LINES_ONLY = [text for text in ALL_TEXTS if "\n" not in text]


@pytest.mark.parametrize("name", ["minimal.csv", "people.jsonl"])
def test_one_person_does_not_change_how_others_are_read(spark, tmp_path, name):
    """A file for every hostile text, at every position among others, all in one job."""
    expected = Counter()
    for at, text in enumerate(LINES_ONLY):
        values = [LINES_ONLY[at - 1], "plain", LINES_ONLY[at - 1]]
        values.insert(at % 4, text)
        FILE_WRITERS[name](tmp_path / f"{at}-{name}", values)
        expected.update((str(user), label(name, value)) for user, value in enumerate(values))
    read = read_json_lines if name.endswith("jsonl") else read_separated_text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        table = read(spark, find_files([tmp_path]), ["user", "value"])
        assert Counter(map(tuple, table.collect())) == expected


def test_sparks_own_readers_fail_the_check(spark, tmp_path):
    """The negative control: an open quote swallows the lines of other people, and a blank line is skipped."""
    path = tmp_path / "people.csv"
    path.write_bytes(lines_with(b'"open,1', "csv", b"\n").replace(b"shut,7", b'shut",7'))
    assert spark.read.csv(str(path), header=True, multiLine=True, escape='"').count() < len(BEFORE) + 1 + len(AFTER)
    path.write_bytes(lines_with(b"", "csv", b"\n"))
    assert spark.read.csv(str(path), header=True).count() < len(BEFORE) + 1 + len(AFTER)
    with pytest.raises(DataError, match="cannot be read as csv: a line is blank"):
        count(find_files([path]))


def test_a_file_that_is_read_in_parts_and_files_that_are_read_together(spark, tmp_path):
    """The header is the first line of a file, not of a part, and not another line with the same text."""
    rows = "".join(f"{number % 7},value\n" for number in range(3000)) + "user,value\n"
    (tmp_path / "large.csv").write_text("value,user\n" + rows)
    (tmp_path / "small.csv").write_text("user,value\r\nuser,value\r\nx,y\r\n")
    (tmp_path / "tiny.csv").write_text("\ufeffvalue,user\nz,1")
    expected = Counter(str(number % 7) for number in range(3000)) + Counter(["user", "value", "y", "z"])
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    try:
        for size in ("1000", before):
            spark.conf.set("spark.sql.files.maxPartitionBytes", size)
            assert count(find_files([tmp_path])) == expected
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
    assert count(find_files([f"file://{tmp_path}/*.csv"])) == expected


@pytest.mark.parametrize(
    ("ending", "scheme"), [("csv", "file://"), ("jsonl", ""), ("parquet", ""), ("parquet", "file://")]
)
def test_a_file_without_the_column_is_refused_by_name(spark, tmp_path, ending, scheme):
    write(tmp_path / f"a.{ending}", pa.table({"value": ["x", "y"]}))
    write(tmp_path / f"b.{ending}", pa.table({"valu": ["x", SECRET]}))
    with pytest.raises(DataError, match=rf"no column 'value' in .*b\.{ending}") as error:
        count(find_files([f"{scheme}{tmp_path}/*.{ending}"]))
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_column_of_another_type_is_refused_by_name(spark, tmp_path, scheme):
    write(tmp_path / "a.parquet", pa.table({"value": [1, 2]}))
    write(tmp_path / "b.parquet", pa.table({"value": [1.0, None]}))
    with pytest.raises(DataError, match=r"'value' holds double in .*b\.parquet and (int64|bigint) in .*a\.parquet"):
        count(find_files([f"{scheme}{tmp_path}/*.parquet"]))


def test_a_column_is_counted_by_its_spelling_whatever_its_collation(spark):
    """Otherwise the published spelling would depend on the order of rows."""
    rows = spark.createDataFrame([("A", "u"), ("a", "U"), ("a ", "v"), ("a", "u ")], ["value", "user"])
    collated = rows.selectExpr("value COLLATE UNICODE_CI_RTRIM AS value", "user COLLATE UNICODE_CI_RTRIM AS user")
    assert collated.groupBy("value").count().count() == 1  # the control
    assert count(collated) == {"A": 1, "a": 2, "a ": 1}
    assert count(collated, user="user").total() == 4


def test_encodings(spark, tmp_path):
    (tmp_path / "people.csv").write_bytes("value\nMünchen\n".encode("latin-1"))
    assert count(find_files([tmp_path], encoding="latin-1")) == {"München": 1}
    with pytest.raises(DataError, match="a line is not UTF-8: give its encoding"):
        count(find_files([tmp_path]))
    for encoding in ("utf-16", "gbk"):
        with pytest.raises(DataError, match="one byte per character"):
            count(find_files([tmp_path], encoding=encoding))


def test_nested_values_and_arrays_in_json_are_refused(spark, tmp_path):
    path = tmp_path / "people.jsonl"
    for line, reason in (
        ('{"value": {"a": 1}}', "a nested value"),
        ('[{"value": 1}]', "not a JSON object"),
        ("", "object"),
    ):
        path.write_text('{"value": "x"}\n' + line + "\n")
        with pytest.raises(DataError, match=reason):
            count(find_files([path]))
