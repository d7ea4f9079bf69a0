"""A client computes the guarantee itself, and answers a task once."""

import hashlib
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import msgspec
import pytest

from shuffledp.collect import Client, Reason
from shuffledp.collect.client import client as checking
from shuffledp.collect.client import client as module
from shuffledp.collect.client import making
from shuffledp.collect.task import AnswersElsewhere, Claim, task_of
from shuffledp.collect.task.report import open_report
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError, RefusedError, TaskError, UnreachableError
from tests.collect.client.conftest import task_at
from tests.collect.client.servers import problem
from tests.collect.tasks import small_task

PROGRAM = """
import sys
from shuffledp.collect import Client
Client(sys.argv[1], journal=sys.argv[2]).send("dark")
"""


def weaker(task):
    """The same noise, with half of the claimed epsilon."""
    return msgspec.structs.replace(task, claim=Claim("0.5", task.claim.delta))


# The guarantee ----------------------------------------------------------------------------------------------------


def test_the_client_computes_the_guarantee(kept, tmp_path):
    promise = Client(kept.task, journal=tmp_path).promise
    assert (promise.epsilon, promise.delta) == (1.0, 1e-6)
    assert 0 < promise.reached <= 1e-6


def test_a_task_weaker_than_its_claim_is_refused(kept):
    for asked in (weaker(kept.task), weaker(kept.task).canonical):
        with pytest.raises(BrokenPromiseError, match="do not answer"):
            Client(asked)


def test_a_person_may_allow_less_than_the_task_claims(kept):
    assert Client(kept.task).promise == Client(kept.task, at_most=(1, 1e-6)).promise
    assert Client(kept.task, at_most=(2, 1e-6)).promise
    for _ in range(2):  # a cached guarantee with another limit does not count
        with pytest.raises(BrokenPromiseError, match="allowed here"):
            Client(kept.task, at_most=(0.9, 1e-6))
    with pytest.raises(BrokenPromiseError):
        Client(kept.task, at_most=(1, 1e-9))


@pytest.mark.parametrize(("epsilon", "delta"), [(10.5, 0.011), (1.0, 0.9), (50.0, 0.5)])
def test_the_default_limit_refuses_weak_tasks(epsilon, delta):
    task = small_task(users=20, epsilon=epsilon, delta=delta).task
    with pytest.raises(BrokenPromiseError, match=f"at_most to {epsilon:g},{delta:g}"):
        Client(task)
    assert Client(task, at_most=(epsilon, delta)).promise.epsilon == epsilon
    assert Client(small_task(users=20, epsilon=10.0, delta=0.01).task).promise.delta == 0.01


def test_a_task_may_give_more_than_it_claims():
    """The claim is epsilon 50, the noise gives epsilon 10 with the same delta. The parameters decide."""
    assert Client(small_task(users=20, epsilon=50.0, delta=1e-6).task).promise.epsilon == 50


@pytest.mark.parametrize("at_most", [1, (1,), (1, 2, 3), ("one", 1e-6), (0, 1e-6), (1, 1), (float("nan"), 1e-6)])
def test_invalid_limits_are_refused(kept, at_most):
    with pytest.raises(ParameterError):
        Client(kept.task, at_most=at_most)


def test_the_guarantee_of_a_task_is_cached(kept, monkeypatch):
    monkeypatch.setattr(checking, "_checked", {})
    computed = []
    monkeypatch.setattr(type(kept.task), "check", lambda task, at_most: computed.append(at_most) or "promise")
    for _ in range(3):
        assert checking.checked(kept.task) == checking.checked(kept.task, (1, 1e-6)) == "promise"
    assert computed == [None, (1.0, 1e-6)]


def test_a_pinned_task_is_the_only_one_that_is_answered(kept):
    other = task_at(kept.task.shufflers[0].address, users=201).task
    for pin in (kept.task.id, kept.task.name, kept.task.name.upper()):
        assert Client(kept.task, pin=pin).task is kept.task
    with pytest.raises(TaskError, match="pinned"):
        Client(other, pin=kept.task.id)
    for at in (0, 31, 63):  # an attacker can make tasks until most digits are alike
        digits = list(kept.task.name)
        digits[at] = "0" if digits[at] != "0" else "1"
        with pytest.raises(TaskError, match="pinned"):
            Client(kept.task, pin="".join(digits))
    for pin in (kept.task.name[:-1], kept.task.name[:8], "", "x" * 64, 5, b"short"):
        with pytest.raises(ParameterError, match="64 hexadecimal"):
            Client(kept.task, pin=pin)


