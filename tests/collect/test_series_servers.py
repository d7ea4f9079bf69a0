"""Servers of a series: rounds open by the clock without a restart, and a report belongs to one round only."""

import json
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import httpx
import pytest

from shuffledp.collect.analyzer.app import make_app as analyzer_app
from shuffledp.collect.analyzer.settings import Served as Analyzed
from shuffledp.collect.analyzer.settings import Settings as AnalyzerSettings
from shuffledp.collect.client import client as client_module
from shuffledp.collect.client import making
from shuffledp.collect.client.making import new_report
from shuffledp.collect.crypto.keys import write_key
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.server.background import SeriesWork, StoppedError
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.shuffler.app import make_app as shuffler_app
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.simulation.crowd import send_crowd
from shuffledp.collect.simulation.one_machine import OneMachine
from shuffledp.collect.simulation.people import Question
from shuffledp.collect.store import open_report_store, open_tally_store
from shuffledp.collect.task import series_of
from shuffledp.errors import BrokenPromiseError, BudgetError, DataError, ParameterError, RefusedError
from shuffledp.ledger import Ledger
from tests.collect.chaos import wait_until
from tests.collect.in_process import served
from tests.collect.series import FIRST, WEEK, KeptSeries, small_series

TOKEN = new_token()
USERS = 20
LOOSE = {"users": USERS, "epsilon": 8.0, "delta": 1e-2}


@pytest.fixture
def clock(monkeypatch):
    """The clock of servers and clients; it starts one second into the first round."""
    now = SimpleNamespace(at=FIRST.timestamp() + 1)
    for module in (client_module, making):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now.at, perf_counter=time.perf_counter))
    return now


def shuffler_settings(kept, folder, clock):
    tasks = kept.series.tasks
    return Settings(
        served=[Served(task=task, position=0, key=kept.round(at).keys[0]) for at, task in enumerate(tasks, 1)],
        store=open_report_store(folder / "shuffler.db"),
        next_servers=Accepted((hash_of(TOKEN),)),
        every=0.01,
        clock=lambda: clock.at,
        owns_store=True,
        page=True,
        series=[kept.series],
    )


def analyzer_settings(kept, folder, clock, upstream, ledger=None):
    source = Upstream(upstream, TOKEN, pause=0.01)
    tasks = kept.series.tasks
    return AnalyzerSettings(
        served=[Analyzed(task=task, key=kept.round(at).keys[-1], upstream=source) for at, task in enumerate(tasks, 1)],
        store=open_tally_store(folder / "analyzer.db"),
        ledger=ledger,
        processes=1,
        owns_store=True,
        every=0.01,
        clock=lambda: clock.at,
        series=[kept.series],
        upstream=upstream,
    )


@contextmanager
def running(app):
    with served(app) as address, httpx.Client(base_url=address, trust_env=False, timeout=30.0) as client:
        yield client


def reason_of(answer):
    return answer.json()["reason"]


def releases_of(client, task):
    return client.get(f"/v1/tasks/{task.name}/releases").json()["releases"]


def report(client, task, answer="dark"):
    return client.post(f"/v1/tasks/{task.name}/reports", content=new_report(task, answer))


@pytest.mark.slow
def test_rounds_open_by_the_clock_and_are_released_without_a_restart(clock, tmp_path):
    kept = small_series(rounds=3, new_keys=True, **LOOSE)
    ledger = tmp_path / "budget.ledger"
    Ledger.create(ledger, epsilon=8.0, delta=1e-2, population="people")
    analyzer_settings(kept, tmp_path, clock, "http://127.0.0.1:9", ledger).check()
    with ExitStack() as stack:
        shuffler = stack.enter_context(running(shuffler_app(shuffler_settings(kept, tmp_path, clock))))
        settings = analyzer_settings(kept, tmp_path, clock, str(shuffler.base_url), ledger)
        threads = threading.active_count()
        analyzer = stack.enter_context(running(analyzer_app(settings)))
        assert threading.active_count() - threads < 10
        for number in (1, 2, 3):
            task = kept.series.task(number)
            clock.at = task.opens.timestamp() + 1
            for _ in range(USERS):
                assert report(shuffler, task).status_code == 201
            wait_until(lambda task=task: releases_of(analyzer, task), what=f"the release of round {number}")
            assert len(Ledger(ledger).entries) == number
            if number < 3:
                assert reason_of(report(shuffler, kept.series.task(number + 1))) == "not-yet-open"
        assert shuffler.get(f"/v1/series/{kept.series.name}").content == kept.series.canonical
        assert analyzer.get(f"/v1/series/{kept.series.name}").content == kept.series.canonical
        for client in (shuffler, analyzer):
            assert client.get(f"/v1/series/{'ab' * 32}").status_code == 404
        assert {entry.what.split()[1] for entry in Ledger(ledger).entries} == {task.name for task in kept.series.tasks}
        found = analyzer.get(f"/v1/series/{kept.series.name}/trend")
        assert found.status_code in (200, 503)


