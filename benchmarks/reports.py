"""The cost of a report that a shuffler stores durably, against endpoints that only store it, or open and store it.

The three servers run beside each other and take turns with bursts of reports. Processor time is compared: elapsed time
depends on what else runs on the machine. A ratio is the median of those of all rounds, in which the servers work within
seconds of each other, so that a busy moment disturbs both sides alike or one round only.
"""

import json
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

from benchmarks.load import write_requests
from benchmarks.timing import table
from shuffledp.collect.client.making import new_report
from shuffledp.collect.crypto.keys import KeyPair, write_key
from shuffledp.collect.simulation.processes import free_ports
from shuffledp.collect.task import AnswerRange, Place, read_task
from shuffledp.collect.task.new_task import new_task

BURST, ROUNDS, USERS = 2_000, 12, 10**6
NAMES = ("bare", "bare + open", "shuffler")
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
    """Write the requests of each burst, each with a different report; return the mean length of a report."""
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        bursts = list(pool.map(_made, [folder / "task.json"] * ROUNDS, [BURST] * ROUNDS))
    for number, bodies in enumerate(bursts):
        write_requests(folder / f"requests-{number}", f"/v1/tasks/{task.name}/reports", bodies)
    return sum(len(body) for bodies in bursts for body in bodies) / (BURST * ROUNDS)


@contextmanager
def running(arguments, log):
    """Run a server in a new process until all its workers answer; yield its process id."""
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", *map(str, arguments)], stderr=file)
    try:
        while '"ready"' not in log.read_text():
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def processor_seconds(pid):
    """Return the processor seconds of a process and its children so far."""
    clock = (~pid << 3) | 2  # as clock_getcpuclockid(3) returns it
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return time.clock_gettime(clock) + sum(processor_seconds(int(child)) for child in children)


def measured(pid, port, requests):
    """Send a burst; return processor seconds of the server, and elapsed seconds, per report.

    Every report must be acknowledged.
    """
    before = processor_seconds(pid)
    sent = subprocess.run(
        [sys.executable, "-m", "benchmarks.load", str(requests), str(port)], stdout=subprocess.PIPE, check=True
    )
    worked = processor_seconds(pid) - before
    result = json.loads(sent.stdout)
    assert result["counts"] == {"201": BURST}, result
    return worked / BURST, result["seconds"] / BURST


def servers(folder, workers):
    """Return the ports of the servers, and the arguments that start each with a new store."""
    task, key, name = folder / "task.json", folder / "shuffler.key", secrets.token_hex(8)
    ports = free_ports([0, 0, 0])
    bare = ["benchmarks.bare_endpoint", folder / f"{name}-bare.db", ports[0], workers]
    opening = ["benchmarks.bare_endpoint", folder / f"{name}-opening.db", ports[1], workers, task, key]
    shuffler = ["shuffledp", "shuffler", "--task", task, "--key", key, "--store", folder / f"{name}-shuffler.db"]
    shuffler += ["--port", ports[2], "--workers", workers, "--next", "0" * 64]
    return dict(zip(NAMES, zip(ports, (bare, opening, shuffler), strict=True), strict=True))


def compared(folder, workers):
    """Return processor and elapsed seconds per report of each server in all rounds, by its name."""
    times = {name: [] for name in NAMES}
    with ExitStack() as stack:
        started = {
            name: (stack.enter_context(running(arguments, folder / f"{name}.log")), port)
            for name, (port, arguments) in servers(folder, workers).items()
        }
        for number in range(ROUNDS):
            for name in NAMES if number % 2 else reversed(NAMES):
                pid, port = started[name]
                times[name].append(measured(pid, port, folder / f"requests-{number}"))
    return times


def ratio(times, name):
    """Return the median ratio of a server's processor time to the shuffler's."""
    pairs = zip(times[name], times["shuffler"], strict=True)
    return statistics.median(other / ours for (other, _), (ours, _) in pairs)


def rows():
    for name, answers in ANSWERS.items():
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            length = prepare(task_for(answers, folder), folder)
            for workers in (1, 2):
                times = compared(folder, workers)
                worked, passed = (
                    [statistics.median(each[part] for each in times[name]) for name in NAMES] for part in range(2)
                )
                yield (
                    *(name, f"{length:,.0f}", workers),
                    *(f"{1e3 * seconds:.3f}" for seconds in worked),
                    *(f"{ratio(times, other):.2f}" for other in NAMES[:2]),
                    *(f"{1 / seconds:,.0f}" for seconds in passed),
                )


def main():
    table(
        "Reports stored durably, 64 connections, SQLite: processor ms of the server per report, and reports/s",
        [
            *("task", "bytes of a report", "processes"),
            *(f"{name}, ms" for name in NAMES),
            *("bare / shuffler", "(bare + open) / shuffler"),
            *(f"{name}, reports/s" for name in NAMES),
        ],
        rows(),
    )