def test_only_an_open_task_is_answered():
    long_ago, past = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
    future, later = datetime(2099, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
    with pytest.raises(RefusedError, match="closed at 2021-01-01T00:00:00Z") as caught:
        Client(small_task(opens=long_ago, closes=past).task)
    assert caught.value.reason == Reason.CLOSED
    with pytest.raises(UnreachableError, match="opens at 2099") as later_on:
        Client(small_task(opens=future, closes=later).task)
    assert later_on.value.reason == Reason.NOT_YET_OPEN


def test_no_report_is_made_after_closing(kept, tmp_path, monkeypatch):
    """Also by a client that was opened before: nobody could use it, and a person would have answered."""
    client = Client(kept.task, journal=tmp_path / "journal")
    monkeypatch.setattr(time, "time", lambda: kept.task.closes.timestamp() + 1)
    with pytest.raises(RefusedError, match="was closed"):
        client.report("dark")
    assert client.journal.read(kept.task) is None


@pytest.mark.parametrize("task", [None, 5, ["task"]])
def test_other_objects_are_refused_as_tasks(task):
    with pytest.raises(ParameterError, match="task must be"):
        Client(task)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), "10", True])
def test_invalid_timeouts_are_refused(kept, timeout):
    with pytest.raises(ParameterError, match="timeout"):
        Client(kept.task, timeout=timeout)


# One report per person --------------------------------------------------------------------------------------------


def test_a_report_holds_what_the_task_says(kept, tmp_path):
    opened = open_report(kept.task, Client(kept.task, journal=tmp_path).report("dark"), kept.keys[0])
    messages, refused = kept.layer(1).open_block(opened.onions)
    assert refused == 0
    assert 1 <= opened.number == len(messages) <= kept.task.most_messages
    assert opened.time % kept.task.time_precision == 0
    assert 0 <= datetime.now(UTC).timestamp() - opened.time <= kept.task.time_precision + 60
    other = open_report(kept.task, making.new_report(kept.task, "dark"), kept.keys[0])
    assert other.report_id != opened.report_id


def test_the_second_report_is_the_first_whatever_the_answer(kept, tmp_path):
    first = Client(kept.task, journal=tmp_path).report("dark")
    again = Client(kept.task, journal=tmp_path)
    assert again.report("dark") == again.report("light") == again.report(None) == first
    assert Client(kept.task, journal=tmp_path / "somebody else").report("dark") != first


@pytest.mark.parametrize(
    "answer", ["purple", "", " ", "DARK", 17, 2.5, b"dark", ["dark"], float("nan"), None, "(none)"]
)
def test_every_answer_has_a_bin(kept, tmp_path, answer):
    """A person who did not report because of their answer would reveal something."""
    assert open_report(kept.task, Client(kept.task, journal=tmp_path).report(answer), kept.keys[0]).number
    assert kept.task.bin_of(answer) == (4 if answer in (None, "") else 3)


def test_two_concurrent_clients_make_one_report(kept, tmp_path, monkeypatch):
    """The second starts after the first has sampled its messages and before it stores them."""
    found, make = [], module.new_versions

    def slowly(task, answer):
        made = make(task, answer)
        if not found:
            found.append(None)
            found[0] = Client(kept.task, journal=tmp_path).report("light")
        return made

    monkeypatch.setattr(module, "new_versions", slowly)
    assert Client(kept.task, journal=tmp_path).report("dark") == found[0]
    assert Client(kept.task, journal=tmp_path).report("dark") == found[0]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.slow
def test_many_concurrent_clients_make_one_report(kept, tmp_path):
    reports, start = [], threading.Barrier(8)

    def one():
        client = Client(kept.task, journal=tmp_path)
        start.wait()
        reports.append(client.report("dark"))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 8
    assert len(set(reports)) == 1


# Sending ----------------------------------------------------------------------------------------------------------


def test_the_journal_is_written_before_the_first_byte_is_sent(kept, shuffler, tmp_path):
    client, seen = Client(kept.task, journal=tmp_path), []
    shuffler.when_asked = lambda: seen.append(client.journal.read(kept.task))
    receipt = client.send("dark")
    assert [entry.report for entry in seen] == shuffler.bodies
    assert (receipt.state, receipt.bytes) == ("sent", len(shuffler.bodies[0]))
    assert receipt.milliseconds > 0
    assert shuffler.paths == [f"/v1/tasks/{kept.task.name}/reports"]


