"""Quantiles and plans for ranges on the terminal."""

import json
import re
from dataclasses import replace

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from shuffledp.cli.app import app
from shuffledp.cli.release_output import parse_shares, show_quantiles, show_range_plan
from shuffledp.errors import ParameterError
from shuffledp.release.plan_rows import RangeRow
from tests.explain.cases import CASES


def test_shares_are_read():
    assert parse_shares("0.25,0.5, 0.99") == (0.25, 0.5, 0.99)
    for wrong in ("", "half", "0.5;0.6", "0.5,1", "-0.1"):
        with pytest.raises(ParameterError, match="quantiles"):
            parse_shares(wrong)


@pytest.mark.slow
def test_quantiles_are_a_table(capsys):
    show_quantiles(replace(CASES["ages"]().estimate, shares=(0.25, 0.5)))
    shown = capsys.readouterr().out
    assert "have at most" in shown
    assert "95% interval" in shown
    assert "25%" in shown
    assert " to below " in shown
    assert "95% confidence, all intervals at once" in shown
    assert "% of all)" in shown
    assert "who have a value" not in shown  # everybody has


@pytest.mark.slow
def test_errors_are_shares_of_all_people_and_quantiles_of_those_with_a_value(people, tmp_path):
    out = tmp_path / "r.html"
    asked = ("run", people, "--column", "age", "--ranges", "--edges", "0:100:10", "--where", "age < 50", "--out", out)
    done = invoked(*asked)
    assert done.exit_code == 0, done.output
    shown = " ".join(done.stdout.split())
    assert "% of all); shares are of the people who have a value" in shown
    page = " ".join(out.read_text().split())
    assert "that this share of the people who have a value do not exceed" in page
    assert "% of all people).</figcaption>" in page


def test_a_plan_of_ranges_is_a_table(capsys):
    rows = [
        RangeRow(title="Ranges (ours)", branching=4, levels=5, error=86.2, messages=7.46),
        RangeRow(title="sums over a histogram", needed_users=150),
    ]
    show_range_plan(rows, users=10**5, beta=0.05)
    shown = capsys.readouterr().out
    assert "Error of the distribution function of 100,000 people, with 95% confidence" in shown
    assert " 87 " in shown  # rounded up
    assert "needs at least 150 people" in shown


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranges") / "people.csv"
    path.write_text("age\n" + "".join(f"{(at * 7) % 90}\n" for at in range(4000)))
    return path


def invoked(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments), "--epsilon", "1", "--delta", "1e-4"])


@pytest.mark.slow
def test_run_shows_quantiles_before_the_histogram(people, tmp_path):
    out = tmp_path / "r.html"
    done = invoked("run", people, "--column", "age", "--quantiles", "0.25,0.5", "--edges", "0:100:10", "--out", out)
    assert done.exit_code == 0, done.output
    assert done.stdout.index("have at most") < done.stdout.index("estimate")
    assert "How people are distributed" in out.read_text()


@pytest.mark.slow
def test_files_and_json_hold_the_quantiles_that_are_shown(people, tmp_path):
    asked = ("run", people, "--column", "age", "--quantiles", "0.25,0.5", "--edges", "0:100:10")
    done = invoked(*asked, "--json", "--out", tmp_path / "r.parquet", "--out", tmp_path / "r.json")
    assert done.exit_code == 0, done.output
    metadata = pyarrow.parquet.read_schema(tmp_path / "r.parquet").metadata[b"shuffledp"]
    quantiles = json.loads(done.stdout)["quantiles"]
    assert [found["share"] for found in quantiles] == [0.25, 0.5]
    assert quantiles[1]["low"] <= 44 < quantiles[1]["high"]
    assert quantiles[1]["low"] <= quantiles[1]["value"] <= quantiles[1]["high"]
    assert quantiles[1]["interval"] == f"{quantiles[1]['low']} to below {quantiles[1]['high']}"
    for text in (metadata, (tmp_path / "r.json").read_text()):
        assert json.loads(text)["quantiles"] == quantiles


@pytest.mark.slow
def test_simulate_and_plan_know_ranges(people):
    simulated = invoked("simulate", people, "--column", "age", "--ranges", "--edges", "0:100:10", "--trials", "5")
    assert simulated.exit_code == 0, simulated.output
    assert "the largest error of the distribution function" in simulated.stdout
    planned = invoked("plan", "--users", "1e5", "--bins", "50", "--ranges")
    assert planned.exit_code == 0, planned.output
    assert "sums over a histogram" in planned.stdout
    as_json = json.loads(invoked("plan", "--users", "1e5", "--bins", "50", "--ranges", "--json").stdout)
    assert [row["levels"] for row in as_json["ranges"]][1] == 1
    assert as_json["ranges"][2]["messages"] is None
    assert as_json["ranges"][2]["trust"] == "curator"
    assert len(as_json["advice"]) == 2
    for line in as_json["advice"]:
        assert line in planned.stdout.replace("\n", " ")
    assert invoked("plan", "--users", "1e5", "--bins", "any", "--ranges").exit_code == 2


def test_run_refuses_quantiles_without_an_order(people):
    done = invoked("run", people, "--column", "age", "--quantiles", "0.5")
    assert done.exit_code == 2
    assert "need an ordered domain" in done.stderr


@pytest.mark.slow
def test_a_plan_of_ranges_for_held_data_has_no_messages():
    held = invoked("plan", "--users", "1e5", "--bins", "50", "--ranges", "--held").stdout
    assert "messages" not in held
    assert "Recommended: Ranges (ours)." in held


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--values-per-person", "2"], "one value per person.* leave out --values-per-person"),
        (["--target-error", "5", "--earlier"], "leave out --target-error and --earlier"),
        (["--figure", "a.svg"], "leave out --figure"),
        (["--held", "--max-messages", "9"], "leave out --held"),
        (["--max-messages", "0.5"], "max_messages must be at least 1"),
    ],
)
def test_a_plan_of_ranges_refuses_options_that_do_not_apply(more, message):
    done = invoked("plan", "--users", "1e5", "--bins", "50", "--ranges", *more)
    assert done.exit_code == 2
    assert re.search(message, " ".join(done.stderr.split()))
