"""`shuffledp send` and `shuffledp crowd` as people call them."""

import json

import pytest
from typer.testing import CliRunner

from shuffledp.cli.app import COLLECTION, app
from shuffledp.collect import Reason
from tests.cli.commands import command
from tests.collect.client.conftest import task_at
from tests.collect.client.servers import problem
from tests.collect.client.test_client import THEMES, listed_at, weaker


@pytest.fixture
def folder(kept, tmp_path):
    (tmp_path / "theme.task.json").write_text(kept.task.to_json())
    (tmp_path / "people.csv").write_text("theme\n" + "dark\n" * 12 + "light\n" * 7 + "\n")
    return tmp_path


def sent(folder, *more, task="theme.task.json", stdin=None):
    arguments = ["send", "--task", str(folder / task), "--journal", str(folder / "journal"), *more]
    return CliRunner().invoke(app, arguments, input=stdin, catch_exceptions=False)


def test_the_examples_work(folder, shuffler):
    for _, example in (COLLECTION["send"], COLLECTION["crowd"]):
        _, *arguments = example.split()
        result = command(*arguments, cwd=folder)
        assert result.returncode == 0, result.stderr
    assert len(shuffler.bodies) == 1 + 20


def test_an_answer_is_sent_once(folder, shuffler, kept):
    first = sent(folder, "--value", "dark", "--at-most", "1,1e-6", "--pin", kept.task.name)
    assert first.exit_code == 0
    assert "Your report was accepted" in first.stdout
    assert "epsilon 1, delta 1e-6" in first.stdout
    again = sent(folder, "--value", "light")
    assert (again.exit_code, "already answered this task" in again.stdout) == (0, True)
    assert len(shuffler.bodies) == 1


def test_the_result_for_machines(folder, kept):
    first = json.loads(sent(folder, "--none", "--json").stdout)
    assert (first["task"], first["state"]) == (kept.task.name, "sent")
    assert first["bytes"] > 0 < first["milliseconds"]
    assert first["made_before"] is False
    assert json.loads(sent(folder, "--none", "--json").stdout)["state"] == "already sent"


def test_failures_for_machines(folder, shuffler):
    shuffler.script.extend([problem(Reason.UNAVAILABLE, 503), problem(Reason.TOO_MANY_REQUESTS, 429)])
    shuffler.script.append(problem(Reason.CLOSED, 410))
    cases = [
        (["--value", "dark"], "unavailable", 5),
        (["--value", "light"], "too-many-requests", 5),
        (["--value", "dark"], "closed", 3),
        (["--value", "dark", "--at-most", "0.5,1e-6"], "broken-promise", 4),
        (["--value", "dark", "--pin", "0" * 64], "wrong-task", 3),
        (["--value", "dark", "--none"], "wrong-parameter", 2),
    ]
    for arguments, reason, code in cases:
        result = sent(folder, *arguments, "--json")
        shown = json.loads(result.stdout)
        assert (shown["state"], shown["reason"], result.exit_code) == ("failed", reason, code)
        assert f"shuffledp send: {shown['detail']}\n" in result.stderr
        assert "light" not in result.output


@pytest.mark.parametrize("text", ["dark\n", "dark\r\n", "dark"])
def test_an_answer_can_be_read_from_standard_input(folder, monkeypatch, text):
    answers = []
    monkeypatch.setattr("shuffledp.collect.client.client.Client.send", lambda self, answer: answers.append(answer))
    monkeypatch.setattr("shuffledp.cli.send._show_receipt", lambda *_: None)
    assert sent(folder, "--value", "-", stdin=text).exit_code == 0
    assert answers == ["dark"]


@pytest.mark.parametrize("given", [[], ["--value", "light", "--none"]])
def test_an_answer_is_given_in_one_way(folder, given):
    result = sent(folder, *given)
    assert result.exit_code == 2
    assert "--value" in result.stderr
    assert ("give either --value or --none, not both" in result.stderr) == bool(given)
    assert "light" not in result.stderr


def test_the_guarantee_is_shown_before_sending(folder, shuffler):
    shuffler.script.append(problem(Reason.UNAVAILABLE, 503))
    result = sent(folder, "--value", "dark")
    assert result.exit_code == 5
    assert (
        "up to 2.72 times more likely than another answer would, plus a chance of at most 1 in 1,000,000."
        in result.stderr
    )


@pytest.mark.parametrize(("epsilon", "delta", "factor"), [(12.0, 0.5, "162,755"), (1.0, 0.9, "2.72")])
def test_weak_guarantees_are_described_correctly(folder, shuffler, epsilon, delta, factor):
    (folder / "weak.json").write_text(task_at(shuffler.address, users=20, epsilon=epsilon, delta=delta).task.to_json())
    refused = sent(folder, "--value", "dark", task="weak.json")
    assert refused.exit_code == 4
    assert f"{epsilon:g},{delta:g}" in refused.stderr
    assert not shuffler.bodies
    allowed = sent(folder, "--value", "dark", "--at-most", f"{epsilon},{delta}", task="weak.json")
    assert allowed.exit_code == 0
    assert f"weak protection (epsilon {epsilon:g}, delta {delta:g})" in allowed.stderr
    assert f"up to {factor} times more likely than another answer would, plus a chance of" in allowed.stderr


