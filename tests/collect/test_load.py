"""The load generator and the bare endpoint of the benchmarks: every report gets its acknowledgement."""

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing

import pytest
from benchmarks.load import CONNECTIONS, write_requests
from benchmarks.reports import running, task_for

from shuffledp.collect.client.making import new_report
from shuffledp.collect.simulation.processes import free_ports
from shuffledp.collect.task.task import SEALING_BYTES

REPORTS = 5 * CONNECTIONS


@pytest.mark.slow
@pytest.mark.parametrize("opening", [False, True], ids=["bare", "opening"])
def test_two_processes_answer_every_report(tmp_path, opening):
    """Once a run failed because the endpoint closed connections; then some reports have no answer."""
    task = task_for(6, tmp_path)
    bodies = [new_report(task, person % 6) for person in range(REPORTS)]
    write_requests(tmp_path / "requests", f"/v1/tasks/{task.name}/reports", bodies)
    (port,) = free_ports([0])
    words = ["benchmarks.bare_endpoint", tmp_path / "bare.db", port, 2]
    words += [tmp_path / "task.json", tmp_path / "shuffler.key"] if opening else []
    with running(words, tmp_path / "log"):
        for _ in range(3):
            sent = subprocess.run(
                [sys.executable, "-m", "benchmarks.load", tmp_path / "requests", str(port)],
                capture_output=True,
                text=True,
                check=True,
            )
            assert json.loads(sent.stdout)["counts"] == {"201": REPORTS}, (tmp_path / "log").read_text()
    with closing(sqlite3.connect(tmp_path / "bare.db")) as store:
        stored = Counter(length for (length,) in store.execute("SELECT length(body) FROM reports"))
    removed = SEALING_BYTES if opening else 0
    assert stored == Counter(3 * [len(body) - removed for body in bodies])
