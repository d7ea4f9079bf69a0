"""`shuffledp demo` and its data."""

import json

import numpy as np
import pytest

from shuffledp.surnames import surnames
from tests.cli.commands import command


@pytest.mark.slow
def test_demo_releases_and_writes_a_report(tmp_path):
    result = command("demo", cwd=tmp_path)
    assert result.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "surnames.parquet"]
    assert "wrote report.html" in result.stderr
    before = (tmp_path / "report.html").read_bytes()
    again = next(line for line in result.stderr.splitlines() if "shuffledp run" in line).split("shuffledp ")[1]
    assert "SMITH" in command(*again.split(), cwd=tmp_path).stdout
    assert (tmp_path / "report.html").read_bytes() == before
    (tmp_path / "release.html").unlink()
    for needed in ("SMITH", "95% interval", "█", "(1, 1e-6)-differential privacy", "0 false positives"):
        assert needed in result.stdout
    assert max(map(len, result.stdout.splitlines()[:20])) <= 80


@pytest.mark.slow
def test_demo_as_json(tmp_path):
    result = json.loads(command("demo", "--json", "--people", "50000", cwd=tmp_path).stdout)
    assert result["people"] == 50_000
    assert result["histogram"][0]["label"] == "SMITH"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--people", "0"], "people must be at least 1"),
        (["--epsilon", "-1"], "epsilon must be above 0"),
        (["--delta", "2"], "delta must lie strictly between 0 and 1"),
        (["--epsilon", "much"], "epsilon"),
        (["--top", "0"], "top"),
        (["--data", "people.csv"], "data must be a name that ends in .parquet"),
    ],
)
def test_bad_parameters_are_one_clear_error(arguments, reason, tmp_path):
    result = command("demo", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report.html", "surnames.parquet"])
def test_existing_files_are_not_overwritten(name, tmp_path, monkeypatch):
    (tmp_path / name).write_text("mine")
    with monkeypatch.context() as nothing_is_done:
        nothing_is_done.setattr("shuffledp.cli.data._write_population", None)
        result = command("demo", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"{name} already exists: use another name, or --force" in result.stderr
    assert (tmp_path / name).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert command("demo", "--people", "1e3", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / name).read_bytes() != b"mine"


@pytest.mark.parametrize("people", ["100000000000", "1e11", "2^64", "10^4000"])
def test_more_people_than_memory_holds_are_refused(people, tmp_path):
    result = command("demo", "--people", people, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("shuffledp demo: people must be at most 10,000,000")
    assert len(result.stderr) < 200
    assert list(tmp_path.iterdir()) == []


def test_surnames():
    names, shares = surnames()
    assert names.size == np.unique(names).size == 88_799
    assert names[0] == "SMITH"
    assert shares.sum() == pytest.approx(1)
    assert (shares > 0).all()
    assert shares[0] == pytest.approx(1.006 / 90.483, rel=1e-3)