def test_a_second_send_says_that_the_answer_was_not_used(folder, shuffler):
    shuffler.script.extend([problem(Reason.UNAVAILABLE, 503)] * 2)
    first, second = sent(folder, "--value", "dark"), sent(folder, "--value", "light")
    assert (first.exit_code, second.exit_code) == (5, 5)
    assert "was not" not in first.stderr
    assert "the answer that was given now was not" in second.stderr
    third = sent(folder, "--value", "light")
    assert "Your earlier report was accepted" in third.stdout
    assert "The answer that you gave now was not used" in third.stdout
    assert len(set(shuffler.bodies)) == 1
    assert json.loads(sent(folder, "--none", "--json").stdout)["made_before"] is True


@pytest.mark.parametrize(("answer", "reported"), [("Dark", True), ("dark ", True), ("dark", False), ("", False)])
def test_a_mistyped_answer_is_reported_and_sent(folder, shuffler, answer, reported):
    result = sent(folder, "--value", answer)
    assert result.exit_code == 0
    assert ("counts as (other)" in result.stderr) == reported
    assert "counts as" not in result.stdout
    assert len(shuffler.bodies) == 1
    assert "(other)" not in sent(folder, "--value", answer).stderr  # the answer is not used


def test_exit_codes_distinguish_failures(folder, shuffler, kept):
    shuffler.script.extend([problem(Reason.UNAVAILABLE, 503), problem(Reason.CLOSED, 410)])
    later, over, still = (sent(folder, "--value", "light") for _ in range(3))
    assert [result.exit_code for result in (later, over, still)] == [5, 3, 3]
    assert "send it again later" in later.stderr
    assert "closed" in over.stderr
    assert "closed" in still.stderr
    assert not [result for result in (later, over, still) if "light" in result.output]
    assert sent(folder, "--value", "dark", "--at-most", "0.5,1e-6").exit_code == 4
    assert sent(folder, "--value", "dark", "--at-most", "0.5").exit_code == 2
    assert sent(folder, "--value", "dark", "--pin", "0" * 64).exit_code == 3
    assert sent(folder, "--value", "dark", "--pin", "7").exit_code == 2
    assert sent(folder, "--value", "dark", task="missing.json").exit_code == 3
    (folder / "weak.json").write_text(weaker(kept.task).to_json())
    assert "do not answer" in sent(folder, "--value", "dark", task="weak.json").stderr


@pytest.mark.slow
def test_an_admission_is_read_from_a_file_of_its_own(folder, shuffler):
    (folder / "secret.task.json").write_text(task_at(shuffler.address, admission="secret").task.to_json())
    without = sent(folder, "--none", task="secret.task.json")
    assert (without.exit_code, "admission must be given" in without.stderr) == (2, True)
    assert "admission must be given" in crowded(folder, task="secret.task.json").stderr
    secret = folder / "secret"
    secret.write_text("sesame-17\n")
    secret.chmod(0o644)
    assert "chmod 600" in sent(folder, "--none", "--admission", str(secret), task="secret.task.json").stderr
    secret.chmod(0o600)
    assert sent(folder, "--none", "--admission", str(secret), task="secret.task.json").exit_code == 0
    assert shuffler.headers[-1]["authorization"] == "Bearer sesame-17"
    result = command("crowd", "--task", folder / "secret.task.json", "--data", folder / "people.csv",
                     "--column", "theme", "--admission", secret)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert {headers["authorization"] for headers in shuffler.headers} == {"Bearer sesame-17"}


def crowded(folder, *more, task="theme.task.json"):
    files = ["--task", folder / task, "--data", folder / "people.csv", "--column", "theme"]
    return command("crowd", *files, *more)


def test_a_crowd_prints_its_outcomes(folder, shuffler):
    shuffler.script.append(problem(Reason.OTHER_BYTES, 409))
    result = crowded(folder, "--people", "7", "--connections", "2", "--rate", "1000")
    assert result.returncode == 3
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["acknowledged", "6"] in lines
    assert ["refused:", "other-bytes", "1"] in lines
    assert "6 of 7 simulated people answered" in result.stdout
    assert len(shuffler.bodies) == 7


def test_a_crowd_for_machines(folder, kept):
    result = json.loads(crowded(folder, "--json", "--processes", "1").stdout)
    assert (result["task"], result["people"], result["acknowledged"]) == (kept.task.name, 20, 20)
    assert (result["refused"], result["unreachable"], result["tried_again"]) == ({}, 0, 0)
    assert {"reports_per_second", "milliseconds_per_report", "bytes_per_report"} < set(result)


@pytest.mark.slow
def test_a_crowd_that_cannot_be_sent(folder, shuffler):
    shuffler.script.extend([problem(Reason.UNAVAILABLE, 503)] * 100)
    result = crowded(folder, "--people", "2", "--patience", "0.1")
    assert result.returncode == 5
    assert "0 of 2 simulated people answered" in result.stdout
    assert ["could", "not", "be", "sent", "2"] in [line.split() for line in result.stdout.splitlines()]
    assert "rate must be" in crowded(folder, "--rate", "0").stderr
    assert crowded(folder, "--rate", "0").returncode == 2
    assert crowded(folder, "--people", "0").returncode == 2
    assert crowded(folder, task="missing.json").returncode == 3


@pytest.mark.slow
def test_a_crowd_with_a_list_of_answers_kept_elsewhere(folder, kept):
    (folder / "listed.json").write_text(listed_at(kept.task, "http://127.0.0.1:9/themes.txt").to_json())
    (folder / "themes.txt").write_bytes(THEMES)
    assert crowded(folder, task="listed.json").returncode == 0