def test_a_sent_report_is_not_sent_again(kept, shuffler, tmp_path):
    client = Client(kept.task, journal=tmp_path)
    client.send("dark")
    again = Client(kept.task, journal=tmp_path)
    assert (again.send("light").state, again.send("light").bytes) == ("already sent", 0)
    assert len(shuffler.bodies) == 1
    with pytest.raises(DataError, match="sent already"):
        client.report("dark")


def test_a_retry_sends_the_same_bytes(kept, shuffler, tmp_path):
    shuffler.script.extend([problem(Reason.UNAVAILABLE, 503), problem(Reason.TOO_MANY_REQUESTS, 429)])
    for answer, notes in (("dark", []), ("light", [module.NOT_USED])):
        with pytest.raises(UnreachableError) as caught:
            Client(kept.task, journal=tmp_path).send(answer)
        assert getattr(caught.value, "__notes__", []) == notes
    receipt = Client(kept.task, journal=tmp_path).send("system")
    assert (receipt.state, receipt.made_before) == ("sent", True)
    assert len(shuffler.bodies) == 3
    assert len(set(shuffler.bodies)) == 1
    assert open_report(kept.task, shuffler.bodies[0], kept.keys[0]).number


def test_a_report_sent_by_another_process_is_not_sent_again(kept, shuffler, tmp_path, monkeypatch):
    client, make = Client(kept.task, journal=tmp_path), module.new_versions

    def slowly(task, answer):
        monkeypatch.setattr(module, "new_versions", make)
        assert Client(kept.task, journal=tmp_path).send("light").state == "sent"
        return make(task, answer)

    monkeypatch.setattr(module, "new_versions", slowly)
    assert client.send("dark").state == "already sent"
    assert len(shuffler.bodies) == 1


@pytest.mark.slow
def test_a_killed_client_sends_the_same_bytes_later(kept, shuffler, tmp_path):
    (tmp_path / "task.json").write_text(kept.task.to_json())
    shuffler.script.append(None)
    journal = tmp_path / "journal"
    with subprocess.Popen([sys.executable, "-c", PROGRAM, tmp_path / "task.json", journal]) as process:
        try:
            shuffler.wait()
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    assert Client(tmp_path / "task.json", journal=journal).send("light").state == "sent"
    assert len(shuffler.bodies) == 2
    assert shuffler.bodies[0] == shuffler.bodies[1]


def test_an_interrupt_loses_nothing(kept, shuffler, tmp_path, monkeypatch):
    post = module.post

    def interrupted(*arguments, **more):
        post(*arguments, **more)
        raise KeyboardInterrupt

    client = Client(kept.task, journal=tmp_path)
    monkeypatch.setattr(module, "post", interrupted)
    with pytest.raises(KeyboardInterrupt):
        client.send("dark")
    monkeypatch.setattr(module, "post", post)
    assert client.send("dark").state == "sent"
    assert shuffler.bodies[0] == shuffler.bodies[1]


# Refused ----------------------------------------------------------------------------------------------------------

FINAL = ["closed", "cannot-be-opened", "malformed", "too-many-messages", "other-bytes", "too-large"]


@pytest.mark.parametrize("reason", FINAL)
def test_a_refusal_is_final(kept, shuffler, tmp_path, reason):
    versions = 2 if reason == "other-bytes" else 1  # a server that has other bytes may have those of the fallback
    shuffler.script.extend([problem(reason, Reason(reason).status)] * versions)
    client = Client(kept.task, journal=tmp_path)
    for _ in range(2):
        with pytest.raises(RefusedError, match=reason) as caught:
            client.send("dark")
        assert caught.value.reason == reason
    with pytest.raises(RefusedError, match=reason):
        client.report("dark")
    assert len(shuffler.bodies) == versions
    assert client.journal.read(kept.task).report == b""


def test_a_server_error_drops_no_report(kept, shuffler, tmp_path):
    """Whatever the reason in the response: after a status 5xx the report may have been stored."""
    client = Client(kept.task, journal=tmp_path)
    shuffler.script.extend([problem("closed", 500), problem("malformed", 502), problem("wrong-time", 500)])
    for _ in range(3):
        with pytest.raises(UnreachableError):
            client.send("dark")
    assert client.send("dark").state == "sent"
    assert len(shuffler.bodies) == 4
    assert len(set(shuffler.bodies)) == 1


