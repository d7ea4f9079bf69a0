"""`shuffledp plan`: the table, inverse questions, JSON and the figure."""

import json
import math
import re

import pytest

from shuffledp.cli.options import parse_whole, whole_number
from shuffledp.errors import ParameterError
from shuffledp.protocols import CATALOGUE
from tests.cli.commands import GUARANTEE, command

QUESTION = ["--users", "1000000", "--bins", "100000", "--epsilon", "1", "--delta", "1e-6"]


@pytest.mark.parametrize(
    ("text", "number"), [
        ("100000", 10**5), ("100_000", 10**5), ("1e6", 10**6), ("1.5e6", 1_500_000), ("1E6", 10**6), ("10^6", 10**6),
        ("1,000,000", 10**6), ("2^64", 2**64), ("2**70", 2**70), ("1e23", 10**23), (" 7 ", 7),
    ],
)  # fmt: skip
def test_whole_numbers_as_people_write_them(text, number):
    assert parse_whole(text, name="bins") == whole_number(text) == number


def test_the_number_that_a_release_prints_can_be_planned_with():
    """`run` prints that about 2^65536 values are possible."""
    assert parse_whole("2^65536", name="bins").bit_length() == 65537
    assert parse_whole("2^100000", name="bins").bit_length() == 100001
    with pytest.raises(ParameterError, match=r"from 1 to 2\^100000"):
        parse_whole("2^100001", name="bins")


@pytest.mark.parametrize("users", ["1e6", "10^6", "1_000_000", "1,000,000", "1000000"])
def test_users_are_written_like_bins(users):
    asked = ["--bins", "10", "--epsilon", "3", "--delta", "1e-7", "--json"]
    assert json.loads(command("plan", "--users", users, *asked).stdout)["users"] == 10**6


@pytest.mark.parametrize(
    "text", ["", "many", "-3", "0", "1.5", "2^x", "nan", "inf", "1,00", "1.5e0", "²", "9^999999", "9" * 5000]
)
def test_bad_bins(text):
    with pytest.raises(ParameterError, match="bins must be"):
        parse_whole(text, name="bins")


def test_plan_prints_a_table():
    result = command("plan", *QUESTION)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "1,000,000 people, 100,000 possible values, epsilon 1, delta 1e-6",
        "Recommended: dummy. Error at most 36 people (0.0036%), detection limit 71 people, 5.27 messages per person.",
    ]
    assert lines[-1] == "Details: --explain"
    for needed in ("sparse-best", "largest error", "false positives", "detection limit"):
        assert needed in result.stdout


@pytest.mark.slow
def test_plan_as_json_with_a_target():
    result = json.loads(command("plan", *QUESTION, "--json", "--target-error", "60").stdout)
    advised = [name for name, entry in CATALOGUE.items() if entry.advised]
    assert [row["name"] for row in result["rows"]] == [*advised, "hashed"]
    assert result["rows"][2]["most_messages"] is None
    needs = {wish["name"]: wish for wish in result["target_error"]}
    assert needs["dummy"]["met"]
    assert needs["hist"]["epsilon"] == pytest.approx(1.22, abs=0.02)


def test_plan_for_a_message_budget():
    result = command("plan", *QUESTION, "--max-messages", "10")
    assert "SparseHistogram (ours): at most 62," in result.stdout


def test_plan_for_too_few_people_names_the_number():
    result = command("plan", "--users", "100", "--bins", "50", "--epsilon", "1", "--delta", "1e-6", "--explain")
    assert "needs at least 148 honest people" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--bins", "x"], "bins must be a whole number"),
        (["--epsilon", "0"], "epsilon must be above 0"),
        (["--target-error", "-5"], "target_error must be above 0 and below 1,000,000"),
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


def tabled(shown, name):
    """Return the cells of a row of the table."""
    (line,) = (line for line in shown.splitlines() if re.match(rf" +{name}  ", line))
    return line.split(name, 1)[1].split()


@pytest.mark.parametrize("bins", ["2^70", "2^300", "2^1000", "2^1025", "2^5000", "any"])
def test_any_number_of_values_can_be_planned(bins):
    result = command("plan", "--users", "2e5", "--bins", bins, *GUARANTEE, "--explain")
    assert result.returncode == 0
    assert not re.search(r"\d[\d,]{30}", result.stdout)
    assert tabled(result.stdout, "largest error")[0] == "72"
    assert "Recommended for local data: hist. Error at most 72 people (0.036%)" in result.stdout
    if bins == "2^70":
        assert tabled(result.stdout, "largest error")[1] == "78.4"
    elif bins == "any":
        assert tabled(result.stdout, "largest error")[1] == "-"
        assert "DummyHistogram shows every possible value, so it needs a list of them;" in result.stdout
    else:  # the bound would be that nobody is off by more than everybody
        assert tabled(result.stdout, "largest error")[1] == "unknown"
        assert "The error of hist-unbiased and dummy over this number of possible values" in result.stdout
    plain = json.loads(command("plan", "--users", "2e5", "--bins", bins, *GUARANTEE, "--json").stdout)
    assert plain["recommended"] is None
    assert plain["recommended_for_held_data"] == "hist"


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1", "0.83"])
def test_printed_errors_are_upper_bounds(epsilon):
    asked = ["--users", "54321", "--bins", "20000", "--epsilon", epsilon, "--delta", "1e-6"]
    shown, rows = command("plan", *asked).stdout, json.loads(command("plan", *asked, "--json").stdout)["rows"]
    for title, key in (("largest error", "simultaneous"), ("share", "simultaneous_share"), ("error of one", "per_bin"),
                       ("its share", "per_bin_share")):  # fmt: skip
        for printed, row in zip(tabled(shown, title), rows, strict=True):
            assert row[key] <= float(printed.replace(",", "")) * (1 + 1e-12) <= 1.1 * row[key] + 1


