"""Neighbouring files, with one row replaced: the labels of all others and the number of people stay the same.

Well-formed files are always read. A malformed line is refused, or changes its own record only.
"""

import csv
import gzip
import io
import json
import re
from collections import Counter
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shuffledp.data import Files, Source, find_files, open_engine, spark_files
from shuffledp.data import csv as text_blocks
from shuffledp.data.csv import MalformedError, parse_header, parse_records
from shuffledp.data.text_files import TextScan
from shuffledp.errors import DataError
from tests.oracles.hostile_rows import LINES, TEXTS, Neighbours, neighbours, texts, without

BLANK = "^is blank, .*: delete blank lines, also at the end of the file, as sed .* does$"
ALL_TEXTS = [text for group in TEXTS.values() for text in group]


def separated(values, delimiter=",", quoting=csv.QUOTE_MINIMAL):
    """Write a file with Python's csv module; a column in front makes empty text a missing value."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting)
    writer.writerow(["user", "value"])
    writer.writerows(enumerate(values))
    return file.getvalue().encode()


def objects(values):
    return "".join(json.dumps({"user": at, "value": value}) + "\n" for at, value in enumerate(values)).encode()


def write_table(writer):
    return lambda path, values: writer(pa.table({"user": list(range(len(values))), "value": values}), str(path))


WRITERS = {
    "minimal.csv": lambda path, values: path.write_bytes(separated(values)),
    "quoted.csv": lambda path, values: path.write_bytes(separated(values, quoting=csv.QUOTE_ALL)),
    "people.csv.gz": lambda path, values: path.write_bytes(gzip.compress(separated(values))),
    "people.tsv": lambda path, values: path.write_bytes(separated(values, "\t")),
    "people.jsonl": lambda path, values: path.write_bytes(objects(values)),
    "people.ndjson.gz": lambda path, values: path.write_bytes(gzip.compress(objects(values))),
    "people.parquet": write_table(pa.parquet.write_table),
    "people.arrow": write_table(pa.feather.write_feather),
}


def label(name, value):
    """A field without any text is missing."""
    return None if value == "" and name in ("minimal.csv", "people.csv.gz", "people.tsv") else value


def count(path, **options):
    with closing(open_engine(Source.of(find_files([path], **options), column="value"))) as engine:
        found = Counter()
        for labels, people in engine.counts():
            found.update(dict(zip(labels.to_pylist(), people.tolist(), strict=True)))
        assert engine.people() == found.total()
        return found


def check_neighbours(pair, write, read, spelled):
    """Check that both lists are read with all people under their own labels."""
    counts = []
    for values in (pair.first, pair.second):
        write(values)
        counts.append(read())
        assert counts[-1].total() == len(values)
    first, second = (
        without(found, spelled(value)) for found, value in zip(counts, (pair.one, pair.another), strict=True)
    )
    assert first == second == Counter(map(spelled, pair.others))


EXAMPLES = {"minimal.csv": 8, "people.jsonl": 8, "quoted.csv": 4, "people.tsv": 4}
"""Pairs for each way of writing; the others differ from these in what holds the text only."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_one_person_does_not_change_how_others_are_read(tmp_path_factory, name):
    """Random pairs from Hypothesis, then every hostile text at once."""
    path = tmp_path_factory.mktemp("neighbours") / name

    @settings(max_examples=EXAMPLES.get(name, 1))
    @given(neighbours(texts()))
    @example(Neighbours(("#a", "#b"), 1, "#zoe", "zoe"))
    def holds(pair):
        check_neighbours(
            pair, lambda values: WRITERS[name](path, values), lambda: count(path), lambda v: label(name, v)
        )

    holds()
    WRITERS[name](path, ALL_TEXTS)
    assert count(path) == Counter(label(name, text) for text in ALL_TEXTS)


# what guesses is found out ------------------------------------------------------------------------------------------


def commented(path, values):
    """Write a file in which the last row has a comment sign in its second column."""
    rows = [f"{value},1\n" for value in values[:-1]] + [f"{values[-1]},#3\n"]
    path.write_text("value,id\n" + "".join(rows))


