"""A program that kills children at every statement of every method, and checks the store each time.

Arguments: the address of an empty store, and n to kill only at every n-th statement. An assertion fails if anything is
lost, doubled or incomplete.
"""

import os
import signal
import sqlite3
import sys
from collections import Counter

from shuffledp.collect.store import open_report_store
from shuffledp.collect.store.sqlite import SQLiteDatabase
from tests.collect.store.made_up import arrival, every_row, task_of

USERS = 3
TASK = task_of(USERS)
REPORTS = [arrival(TASK, report_id=bytes([at]) * 16, onions=bytes([65 + at]) * 48, number=1) for at in range(8)]
MIXED = [b"1" * 1_500_000, b"2" * 1_500_000]


def main(address, stride):
    kills = Counter()

    def killed_again_and_again(verb, what):
        """Kill children at statement 1, 1 + stride, and so on, until one finishes."""
        while _dies(address, verb, at=kills[what] * stride + 1):
            kills[what] += 1
            check_all(address)
        check_all(address)

    with open_report_store(address) as store:
        store.prepare(TASK)
    killed_again_and_again(lambda store: store.add(REPORTS[:4]), "add")
    with open_report_store(address) as store:
        assert store.add(REPORTS[:4]) == ["known"] * 4
        assert store.standing(TASK.id).waiting == 4
    killed_again_and_again(lambda store: store.closing(TASK.id) or store.close_batch(TASK.id, USERS), "close")
    with open_report_store(address) as store:
        (batch,) = store.closing(TASK.id)
        first = b"".join(store.onions(batch))
    killed_again_and_again(lambda store: store.keep_mixed(TASK.id, batch, 9, MIXED, {"repeated": 1}), "keep")
    killed_again_and_again(lambda store: store.prepare(TASK), "tidy")
    with open_report_store(address) as store:
        assert b"".join(store.mixed(batch)) == b"".join(MIXED)
        assert store.standing(TASK.id).refused == {"repeated": 1}
        rows = every_row(store)
        assert (len(rows["drafts"]), len(rows["pieces"]), len(rows["members"])) == (1, 3, 0)
    killed_again_and_again(lambda store: store.acknowledge(batch), "acknowledge")
    killed_again_and_again(lambda store: store.prepare(TASK), "tidy again")
    with open_report_store(address) as store:
        assert store.acknowledge(batch)
        assert (every_row(store)["pieces"], every_row(store)["drafts"]) == ([], [])
        store.add(REPORTS[4:])
    killed_again_and_again(lambda store: store.expire(TASK.id), "expire")
    killed_again_and_again(lambda store: store.prepare(TASK), "tidy at last")
    with open_report_store(address) as store:
        assert store.standing(TASK.id).short_by == 1
        (last,) = store.closing(TASK.id)
        held = [*_cut(first), *_cut(b"".join(store.onions(last)))]
        assert len(set(held)) == len(held) == 2 * USERS
        assert set(held) < {report.onions for report in REPORTS}
        assert len(every_row(store)["onions"]) == USERS
    assert min(kills[what] for what in ("add", "close", "keep", "acknowledge", "expire")) >= 2, kills
    print(sum(kills.values()))


def check_all(address):
    """Check that every report is in one place and every batch complete."""
    with open_report_store(address) as store:
        rows, standing = every_row(store), store.standing(TASK.id)
        mixed = [b"".join(store.mixed(ready.batch_id)) for ready in store.ready(TASK.id)]
    waiting = [place for _, place in rows["waiting"]]
    states = {batch_id: (state, people) for batch_id, _, state, people, *_ in rows["batches"]}
    members = {batch: [place for other, place in rows["members"] if other == batch] for batch in states}
    assert all(len(members[batch]) == people for batch, (state, people) in states.items() if state == "closed")
    needed = [place for batch, (state, _) in states.items() if state == "closed" for place in members[batch]]
    places = [place for place, _ in rows["onions"]]
    assert len(set(waiting + needed)) == len(waiting) + len(needed)
    assert set(waiting + needed) <= set(places) <= set(waiting) | {place for _, place in rows["members"]}
    assert standing.waiting == len(waiting)
    assert standing.reports == len(rows["seen"])
    assert all(content == b"".join(MIXED) for content in mixed)


def _cut(onions):
    return [onions[at : at + 48] for at in range(0, len(onions), 48)]


def _dies(address, verb, *, at):
    """Run a child that is killed at its `at`-th statement; return whether it got that far."""
    child = os.fork()
    if child == 0:
        try:
            store = open_report_store(address)
            _arm(at, store._database)
            verb(store)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _arm(at, database):
    left = at

    def step(*_):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if isinstance(database, SQLiteDatabase):
        connect = database._pool._connect

        def traced():
            connection = connect()
            connection.set_trace_callback(step)
            return connection

        database._pool._connect = traced
        for connection in database._pool._idle:
            assert isinstance(connection, sqlite3.Connection)
            connection.set_trace_callback(step)
    else:
        import psycopg

        execute = psycopg.Cursor.execute

        def counted(self, *rest, **named):
            step()
            return execute(self, *rest, **named)

        psycopg.Cursor.execute = counted  # which Connection.execute uses too


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
