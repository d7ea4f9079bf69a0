"""Crowds: every report arrives once, retries are the same bytes, and outcomes are counted."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from starlette.responses import Response

from shuffledp.collect import Client, Reason, send_crowd
from shuffledp.collect.simulation.crowd import makers
from shuffledp.collect.simulation.people import simulated_answers
from shuffledp.collect.task.report import open_report
from shuffledp.data import find_files
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError, RefusedError
from tests.cli.commands import REAL
from tests.collect.chaos import wait_until
from tests.collect.client.conftest import task_at
from tests.collect.client.servers import breaking_server, problem
from tests.collect.client.test_client import THEMES, listed_at, weaker
from tests.collect.tasks import small_task

ANSWERS = ["dark"] * 20 + ["light"] * 10 + ["purple", None] * 5


def ids(kept, bodies):
    return [open_report(kept.task, body, kept.keys[0]).report_id for body in bodies]


def test_everybody_reports_once(kept, shuffler):
    seen, shares = [], []
    result = send_crowd(
        kept.task,
        ANSWERS,
        connections=4,
        told=lambda report, became: seen.append((report, became)),
        progress=lambda what, share: shares.append(share),
    )
    assert (result.people, result.acknowledged, result.refused, result.unreachable) == (40, 40, {}, 0)
    assert len(set(ids(kept, shuffler.bodies))) == 40
    assert sorted(seen) == sorted((body, "acknowledged") for body in shuffler.bodies)
    assert result.bytes == sum(map(len, shuffler.bodies))
    assert result.bytes_per_report == result.bytes / 40
    assert result.reports_per_second == pytest.approx(40 / result.seconds)
    assert 0 < result.milliseconds_per_report < 1e3 * result.seconds
    assert shares == pytest.approx(np.arange(1, 41) / 40)


@pytest.mark.slow
def test_retries_are_the_same_bytes(kept, shuffler):
    again = [Response(status_code=503), problem(Reason.TOO_MANY_REQUESTS, 429), Response(status_code=200), None]
    shuffler.script.extend(again)
    result = send_crowd(kept.task, ANSWERS[:3], connections=1, timeout=0.5)
    assert (result.acknowledged, result.tried_again) == (3, 4)
    assert len(set(shuffler.bodies[:5])) == 1
    assert len(set(shuffler.bodies)) == 3


@pytest.mark.slow
def test_a_connection_that_breaks_off_is_opened_again():
    taken = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
    with breaking_server(b"", taken[:-1], b"nonsense\r\n\r\n", taken, taken) as address:
        result = send_crowd(task_at(address).task, ANSWERS[:2], connections=1)
    assert result.acknowledged == 2
    assert result.tried_again >= 3  # the server closes after each response without announcing it


def test_answers_in_parts_are_read_whole():
    chunked = (
        b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
    )
    with breaking_server(chunked, chunked) as address:
        result = send_crowd(task_at(address).task, ANSWERS[:2], connections=1)
    assert (result.acknowledged, result.tried_again) == (2, 0)


def test_an_answer_without_end_is_no_answer():
    endless = b"HTTP/1.1 201 Created\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 2_000_000
    with breaking_server(endless) as address:
        result = send_crowd(task_at(address).task, ANSWERS[:1], patience=0.01)
    assert (result.acknowledged, result.unreachable) == (0, 1)


def test_refusals_are_counted_by_reason_and_not_tried_again(kept, shuffler):
    taken = Response(status_code=201)
    shuffler.script.extend([problem("closed", 410), taken, problem("malformed", 400), problem("closed", 410)])
    result = send_crowd(kept.task, ANSWERS[:5], connections=1)
    assert (result.acknowledged, result.unreachable, result.tried_again) == (2, 0, 0)
    assert result.refused == {"closed": 2, "malformed": 1}
    assert len(shuffler.bodies) == 5


def test_a_crowd_gives_up_after_its_patience(kept, shuffler):
    shuffler.script.extend([Response(status_code=503)] * 1000)
    result = send_crowd(kept.task, ANSWERS[:3], patience=0.2)
    assert (result.acknowledged, result.unreachable) == (0, 3)
    assert result.reports_per_second == 0
    assert len(set(shuffler.bodies)) == 3 < len(shuffler.bodies)


@pytest.mark.slow
def test_no_more_connections_than_are_allowed_and_no_faster_than_the_rate(kept, monkeypatch):
    open_now, most, starts = 0, 0, []

    async def answer(*_, **__):
        nonlocal open_now, most
        starts.append(time.monotonic())
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.01)
        open_now -= 1

    monkeypatch.setattr("shuffledp.collect.simulation.crowd.post_over", answer)
    send_crowd(kept.task, ANSWERS, connections=3)
    assert most == 3
    starts.clear()
    send_crowd(kept.task, ANSWERS[:11], rate=100)
    assert starts[-1] - starts[0] >= 0.095  # ten pauses of 10 ms: a lower bound, which holds on any machine


def test_a_failure_while_reports_are_made_ends_the_crowd(kept, monkeypatch):
    def broken(task, answer):
        raise DataError("no more reports")

    monkeypatch.setattr("shuffledp.collect.simulation.crowd.new_report", broken)
    with pytest.raises(DataError, match="no more reports"):
        send_crowd(kept.task, ANSWERS)


def test_an_interrupt_ends_the_crowd(kept, shuffler):
    def interrupt(report, became):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        send_crowd(kept.task, ANSWERS, told=interrupt, connections=2)
    assert caught.value.__notes__ == ["1 of 40 reports were acknowledged"]
    assert len(shuffler.bodies) < len(ANSWERS)


def test_an_interrupt_before_the_first_report_says_so(kept, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("shuffledp.collect.simulation.crowd.makers", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        send_crowd(kept.task, ANSWERS)
    assert caught.value.__notes__ == ["0 of 40 reports were acknowledged"]


@pytest.mark.slow
def test_a_killed_process_ends_the_crowd_with_an_error(kept, shuffler):
    """The crowd does not wait for the missing reports, and its other processes end."""

    def kill(report, became):
        for each in multiprocessing.active_children():
            each.kill()

    with pytest.raises(DataError, match="a process that makes reports has ended"):
        send_crowd(kept.task, ["dark"] * 2_000, told=kill, processes=2)
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_an_error_in_a_worker_process_is_raised(kept):
    with makers(kept.task, None, processes=2, people=1_000) as made, pytest.raises(TypeError):
        made.make(None)  # invalid answers


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_processes_of_a_crowd_that_is_killed_end(tmp_path):
    task = small_task(addresses=("http://127.0.0.1:9",) * 2).task
    (tmp_path / "t.json").write_text(task.to_json())
    (tmp_path / "people.csv").write_text("theme\n" + "dark\n" * 2_000)
    words = ["crowd", "--task", "t.json", "--data", "people.csv", "--column", "theme", "--processes", "2"]
    process = subprocess.Popen([*REAL, *words], cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(_of_group(process.pid)) >= 4, what="its processes to start")
        process.kill()
        process.wait()
        wait_until(lambda: _of_group(process.pid) == [], seconds=20, what="every process to be gone")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _of_group(group):
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = path.read_text().rpartition(")")[2].split()[:3]
            found += [path.parent.name] if int(of) == group and state != "Z" else []
    return found


# Admission --------------------------------------------------------------------------------------------------------


def test_admissions(shuffler):
    def sent(admission, shown):
        shuffler.reset()
        task = task_at(shuffler.address, admission=admission).task
        send_crowd(task, ["dark"] * 3, admission=shown)
        requests = zip(shuffler.paths, shuffler.headers, strict=False)  # those of an interrupted crowd may still arrive
        return sorted({headers["authorization"] for path, headers in requests if task.name in path})

    assert sent("secret", "sesame") == sent("secret", ["sesame"]) == ["Bearer sesame"]
    assert sent("tokens", ["a", "b", "c", "d"]) == ["Bearer a", "Bearer b", "Bearer c"]
    for shown in (None, "a", ["a", "b"]):
        with pytest.raises(ParameterError, match="for 3 people"):
            sent("tokens", shown)
    with pytest.raises(ParameterError, match="secret"):
        sent("secret", None)


def test_a_crowd_answers_only_what_a_person_would():
    with pytest.raises(BrokenPromiseError):
        send_crowd(weaker(small_task().task), ANSWERS)
    over = small_task(opens=datetime(2020, 1, 1, tzinfo=UTC), closes=datetime(2021, 1, 1, tzinfo=UTC)).task
    with pytest.raises(RefusedError, match="closed"):
        send_crowd(over, ANSWERS)


@pytest.mark.parametrize(
    "wrong", [{"rate": 0}, {"rate": -1}, {"connections": 0}, {"processes": 0}, {"patience": 0}, {"timeout": -1}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        send_crowd(small_task().task, ANSWERS, **wrong)


def test_an_empty_crowd_is_refused():
    with pytest.raises(ParameterError, match="answers must be of at least one person"):
        send_crowd(small_task().task, [])


@pytest.mark.parametrize("people", [30, pytest.param(260, marks=pytest.mark.slow)])
def test_workers_have_the_external_list_of_answers(shuffler, people):
    """A thread for few people, processes for many."""
    few_messages = task_at(shuffler.address, users=20, epsilon=4.0, delta=1e-3)
    elsewhere = replace(few_messages, task=listed_at(few_messages.task, "http://127.0.0.1:9/themes.txt"))
    answers = ["dark", "light"] * (people // 2)
    result = send_crowd(elsewhere.task, answers, listed=THEMES, processes=2)
    assert result.acknowledged == people
    assert len(set(ids(elsewhere, shuffler.bodies))) == len(shuffler.bodies) == people


# Simulated answers ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_answers_are_the_rows_of_a_column(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,theme\na,dark\nb,dark\nc,light\nd,\ne,purple\n")
    files = find_files([path])
    everybody = simulated_answers(files, column="theme")
    assert sorted(map(str, everybody)) == ["None", "dark", "dark", "light", "purple"]
    some = simulated_answers(files, column="theme", people=3)
    assert len(some) == 3
    assert all(everybody.count(answer) >= some.count(answer) for answer in some)
    more = simulated_answers(files, column="theme", people=12)
    assert len(more) == 12
    assert 4 <= more.count("dark") <= 6
    with pytest.raises(ParameterError, match="people"):
        simulated_answers(files, column="theme", people=0)
    with pytest.raises(DataError, match="no column"):
        simulated_answers(files, column="colour")
    path.write_text("theme\n")
    with pytest.raises(DataError):
        simulated_answers(find_files([path]), column="theme")


def test_answers_are_in_random_order(tmp_path):
    """Two equal orders have probability 1 / 30!."""
    path = tmp_path / "people.csv"
    path.write_text("theme\n" + "".join(f"{at}\n" for at in range(30)))
    first, second = (simulated_answers(find_files([path]), column="theme") for _ in range(2))
    assert first != second
    assert sorted(first) == sorted(second)


def test_a_person_among_a_crowd(kept, shuffler, tmp_path):
    """A crowd and a client make reports of the same format."""
    Client(kept.task, journal=tmp_path).send("dark")
    send_crowd(kept.task, ANSWERS[:2])
    assert len(set(ids(kept, shuffler.bodies))) == 3
    assert {tuple(sorted(set(headers) - {"content-length"})) for headers in shuffler.headers} == {
        ("accept", "accept-encoding", "connection", "content-type", "host", "user-agent")
    }
    assert task_at(shuffler.address).task is kept.task