@pytest.mark.parametrize(
    ("query", "name", "write", "pair"),
    [
        # a sign for comments, guessed from the data, hides a row
        (
            "read_csv('{}', header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"')",
            "people.csv",
            commented,
            Neighbours(("a", "b") * 500, 1000, "c", "#c"),
        ),
        # one text makes numbers or dates of everybody's values, or text
        ("read_csv('{}')", "people.csv", WRITERS["minimal.csv"], Neighbours(("1.50",) * 5, 2, "x", "2.25")),
        (
            "read_json('{}')",
            "people.jsonl",
            WRITERS["people.jsonl"],
            Neighbours(("2026-01-02",) * 5, 2, "x", "2026-01-03"),
        ),
    ],
)
def test_readers_that_guess_fail_the_check(tmp_path, query, name, write, pair):
    """The negative control: DuckDB's own readers fail the check that ours pass."""
    path = tmp_path / name

    def guessed():
        return Counter(dict(duckdb.sql(f"SELECT value, count(*) FROM {query.format(path)} GROUP BY value").fetchall()))

    with pytest.raises(AssertionError):
        check_neighbours(pair, lambda values: write(path, values), guessed, lambda value: value)
    check_neighbours(pair, lambda values: write(path, values), lambda: count(path), lambda value: value)


# lines that no careful program writes -------------------------------------------------------------------------------

BEFORE, AFTER = [b"plain,1", b'"quoted",2', b'"a ""b""",3', b",4"], [b'"",5', b'"a,b",6', b"shut,7", b'"last",8']
OBJECTS_BEFORE = [b'{"value": "plain", "user": "1"}', b'{"user": "2"}', b'{"value": null, "user": "3"}']
OBJECTS_AFTER = [b'{"value": 7, "user": "4"}', b'{"value": "x}", "user": "5"}', b'{"value": true, "user": "6"}']


def lines_with(line, format, end):
    lines = [b"value,user", *BEFORE, line, *AFTER] if format == "csv" else [*OBJECTS_BEFORE, line, *OBJECTS_AFTER]
    return b"".join(part + end for part in lines)


def read_text(path, content):
    """Return the result of a scan, without DuckDB."""
    path.write_bytes(content)
    scan = TextScan(find_files([path]), ["value"])
    return Counter(row for batch in scan() for row in batch.column(0).to_pylist())


def unless_refused(read, path, format):
    """Return what is read, or None if it is refused with an error that names a line and does not show it."""
    try:
        return read()
    except DataError as error:
        message = str(error)
    assert re.fullmatch(rf"{re.escape(str(path))} cannot be read as {format}: line \d+ [^\n]+", message)
    return None


raw_lines = st.one_of(
    st.sampled_from(list(LINES.values())),
    texts().map(lambda text: text.encode().replace(b"\n", b" ")),
    st.tuples(texts(), texts()).map(lambda two: ",".join(two).encode().replace(b"\n", b" ")),
    st.binary(max_size=12).map(lambda line: line.replace(b"\n", b" ")),
)


@pytest.mark.slow
@settings(max_examples=200)
@given(line=raw_lines, end=st.sampled_from([b"\n", b"\r\n"]))
@example(line=b'"open,1', end=b"\n")
@example(line=b'5",1', end=b"\n")
@example(line=b"", end=b"\n")
@example(line=b"a\rb,1", end=b"\r\n")
def test_a_line_is_refused_or_changes_its_own_record_only(tmp_path_factory, line, end):
    path = tmp_path_factory.getbasetemp() / "lines.csv"
    others = without(read_text(path, lines_with(b"nobody,0", "csv", end)), "nobody")
    assert others.total() == len(BEFORE) + len(AFTER)
    found = unless_refused(lambda: read_text(path, lines_with(line, "csv", end)), path, "csv")
    assert found is None or ((found - others).total() == 1 and not others - found)


