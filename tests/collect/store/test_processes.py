"""Several processes on one store, and processes that are killed."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from shuffledp.collect.store import open_report_store
from tests.collect.store import working
from tests.collect.store.made_up import WIDTH, arrivals, every_row, task_of

ROOT = Path(__file__).parents[3]


def started(module, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.collect.store.{module}", *arguments],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_a_kill_at_any_statement_loses_and_doubles_nothing(address):
    stride = 1 if address.startswith("sqlite") else 3  # every statement, or every third where they take longer
    program = started("crashing", address, str(stride))
    output, errors = program.communicate(timeout=300)
    assert program.returncode == 0, errors
    assert int(output) >= 60 / stride  # kills


@pytest.mark.slow
def test_concurrent_processes_keep_every_report_in_one_batch(address):
    with open_report_store(address) as store:
        store.prepare(working.TASK)
        store.add_admissions(working.TASK.id, [report.admission_hash for report in working.REPORTS])
        programs = [started("working", address, str(seed)) for seed in range(3)]
        try:
            for program in programs:
                assert program.stdout.readline() == "ready\n"
            reported = []
            for program in programs:
                program.stdin.write("go\n")
                program.stdin.flush()
            for program in programs:
                output, errors = program.communicate(timeout=300)
                assert program.returncode == 0, errors
                reported.append(json.loads(output))
        finally:
            for program in programs:
                program.kill()
                program.wait()
        outcomes = sum((Counter(one["outcomes"]) for one in reported), Counter())
        assert outcomes == {"stored": 150, "known": 300}
        batches = [batch for one in reported for batch in one["batches"]]
        assert len(batches) == len(set(batches)) == 150 // 7
        assert sorted(batches) == sorted(ready.batch_id.hex() for ready in store.ready(working.TASK.id))
        mixed = [b"".join(store.mixed(bytes.fromhex(batch))) for batch in batches]
        assert [len(onions) for onions in mixed] == [7 * WIDTH] * 21
        held = {onions[at : at + WIDTH] for onions in mixed for at in range(0, len(onions), WIDTH)}
        assert len(held) == 147
        assert store.standing(working.TASK.id).waiting == 3
        rows = every_row(store)
        assert (len(rows["onions"]), rows["members"], len(rows["drafts"])) == (3, [], 21)


@pytest.mark.slow
def test_a_forked_process_opens_its_own_connections(tmp_path):
    """The parent's connections keep working."""
    program = f"""
import os
from shuffledp.collect.store import open_report_store
from tests.collect.store.made_up import arrivals, task_of
store = open_report_store({str(tmp_path / "store.db")!r})
store.prepare(task := task_of(10))
store.add(arrivals(task, 1))
if os.fork() == 0:
    store.add(arrivals(task, 1))
    store.close()
    os._exit(0)
assert os.wait()[1] == 0
store.add(arrivals(task, 1))
print(store.standing(task.id).waiting)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path):
    """A file size limit simulates a full disk, with the same errors."""
    program = f"""
import resource
from shuffledp.collect.store import open_report_store
from shuffledp.errors import DataError
from tests.collect.store.made_up import arrivals, task_of
store = open_report_store({str(tmp_path / "store.db")!r})
store.prepare(task := task_of(1000))
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
stored = 0
try:
    while True:
        stored += len(store.add(arrivals(task, 10, number=40)))
except DataError as error:
    print(error)
print(stored, store.standing(task.id).waiting)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    error, numbers = done.stdout.splitlines()
    assert "is the disk full?" in error
    stored, waiting = map(int, numbers.split())
    assert stored == waiting > 0
    task = task_of(1000)
    with open_report_store(tmp_path / "store.db") as store:  # space is available again
        store.add(arrivals(task, 1000 - stored))
        assert store.close_batch(task.id, 1000) is not None
