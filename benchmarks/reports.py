"""Reports that a shuffler stores durably per second, against a bare endpoint that stores the same bytes in SQLite."""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import httpx

from benchmarks.load import write_requests
from benchmarks.timing import table
from shuffledp.collect.client.client import new_report
from shuffledp.collect.crypto.keys import KeyPair, write_key
from shuffledp.collect.simulation.processes import free_ports
from shuffledp.collect.task import AnswerRange, Place, read_task
from shuffledp.collect.task.new_task import new_task

REPORTS, ROUNDS, USERS = 6_000, 3, 10**6
ANSWERS = {"6 answers": 6, "100,000 answers": 100_000}


def task_for(answers, folder):
    """Return a task whose batch never fills, so that only the upload of reports is measured."""
    shuffler, analyzer = KeyPair.generate(), KeyPair.generate()
    (key := folder / "shuffler.key").unlink(missing_ok=True)
    write_key(shuffler, key)
    now = datetime.now(UTC)
    task = new_task(
        question="How many?",
        answers=AnswerRange(0, answers),
        users=USERS,
        epsilon=1.0,
        delta=1e-6,
        shufflers=[Place("http://127.0.0.1:9", shuffler.public)],
        analyzer=Place("http://127.0.0.1:10", analyzer.public),
        opens=now - timedelta(hours=1),
        closes=now + timedelta(days=1),
    )
    (folder / "task.json").write_text(task.to_json())
    return task


def _made(path, people):
    task = read_task(path)
    return [new_report(task, person % 6) for person in range(people)]


def prepare(task, folder):
    """Write the requests, each with a different report; return the mean length of a report."""
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        halves = pool.map(_made, [folder / "task.json"] * 2, [REPORTS // 2] * 2)
        bodies = [body for half in halves for body in half]
    write_requests(folder / "requests", f"/v1/tasks/{task.name}/reports", bodies)
    return sum(map(len, bodies)) / len(bodies)


@contextmanager
def running(arguments, port):
    """Run a server in a new process; yield its process id."""
    process = subprocess.Popen([sys.executable, "-m", *arguments], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False)
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def processor_seconds(pid):
    """Return the processor seconds of a process and its descendants so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(map(processor_seconds, started))


def measured(arguments, port, folder):
    """Return elapsed seconds, and processor seconds of the server, per report; every report must be acknowledged."""
    with running(arguments, port) as pid:
        before = processor_seconds(pid)
        sent = subprocess.run(
            [sys.executable, "-m", "benchmarks.load", str(folder / "requests"), str(port)],
            capture_output=True,
            check=True,
        )
        worked = processor_seconds(pid) - before
    result = json.loads(sent.stdout)
    assert result["counts"] == {"201": REPORTS}, result
    return result["seconds"] / REPORTS, worked / REPORTS


def rows():
    for name, answers in ANSWERS.items():
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            length = prepare(task_for(answers, folder), folder)
            for workers in (1, 2):
                yield name, f"{length:,.0f}", workers, *compared(folder, workers)


def compared(folder, workers):
    """Alternate both servers, each with a new store; return the best elapsed and processor time of each."""
    ours, bare = [], []
    for at in range(ROUNDS):
        (port,) = free_ports([0])
        stores = [folder / f"{kind}-{workers}-{at}.db" for kind in ("ours", "bare")]
        words = ["shuffledp", "shuffler", "--task", folder / "task.json", "--key", folder / "shuffler.key"]
        words += ["--store", stores[0], "--port", port, "--workers", workers, "--next", "0" * 64]
        ours.append(measured([str(word) for word in words], port, folder))
        words = ["benchmarks.bare_endpoint", stores[1], port, workers]
        bare.append(measured([str(word) for word in words], port, folder))
    (passed, worked), (bare_passed, bare_worked) = (map(min, zip(*rounds, strict=True)) for rounds in (ours, bare))
    return (
        *(f"{1 / passed:,.0f}", f"{1 / bare_passed:,.0f}", f"{bare_passed / passed:.2f}"),
        *(f"{1e3 * worked:.2f}", f"{1e3 * bare_worked:.2f}", f"{bare_worked / worked:.2f}"),
    )


def main():
    table(
        "Reports stored durably, 64 connections, SQLite: reports/s",
        [
            *("task", "bytes of a report", "processes", "shuffler", "bare endpoint", "ratio"),
            *("shuffler, processor ms per report", "bare", "ratio"),
        ],
        rows(),
    )
