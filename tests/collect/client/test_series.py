"""A client of a series answers the open round, each round once, and checks the guarantee of all rounds."""

import json
import time
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from shuffledp.cli.app import app
from shuffledp.collect import Client, Reason
from shuffledp.collect.client import client as module
from shuffledp.collect.client import making
from shuffledp.collect.client.budget import Total
from shuffledp.collect.client.journal import Journal
from shuffledp.collect.simulation.crowd import send_crowd
from shuffledp.collect.task import series_of
from shuffledp.collect.task.report import open_report
from shuffledp.collect.task.spending import Spending
from shuffledp.errors import AnswerBudgetError, BrokenPromiseError, RefusedError, TaskError, UnreachableError
from tests.cli.commands import command
from tests.collect.client.servers import problem
from tests.collect.series import small_series

PERIOD = 100_000
NOW = int(time.time())
OPENS = datetime.fromtimestamp(NOW - 150_000, tz=UTC)
"""Round 2 is open for the next half day: tests run minutes after this module is loaded."""


@pytest.fixture
def kept(shuffler):
    return small_series(opens=OPENS, period=PERIOD, addresses=(shuffler.address, "http://127.0.0.1:9"), new_keys=True)


@pytest.fixture
def clock(monkeypatch):
    """Seconds since 1970 as the client sees them."""
    now = SimpleNamespace(at=NOW)
    for each in (module, making):
        monkeypatch.setattr(each, "time", SimpleNamespace(time=lambda: now.at, perf_counter=time.perf_counter))
    return now


def at_round(number, kept):
    return kept.series.opens_at(number).timestamp() + 1


def test_a_late_joiner_answers_the_open_round(kept, shuffler, tmp_path):
    client = Client(kept.series, journal=tmp_path)
    assert client.task == kept.series.task(2)
    assert client.series is kept.series
    assert client.send("dark").state == "sent"
    assert shuffler.paths == [f"/v1/tasks/{kept.series.task(2).name}/reports"]
    assert client.send("light").state == "already sent"
    assert Client(kept.series, journal=tmp_path).send("light").state == "already sent"
    assert len(shuffler.bodies) == 1


def test_each_round_once_with_one_client(kept, shuffler, clock, tmp_path):
    clock.at = at_round(1, kept)
    client = Client(kept.series, journal=tmp_path)
    for number in (1, 2, 4):  # a person may leave out a round
        clock.at = at_round(number, kept)
        assert client.send("dark").state == "sent"
        assert client.send("dark").state == "already sent"
        round_of = kept.round(number)
        opened = open_report(round_of.task, shuffler.bodies[-1], round_of.keys[0])
        assert opened.time == int(clock.at) - int(clock.at) % round_of.task.time_precision
    assert len(shuffler.bodies) == 3
    assert sorted(path.stem for path in tmp_path.glob("*.json") if len(path.stem) == 64) == sorted(
        kept.series.task(number).name for number in (1, 2, 4)
    )
    assert [spent.spending.series.round for spent in Journal(tmp_path).spendings()] == [1, 2, 4]


def test_a_report_that_could_not_be_sent_is_not_used_in_the_next_round(kept, shuffler, clock, tmp_path):
    clock.at = at_round(1, kept)
    client = Client(kept.series, journal=tmp_path)
    shuffler.script.append(problem(Reason.UNAVAILABLE, 503))
    with pytest.raises(UnreachableError):
        client.send("dark")
    clock.at = at_round(2, kept)
    assert client.send("light").made_before is False
    assert shuffler.bodies[0] != shuffler.bodies[1]
    assert shuffler.paths[-1] == f"/v1/tasks/{kept.series.task(2).name}/reports"


@pytest.mark.parametrize("edge", [0, PERIOD - 0.001])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_clock_edges(kept, clock, number, edge, tmp_path):
    clock.at = kept.series.opens_at(number).timestamp() + edge
    assert Client(kept.series, journal=tmp_path).task.series.round == number


def test_before_and_after_all_rounds(kept, clock, tmp_path):
    clock.at = OPENS.timestamp() - 0.001
    with pytest.raises(UnreachableError) as early:
        Client(kept.series, journal=tmp_path)
    assert early.value.reason is Reason.NOT_YET_OPEN
    clock.at = kept.series.closes.timestamp()
    with pytest.raises(RefusedError) as late:
        Client(kept.series, journal=tmp_path)
    assert late.value.reason is Reason.CLOSED


