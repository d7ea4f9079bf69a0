"""Input files on the command line: standard input, encodings, formats, folders, domains."""

import json

from typer.testing import CliRunner

from shuffledp.cli.app import app
from tests.cli.commands import GUARANTEE, command

ROWS = "value;user\n" + "".join(f"Köln;{user}\n" for user in range(600))


def piped(content, *arguments):
    return CliRunner().invoke(app, [*arguments], input=content, catch_exceptions=False)


def test_standard_input_with_a_delimiter_and_an_encoding():
    result = piped(
        ROWS.encode("latin-1"), "run", "-", "--column", "value", "--delimiter", ";", "--encoding", "latin-1", "--json",
        *GUARANTEE,
    )  # fmt: skip
    assert result.exit_code == 0
    assert json.loads(result.stdout)["histogram"][0]["label"] == "Köln"


def test_standard_input_in_another_format():
    lines = b'{"value": "x"}\n' * 600
    result = piped(
        lines, "simulate", "-", "--format", "jsonl", "--column", "value", "--trials", "1", "--json", *GUARANTEE
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout)["people"] == 600


def test_a_file_to_compare_on(tmp_path):
    (tmp_path / "people.txt").write_bytes(ROWS.encode("utf-16"))
    result = command(
        "compare", "--data", tmp_path / "people.txt", "--column", "value", "--bins", "10", "--trials", "2", "--json",
        "--protocols", "sparse", "--delimiter", ";", "--encoding", "utf-16", "--format", "csv", *GUARANTEE,
    )  # fmt: skip
    assert result.returncode == 0
    assert json.loads(result.stdout)[0]["users"] == 600


def test_files_that_are_passed_over_are_noted(tmp_path):
    (tmp_path / "README.md").write_text("What the files are.")
    (tmp_path / "people.csv").write_text(ROWS.replace(";", ","))
    result = command("run", tmp_path, "--column", "value", "--json", *GUARANTEE)
    assert result.returncode == 0
    assert result.stderr == "skipped 1 file of unknown format\n"


def test_a_label_that_a_domain_lists_twice_is_named_with_its_lines(tmp_path):
    (tmp_path / "people.csv").write_text("value\nx\n")
    (tmp_path / "values.txt").write_text("x\n\ny\nz\r\ny\n")
    result = command(
        "run", tmp_path / "people.csv", "--column", "value", "--domain", tmp_path / "values.txt", *GUARANTEE
    )
    assert result.returncode == 3
    assert "lists y twice, in lines 3 and 5" in result.stderr
