"""`run --free-text` and `simulate --free-text`, and each wrong option or file."""

import json

import pytest

from shuffledp.ledger import Ledger
from shuffledp.release.release import Release
from tests.cli.commands import GUARANTEE, command

TEXTS = ["--column", "page", "--free-text", "4", "--alphabet", "letters", "--width", "1", *GUARANTEE]


@pytest.fixture
def folder(tmp_path):
    rows = ["abc"] * 1500 + ["  DE "] * 1000 + ["toolong"] * 400 + ['""'] * 300
    (tmp_path / "people.csv").write_text("page\n" + "\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.slow
def test_simulate_compares_with_the_truth(folder):
    shown = command("simulate", "people.csv", *TEXTS, "--trials", "2", cwd=folder)
    assert shown.returncode == 0
    assert "2 simulated releases of free text: 3,200 people" in shown.stdout
    assert "Recall: 4 of 4 texts at or above the limit were shown (100.0%)" in shown.stdout
    assert "NOT PRIVATE" in shown.stdout
    first, again = (
        json.loads(
            command("simulate", "people.csv", *TEXTS, "--trials", "1", "--seed", "3", "--json", cwd=folder).stdout
        )
        for _ in range(2)
    )
    assert first["rows"] == again["rows"]
    assert {row["text"]: row["true"] for row in first["rows"]} == {
        "abc": 1500,
        "de": 1000,
        "(other)": 400,
        "(none)": 300,
    }
    assert first["recall"] == first["precision"] == 1
    assert first["trials"][0]["detection_limit"] <= first["planned_limit"]


@pytest.mark.slow
def test_run_releases_texts_and_enters_them_in_the_ledger(folder):
    assert command("ledger", "spent.ledger", "--limit", "2,1e-5", cwd=folder).returncode == 0
    done = command("run", "people.csv", *TEXTS, "--ledger", "spent.ledger", "--out", "found.json", cwd=folder)
    assert done.returncode == 0
    assert "2 texts shown" in done.stdout
    assert "detected" in done.stdout
    assert "1 in 1,000" in done.stdout
    release = Release.from_json(folder / "found.json")
    for text, people in (("abc", 1500), ("de", 1000)):
        low, high = release.interval(text)
        assert low <= people <= high
    (entry,) = Ledger(folder / "spent.ledger").entries
    assert entry.what == "page (texts of up to 4 bytes)"
    assert release.detection_limit == release.estimate.detection.limit
    assert release.asked["free_text"] == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--free-text", "0"], "--free-text must be 1 to 256 bytes, got 0"),
        (["--free-text", "300"], "--free-text must be 1 to 256 bytes, got 300"),
        (["--free-text", "200", "--width", "1"], "a code must have at most 64 levels"),
        (["--free-text", "8", "--width", "4"], "a code must have at most 64 levels and 16,381 pieces"),
        (["--free-text", "8", "--width", "9"], "width must be 1 to 4 characters, got 9"),
        (["--free-text", "8", "--levels", "0"], "levels must be at least 1, got 0"),
        (["--free-text", "8", "--alphabet", ""], "alphabet must have at least one character"),
        (["--free-text", "8", "--alphabet", "aab"], "characters of the alphabet must differ: one is there twice, 'a'"),
        (["--free-text", "8", "--alphabet", "abC"], "is not normalised"),
        (["--free-text", "8", "--levels", "65"], "levels must be 1 to 64, got 65"),
        (["--free-text", "8", "--width", "0"], "width must be at least 1"),
        (["--free-text", "8", "--normalise", "lower,nfd"], "normalisation must be some of"),
        (["--free-text", "8", "--pieces", "none.txt"], "none.txt cannot be read"),
        (["--free-text", "8", "--pieces", "empty.txt"], "empty.txt has no pieces"),
        (["--free-text", "8", "--pieces", "latin.txt"], "latin.txt is not UTF-8 text"),
        (["--free-text", "8", "--pieces", "twice.txt"], "pieces must differ: one is there twice, 'ab'"),
        (["--free-text", "8", "--pieces", "capital.txt"], "is not normalised"),
        (["--free-text", "8", "--pieces", "good.txt", "--width", "2"], "width must be left out with pieces"),
        (["--free-text", "8", "--where", "page = 'a'"], "where must be left out with --free-text"),
        (["--free-text", "8", "--domain", "a,b"], "domain must be left out with --free-text"),
        (["--free-text", "8", "--trust", "curator"], "trust must be left out with --free-text"),
        (["--free-text", "8", "--protocol", "hist"], "protocol must be left out with --free-text"),
        (["--alphabet", "letters"], "alphabet must be given with --free-text"),
        (["--free-text", "8", "--column", "other"], "column must be given once with --free-text"),
    ],
)
def test_each_wrong_option_is_one_clear_error(folder, arguments, words):
    for name, content in {
        "empty.txt": b"\n\n",
        "latin.txt": "caf\u00e9".encode("latin-1"),
        "twice.txt": b"ab\nc\nab\n",
        "capital.txt": b"ab\nC\n",
        "good.txt": b"ab\r\nc\n",
    }.items():
        (folder / name).write_bytes(content)
    for name in ("run", "simulate"):
        failed = command(name, "people.csv", "--column", "page", *GUARANTEE, *arguments, cwd=folder)
        assert failed.returncode in (2, 3)
        assert words in " ".join(failed.stderr.split())
        assert failed.stderr.count("\n") <= 3
