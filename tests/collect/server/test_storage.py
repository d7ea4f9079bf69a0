"""The health of a store, and free space."""

import threading
from types import SimpleNamespace

import pytest

from shuffledp.collect.server import storage
from shuffledp.collect.server.storage import HOLD, PROBE_EVERY, StoreHealth
from shuffledp.collect.store.database import Fault, StoreError

NEVER = threading.Event()


class Store:
    """A store that fails on request."""

    file, version = None, 7

    def __init__(self):
        self.fault, self.probes, self.commits = None, 0, 0

    def check_usable(self):
        self.probes += 1
        self.add(())

    def watch(self, failed):
        self.failed = failed

    def check_writable(self):
        self.commits += 1
        self.add(())

    def add(self, arrivals):
        if self.fault is not None:
            error = StoreError("/srv/reports.db", self.fault)
            self.failed(error)
            raise error
        return list(arrivals)


@pytest.fixture
def watched():
    now, store = [0.0], Store()
    health = StoreHealth(store, clock=lambda: now[0])
    return SimpleNamespace(now=now, store=store, health=health, add=health.watched(store.add))


def test_a_failed_commit_is_a_failure_until_nothing_has_failed_for_a_while(watched):
    assert watched.add((1,)) == [1]
    assert watched.health.failing is None
    watched.store.fault = Fault.DISK_FULL
    with pytest.raises(StoreError):
        watched.add((1,))
    assert watched.health.failing is Fault.DISK_FULL
    watched.store.fault = None
    watched.now[0] = HOLD - 0.1
    watched.add((1,))
    assert watched.health.failing is Fault.DISK_FULL  # a disk that is nearly full takes some reports
    watched.now[0] = HOLD
    watched.add((1,))
    assert watched.health.failing is None
    assert watched.health.errors["disk-full"] == 1


def test_probes_notice_a_failure_and_its_end_without_reports(watched):
    watched.store.fault = Fault.NOT_WRITABLE
    for _ in range(5):
        watched.health.step(NEVER)
    assert watched.store.probes == 1
    assert watched.health.failing is Fault.NOT_WRITABLE
    watched.now[0] += HOLD
    watched.health.step(NEVER)  # fails again, and the time starts anew
    watched.store.fault = None
    while watched.health.failing is not None:
        watched.now[0] += PROBE_EVERY
        watched.health.step(NEVER)
        assert watched.now[0] <= 3 * HOLD
    assert watched.now[0] >= 2 * HOLD


def test_probes_commit_only_to_end_a_failure(watched):
    """A commit every ten seconds would say when the reports between them arrived."""
    for _ in range(20):
        watched.now[0] += PROBE_EVERY
        watched.health.step(NEVER)
    assert (watched.store.probes, watched.store.commits) == (20, 0)
    watched.store.fault = Fault.DISK_FULL
    with pytest.raises(StoreError):
        watched.add((1,))
    watched.store.fault = None
    for _ in range(20):
        watched.now[0] += PROBE_EVERY
        watched.health.step(NEVER)
    assert watched.store.commits == 1


def test_other_errors_have_a_reason_as_well(watched):
    def broken(_):
        raise RuntimeError("somebody's value")

    with pytest.raises(RuntimeError):
        watched.health.watched(broken)(())
    assert watched.health.failing is Fault.UNKNOWN
    assert watched.health.errors == dict.fromkeys(Fault, 0) | {Fault.UNKNOWN: 1}


def test_disk_space_does_not_show_the_length_of_a_report(watched, monkeypatch):
    """The length says how many messages a report has; a poll every second would see it.

    Where several file systems share a disk, the size of one shrinks by what is written to another.
    """
    step = storage.SPACE_STEP
    free, size = [10 * step + 5_000_000], [20 * step - 5_000_000]
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _: SimpleNamespace(free=free[0], total=size[0]))
    shown = set()
    for second in range(120):
        watched.now[0] = float(second)
        free[0] -= 17 + second  # a report of another length
        size[0] -= 17 + second
        shown.add(watched.health.space["temporary"])
    assert shown == {(10 * step, 20 * step)}
    free[0], size[0] = step - 1, 1
    assert watched.health.space["temporary"] == (10 * step, 20 * step)  # not measured at every poll
    watched.now[0] += storage.SPACE_EVERY
    assert watched.health.space["temporary"] == (0, step)