@pytest.mark.slow
def test_a_budget_of_messages_is_kept():
    asked = [*QUESTION, "--max-messages"]
    few = command("plan", *asked, "1")
    assert "Recommended if people send messages: none. Every protocol sends more than 1 message" in few.stdout
    for budget in ("1", "3", "6", "20", "100"):
        plain = json.loads(command("plan", *asked, budget, "--json").stdout)
        row = next((row for row in plain["rows"] if row["name"] == plain["recommended"]), None)
        assert (row is None) == (budget == "1")
        assert row is None or row["messages"] <= float(budget)
    assert command("plan", *asked, "0.5").stderr == (
        "shuffledp plan: max_messages must be at least 1, the message for the value, got 0.5\n"
    )


@pytest.mark.slow
def test_a_delta_above_one_over_people_is_a_warning():
    asked = ["plan", "--users", "1000", "--bins", "10", "--epsilon", "1"]
    result = command(*asked, "--delta", "0.01")
    assert result.returncode == 0
    assert result.stderr.startswith("warning: delta=0.01 is larger than 1 / people")
    assert json.loads(command(*asked, "--delta", "0.01", "--json").stdout)["warnings"]
    assert command(*asked, "--delta", "1e-6").stderr == ""


def test_too_few_honest_people_are_named():
    shown = command("plan", "--users", "1e6", "--honest-users", "100", "--bins", "10", *GUARANTEE).stdout
    assert "rate must lie" not in shown
    assert "with only 100 honest people among 1,000,000" in shown
    assert "more of them must be honest" in shown
    assert not re.search(r"- +- +- +-", shown)  # no table of dashes


@pytest.mark.slow
def test_a_plan_for_local_data():
    held = command("plan", *QUESTION, "--held").stdout
    assert tabled(held, "trust") == ["shuffler"] * 6 + ["curator"] * 2
    assert "messages" not in held
    assert "Recommended: dummy." in held
    line = (
        "Tip: if you are trusted with the raw data, `run --trust curator` gives the same guarantee with a smaller "
        "error (29 instead of 36 people)."
    )
    assert line in held
    assert line in command("plan", *QUESTION).stdout
    plain = json.loads(command("plan", *QUESTION, "--json").stdout)
    assert plain["recommended_for_curator"] == "laplace"
    assert {row["name"]: row["model"] for row in plain["curator"]} == {"stability": "central", "laplace": "central"}
    assert "leave out --held" in command("plan", *QUESTION, "--held", "--max-messages", "9").stderr


@pytest.mark.parametrize("more", [[], ["--held"]])
def test_a_curator_with_a_larger_error_is_not_recommended(more):
    """With 1,000 people and ten values, the error of a curator is 10 people, and 9 for shuffled messages."""
    asked = ["plan", "--users", "1000", "--bins", "10", "--epsilon", "1", "--delta", "0.01", *more]
    rows = json.loads(command(*asked, "--json").stdout)
    errors = {row["name"]: row["simultaneous"] for row in (*rows["rows"], *rows["curator"])}
    assert errors[rows["recommended_for_curator"]] > errors[rows["recommended_for_held_data"]]
    shown = command(*asked).stdout
    assert "curator" not in shown.replace("curator  curator", "")
    assert "instead of" not in shown


@pytest.mark.slow
def test_a_plan_for_several_values_of_each_person():
    asked = ["--users", "1e5", "--bins", "100", *GUARANTEE, "--values-per-person"]
    shown = command("plan", *asked, "3", "--earlier", "--explain").stdout
    assert "100,000 people with up to 3 values each, 100 possible values" in shown
    assert "PrivateCoinHistogram counts exactly one value of each person" in shown
    errors = [
        json.loads(command("plan", *asked, values, "--json").stdout)["rows"][0]["simultaneous"] for values in "13"
    ]
    assert errors[0] < errors[1]
    assert "values_per_person" in command("plan", *asked, "0").stderr
    assert (
        "max_messages must be at least 3, one message per value"
        in command("plan", *asked, "3", "--max-messages", "2").stderr
    )


@pytest.mark.slow
def test_hashed_values_where_messages_are_few():
    asked = ["plan", "--users", "1e6", "--bins", "1e6", *GUARANTEE, "--max-messages", "20"]
    shown = command(*asked).stdout
    assert "Recommended if people send messages: hashed." in shown
    plain = json.loads(command(*asked, "--json").stdout)
    assert plain["recommended"] == plain["rows"][-1]["name"] == "hashed"
    assert plain["rows"][-1]["messages"] <= 20
