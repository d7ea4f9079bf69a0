"""Files: names, folders, formats and encodings, and the errors for files that cannot be read."""

import io
import os
import signal
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from shuffledp.data import Source, find_files, open_engine
from shuffledp.data import csv as text_blocks
from shuffledp.data import text_files as text_scan
from shuffledp.errors import DataError, ParameterError

SECRET = "top secret value"


def count(files, column="value", **options):
    with closing(open_engine(Source.of(files, column=column, **options))) as engine:
        found = Counter()
        for labels, people in engine.counts():
            found.update(dict(zip(labels.to_pylist(), people.tolist(), strict=True)))
        return found


def write(path, table):
    """Write a table in the format of the path's ending."""
    rows = table.to_pylist()
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix == ".arrow":
        pa.feather.write_feather(table, str(path))
    elif path.suffix == ".arrows":
        with pa.output_stream(str(path)) as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    elif path.suffix == ".jsonl":
        path.write_text("".join(str(row).replace("'", '"') + "\n" for row in rows))
    else:
        lines = [table.column_names, *(map(str, row.values()) for row in rows)]
        path.write_text("".join(("\t" if path.suffix == ".tsv" else ",").join(line) + "\n" for line in lines))


ENDINGS = ["csv", "tsv", "jsonl", "parquet", "arrow", "arrows"]


# every file has the column ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_without_the_column_is_refused_by_name(tmp_path, ending):
    """Otherwise its people would be counted as missing."""
    write(tmp_path / f"a.{ending}", pa.table({"value": ["x", "y"], "user": ["1", "2"]}))
    write(tmp_path / f"b.{ending}", pa.table({"user": ["3", "4"], "valu": ["x", SECRET]}))
    with pytest.raises(DataError, match=rf"no column 'value' in .*b\.{ending}") as error:
        count(find_files([tmp_path]))
    assert SECRET not in str(error.value)
    write(tmp_path / f"b.{ending}", pa.table({"value": ["x", SECRET]}))
    with pytest.raises(DataError, match=rf"no column 'user' in .*b\.{ending}"):
        count(find_files([tmp_path]), user="user")
    assert count(find_files([tmp_path])) == {"x": 2, "y": 1, SECRET: 1}


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_a_column_of_another_type_is_refused_by_name(tmp_path, ending):
    """In pandas, one missing value turns whole numbers into floats, which would rename all values."""
    write(tmp_path / f"a.{ending}", pa.table({"value": pa.array([1, 2])}))
    write(tmp_path / f"b.{ending}", pa.table({"value": pa.array([1.0, None])}))
    with pytest.raises(DataError, match=rf"'value' holds double in .*b\.{ending} and int64 in .*a\.{ending}"):
        count(find_files([tmp_path]))


def test_how_text_is_laid_out_in_parquet_does_not_matter(tmp_path):
    for number, kind in enumerate((pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))):
        pa.parquet.write_table(pa.table({"value": pa.array(["x", "y"]).cast(kind)}), tmp_path / f"{number}.parquet")
    assert count(find_files([tmp_path])) == {"x": 3, "y": 3}


def test_names_of_folders_are_no_columns(tmp_path):
    """Their types would be inferred from all of them: 007 is a number until another folder is called x."""
    folder = tmp_path / "page=007"
    folder.mkdir()
    write(folder / "a.parquet", pa.table({"value": ["x"]}))
    assert count(find_files([tmp_path])) == {"x": 1}
    with pytest.raises(DataError, match="no column 'page'"):
        count(find_files([tmp_path]), "page")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_column_that_is_there_twice_is_refused(tmp_path, ending):
    if ending == "csv":
        (tmp_path / "a.csv").write_text("value,value\nx,y\n")
    else:
        write(tmp_path / f"a.{ending}", pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], ["value", "value"]))
    with pytest.raises(DataError, match="several columns 'value'"):
        count(find_files([tmp_path]))


# every file once --------------------------------------------------------------------------------------------------