def test_a_report_is_dropped_if_the_same_bytes_are_never_accepted():
    """As in the table of reasons; the reasons left out never answer a report."""
    of_batches = {"no-token", "unknown-batch", "not-a-message", "repeated", "replayed", "too-few-messages"}
    of_operators = {"cannot-be-served", "not-finished"}
    never = {str(reason) for reason in Reason if reason.again == "no"}
    assert never - of_batches - of_operators == set(FINAL) == {str(reason) for reason in module._ENDS_A_REPORT}


@pytest.mark.parametrize("reason", ["wrong-time", "not-yet-open", "too-many-requests"])
def test_a_report_that_may_be_accepted_later_is_kept(kept, shuffler, tmp_path, reason):
    """For example one whose clock is ahead: it sends the same messages again, and never randomizes again."""
    shuffler.script.extend([problem(reason, Reason(reason).status)] * 10)
    client = Client(kept.task, journal=tmp_path)
    with pytest.raises((RefusedError, UnreachableError)):
        client.send("dark")
    assert client.journal.read(kept.task).report == shuffler.bodies[0]
    shuffler.script.clear()
    assert Client(kept.task, journal=tmp_path).send("dark").state == "sent"
    assert shuffler.bodies[-1] == shuffler.bodies[0]
    inside = {open_report(kept.task, body, kept.keys[0]).onions for body in shuffler.bodies}
    assert len(inside) == 1
    assert len(set(shuffler.bodies)) == (
        2 if reason == "wrong-time" else 1
    )  # with the fallback, which has another time


@pytest.mark.parametrize("reason", ["not-admitted", "unknown-task"])
def test_a_report_with_a_fixable_refusal_is_kept(kept, shuffler, tmp_path, reason):
    shuffler.script.append(problem(reason, Reason(reason).status))
    client = Client(kept.task, journal=tmp_path)
    with pytest.raises(RefusedError, match="The report is kept: send it again once that is fixed") as caught:
        client.send("dark")
    assert caught.value.reason == reason
    assert client.send("dark").state == "sent"
    assert shuffler.bodies[0] == shuffler.bodies[1]


# Lists of answers kept elsewhere ----------------------------------------------------------------------------------


THEMES = b"dark\nlight\nsystem\n"


def listed_at(task, address):
    """The same task with its list of answers at an address."""
    answers = AnswersElsewhere(address=address, sha256=hashlib.sha256(THEMES).hexdigest(), size=3)
    return task_of(msgspec.structs.replace(task, answers=answers).canonical)


def test_a_copy_beside_the_task_is_as_good_as_the_list(kept, shuffler, tmp_path):
    path, copy = tmp_path / "task.json", tmp_path / "themes.txt"
    path.write_text(listed_at(kept.task, f"{shuffler.address}/lists/themes.txt").to_json())
    for other in (None, b"dark\nlight\nother\n"):  # then it is fetched from its address
        if other is not None:
            copy.write_bytes(other)
        with pytest.raises(UnreachableError, match="status 404"):
            Client(path).report("dark")
    assert shuffler.paths == ["/lists/themes.txt"] * 2
    copy.write_bytes(THEMES)
    client = Client(path)
    assert client.report("dark")
    assert [client.task.bin_of(answer) for answer in ("system", "purple")] == [2, 3]
    assert len(shuffler.paths) == 2


@pytest.mark.parametrize("ending", ["", "/", "/..", "/lists/.", "/%2e%2e"])
def test_an_address_cannot_name_other_files(kept, shuffler, tmp_path, ending):
    """Folders in the path are ignored, and the content must match the SHA-256."""
    path = tmp_path / "task.json"
    path.write_text(listed_at(kept.task, shuffler.address + ending).to_json())
    with pytest.raises(UnreachableError, match="status 404"):
        Client(path).report("dark")


def test_a_list_at_an_address_is_fetched_and_checked(kept, shuffler, tmp_path):
    def asked():
        return Client(listed_at(kept.task, f"{shuffler.address}/themes.txt"), journal=tmp_path)

    with pytest.raises(UnreachableError, match="status 404"):
        asked().report("dark")
    shuffler.files["/themes.txt"] = b"other\nanswers\nhere\n"
    with pytest.raises(TaskError, match="SHA-256 is another"):
        asked().report("dark")
    shuffler.files["/themes.txt"] = THEMES
    client = asked()
    assert client.report("dark")
    assert client.task.bin_of("system") == 2
    fetched = len(shuffler.paths)
    assert client.report("light") == asked().report("dark")
    assert len(shuffler.paths) == fetched  # an existing report needs no list