def test_a_report_belongs_to_one_round(clock, tmp_path):
    """A report of round 1 is refused in round 2: at its own address, and at that of round 2."""
    kept = small_series(rounds=3, **LOOSE)  # the same keys in all rounds
    first, second = kept.series.task(1), kept.series.task(2)
    with running(shuffler_app(shuffler_settings(kept, tmp_path, clock))) as shuffler:
        body = new_report(first, "dark")
        address = f"/v1/tasks/{first.name}/reports"
        assert shuffler.post(address, content=body).status_code == 201
        clock.at = second.opens.timestamp()
        assert reason_of(shuffler.post(address, content=body)) == "closed"
        at_second = f"/v1/tasks/{second.name}/reports"
        assert reason_of(shuffler.post(at_second, content=body)) == "cannot-be-opened"
        fresh = new_report(second, "dark")
        assert [shuffler.post(at_second, content=fresh).status_code for _ in range(3)] == [201] * 3
        waiting = [shuffler.get(f"/v1/tasks/{task.name}/status").json()["waiting"] for task in (first, second)]
        assert waiting == [1, 1] or waiting == [0, 1]  # the first round expires in the background
        wait_until(
            lambda: shuffler.get(f"/v1/tasks/{first.name}/status").json()["short_by"] == USERS - 1,
            what="the end of round 1",
        )


def test_a_shuffler_that_stopped_between_rounds_goes_on(clock, tmp_path):
    kept = small_series(rounds=3, **LOOSE)
    first, second = kept.series.task(1), kept.series.task(2)
    with running(shuffler_app(shuffler_settings(kept, tmp_path, clock))) as shuffler:
        for _ in range(3):
            report(shuffler, first)
    clock.at = second.opens.timestamp() + 1
    with running(shuffler_app(shuffler_settings(kept, tmp_path, clock))) as shuffler:
        assert report(shuffler, second).status_code == 201
        wait_until(
            lambda: shuffler.get(f"/v1/tasks/{first.name}/status").json()["short_by"] == USERS - 3,
            what="the end of round 1",
        )
        assert shuffler.get(f"/v1/tasks/{second.name}/status").json()["waiting"] == 1


def test_survey_page_shows_the_open_round(clock, tmp_path):
    kept = small_series(rounds=3, **LOOSE)
    with running(shuffler_app(shuffler_settings(kept, tmp_path, clock))) as shuffler:
        for number, at in ((1, -5), (1, 0), (1, WEEK - 1), (2, WEEK), (3, 2 * WEEK), (3, 99 * WEEK)):
            clock.at = FIRST.timestamp() + at
            for address in (f"/ask/series/{kept.series.name}", "/"):
                found = shuffler.get(address)
                assert found.status_code == 307
                assert found.headers["location"] == f"/ask/{kept.series.task(number).name}"
        page = shuffler.get(f"/ask/{kept.series.task(2).name}").text
        assert "Round 2 of 3, once a week" in page
        assert "All 3 rounds together: <strong>weak protection</strong>." in page
        assert shuffler.get(f"/ask/series/{'ab' * 32}").status_code == 404


def test_the_ledger_must_hold_all_rounds(clock, tmp_path):
    kept = small_series(rounds=4, **LOOSE)
    one = kept.series.guarantee
    ledger = tmp_path / "budget.ledger"
    Ledger.create(ledger, epsilon=1.1 * one.epsilon, delta=one.delta, population="people")
    with pytest.raises(BudgetError):
        analyzer_settings(kept, tmp_path, clock, "http://127.0.0.1:9", ledger).check()