def test_a_file_that_is_given_twice_is_refused(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "a.csv"
    file.write_text("value\nx\n")
    (tmp_path / "link.csv").symlink_to(file)
    os.link(file, tmp_path / "hard.csv")
    monkeypatch.chdir(tmp_path)
    for again in (file, "data", "data/../data/a.csv", "link.csv", "hard.csv", "data/*.csv"):
        with pytest.raises(DataError, match=r"given twice.*counted twice"):
            find_files([file, again])
    with pytest.raises(DataError, match="given twice"):
        find_files(["hdfs://a/b.csv", "hdfs://a/b.csv"])
    assert count(find_files([file])) == {"x": 1}


def test_files_of_no_known_format_in_a_folder_are_passed_over(tmp_path):
    (tmp_path / "README.md").write_text("What the files are.")
    with pytest.raises(DataError, match="no file of a known format"):
        find_files([tmp_path])
    (tmp_path / "a.csv").write_text("value\nx\n")
    files = find_files([tmp_path])
    assert count(files) == {"x": 1}
    assert [Path(path).name for path in files.passed_over] == ["README.md"]
    with pytest.raises(DataError, match="no known format"):
        find_files([tmp_path / "README.md"])


def test_a_format_can_be_given(tmp_path):
    (tmp_path / "people.txt").write_text("value\nx\n")
    assert count(find_files([tmp_path / "people.txt"], format="csv")) == {"x": 1}
    (tmp_path / "people.txt").write_text('{"value": "x"}\n')
    assert count(find_files([tmp_path], format="jsonl")) == {"x": 1}
    with pytest.raises(ParameterError, match="csv, tsv, jsonl"):
        find_files([tmp_path], format="xlsx")


# elsewhere --------------------------------------------------------------------------------------------------------


def test_errors_about_urls_say_what_to_do():
    with pytest.raises(DataError, match=r"download it first, such as with curl -O https://a\.b/c\.csv"):
        find_files(["https://a.b/c.csv"])
    for address in ("s3://bucket/c.csv", "hdfs://host/c.parquet"):
        with pytest.raises(DataError, match=r"engine spark.*or copy"):
            count(find_files([address]))
    with pytest.raises(DataError, match="the scheme s3a://"):
        count(find_files(["s3://bucket/c.csv"]))


@pytest.mark.slow
def test_standard_input(tmp_path, monkeypatch):
    def given(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    given(b"value\nx\ny\n")
    assert count(find_files(["-"])) == {"x": 1, "y": 1}
    given(b'{"value": "x"}\n')
    assert count(find_files(["-"], format="jsonl")) == {"x": 1}
    table = io.BytesIO()
    pa.parquet.write_table(pa.table({"value": [1, 1]}), table)
    given(table.getvalue())
    files = find_files(["-"], format="parquet")
    assert count(files) == {1: 2}
    del files
    assert list(tmp_path.iterdir()) == []
    given(b"")
    with pytest.raises(DataError, match=r"^standard input is empty"):
        find_files(["-"])
    for content, format in ((b"value\nx,y\n", "csv"), (b"{\n", "jsonl"), (b"value\n", "parquet"), (b"user\n", "csv")):
        given(content)
        with pytest.raises(DataError, match="standard input") as error:
            count(find_files(["-"], format=format))
        assert str(tmp_path) not in str(error.value)
    given(b"value\nx\n")
    with pytest.raises(DataError, match="standard input can be read only once"):
        find_files(["-", "-"])


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize(("format", "content"), [("csv", b"value\nx\nx\n"), ("jsonl", b'{"value": "x"}\n' * 2)])
def test_compressed_standard_input_is_read(monkeypatch, compression, format, content):
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, compression) as file:
        file.write(content)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed.getvalue().to_pybytes())))
    assert count(find_files(["-"], format=format)) == {"x": 2}


# text --------------------------------------------------------------------------------------------------------------

WORDS = "value,user\nMünchen,1\nKöln,2\nMünchen,3\n"