READ = {
    "csv": {"a zero byte", "a comment", "the header again"},
    "jsonl": {"a key twice", "not a number"},
}
"""Odd lines that are read all the same; all others are refused."""


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_the_engine_refuses_such_lines_or_counts_one_person(tmp_path, format):
    path = tmp_path / f"people.{format}"
    path.write_bytes(lines_with(b"nobody,0" if format == "csv" else b'{"value": "nobody"}', format, b"\n"))
    others = without(count(path), "nobody")
    read = set()
    for kind, line in LINES.items():
        path.write_bytes(lines_with(line, format, b"\n"))
        found = unless_refused(lambda: count(path), path, format.removesuffix("l"))
        if found is not None:
            assert (found - others).total() == 1
            assert not others - found
            read.add(kind)
    assert read == READ[format]


def test_python_drops_or_merges_such_lines():
    """The negative control: in a looser grammar, the same lines change the number of people."""
    for line in (b"", b'"open,1'):
        text = lines_with(line, "csv", b"\n").replace(b"shut,7", b'shut",7').decode()
        assert len([row for row in csv.reader(io.StringIO(text)) if row]) - 1 < len(BEFORE) + 1 + len(AFTER)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'value,user\na,1\n"b,2\nc,3\n"d",4\ne,5\n', ["a", 'b,2\nc,3\nd"', "e"]),  # the people of c and d are gone
        (b"value,user\r\na,1\r\n\r\r\nb,2\r\n", ["a", None, None, "b"]),  # one line counts twice
    ],
)
def test_pyarrow_merges_lines_or_adds_a_record(tmp_path, text, found):
    """The negative control for pyarrow.csv, which has no strict mode."""
    parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    convert = pa.csv.ConvertOptions(column_types={"value": pa.string()}, strings_can_be_null=True)
    table = pa.csv.read_csv(io.BytesIO(text), parse_options=parse, convert_options=convert)
    assert table.column("value").to_pylist() == found
    with pytest.raises(DataError, match="cannot be read as csv"):
        read_text(tmp_path / "people.csv", text)


# the grammar by itself ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=100)
@given(
    rows=st.lists(st.tuples(texts(), texts()), min_size=1, max_size=6),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    delimiter=st.sampled_from([",", ";", "\t", "|", " ", "a"]),
)
def test_what_python_writes_is_read_as_python_reads_it(rows, quoting, delimiter):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, quoting=quoting).writerows(rows)
    expected = list(csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=delimiter, strict=True))
    columns = parse_records(file.getvalue().encode(), delimiter=delimiter.encode(), fields=2, wanted=[0, 1])
    found = zip(*(column.to_pylist() for column in columns), strict=True)
    assert [[field or "" for field in row] for row in found] == expected == [list(row) for row in rows]


def test_empty_fields_and_headers():
    (column,) = parse_records(b'\n""\n"a"\n"""x"""\r\n', delimiter=b",", fields=1, wanted=[0])
    assert column.to_pylist() == [None, "", "a", '"x"']
    assert parse_header(b'"a,""b""\n",,c\n', delimiter=b",") == ['a,"b"\n', "", "c"]


@pytest.mark.parametrize(
    ("text", "line_breaks", "reason"),
    [
        (b"a,b\nc\n", 1, "fewer fields"),
        (b"a,b\nc,d,e\nf,g\n", 1, "more fields"),
        (b"a,b\n\nc,d\n", 1, BLANK),
        (b"a,b\r\n\r\nc,d\r\n", 1, BLANK),
        (b"a,b\n\n", 1, BLANK),
        (b"a,b\r\n\r\n\r\n", 1, BLANK),
        (b'a,b\n5" disk,c\n"d",e"\n', 1, "a quote inside a field"),
        (b'a,b\n"c"d,e\n', 1, "text after a closing quote"),
        (b'a,b\n"c,d\n', 1, "never closed"),
        (b"a,b\nc\rd,e\n", 1, "carriage return"),
        (b'"a\nb",c\n\xff,d\n', 2, "not UTF-8"),
    ],
)
def test_errors_name_the_line(text, line_breaks, reason):
    with pytest.raises(MalformedError, match=reason) as error:
        parse_records(text, delimiter=b",", fields=2, wanted=[0])
    assert error.value.line_breaks == line_breaks