def test_the_pin_is_the_id_of_the_series(kept, tmp_path):
    file = tmp_path / "theme.series.json"
    file.write_text(kept.series.to_json())
    assert Client(file, pin=kept.series.name, journal=tmp_path / "j").task.series.round == 2
    assert Client(kept.series.canonical, pin=kept.series.id, journal=tmp_path / "j").series == kept.series
    for wrong in (kept.series.task(2).name, "ab" * 32):
        with pytest.raises(TaskError, match="pinned"):
            Client(file, pin=wrong)


def test_the_limit_is_on_all_rounds_together(kept):
    promise = Client(kept.series, at_most=(1, 1e-6)).promise
    assert (promise.epsilon, promise.delta) == (1.0, 1e-6)
    one = (kept.series.guarantee.epsilon, kept.series.guarantee.delta)
    Client(kept.series.task(2), at_most=one)
    with pytest.raises(BrokenPromiseError, match="4 rounds together"):
        Client(kept.series, at_most=one)
    plain = json.loads(kept.series.canonical)
    weaker = series_of(json.dumps(plain | {"total": {"epsilon": "0.9", "delta": "1e-6"}}).encode())
    with pytest.raises(BrokenPromiseError, match="do not answer"):
        Client(weaker)


def test_commands(kept, shuffler, tmp_path):
    assert app is not None
    file, journal = tmp_path / "theme.series.json", tmp_path / "journal"
    file.write_text(kept.series.to_json())
    options = ["--task", file, "--journal", journal, "--pin", kept.series.name]
    sent = command("send", *options, "--value", "dark", "--at-most", "1,1e-6")
    assert sent.returncode == 0, sent.stderr
    assert "of all 4 rounds together (this is round 2): strong protection" in sent.stderr
    assert "Guarantee, of all 4 rounds together (this is round 2): epsilon 1, delta 1e-6, verified" in sent.stdout
    assert "already answered this round" in command("send", *options, "--value", "light").stdout
    assert command("send", *options, "--value", "light", "--at-most", "0.9,1e-6").returncode == 4
    assert len(shuffler.bodies) == 1
    data = tmp_path / "people.csv"
    data.write_text("theme\ndark\nlight\n")
    crowd = command("crowd", "--task", file, "--data", data, "--column", "theme", "--json")
    assert json.loads(crowd.stdout)["task"] == kept.series.task(2).name
    assert len(shuffler.bodies) == 3


def test_a_crowd_answers_the_open_round(kept, shuffler):
    assert send_crowd(kept.series, ["dark"] * 3, processes=1).acknowledged == 3
    assert set(shuffler.paths) == {f"/v1/tasks/{kept.series.task(2).name}/reports"}


def test_a_person_runs_out_of_budget_in_round_three(kept, shuffler, clock, tmp_path):
    rounds = [Spending.of(kept.series.task(number)) for number in (1, 2, 3)]
    two, three = (Total(rounds[:number]).epsilon(1e-5) for number in (2, 3))
    clock.at = at_round(1, kept)
    client = Client(kept.series, journal=tmp_path, budget=((two + three) / 2, 1e-5))
    for number in (1, 2):
        clock.at = at_round(number, kept)
        assert client.spending.after == pytest.approx(Total(rounds[:number]).epsilon(1e-5))
        assert client.send("dark").state == "sent"
        assert client.send("dark").state == "already sent"
    clock.at = at_round(3, kept)
    with pytest.raises(AnswerBudgetError, match="over your limit"):
        client.send("dark")
    assert len(shuffler.bodies) == 2
    spent = Journal(tmp_path).spendings()
    assert sorted(one.spending.series.round for one in spent) == [1, 2]
    assert {one.spending.series.id for one in spent} == {kept.series.name}
    shown = CliRunner().invoke(app, ["budget", "--journal", str(tmp_path)]).stdout
    assert f"1 of {kept.series.name[:8]}" in shown
    assert f"2 of {kept.series.name[:8]}" in shown