@pytest.mark.parametrize(
    ("encoding", "ending"),
    [
        ("latin-1", "csv"),
        ("cp1252", "csv"),
        ("utf-16", "csv.gz"),
        ("utf-16-le", "csv"),
        ("UTF-16-BE", "csv"),
        ("utf_8_sig", "csv"),
    ],
)
def test_encodings(tmp_path, encoding, ending):
    with pa.output_stream(str(tmp_path / f"people.{ending}"), compression="detect") as file:
        file.write(WORDS.encode(encoding))
    assert count(find_files([tmp_path], encoding=encoding)) == {"München": 2, "Köln": 1}


def test_encodings_of_json_lines(tmp_path):
    (tmp_path / "people.jsonl").write_bytes('{"value": "München"}\r\n'.encode("utf-16"))
    assert count(find_files([tmp_path], encoding="utf-16")) == {"München": 1}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_text_that_is_not_utf8_names_the_way_out(tmp_path, encoding, ending):
    content = WORDS if ending == "csv" else '{"value": "München"}\n'
    (tmp_path / f"people.{ending}").write_bytes(content.encode(encoding))
    with pytest.raises(DataError, match=r"is not UTF-8: give its encoding, such as latin-1 or utf-16") as error:
        count(find_files([tmp_path]))
    assert "nchen" not in str(error.value)


def test_other_encodings_are_refused(tmp_path):
    (tmp_path / "people.csv").write_bytes(WORDS.encode("utf-16-le"))
    with pytest.raises(DataError, match="give encoding, such as utf-16-le"):
        count(find_files([tmp_path]))
    (tmp_path / "people.csv").write_bytes(b"value\n\x81\xff\n")
    with pytest.raises(DataError, match="not in the encoding cp932"):
        count(find_files([tmp_path], encoding="cp932"))
    (tmp_path / "people.csv").write_bytes(WORDS.encode())
    with pytest.raises(DataError, match="not in the encoding ascii"):
        count(find_files([tmp_path], encoding="ascii"))
    (tmp_path / "people.csv").write_bytes(b"value\nx\n")
    assert count(find_files([tmp_path], encoding="ascii")) == {"x": 1}
    for wrong in ("nonsense", "base64", "rot13"):
        with pytest.raises(ParameterError, match="such as utf-8, latin-1"):
            find_files([tmp_path], encoding=wrong)
    (tmp_path / "people.csv").unlink()
    write(tmp_path / "people.parquet", pa.table({"value": ["x"]}))
    with pytest.raises(ParameterError, match="encoding must be left out for parquet files"):
        find_files([tmp_path], encoding="latin-1")


@pytest.mark.parametrize(
    ("encoding", "row"),
    [
        ("iso-2022-jp", b"\x1b$B"),  # the lines after it would be other letters
        ("iso2022_jp_2004", b"\x1b$B"),
        ("iso-2022-kr", b"\x1b$)C"),
        ("hz", b"x~"),  # swallows the line break, and so a person
        ("unicode_escape", b"x\\"),
        ("punycode", b"x-"),
        ("idna", b"xn--"),
    ],
)
def test_encodings_in_which_a_line_changes_others_are_refused(tmp_path, encoding, row):
    (tmp_path / "people.csv").write_bytes(b"value\nanna\n" + row + b"\nbert\n")
    with pytest.raises(ParameterError, match="a line can change others: convert the files to UTF-8"):
        find_files([tmp_path], encoding=encoding)


@pytest.mark.parametrize(("sign", "written"), [(";", "delimiter ';'"), ("\t", "format tsv"), ("|", r"delimiter '\|'")])
def test_another_delimiter_is_suggested_without_showing_names(tmp_path, sign, written):
    (tmp_path / "people.csv").write_text(f"{SECRET}{sign}value\nx{sign}y\n")
    with pytest.raises(DataError, match=f"give {written}") as error:
        count(find_files([tmp_path]))
    assert SECRET not in str(error.value)
    assert count(find_files([tmp_path], delimiter=sign)) == {"y": 1}
    with pytest.raises(ParameterError, match="one ASCII character"):
        find_files([tmp_path], delimiter="¦")


