"""The shuffler command as processes: output, stops and kills without loss, and no leaks."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from shuffledp.collect.crypto.keys import write_key
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.collect.shuffler.worker import BatchCloser
from shuffledp.collect.store import open_report_store
from tests.cli.commands import command
from tests.collect.shuffler.running import TOKEN, sealed
from tests.collect.tasks import small_task

ANSWER = "an-answer-that-nobody-else-gives"
KEPT = small_task(users=20, epsilon=4.0, delta=1e-3, answers=(ANSWER, "another"))
TASK = KEPT.task
AGENT = "an-agent-that-nobody-else-has/17.3"


def arguments(path):
    """The command for a first shuffler, with its files in a folder."""
    if not (path / "task.json").exists():
        (path / "task.json").write_text(TASK.to_json())
        write_key(KEPT.keys[0], path / "shuffler.key")
    files = ["--task", path / "task.json", "--key", path / "shuffler.key", "--store", path / "store.db"]
    return ["shuffler", *map(str, files), "--port", "0", "--next", hash_of(TOKEN).hex()]


@contextmanager
def shuffler(path, *more):
    """Run a shuffler as a process; yield its address."""
    log = path / f"log-{time.monotonic_ns()}"
    with log.open("wb") as stderr:
        process = subprocess.Popen([sys.executable, "-m", "shuffledp", *arguments(path), *more], stderr=stderr)
    try:
        while not (ready := re.search(r'"ready", "address": "(\S+)"', log.read_text())):
            assert process.poll() is None, log.read_text()
            time.sleep(0.02)
        yield process, f"{ready[1]}/v1/tasks/{TASK.name}", log
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def report():
    return sealed(TASK, time=int(time.time()))


class People(threading.Thread):
    """Send reports until the server is gone, and count the acknowledged ones."""

    def __init__(self, address):
        super().__init__()
        self.address, self.acknowledged, self.busy = address, 0, threading.Event()

    def run(self):
        with httpx.Client(headers={"user-agent": AGENT}) as client:
            try:
                while client.post(f"{self.address}/reports", content=report()).status_code == 201:
                    self.acknowledged += 1
                    if self.acknowledged == 5:
                        self.busy.set()
            except httpx.TransportError:
                pass


def sent_until(address, stop):
    """Send from four threads until the stop; return the number of acknowledged reports."""
    people = [People(address) for _ in range(4)]
    for person in people:
        person.start()
    for person in people:
        assert person.busy.wait(60)
    stop()
    for person in people:
        person.join(60)
    return sum(person.acknowledged for person in people)


@pytest.mark.slow
def test_a_stop_loses_nothing_and_a_kill_nothing_that_was_acknowledged(tmp_path):
    """With one process and two; after SIGKILL the next start continues."""
    acknowledged = 0
    for more, kind in ((("--workers", "2"), signal.SIGTERM), ((), signal.SIGINT)):
        with shuffler(tmp_path, *more) as (process, address, log):
            with half_sent(address) as the_rest:
                acknowledged += sent_until(address, partial(process.send_signal, kind))
                time.sleep(0.5)
                assert process.poll() is None  # it waits for requests in flight
                assert the_rest().startswith(b"HTTP/1.1 201 ")
                acknowledged += 1
            assert process.wait(60) == 0
        assert stored_reports(tmp_path) == acknowledged  # requests in flight got a response
        assert json.loads(log.read_text().splitlines()[-1])["event"] == "stopped"
    with shuffler(tmp_path) as (process, address, _):
        acknowledged += sent_until(address, process.kill)
    stored = stored_reports(tmp_path)
    assert acknowledged <= stored <= acknowledged + 4  # including unacknowledged reports
    with open_report_store(tmp_path / "store.db") as store:  # the next start continues
        store.prepare(TASK)
        BatchCloser(TASK, store, clock=time.time).step(threading.Event())
        ready, waiting = store.ready(TASK.id), store.standing(TASK.id).waiting
    assert {batch.number for batch in ready} == {TASK.users}
    assert len(ready) * TASK.users + waiting == stored
    nothing_personal(tmp_path)


@contextmanager
def half_sent(address):
    """Send the first half of a request; return a function that sends the rest and returns the response."""
    place, body = urlsplit(address), report()
    head = f"POST {place.path}/reports HTTP/1.1\r\nhost: here\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(head.encode() + body[:50])

        def the_rest():
            connection.sendall(body[50:])
            return connection.recv(1000)

        yield the_rest


def stored_reports(path):
    with open_report_store(path / "store.db") as store:
        store.prepare(TASK)
        return store.standing(TASK.id).reports


def nothing_personal(path):
    """Check that no file in the folder has an address, user agent, token or answer."""
    files = [file for file in path.iterdir() if file.name not in ("task.json", "shuffler.key")]
    assert len(files) >= 3
    for file in files:
        content = file.read_bytes().replace(b'"address": "http://127.0.0.1:', b"")  # its own address in the log
        for personal in (AGENT, "httpx", "127.0.0.1", TOKEN, "Bearer", ANSWER):
            assert personal.encode() not in content, (file, personal)


@pytest.mark.slow
def test_dead_workers_are_restarted_and_none_survives_its_parent(tmp_path):
    """An operator's session is one of all workers, also of those that were started later."""
    operator = new_token()
    with shuffler(tmp_path, "--workers", "2", "--operator", hash_of(operator).hex()) as (process, address, log):
        pages = f"{address.partition('/v1/')[0]}/operator"
        answer = httpx.post(f"{pages}/login", data={"token": operator}, headers={"sec-fetch-site": "same-origin"})
        children = [int(child) for child in children_of(process.pid)]
        servers = [child for child in children if b"spawn_main" in command_of(child)]
        assert len(servers) == 2
        os.kill(servers[0], signal.SIGKILL)
        while "process-restarted" not in log.read_text():
            time.sleep(0.02)
        assert httpx.post(f"{address}/reports", content=report()).status_code == 201
        cookie = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
        found = {httpx.get(f"{pages}/manage", headers=cookie).status_code for _ in range(20)}  # 20 connections
        assert found == {200}
        process.kill()
        process.wait()
        while any(command_of(child) for child in servers):
            time.sleep(0.02)
    assert stored_reports(tmp_path) == 1


def children_of(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def command_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def test_errors_are_one_line(tmp_path):
    given = arguments(tmp_path)
    result = command(*given[: given.index("--next")])
    assert result.returncode == 2
    assert result.stderr.startswith("shuffledp shuffler: next must have the hash")
    result = command(*given, "--certificate", tmp_path / "x")
    assert result.returncode == 2
    assert "--certificate and --certificate-key must be given together" in result.stderr
    (tmp_path / "shuffler.key").chmod(0o640)
    result = command(*given)
    assert result.returncode == 3
    assert "chmod 600" in result.stderr