# Settings from files ----------------------------------------------------------------------------------------------


def write_keys(kept, folder, position, rounds):
    folder.mkdir()
    for number in rounds:
        write_key(kept.round(number).keys[position], folder / f"{number:04}.key")
    return folder


def read_shuffler(kept, folder, key):
    file = folder / "a.series.json"
    file.write_text(kept.series.to_json())
    store = str(folder / "shuffler.db")
    return Settings.read(task=[file], key=[key], store=store, next=[hash_of(TOKEN).hex()])


def read_analyzer(kept, folder, key):
    file, token, ledger = folder / "a.series.json", folder / "token", folder / "budget.ledger"
    file.write_text(kept.series.to_json())
    token.write_text(TOKEN)
    token.chmod(0o600)
    Ledger.create(ledger, epsilon=8.0, delta=1e-2, population="people")
    return AnalyzerSettings.read(task=[file], key=[key], store=str(folder / "a.db"), ledger=ledger, token=token)


def test_a_folder_of_keys(tmp_path):
    kept = small_series(rounds=3, new_keys=True, **LOOSE)
    settings = read_shuffler(kept, tmp_path, write_keys(kept, tmp_path / "keys", 0, (1, 2, 3)))
    assert [each.task for each in settings.served] == kept.series.tasks
    settings.check()
    settings = read_analyzer(kept, tmp_path, write_keys(kept, tmp_path / "more", -1, (1, 2, 3)))
    assert [each.task for each in settings.served] == kept.series.tasks
    settings.check()


def test_the_key_of_a_finished_round_may_be_destroyed(tmp_path):
    over = FIRST.replace(year=2020)
    kept = small_series(rounds=3, new_keys=True, opens=over, **LOOSE)
    settings = read_analyzer(kept, tmp_path, write_keys(kept, tmp_path / "keys", -1, (2, 3)))
    assert [each.task.series.round for each in settings.served] == [2, 3]
    assert [task.series.round for task in settings.only_shown] == [1]
    settings.check()
    settings = read_shuffler(kept, tmp_path, write_keys(kept, tmp_path / "more", 0, (3,)))
    assert [each.task.series.round for each in settings.served] == [3]
    settings.close()


