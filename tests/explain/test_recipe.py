"""The command and the call on a page can be run, and request the same release."""

import csv
import json
import shlex

import pytest

from shuffledp import Edges, Periods, Release, private_histogram
from shuffledp.cli.release_output import command_of
from shuffledp.explain.page import call
from tests.cli.commands import command as run

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
ROWS = [{"age": str(at % 90), "my day": f"2026-0{1 + at % 9}-03", "sex": "fm"[at % 2]} for at in range(600)]
YEAR = Periods("month", start="2026-01-01", stop="2027-01-01")
HOURS = Periods("hour", start="2026-01-01 13:00", stop="2026-01-02")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("recipes")
    with (path / "FILE.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    (path / "sexes.txt").write_text("f\nm\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words", "program"),
    [
        ({"column": "age", "domain": Edges("0:90:10")}, "--edges 0:90:10", "domain=Edges('0:90:10')"),
        ({"column": "age", "domain": Edges("-5,0.5,90")}, "--edges -5,0.5,90", "domain=Edges('-5,0.5,90')"),
        (
            {"column": "age", "domain": Edges("0:90:1"), "quantiles": [0.25, 0.5]},
            "--quantiles 0.25,0.5 --edges 0:90:1",
            "quantiles=[0.25, 0.5], domain=Edges('0:90:1')",
        ),
        (
            {"column": "my day", "domain": YEAR},
            "--column 'my day' --by month --from 2026-01-01 --to 2027-01-01",
            "domain=Periods('month', start='2026-01-01', stop='2027-01-01')",
        ),
        (
            {"column": "my day", "domain": HOURS},
            "--by hour --from '2026-01-01 13:00' --to 2026-01-02",
            "domain=Periods('hour', start='2026-01-01 13:00', stop='2026-01-02')",
        ),
        ({"column": ["sex", "age"]}, "--column sex --column age", "column=['sex', 'age']"),
        (
            {"column": ["sex", "age", "my day"], "domain": [["f", "m"], Edges("0,18,65"), YEAR]},
            "--column sex --column age --column 'my day' --domain sex=FILE --edges age=0,18,65 "
            "--by 'my day=month' --from 'my day=2026-01-01' --to 'my day=2027-01-01'",
            "domain=[[2 values], Edges('0,18,65'), Periods('month', start='2026-01-01', stop='2027-01-01')]",
        ),
    ],
)
def test_it_requests_the_same_release(options, words, program, folder):
    release = private_histogram(ROWS, **options, **GUARANTEE)
    assert words in command_of(release.asked)
    assert program in call(release)
    again = Release.from_json(release.to_json())
    assert (command_of(again.asked), call(again)) == (command_of(release.asked), call(release))
    arguments = shlex.split(
        command_of(release.asked).replace("sex=FILE", "sex=sexes.txt").replace("run FILE", "run FILE.csv")
    )
    result = run(*arguments[1:], "--json", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["asked"] == json.loads(release.to_json())["asked"]


@pytest.mark.slow
def test_a_list_is_only_counted_and_long_edges_are_named():
    one = private_histogram(ROWS, column="sex", domain=["f", "m"], drop_missing=True, **GUARANTEE)
    assert one.asked["domain"] == 2
    assert command_of(one.asked).endswith("--domain FILE")
    many = Edges([number * number for number in range(1, 200)])
    long = private_histogram(ROWS, column="age", domain=many, **GUARANTEE)
    assert long.asked["domain"] == {"edges": str(many)}
    assert command_of(long.asked).endswith("--edges EDGES")
    assert call(long).endswith("domain=Edges('EDGES'))")
