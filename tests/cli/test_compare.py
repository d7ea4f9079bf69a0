"""`shuffledp compare`: tables, JSON, a page and a figure of measured errors."""

import json

import pytest

from tests.cli.commands import command


def compare(*arguments):
    return command("compare", *arguments)


@pytest.mark.slow
def test_the_command(tmp_path):
    common = ["--epsilon", "1", "--delta", "1e-6", "--trials", "2"]
    few = ["--protocols", "hist,blanket,public-coin-published"]
    shown = compare("--users", "2000", "--bins", "10,2^70", *common, *few, "--figure", str(tmp_path / "f.svg"),
                    "--markdown", str(tmp_path / "t.md"))  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert "Histogram (P^hist)" in shown.stdout
    assert "too few" in shown.stdout
    assert "<svg" in (tmp_path / "f.svg").read_text()
    assert "| shuffled | Histogram (P^hist) |" in (tmp_path / "t.md").read_text()
    plain = compare("--users", "2000", "--bins", "10,2^70", *common, *few, "--json")
    rows = json.loads(plain.stdout)
    assert len(rows) == 6
    assert all(row["mean"] is None or row["mean"] > 0 for row in rows)
    (tmp_path / "d.csv").write_text("x\n" + "a\n" * 700 + "b\n" * 300)
    data = compare("--data", str(tmp_path / "d.csv"), "--column", "x", "--bins", "10", *common, *few, "--json")
    assert {row["users"] for row in json.loads(data.stdout)} == {1000}
    for wrong, code in (
        (["--bins", "10"], 2),
        (["--users", "10", "--bins", "x"], 2),
        (["--users", "10", "--bins", "10", "--data", "missing.csv", "--column", "x"], 3),
        (["--users", "10", "--bins", "10", "--data", "missing.csv"], 2),
        (["--users", "5", "--bins", "10", "--data", str(tmp_path / "d.csv"), "--column", "x"], 2),
    ):
        assert compare(*wrong, *common).returncode == code


def test_huge_numbers_and_what_is_missing_in_json():
    rows = json.loads(
        compare("--users", "2000", "--bins", "2^70", "--epsilon", "1", "--delta", "1e-6", "--trials", "2",
                "--protocols", "hist,laplace", "--json").stdout
    )  # fmt: skip
    assert [row["bins"] for row in rows] == ["about 2^70"] * 2
    assert rows[0]["problem"] == ""
    assert rows[1]["mean"] is rows[1]["bound"] is None
    assert "estimates every bin" in rows[1]["problem"]


def test_a_file_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    question = ["--users", "10", "--bins", "10", "--epsilon", "1", "--delta", "1e-6"]
    for wrong, code in ((["--figure", "f.doc"], 2), (["--markdown", tmp_path / "nowhere" / "t.md"], 3)):
        result = compare(*question, *wrong)
        assert (result.returncode, result.stdout) == (code, "")
