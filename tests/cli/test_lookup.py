"""`shuffledp lookup`."""

import json
import re

import pytest

from tests.cli.commands import GUARANTEE, command

RUN = ["run", "people.csv", "--column", "theme", "--domain", "dark,light,system", *GUARANTEE]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("lookup")
    rows = ["dark,phone"] * 600 + ["light,phone"] * 300 + ["dark,laptop"] * 100
    (path / "people.csv").write_text("\n".join(["theme,device", *rows]) + "\n")
    made = command(*RUN, "--protocol", "hashed", "--messages", "--out", "one.json", "--out", "one.parquet", cwd=path)
    assert made.returncode == 0, made.stderr
    pairs = ["--column", "device", "--domain", "device=phone,laptop", "--domain", "theme=dark,light"]
    two = ["run", "people.csv", "--column", "theme", *pairs, *GUARANTEE, "--protocol", "hashed", "--out", "two.json"]
    assert command(*two, cwd=path).returncode == 0
    return path


@pytest.mark.slow
def test_values_and_a_file_of_values(folder):
    (folder / "values.txt").write_text("light\n\nsystem\ndark\n")
    for name in ("one.json", "one.parquet"):
        shown = command("lookup", name, "dark", "--values-file", "values.txt", cwd=folder)
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.startswith("theme of 1,000 people: 3 values looked up\n")
        assert "95% confidence, all intervals at once." in shown.stdout
    plain = json.loads(command("lookup", "one.json", "light", "--beta", "0.2", "--json", cwd=folder).stdout)
    assert plain["beta"] == 0.2
    (row,) = plain["histogram"]
    stored = json.loads((folder / "one.json").read_text())["histogram"]
    before = next(one for one in stored if one["label"] == "light")
    assert row["count"] == before["count"]
    assert row["high"] - row["low"] < before["high"] - before["low"]


def test_values_of_two_columns(folder):
    shown = command("lookup", "two.json", "dark,phone", "light, laptop", "--explain", cwd=folder).stdout
    assert re.search(r"dark . phone +\d", shown)
    assert re.search(r"light . laptop +-?\d", shown)
    assert "Only the values that were looked up are shown" in shown
    assert "must have 2 parts" in command("lookup", "two.json", "dark", cwd=folder).stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["one.json"], 2, "values must be 1 to 1,000,000 values to look up, got 0"),
        (["one.json", "drak"], 3, "label must be in the domain of 4 possible values; the nearest are 'dark'"),
        (["missing.json", "dark"], 3, "cannot read missing.json: No such file"),
        (["people.csv", "dark"], 3, "people.csv is not a release"),
        (["one.json", "--values-file", "missing.txt"], 3, "cannot read missing.txt: No such file"),
        (["one.json", "--values-file", "one.parquet"], 3, "cannot read one.parquet: it is not UTF-8 text"),
        (["one.json", "--values-file", "long.txt"], 2, "values to look up, got 1,000,001"),
        (["one.json", "dark", "--beta", "0"], 2, "beta"),
    ],
)
def test_one_line_for_every_mistake(folder, arguments, code, reason):
    (folder / "long.txt").write_text("dark\n" * (10**6 + 5))
    result = command("lookup", *arguments, cwd=folder)
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr.startswith("shuffledp lookup: ")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--column", "theme"], "give the domain that lists them"),
        (["--column", "theme", "--messages"], "making messages needs a domain"),
        (["--column", "theme", "--domain", "dark,light", "--trust", "curator"], "protocol hashed is of the shuffled"),
    ],
)
def test_hashed_values_need_a_domain_and_a_shuffler(folder, arguments, reason):
    result = command("run", "people.csv", *arguments, "--protocol", "hashed", *GUARANTEE, cwd=folder)
    assert result.returncode == 2
    assert reason in result.stderr


def test_an_empty_file(folder):
    (folder / "empty.csv").write_text("theme\n")
    result = command("run", "empty.csv", *RUN[2:], "--protocol", "hashed", cwd=folder)
    assert result.returncode == 3
    assert "data must have at least one row" in result.stderr