@pytest.mark.slow
@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(texts(), texts()), min_size=1, max_size=6),
    size=st.integers(1, 40),
    mark=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-8"]),
)
def test_blocks_cut_between_records_only(tmp_path_factory, rows, size, mark, encoding):
    """For any read size, blocks are whole records, and nothing is lost or added."""
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    path = tmp_path_factory.getbasetemp() / "blocks.csv"
    path.write_bytes(("\ufeff" * (mark and encoding == "utf-8") + file.getvalue()).encode(encoding))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "_AT_ONCE", size)
        blocks = list(text_blocks.read_blocks(str(path), encoding=encoding, quotes=True))
    assert b"".join(block.text for block in blocks).decode() == file.getvalue()
    for block in blocks:
        parse_records(block.text, delimiter=b",", fields=2, wanted=[])
    starts = [sum(block.text.count(b"\n") for block in blocks[:at]) for at in range(len(blocks))]
    assert [block.line_breaks for block in blocks] == starts


def test_a_quote_that_is_never_closed_ends_soon(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "_AT_ONCE", 1 << 10)
    monkeypatch.setattr(text_blocks, "_LONGEST_RECORD", 1 << 12)
    path = tmp_path / "people.csv"
    path.write_text('value\na\n"open\n' + "b\n" * 10**5)
    with pytest.raises(DataError, match=r"line 3 .* a quote that is never closed"):
        count(path)
    assert sum(len(block.text) for block in _until_error(path)) < 10
    path.with_suffix(".jsonl").write_text('{"value": "' + "x" * 10**4)
    with pytest.raises(DataError, match="line 1 is longer than"):
        count(path.with_suffix(".jsonl"))


def _until_error(path):
    try:
        yield from text_blocks.read_blocks(str(path), encoding="utf-8", quotes=True)
    except MalformedError:
        return


# what runs in Spark's executors ------------------------------------------------------------------------------------


def in_executor(lines, format):
    """Return the values that an executor reads from lines; the first is the header of a CSV file."""
    files = Files(paths=("people",), format=format)
    batch = pa.RecordBatch.from_pydict(
        {"line": pa.array(lines, pa.binary()), "file": [1] * len(lines), "start": [0] * len(lines)}
    )
    if format == "json":
        made = spark_files._parse_json(iter([batch]), files=files, names=["value"])
    else:
        made = spark_files._parse_csv(iter([batch]), files=files, fields=2, wanted=[0], names=["value"])
    return [value for batch in made for value in batch.column(0).to_pylist()]


@pytest.mark.slow
@settings(max_examples=200)
@given(line=raw_lines)
@example(line=b'"open,1')
@example(line=b"")
@example(line=b'{"value": ' + b"[" * 100_000)
def test_an_executor_refuses_a_line_or_makes_one_value_of_it(line):
    for format, before, after in (
        ("csv", [b"value,user", *BEFORE], AFTER),
        ("json", OBJECTS_BEFORE, OBJECTS_AFTER),
    ):
        others = in_executor([*before, *after], format)
        try:
            found = in_executor([*before, line, *after], format)
        except DataError as error:
            message = str(error)
            found = None
        if found is None:
            assert re.fullmatch(rf"people cannot be read as {format}: a line [^\n]+", message)
        else:
            place = len(before) - (format == "csv")
            assert found[:place] + found[place + 1 :] == others


@pytest.mark.slow
def test_both_engines_read_odd_lines_alike(tmp_path):
    """Each engine spells numbers of JSON lines by its own rules; everything else is the same."""
    for format, kinds in READ.items():
        path = tmp_path / f"people.{format}"
        for kind in kinds:
            path.write_bytes(lines_with(LINES[kind], format, b"\n"))
            assert count(path) == Counter(in_executor(path.read_bytes().split(b"\n")[:-1], format.removesuffix("l")))
