"""`shuffledp send --budget` and `shuffledp budget` as people call them."""

import json

import pytest
from typer.testing import CliRunner

from shuffledp.cli.app import COLLECTION, app
from shuffledp.collect.client.journal import Journal
from tests.cli.commands import command
from tests.collect.client.test_budget import first_version, tasks
from tests.collect.series import small_series


@pytest.fixture
def folder(shuffler, tmp_path):
    for at, task in enumerate(tasks(4, addresses=(shuffler.address, "http://127.0.0.1:9"))):
        (tmp_path / f"{at}.task.json").write_text(task.to_json())
    return tmp_path


def send(folder, at, *more):
    arguments = ["send", "--task", str(folder / f"{at}.task.json"), "--value", "dark", "--journal", f"{folder}/journal"]
    return CliRunner().invoke(app, [*arguments, *more], catch_exceptions=False)


def shown(folder, *more):
    arguments = ["budget", "--journal", f"{folder}/journal", *more]
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_a_person_runs_out_of_budget(folder, shuffler):
    first = send(folder, 0, "--budget", "1.25,1e-5")
    assert first.exit_code == 0
    assert "Budget: this answer uses 0.851 of your 1.25 (0 used so far)\n" in first.stderr
    second = send(folder, 1, "--budget", "1.25,1e-5")
    assert "Budget: this answer uses 0.357 of your 1.25 (0.851 used so far)\n" in second.stderr
    third = send(folder, 2, "--budget", "1.25,1e-5")
    assert (third.exit_code, third.stdout) == (6, "")
    assert "shuffledp send: this answer is over your limit of epsilon 1.25 at delta 1e-5: 1.21 is used" in third.stderr
    again = send(folder, 1, "--budget", "1.25,1e-5")
    assert again.exit_code == 0
    assert "uses nothing more (1.21 of your 1.25 used)" in again.stderr
    assert len(shuffler.bodies) == 2


def test_the_result_for_machines(folder):
    first = json.loads(send(folder, 0, "--budget", "1.25,1e-5", "--json").stdout)["budget"]
    assert first == {"before": 0.0, "after": pytest.approx(0.851, abs=1e-3), "left": pytest.approx(0.399, abs=1e-3),
                     "limit_epsilon": 1.25, "limit_delta": 1e-5}  # fmt: skip
    refused = send(folder, 1, "--budget", "1,1e-5", "--json")
    assert refused.exit_code == 6
    assert json.loads(refused.stdout)["reason"] == "over-budget"
    assert json.loads(send(folder, 1, "--json").stdout)["budget"] is None


def test_a_stored_limit_is_used_and_shown(folder):
    assert "No limit is stored" in shown(folder.parent, "--journal", str(folder)).stdout
    stored = shown(folder, "--limit", "1.25,1e-5")
    assert (stored.exit_code, "wrote" in stored.stderr) == (0, True)
    assert "Nothing is used of your 1.25, at delta 1e-5." in stored.stdout
    assert "epsilon up to 1.25 fits, at delta 1e-6 and one value per person." in stored.stdout
    assert send(folder, 0).exit_code == send(folder, 1).exit_code == 0
    assert send(folder, 2).exit_code == 6
    assert send(folder, 2, "--budget", "1.6,1e-5").exit_code == 0
    table = shown(folder).stdout
    assert "3 answers use epsilon 1.5 of your 1.25, at delta 1e-5." in table
    assert "More is used than the limit allows." in table
    assert "Left: no task with epsilon 0.0125 or more fits, at delta 1e-6 and one value per person." in table
    assert table.count("Which theme do you use?") == 3
    assert table.count("sent") == 3
    found = json.loads(shown(folder, "--json").stdout)
    assert found["limit"] == {"epsilon": 1.25, "delta": 1e-5, "by_results": False}
    assert (found["total"]["answers"], found["total"]["over_limit"], found["left"]["epsilon"]) == (3, True, None)
    assert [answer["state"] for answer in found["answers"]] == ["sent"] * 3
    assert found["answers"][0]["spending"]["guarantee"] == {"epsilon": "1", "delta": "1e-6"}
    assert found["left"]["values_per_person"] == 1
    wider = shown(folder, "--limit", "3,1e-5", "--by-results")
    assert "3 answers use epsilon 1.5 of your 3" in wider.stdout
    assert "Left: one more task with epsilon" in wider.stdout


