"""`shuffledp simulate`: the same seed gives the same trials, and the output is marked as not private."""

import json

import numpy as np
import pytest

from shuffledp.release.simulate import Evaluation, Simulation
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
    assert "NOT PRIVATE" in shown.stdout
    first, again = (command("simulate", *arguments, "--seed", "5", "--json", cwd=folder).stdout for _ in range(2))
    assert first == again
    answer = json.loads(first)
    assert len(answer["trials"]) == 20
    assert answer["trials"][0]["occupied"] == 3
    assert "true_counts" not in answer["trials"][0]
    assert answer["bins"].startswith("about 2^")
    assert list(answer["error_quantiles"]) == ["smallest", "median", "90 %", "95 %", "99 %", "largest"]


@pytest.mark.parametrize(
    ("held", "words"), [([True] * 50, "in 50 of 50 releases"), ([True, False, True], "in 2 of 3 releases"),
                        ([True], "in 1 of 1 release;")],
)  # fmt: skip
def test_how_often_intervals_held_is_a_number_of_releases(held, words, folder, monkeypatch):
    def simulated(*_, **__):
        trial = {"largest_error": 3.0, "per_bin_coverage": 1.0, "occupied": 3, "found": 3, "false_positives": 0}
        trials = tuple(Evaluation(covered=one, **trial, true_counts=np.zeros(3)) for one in held)
        return Simulation(title="Histogram", people=3000, bins=2**65536, epsilon=1.0, delta=1e-6, beta=0.07,
                          predicted_error=14.1, trials=trials)  # fmt: skip

    monkeypatch.setattr("shuffledp.release.simulate.simulate", simulated)
    shown = command("simulate", "people.csv", "--column", "page", *GUARANTEE, cwd=folder).stdout
    assert f"All intervals contained the truth {words}" in shown
    assert "an error of at most 15 people, with probability at least 0.93" in shown
    assert "2^" not in shown


@pytest.mark.parametrize("trials", ["1e0", "2", "1,0"])
def test_trials_as_people_write_them(trials, folder):
    result = command("simulate", "people.csv", "--column", "page", *GUARANTEE, "--trials", trials, cwd=folder)
    assert result.returncode == (2 if trials == "1,0" else 0)


def test_too_many_trials_are_one_clear_error(folder):
    result = command("simulate", "people.csv", "--column", "page", *GUARANTEE, "--trials", "1e9", cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "shuffledp simulate: trials must be at most 1,000,000, got 1,000,000,000\n"


def test_too_few_trials_are_one_clear_error(folder):
    result = command("simulate", "people.csv", "--column", "page", *GUARANTEE, "--trials", "0", cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "shuffledp simulate: trials must be at least 1, got 0\n"