@pytest.mark.parametrize(
    "content", ['[{"value": "x"},\n {"value": "y"}]\n', '[{"value": "x"}]', '[\n{"value": "x"}\n]']
)
def test_a_json_array_names_the_way_out(tmp_path, content):
    (tmp_path / "people.json").write_text(content)
    with pytest.raises(DataError, match=r"line 1 begins a JSON array: one object per line .* jq -c '\.\[\]'"):
        count(find_files([tmp_path]))


@pytest.mark.parametrize("wrong", ['["SECRET"]', '{"value": "SECRET"', '{"value": ["SECRET"]}'])
def test_an_error_in_json_names_the_file_and_the_line_and_quotes_nobody(tmp_path, wrong):
    """The wrong line is in the second file; the same line of the first file is another person's."""
    right = '{"value": "x"}'
    (tmp_path / "a.jsonl").write_text(f"{right}\n" * 5)
    (tmp_path / "b.jsonl").write_text("\n".join([right, right, wrong, wrong, right]))
    with pytest.raises(DataError, match=r"/b\.jsonl cannot be read as json: line 3 [bhi]") as error:
        count(find_files([tmp_path]))
    assert "SECRET" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("nested", ['{"a": "SECRET"}', '["SECRET"]', "{}", "[]"])
def test_nested_values_in_json_are_refused_as_in_parquet(tmp_path, nested):
    lines = ['{"value": "x", "user": 1}', '{"value": NESTED, "user": 2}', '{"value": "y", "user": {"a": 1}}']
    path = tmp_path / "people.jsonl"
    path.write_text("\n".join(lines).replace("NESTED", nested))
    with pytest.raises(DataError, match="line 2 has a nested value in column 'value'") as error:
        count(find_files([path]))
    assert "SECRET" not in str(error.value)
    path.write_text("\n".join([lines[0], lines[2]]))
    with pytest.raises(DataError, match="line 2 has a nested value in column 'user'"):
        count(find_files([path]), user="user")
    assert count(find_files([path])) == {"x": 1, "y": 1}


@pytest.mark.slow
def test_numbers_in_json_are_spelled_by_their_own_line(tmp_path):
    path = tmp_path / "people.jsonl"
    values = {"1": "1", "1.0": "1.0", "1.50": "1.5", "1e3": "1000.0", "-0": "0"}
    values |= {'"1.50"': "1.50", "true": "true", '"null"': "null", "null": None}
    for value, spelled in values.items():
        path.write_text(f'{{"value": {value}}}\n{{"value": 7}}\n')
        assert count(find_files([path])) == {spelled: 1, "7": 1}


@pytest.mark.slow
def test_a_key_is_taken_as_it_is(tmp_path):
    path = tmp_path / "people.jsonl"
    path.write_text('{"a.b": "x", "a": {"b": "y"}, "it\'s \\"so\\"": "z", "$": "w"}\n')
    for key, value in {"a.b": "x", 'it\'s "so"': "z", "$": "w"}.items():
        assert count(find_files([path]), key) == {value: 1}


@pytest.mark.slow
def test_an_interrupt_ends_the_count_before_the_engine_is_closed(tmp_path, monkeypatch):
    def slowly(*arguments, **options):
        for block in read_blocks(*arguments, **options):
            time.sleep(0.02)
            yield block

    read_blocks = text_scan.read_blocks
    monkeypatch.setattr(text_scan, "read_blocks", slowly)
    monkeypatch.setattr(text_blocks, "_AT_ONCE", 100)
    (tmp_path / "people.csv").write_text("value\n" + "x\n" * 10_000)
    with closing(open_engine(Source.of(find_files([tmp_path]), column="value"))) as engine:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            engine.counts()


@pytest.mark.slow
def test_an_interrupt_during_a_query_is_an_interrupt(tmp_path):
    """DuckDB raises an error with this text after an interrupt during a query in the main thread."""
    (tmp_path / "people.csv").write_text("value\nx\n")
    with closing(open_engine(Source.of(find_files([tmp_path]), column="value"))) as engine:
        with pytest.raises(KeyboardInterrupt), engine._clear_errors():
            raise RuntimeError("Query interrupted")
        with pytest.raises(RuntimeError, match="something else"), engine._clear_errors():
            raise RuntimeError("something else")