def test_the_key_of_a_later_round_must_be_there(tmp_path):
    kept = small_series(rounds=3, new_keys=True, opens=FIRST.replace(year=2090), **LOOSE)
    with pytest.raises(ParameterError, match="no key belongs to a shuffler"):
        read_shuffler(kept, tmp_path, write_keys(kept, tmp_path / "keys", 0, (1, 3)))
    with pytest.raises(ParameterError, match="no key belongs to the analyzer"):
        read_analyzer(kept, tmp_path, write_keys(kept, tmp_path / "more", -1, (1, 3)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParameterError, match="a folder of files"):
        read_shuffler(kept, tmp_path, tmp_path / "empty")


def test_a_false_series_is_not_served(tmp_path):
    kept = small_series(rounds=3, **LOOSE)
    plain = json.loads(kept.series.canonical) | {"total": {"epsilon": "1", "delta": "0.001"}}
    false = KeptSeries(series_of(json.dumps(plain).encode()), kept.keys)
    write_key(kept.keys[0][0], tmp_path / "shuffler.key")
    with pytest.raises(BrokenPromiseError, match="3 rounds together"):
        read_shuffler(false, tmp_path, tmp_path / "shuffler.key").check()


@pytest.mark.slow
def test_a_year_of_days_starts_quickly_with_few_threads(clock, tmp_path):
    """Each round has objects of its own only once it opens; no time is measured, but the work is counted."""
    kept = small_series(rounds=365, period=86_400, users=10**6)
    settings = shuffler_settings(kept, tmp_path, clock)
    threads = threading.active_count()
    with running(shuffler_app(settings)) as shuffler:
        assert threading.active_count() - threads < 12
        assert report(shuffler, kept.series.task(1)).status_code == 201
        clock.at += 364 * 86_400
        assert report(shuffler, kept.series.task(365)).status_code == 201
    assert len({id(task.protocol) for task in kept.series.tasks}) == 1


# The thread of all rounds -----------------------------------------------------------------------------------------


class Counting:
    """Work that counts its steps."""

    def __init__(self, fails=False):
        self.steps, self.fails, self.works = 0, fails, False

    def step(self, stopping):
        self.steps += 1
        if self.fails:
            raise RuntimeError
        return self.works


def test_work_on_a_round_begins_when_it_opens():
    series, begun, now = small_series().series, {}, SimpleNamespace(at=FIRST.timestamp() - 1)

    def begin(task):
        return begun.setdefault(task.series.round, Counting(fails=task.series.round == 1))

    work, stopping = SeriesWork(series.tasks, begin, every=1.0, clock=lambda: now.at), threading.Event()
    for at, expected in ((-1, []), (0, [1]), (WEEK - 1, [1]), (WEEK, [1, 2]), (10 * WEEK, [1, 2, 3, 4])):
        now.at = FIRST.timestamp() + at
        assert work.step(stopping) is False
        assert sorted(begun) == expected
    assert begun[2].steps == 2  # an error in round 1 does not stop the others
    for _ in range(100):
        work.step(stopping)
    assert begun[2].steps == 2  # a round that closed long ago is looked at every ten minutes
    now.at += 601
    work.step(stopping)
    assert begun[2].steps == 3
    begun[3].works = True
    now.at += 601
    assert work.step(stopping) is True
    steps = begun[3].steps
    work.step(stopping)
    assert begun[3].steps == steps + 1  # at once, while there is more to do
    stopping.set()
    with pytest.raises(StoppedError):
        work.step(stopping)


def test_work_that_cannot_begin_is_begun_later():
    """The store may not answer at the moment at which a round opens."""
    series, begun, failing = small_series().series, [], {1}

    def begin(task):
        if task.series.round in failing:
            raise DataError("the store does not answer")
        begun.append(task.series.round)
        return Counting()

    now = FIRST.timestamp() + WEEK
    work, stopping = SeriesWork(series.tasks, begin, every=1.0, clock=lambda: now), threading.Event()
    for _ in range(2):
        work.step(stopping)
        assert begun == [2]
    failing.clear()
    for _ in range(2):
        work.step(stopping)
        assert begun == [2, 1]


# Real processes ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.xdist_group("servers")
def test_four_rounds_with_real_servers_one_of_which_is_killed():
    """People change their answers between rounds; the shuffler is killed after the second of them.

    On a busy machine a round may be missed: there are more rounds than are answered.
    """
    people, found = 60, {}
    question = Question.of("Which theme?", ["dark", "light"])
    with OneMachine(people=people, rounds=10, period=4, question=question) as machine:
        machine.wait_for_servers()
        series = machine.series
        wait_until(lambda: time.time() >= series.opens.timestamp(), what="the first round")
        while len(found) < 4:
            number = series.round_at(time.time())
            machine.task = series.task(number)
            answers = machine.question.of_round(people, min(1.0, len(found) / 3))
            try:
                sent = send_crowd(machine.task, answers, processes=1)
            except RefusedError:
                continue
            if sent.acknowledged == people:
                found[number] = machine._wait_for_release(people, lambda *_: None), Counter(answers)
                if len(found) == 2:
                    restart_first(machine)
            closes = machine.task.closes.timestamp()
            wait_until(lambda closes=closes: time.time() >= closes, what="the next round")
    for number, (release, answers) in found.items():
        assert release.asked["task"] == series.task(number).name
        assert release.estimate.people == people
        assert release.estimate.guarantee.epsilon == series.guarantee.epsilon
        assert release.estimate["dark"] == pytest.approx(answers["dark"], abs=12 * release.error)
    darks = [answers["dark"] for _, answers in found.values()]
    assert darks == sorted(darks, reverse=True)
    assert darks[0] > darks[3]


def restart_first(machine):
    """Kill the first shuffler, and start it again."""
    first, *_ = machine._deployment.commands(machine.folder)
    running = next(each for each in machine._processes.watched if each.name == first.name)
    running.process.kill()
    running.process.wait()
    machine._processes.watched.remove(running)
    machine._processes.start(first.name, first.arguments)
    wait_until(lambda: machine._asked(f"{first.address}/health") is not None, what="the shuffler", seconds=60)
