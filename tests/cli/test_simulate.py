"""`shuffledp simulate`: the same seed gives the same trials, and nothing of it is private."""

import json

import pytest

from tests.cli.commands import GUARANTEE, command


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("page\n" + "a\n" * 1500 + "b\n" * 1000 + "c\n" * 500)
    return tmp_path


@pytest.mark.slow
def test_simulate(folder):
    arguments = ["people.csv", "--column", "page", *GUARANTEE, "--trials", "20"]
    shown = command("simulate", *arguments, cwd=folder)
    assert shown.returncode == 0
    assert "20 simulated releases" in shown.stdout
    assert "Not private" in shown.stdout
    first, again = (command("simulate", *arguments, "--seed", "5", "--json", cwd=folder).stdout for _ in range(2))
    assert first == again
    answer = json.loads(first)
    assert len(answer["trials"]) == 20
    assert answer["trials"][0]["occupied"] == 3
    assert "true_counts" not in answer["trials"][0]
    assert answer["bins"].startswith("about 2^")
    assert list(answer["error_quantiles"]) == ["smallest", "median", "90 %", "95 %", "99 %", "largest"]


def test_too_few_trials_are_one_clear_error(folder):
    result = command("simulate", "people.csv", "--column", "page", *GUARANTEE, "--trials", "0", cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "shuffledp simulate: trials must be at least 1, got 0\n"