def test_answers_that_were_begun_are_shown(folder):
    asked = tasks(1)[0]
    Journal(folder / "journal").claim(asked)
    assert "begun, not finished" in shown(folder).stdout
    assert "1 answer uses epsilon 0.851, at delta 1e-5." in shown(folder).stdout


def test_parameters_of_older_entries_can_be_added(folder, shuffler):
    send(folder, 0)
    first_version(folder / "journal", tasks(1, addresses=(shuffler.address, "http://127.0.0.1:9"))[0])
    table = shown(folder).stdout
    assert "1 answer; the total is unknown, because parameters are missing." in table
    assert "--task FILE" in table
    refused = send(folder, 1, "--budget", "3,1e-5")
    assert (refused.exit_code, "of an earlier version of shuffledp" in refused.stderr) == (3, True)
    assert json.loads(shown(folder, "--json").stdout)["total"]["known"] is False
    added = shown(folder, "--task", str(folder / "0.task.json"))
    assert "its parameters were added" in added.stderr
    assert "1 answer uses epsilon 0.851" in added.stdout
    assert send(folder, 1, "--budget", "3,1e-5").exit_code == 0


def test_parameters_of_all_rounds_can_be_added_from_the_series(folder):
    series = small_series().series
    path, opened = folder / "series.json", Journal(folder / "journal")
    path.write_text(series.to_json())
    other = shown(folder, "--limit", "3,1e-5", "--task", str(path))
    assert (other.exit_code, "no entry for a round of this series" in other.stderr) == (3, True)
    for number in (1, 3):
        opened.keep(series.task(number), b"a report")
        first_version(opened.folder, series.task(number))
    added = shown(folder, "--task", str(path))
    assert "its parameters were added" in added.stderr
    assert [spent.spending.series.round for spent in opened.spendings()] == [1, 3]
    assert "its parameters were known" in shown(folder, "--task", str(path)).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--limit", "3"], 2, "limit must be an epsilon and a delta separated by a comma"),
        (["--limit", "nan,1e-5"], 2, "epsilon"),
        (["--limit", "3,0"], 2, "delta"),
        (["--limit", "3,1e-5,1"], 2, "separated by a comma"),
        (["--by-results"], 2, "--by-results needs --limit"),
        (["--journal", "missing-folder"], 3, "there is no journal missing-folder"),
        (["--task", "missing.json"], 3, "missing.json cannot be read"),
    ],
)
def test_wrong_options_are_one_clear_error(folder, arguments, code, says):
    (folder / "journal").mkdir(mode=0o700)
    result = shown(folder, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert says in result.stderr.replace("--limit", "--limit")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["budget.json", f"{'0' * 64}.json", f"{'0' * 64}.1f.claim"])
def test_broken_files_are_one_clear_error(folder, name):
    (folder / "journal").mkdir(mode=0o700)
    (folder / "journal" / name).write_text("{")
    result = shown(folder)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
    assert name in result.stderr


@pytest.mark.parametrize("wrong", ["3", "nan,1e-5", "3,2", "a,b"])
def test_a_wrong_budget_is_one_clear_error(folder, wrong, shuffler):
    result = send(folder, 0, "--budget", wrong)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "budget" in result.stderr
    assert shuffler.bodies == []


def test_the_example_works(tmp_path):
    _, *arguments = COLLECTION["budget"][1].split()
    result = command(*arguments, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
