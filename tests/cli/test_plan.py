"""`shuffledp plan`: the table, the questions backwards, JSON and the figure."""

import json
import math

import pytest

from shuffledp.cli.options import parse_whole
from shuffledp.errors import ParameterError
from shuffledp.protocols import CATALOGUE
from tests.cli.commands import command

QUESTION = ["--users", "1000000", "--bins", "100000", "--epsilon", "1", "--delta", "1e-6"]


@pytest.mark.parametrize(
    ("text", "number"), [("100000", 10**5), ("100_000", 10**5), ("1e6", 10**6), ("2^64", 2**64), ("2**70", 2**70)]
)
def test_bins_as_people_write_them(text, number):
    assert parse_whole(text, name="bins") == number


@pytest.mark.parametrize("text", ["", "many", "-3", "0", "1.5", "2^x", "nan", "inf"])
def test_bad_bins(text):
    with pytest.raises(ParameterError, match="bins must be"):
        parse_whole(text, name="bins")


def test_plan_prints_a_table():
    result = command("plan", *QUESTION)
    assert result.returncode == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    for needed in ("sparse-best", "error, all bins", "phantom bins", "Recommended: dummy"):
        assert needed in result.stdout


@pytest.mark.slow
def test_plan_as_json_with_a_target():
    result = json.loads(command("plan", *QUESTION, "--json", "--target-error", "60").stdout)
    assert [row["name"] for row in result["rows"]] == [name for name, entry in CATALOGUE.items() if entry.advised]
    assert result["rows"][2]["most_messages"] is None
    needs = {wish["name"]: wish for wish in result["target_error"]}
    assert needs["dummy"]["met"]
    assert needs["hist"]["epsilon"] == pytest.approx(1.22, abs=0.02)


def test_plan_for_a_message_budget():
    result = command("plan", *QUESTION, "--max-messages", "10")
    assert "SparseHistogram (ours): at most 62," in result.stdout


def test_plan_for_too_few_people_names_the_number():
    result = command("plan", "--users", "100", "--bins", "50", "--epsilon", "1", "--delta", "1e-6")
    assert "needs at least 148 honest people" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--bins", "x"], "bins must be a whole number"),
        (["--epsilon", "0"], "epsilon must be above 0"),
        (["--target-error", "-5"], "target_error must lie between"),
        (["--figure", "plan.doc"], "must end in .svg"),
        (["--figure", "/nowhere/plan.svg"], "cannot write"),
    ],
)
def test_bad_options_are_one_clear_error(arguments, reason):
    result = command("plan", *QUESTION, *arguments)
    assert result.returncode == (3 if reason == "cannot write" else 2)
    assert reason in result.stderr
    assert "Traceback" not in result.stderr


def test_infinite_numbers_do_not_reach_json():
    assert math.inf not in json.loads(command("plan", *QUESTION, "--json").stdout)["rows"][2].values()


def test_huge_numbers_are_text_in_json():
    question = ["--users", "1000000", "--bins", "2^70", "--epsilon", "1", "--delta", "1e-6"]
    result = json.loads(command("plan", *question, "--json").stdout)
    assert result["bins"] == result["rows"][0]["most_messages"] == "about 2^70"


def test_a_figure_that_cannot_be_written_is_refused_before_any_work():
    for figure in ("plan.doc", "/nowhere/plan.svg"):
        assert command("plan", *QUESTION, "--figure", figure).stdout == ""


@pytest.mark.slow
def test_the_figure_is_written(tmp_path):
    result = command("plan", "--users", "20000", "--bins", "1000", *QUESTION[4:], "--figure", "plan.svg", cwd=tmp_path)
    assert result.stderr == "wrote plan.svg\n"
    assert "<svg" in (tmp_path / "plan.svg").read_text()
