"""The analyzer command: options are checked before the first request, and a whole collection runs through it."""

import hashlib
import json
import re
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import httpx
import pytest
from typer.testing import CliRunner

from shuffledp import Ledger
from shuffledp.cli.app import app
from shuffledp.collect.analyzer.app import make_app
from shuffledp.collect.analyzer.releases import entered_as
from shuffledp.collect.analyzer.settings import Settings
from shuffledp.collect.crypto.keys import write_key, write_secret
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.shuffler.app import make_app as make_shuffler
from shuffledp.collect.shuffler.settings import Served as ServedByShuffler
from shuffledp.collect.shuffler.settings import Settings as OfShuffler
from shuffledp.collect.store import open_report_store
from shuffledp.collect.task import AnswersElsewhere
from shuffledp.collect.task.new_task import new_task
from shuffledp.collect.task.report import seal_report
from shuffledp.errors import BudgetError, DataError, ParameterError, ShuffledpError
from shuffledp.release.release import Release
from tests.collect.analyzer.batches import answers_of, sent_by, tiny_task
from tests.collect.in_process import served
from tests.collect.tasks import CLOSES, OPENS


@pytest.fixture
def kept():
    return tiny_task(shufflers=1)


@pytest.fixture
def given(tmp_path, kept):
    """Valid options of an analyzer."""
    (tmp_path / "task.json").write_text(kept.task.to_json())
    write_key(kept.keys[-1], tmp_path / "analyzer.key")
    write_key(kept.keys[0], tmp_path / "shuffler.key")
    write_secret(tmp_path / "token", new_token())
    Ledger.create(tmp_path / "people.ledger", epsilon=9.0, delta=0.1, population="people")
    return partial(
        Settings.read,
        task=[tmp_path / "task.json"],
        key=[tmp_path / "analyzer.key"],
        store=str(tmp_path / "analyzer.db"),
        ledger=tmp_path / "people.ledger",
        token=tmp_path / "token",
        processes=1,
    )


def test_options_are_checked(tmp_path, given):
    given().check()
    (tmp_path / "open").write_text("x")
    write_secret(tmp_path / "empty", "")
    for change, kind, words in (
        ({"task": []}, ParameterError, "at least one task"),
        ({"task": [*given.keywords["task"], *given.keywords["task"]]}, ParameterError, "twice"),
        ({"task": [tmp_path / "none.json"]}, DataError, "cannot be read"),
        ({"key": [tmp_path / "shuffler.key"]}, ParameterError, "no key belongs to the analyzer"),
        ({"key": [tmp_path / "task.json"]}, DataError, "is no private key of shuffledp"),
        ({"token": tmp_path / "open"}, DataError, "chmod 600"),
        ({"token": tmp_path / "empty"}, DataError, "holds no token"),
        ({"ledger": tmp_path / "none.ledger"}, DataError, "there is no ledger"),
        ({"upstream": "somewhere"}, ParameterError, "upstream must be"),
        ({"store": "mysql://x"}, ParameterError, "the address of a store must be"),
        ({"processes": 0}, ParameterError, "processes must be"),
    ):
        with pytest.raises(ShuffledpError, match=re.escape(words)) as error:
            partial(given, **change)().check()
        assert isinstance(error.value, kind)


def test_a_task_over_budget_is_refused_at_start(tmp_path, given, kept):
    small = Ledger.create(tmp_path / "small.ledger", epsilon=0.5, delta=1e-6, population="people")
    with pytest.raises(BudgetError, match="exceeds the limit of the ledger of people") as refused:
        partial(given, ledger=tmp_path / "small.ledger")().check()
    assert "The limit is final: use a smaller epsilon or delta, or a new ledger" in str(refused.value)
    assert "nothing was released" not in str(refused.value)  # there is nothing to release at a start
    assert small.entries == ()


@pytest.mark.slow
def test_an_entered_task_is_served_with_an_empty_budget(tmp_path, given, kept):
    ledger = Ledger(given.keywords["ledger"])
    ledger.spend(kept.task.protocol, what=entered_as(kept.task), once=True)
    ledger.spend_elsewhere(epsilon=20.0, delta=0.1, what="too much")
    given().check()
    assert len(ledger.entries) == 2


def test_tasks_that_do_not_fit_together_are_refused(tmp_path, given, kept):
    Ledger.create(tmp_path / "one.ledger", epsilon=4.0, delta=0.05, population="people")
    one = partial(given, ledger=tmp_path / "one.ledger")
    one().check()
    other = json.loads(kept.task.to_json())
    other["question"] = "Another?"
    (tmp_path / "other.json").write_text(json.dumps(other))
    with pytest.raises(BudgetError, match=r"^2 releases that are planned exceed .* Only the first fits$"):
        partial(one, task=[*given.keywords["task"], tmp_path / "other.json"])().check()


@pytest.mark.slow
def test_an_external_list_of_answers_must_be_given(tmp_path, given, kept):
    listed = b"yes\nno\n"
    task = new_task(
        question="Do you?",
        answers=AnswersElsewhere("https://example.org/answers.txt", hashlib.sha256(listed).hexdigest(), 2),
        users=20,
        epsilon=4.0,
        delta=0.05,
        shufflers=kept.task.shufflers,
        analyzer=kept.task.analyzer,
        opens=OPENS,
        closes=CLOSES,
        protocol="hist",
    )
    (tmp_path / "elsewhere.json").write_text(task.to_json())
    (tmp_path / "answers.txt").write_bytes(listed)
    chosen = partial(given, task=[tmp_path / "elsewhere.json"])
    for answers in ([], [tmp_path / "task.json"]):
        with pytest.raises(ParameterError, match="answers must include"):
            partial(chosen, answers=answers)().check()
    with pytest.raises(DataError, match="cannot be read"):
        partial(chosen, answers=[tmp_path / "none.txt"])().check()
    with partial(chosen, answers=[tmp_path / "task.json", tmp_path / "answers.txt"])().store as store:
        partial(chosen, answers=[tmp_path / "answers.txt"])().check()
        store.files.add(task.id, task.canonical)
    given().check()  # the ledger is checked with the one that is stored, whose list is not needed for that


def test_the_command_reports_errors_in_one_line(tmp_path, given):
    arguments = [
        *("analyzer", "--task", str(given.keywords["task"][0]), "--key", str(tmp_path / "shuffler.key"), "--port", "0"),
        *(
            "--store",
            given.keywords["store"],
            "--ledger",
            str(given.keywords["ledger"]),
            "--token",
            str(given.keywords["token"]),
        ),
    ]
    failed = CliRunner().invoke(app, arguments)
    assert failed.exit_code == 2
    assert "no key belongs to the analyzer" in failed.output
    assert len(failed.output.splitlines()) == 1
    failed = CliRunner().invoke(app, [*arguments, "--certificate", "x"])
    assert failed.exit_code == 2
    assert "must be given together" in failed.output
    assert CliRunner().invoke(app, ["analyzer", "--help"]).exit_code == 0


def reports_of(task, *, seed):
    now = int(time.time())
    return [
        seal_report(
            task,
            sent_by(task, [answer]),
            report_id=secrets.token_bytes(16),
            time=now - now % task.time_precision,
        )
        for answer in answers_of(task, seed)
    ]


def shuffler_of(path, kept, token):
    """Run a shuffler in this process."""
    return make_shuffler(
        OfShuffler(
            served=[ServedByShuffler(task=kept.task, position=0, key=kept.keys[0])],
            store=open_report_store(path / "shuffler.db"),
            next_servers=Accepted((hash_of(token),)),
            every=0.02,
            owns_store=True,
        )
    )


def until(ask):
    """Call a function until it returns a result."""
    for _ in range(600):
        if found := ask():
            return found
        time.sleep(0.05)
    raise AssertionError("it takes too long")


@pytest.mark.slow
def test_reports_become_releases_between_two_servers(tmp_path, kept, given):
    """Also: a batch that lacks one person stays invisible."""
    task, token = kept.task, given.keywords["token"].read_text().strip()
    reports = reports_of(task, seed=7)
    with served(shuffler_of(tmp_path, kept, token)) as shuffler, httpx.Client() as client:
        settings = partial(given, upstream=shuffler)()
        with served(make_app(replace(settings, every=0.02))) as analyzer:
            at, status = f"{shuffler}/v1/tasks/{task.name}", f"{analyzer}/v1/tasks/{task.name}/status"

            def send(report):
                assert client.post(f"{at}/reports", content=report).status_code == 201

            for report in reports[:-1]:
                send(report)
            time.sleep(0.2)
            assert client.get(status).json()["batches"] == 0
            send(reports[-1])
            until(lambda: client.get(status).json()["releases"])
            release = Release.from_json(client.get(f"{analyzer}/v1/tasks/{task.name}/releases/1").text)
            until(lambda: client.get(f"{at}/status").json()["batches_acknowledged"])
    assert release.estimate.people == task.users
    assert release.privacy.guarantee == task.guarantee
    assert len(Ledger(given.keywords["ledger"]).entries) == 1


@pytest.mark.slow
def test_the_command_serves_until_a_signal(tmp_path, kept, given):
    task, token = kept.task, given.keywords["token"].read_text().strip()
    with served(shuffler_of(tmp_path, kept, token)) as shuffler, httpx.Client() as client:
        for report in reports_of(task, seed=8):
            client.post(f"{shuffler}/v1/tasks/{task.name}/reports", content=report).raise_for_status()
        command = [
            *(sys.executable, "-m", "shuffledp", "analyzer", "--task", str(given.keywords["task"][0]), "--port", "0"),
            *(
                "--key",
                str(given.keywords["key"][0]),
                "--store",
                given.keywords["store"],
                "--ledger",
                str(given.keywords["ledger"]),
            ),
            *("--token", str(given.keywords["token"]), "--upstream", shuffler, "--processes", "1"),
        ]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            line = next(line for line in process.stderr if '"ready"' in line)
            found = f"{json.loads(line)['address']}/v1/tasks/{task.name}/releases"
            until(lambda: client.get(found).json()["releases"])
        finally:
            process.send_signal(signal.SIGTERM)
            _, rest = process.communicate(timeout=60)
        assert process.returncode == 0
        assert '"event": "stopped"' in rest
    assert token not in rest
    assert len(Ledger(given.keywords["ledger"]).entries) == 1
