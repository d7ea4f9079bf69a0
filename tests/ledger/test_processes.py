"""Several processes, and processes that are killed: nothing is overspent, forgotten or damaged."""

import json
import signal
import subprocess
import sys
import threading

import pytest

from shuffledp import BudgetError, DataError, Histogram, Ledger
from shuffledp.ledger import store
from shuffledp.ledger.budget import Budget

HISTOGRAM = Histogram.calibrate(users=10_000, bins=20, epsilon=1, delta=1e-6)
FIT = 10
"""So many fit a limit of (3, 1e-5), see test_ledger.py."""

SPEND_ALL = """
import json, sys
from shuffledp import BudgetError, Histogram, Ledger
histogram = Histogram.calibrate(users=10_000, bins=20, epsilon=1, delta=1e-6)
ledger = Ledger(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
numbers = []
try:
    while True:
        numbers.append(ledger.spend(histogram, what="race"))
except BudgetError:
    print(json.dumps(numbers))
"""

KILLED_WHILE_DRAWING = """
import os, signal, sys
from shuffledp import Histogram, private_histogram
Histogram._draw = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
private_histogram(["a"] * 900, epsilon=1, delta=1e-6, protocol="hist", ledger=sys.argv[1])
"""

KILLED_WHILE_ENTERING = """
import os, signal, sys
from shuffledp import Histogram, Ledger
from shuffledp.ledger import store
add = store.Change.add
def killed(self, **line):
    for _ in range(2000):  # more than SQLite keeps in memory: the file itself is half changed
        add(self, **line)
    os.kill(os.getpid(), signal.SIGKILL)
store.Change.add = killed
Ledger(sys.argv[1]).spend(Histogram.calibrate(users=10_000, bins=20, epsilon=1, delta=1e-6), what="x" * 150)
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.ledger"
    Ledger.create(path, epsilon=3, delta=1e-5, population="people")
    return path


def program(source, path):
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", source, str(path)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.slow
def test_processes_at_once_spend_exactly_what_fits(path):
    racing = [program(SPEND_ALL, path) for _ in range(4)]
    for process in racing:
        assert process.stdout.readline() == "ready\n"
    for process in racing:
        process.stdin.write("go\n")
        process.stdin.flush()
    numbers = []
    for process in racing:
        out, problem = process.communicate(timeout=120)
        assert problem == ""
        numbers += json.loads(out)
    assert sorted(numbers) == list(range(1, FIT + 1))
    assert len(Ledger(path).entries) == FIT
    assert Ledger(path).total.delta(3.0) <= 1e-5


def test_the_check_and_the_entry_are_atomic(path, monkeypatch):
    """One is held up where its check is done; another must wait for it, and gives up when its patience ends."""
    checked, go_on, second = threading.Event(), threading.Event(), []
    allows = Budget.allows

    def slow(self, total):
        answer = allows(self, total)
        if threading.current_thread() is not threading.main_thread():
            checked.set()
            assert go_on.wait(60)
        else:
            second.append(answer)
        return answer

    monkeypatch.setattr(Budget, "allows", slow)
    other = threading.Thread(target=lambda: Ledger(path).spend(HISTOGRAM, what="first"))
    other.start()
    try:
        assert checked.wait(60)
        with pytest.raises(DataError, match=r"locked by another process for 0\.05 seconds: nothing was spent"):
            Ledger(path, patience=0.05).spend(HISTOGRAM, what="second")
        assert second == []  # it was not even let in to check
        assert Ledger(path, patience=0.05).entries == ()  # what is not entered yet is not seen, and reading goes on
    finally:
        go_on.set()
        other.join()
    assert [entry.what for entry in Ledger(path).entries] == ["first"]


def test_what_another_process_spends_just_before_counts(path, monkeypatch):
    """All but one release are there; another process takes that one just before the lock is ours."""
    ledger, changing = Ledger(path), store.changing
    for _ in range(FIT - 1):
        ledger.spend(HISTOGRAM, what="before")

    def late(*arguments, **more):
        monkeypatch.setattr(store, "changing", changing)
        Ledger(path).spend(HISTOGRAM, what="the other one")
        return changing(*arguments, **more)

    monkeypatch.setattr(store, "changing", late)
    with pytest.raises(BudgetError):
        ledger.spend(HISTOGRAM, what="too late")
    assert len(ledger.entries) == FIT
    assert ledger.entries[-1].what == "the other one"


@pytest.mark.slow
def test_a_release_that_is_killed_counts_as_spent(path):
    process = program(KILLED_WHILE_DRAWING, path)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    ledger = Ledger(path)
    (entry,) = ledger.entries
    assert not entry.published
    assert ledger.total.delta(0.5) > 0


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_enters_leaves_a_good_file(path):
    Ledger(path).spend(HISTOGRAM, what="before")
    process = program(KILLED_WHILE_ENTERING, path)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert path.with_name(f"{path.name}-journal").exists()  # it was in the middle
    ledger = Ledger(path)
    assert [entry.what for entry in ledger.entries] == ["before"]
    assert ledger.spend(HISTOGRAM, what="after") == 2
    assert not path.with_name(f"{path.name}-journal").exists()
