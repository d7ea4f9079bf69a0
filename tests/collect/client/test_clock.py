"""A device whose clock is wrong: the same messages are sent with another time, and count once."""

import json
import time

import pytest

from shuffledp.collect import Client, Reason
from shuffledp.collect.client import client as module
from shuffledp.collect.client import making
from shuffledp.collect.client.journal import Journal
from shuffledp.collect.task.report import open_report
from shuffledp.errors import RefusedError, UnreachableError
from tests.collect.client.conftest import task_at
from tests.collect.client.servers import problem
from tests.collect.client.test_commands import sent

DAY = 86_400


@pytest.fixture
def ahead(monkeypatch):
    """Set the clock of this device ahead, as far as clients can see."""
    now = time.time

    def by(seconds):
        monkeypatch.setattr(module.time, "time", lambda: now() + seconds)

    return by


def wrong_time(server_time=None):
    """The answer of a server whose clock is right."""
    answer = problem(Reason.WRONG_TIME, 422)
    if server_time is not None:
        answer.body = answer.body[:-1] + f', "server_time": {server_time}}}'.encode()
        answer.headers["content-length"] = str(len(answer.body))
    return answer


def opened(kept, bodies):
    return [open_report(kept.task, body, kept.keys[0]) for body in bodies]


def test_a_refused_time_is_replaced_and_nothing_else(kept, shuffler, tmp_path, ahead):
    ahead(2 * DAY)
    shuffler.script.append(wrong_time(kept.task.time_step(time.time() - 2 * DAY)))
    receipt = Client(kept.task, journal=tmp_path).send("dark")
    assert receipt.state == "sent"
    assert abs(receipt.clock_ahead - 2 * DAY) <= kept.task.time_precision
    first, second = opened(kept, shuffler.bodies)
    assert (first.report_id, first.onions) == (second.report_id, second.onions)
    assert abs(first.time - time.time()) <= 3600 + 60
    assert second.time == kept.task.first_time
    assert Journal(tmp_path).read(kept.task).state == "sent"


def test_both_versions_are_made_with_one_sample(kept, tmp_path, monkeypatch):
    calls, sample = [], making.messages_of
    monkeypatch.setattr(making, "messages_of", lambda *given, **more: calls.append(1) or sample(*given, **more))
    entry = Client(kept.task, journal=tmp_path)._entered("dark")[0]
    assert len(calls) == 1
    assert len(entry.report) == len(entry.fallback)
    assert Client(kept.task, journal=tmp_path)._entered("light")[0] == entry
    assert len(calls) == 1


def test_a_right_clock_sends_no_fallback(kept, shuffler, tmp_path):
    receipt = Client(kept.task, journal=tmp_path).send("dark")
    assert (receipt.clock_ahead, len(shuffler.bodies)) == (None, 1)


def test_a_clock_that_was_corrected_since(kept, shuffler, tmp_path, ahead, monkeypatch):
    ahead(2 * DAY)
    client = Client(kept.task, journal=tmp_path)
    client.report("dark")
    ahead(0)
    shuffler.script.append(wrong_time(kept.task.time_step(time.time())))
    assert client.send("dark").clock_ahead == 0


@pytest.mark.parametrize("answer", [problem(Reason.UNAVAILABLE, 503), problem(Reason.NOT_ADMITTED, 403)])
def test_after_other_failures_the_same_bytes_are_sent(kept, shuffler, tmp_path, answer):
    shuffler.script.append(answer)
    client = Client(kept.task, journal=tmp_path)
    with pytest.raises((UnreachableError, RefusedError)):
        client.send("dark")
    client.send("dark")
    assert len(shuffler.bodies) == 2
    assert len(set(shuffler.bodies)) == 1


def test_a_fallback_whose_answer_was_lost_counts_as_sent(kept, shuffler, tmp_path):
    """By then the time of the first version is right, and the server has other bytes with its id."""
    shuffler.script.extend([wrong_time(), problem(Reason.UNAVAILABLE, 503), problem(Reason.OTHER_BYTES, 409)])
    client = Client(kept.task, journal=tmp_path)
    with pytest.raises(UnreachableError):
        client.send("dark")
    receipt = client.send("dark")
    assert (receipt.state, receipt.clock_ahead) == ("sent", None)
    first, fallback, *again = shuffler.bodies
    assert again == [first, fallback]


def test_a_report_that_was_accepted_before_the_servers_clock_was_set_back_is_kept(kept, shuffler, tmp_path):
    """Its answer was lost; it must not be recorded as refused, since it counts."""
    shuffler.script.extend([wrong_time(), problem(Reason.OTHER_BYTES, 409)])
    client = Client(kept.task, journal=tmp_path)
    with pytest.raises(UnreachableError) as caught:
        client.send("dark")
    assert caught.value.reason == Reason.WRONG_TIME
    assert Journal(tmp_path).read(kept.task).state == "ready"
    assert client.send("dark").state == "sent"
    first, _, again = shuffler.bodies
    assert again == first


@pytest.mark.parametrize("wrong", ["x", -1, True, 1.5, 10**15, None])
def test_a_server_time_that_is_none_is_ignored(kept, shuffler, tmp_path, wrong):
    shuffler.script.append(wrong_time(json.dumps(wrong)))
    assert Client(kept.task, journal=tmp_path).send("dark").clock_ahead == 0


def second_version(journal, task):
    """Turn an entry into one that an earlier version has written, without a fallback."""
    path = journal.path(task)
    plain = json.loads(path.read_bytes())
    del plain["fallback"], plain["fallback_sha256"]
    path.write_text(json.dumps({**plain, "kind": "shuffledp journal 2"}))


def test_a_report_of_an_earlier_version_says_when_it_can_be_sent(kept, shuffler, tmp_path, ahead):
    ahead(2 * DAY)
    client = Client(kept.task, journal=tmp_path)
    client.report("dark")
    second_version(client.journal, kept.task)
    shuffler.script.append(wrong_time(kept.task.time_step(time.time() - 2 * DAY)))
    with pytest.raises(UnreachableError) as caught:
        client.send("dark")
    day = client.journal.read(kept.task).spending.day
    assert caught.value.__notes__ == [
        "this device's clock is ahead by about 2 days: correct it",
        f"the report that was made before can be sent from {day} on",
        module.NOT_USED,
    ]
    assert client.send("dark").state == "sent"
    assert len(set(shuffler.bodies)) == 1
    assert client.journal.read(kept.task).kind == "shuffledp journal 2"


def test_the_command_says_that_the_clock_is_ahead(kept, shuffler, tmp_path, ahead):
    (tmp_path / "theme.task.json").write_text(kept.task.to_json())
    ahead(2 * DAY)
    shuffler.script.append(wrong_time(kept.task.time_step(time.time() - 2 * DAY)))
    done = sent(tmp_path, "--value", "dark")
    assert done.exit_code == 0
    note = "This device's clock is ahead by about 2 days: correct it. The report was sent with the same messages"
    assert note in " ".join(done.stderr.split())


def test_a_clock_outside_the_opening_hours_is_named(kept, ahead):
    closed = task_at("http://127.0.0.1:9").task
    ahead(100 * 366 * DAY)
    with pytest.raises(RefusedError, match="by this device's clock it is 21"):
        Client(closed)
