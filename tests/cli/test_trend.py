"""`shuffledp trend`."""

import csv
import io
import json
import subprocess

import pytest

from tests.cli.commands import GUARANTEE, REAL, command

MONTHS = {"january": (600, 300, 100), "february": (700, 200, 100), "march": (700, 200, 100)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("trend")
    for name, counts in MONTHS.items():
        rows = [theme for theme, count in zip(("dark", "light", "auto"), counts, strict=True) for _ in range(count)]
        (path / f"{name}.csv").write_text("\n".join(["theme", *rows]) + "\n")
        run = ["run", f"{name}.csv", "--column", "theme", "--domain", "dark,light,auto", *GUARANTEE]
        made = command(*run, "--protocol", "dummy", "--out", f"{name}.json", cwd=path)
        assert made.returncode == 0, made.stderr
    return path


FILES = [f"{name}.json" for name in MONTHS]
SURE = ["--beta", "1e-6"]
"""The noise is not seeded, so an assertion that something is no change fails with at most this probability."""


@pytest.mark.slow
def test_the_answer_the_table_and_a_page(folder):
    shown = command("trend", *FILES, *SURE, "--rounds", "12", "--out", "page.html", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == "theme, rounds 1 to 3 of 12: 2 of 4 values changed since round 1."
    assert lines[1].startswith("dark: up by ")
    assert "99.9999% confidence, for all 12 planned rounds" in shown.stdout
    assert "Details: --explain" in shown.stdout
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    assert "wrote page.html" in shown.stderr


@pytest.mark.slow
def test_a_page_is_written_despite_a_broken_pipe(folder):
    shell = " ".join([*REAL, "trend", *FILES, "--out", "piped.html"])
    left = subprocess.run(["bash", "-c", f"{shell} | true; exit ${{PIPESTATUS[0]}}"], cwd=folder, check=False)
    assert left.returncode == 141
    assert (folder / "piped.html").exists()


@pytest.mark.slow
def test_json_and_csv(folder):
    plain = json.loads(command("trend", *FILES, "--json", cwd=folder).stdout)
    assert plain["planned_rounds"] == 3
    assert next(each for each in plain["differences"] if each["label"] == "dark")["verdict"] == "up"
    rows = list(csv.DictReader(io.StringIO(command("trend", *FILES, "--csv", cwd=folder).stdout)))
    assert [row["round"] for row in rows if row["label"] == "dark"] == ["1", "2", "3"]


def test_any_round_can_be_the_first(folder):
    shown = command("trend", *FILES, *SURE, "--since", "2", "--explain", cwd=folder).stdout
    assert "no evidence of any change since round 2" in shown
    assert "Changes: Half of the risk is for changes" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["january.json", "january.json"], 3, "given twice"),
        ([*FILES, "--rounds", "2"], 2, "rounds must be"),
        ([*FILES, "--since", "3"], 2, "since must be an earlier round"),
        ([*FILES, "--since", "7"], 2, "since must be the number of a round"),
        ([*FILES, "--json", "--csv"], 2, "must not be given together"),
        ([*FILES, "--out", "january.json"], 2, "same file as an input"),
        ([*FILES, "--out", "page.png"], 2, "must end in"),
        (["january.csv"], 3, "not a release"),
        (["missing.json"], 3, "cannot read"),
    ],
)
def test_wrong_parameters(folder, arguments, code, words):
    refused = command("trend", *arguments, cwd=folder)
    assert refused.returncode == code
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr
