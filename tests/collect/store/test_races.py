"""Races: another process acts in the middle of a method. Only PostgreSQL allows this."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from shuffledp.collect.store import Outcome, open_report_store, postgres
from tests.collect.databases import ON_POSTGRES
from tests.collect.store.made_up import arrival, arrivals, every_row, task_of

pytestmark = list(ON_POSTGRES)
TASK = task_of(4)


@pytest.fixture
def two(postgres_url):
    with open_report_store(postgres_url) as one, open_report_store(postgres_url) as other:
        one.prepare(TASK)
        yield one, other


def meanwhile(monkeypatch, kind, verb, *, after, act):
    """Act once, after the `after`-th call of a method has returned."""
    original, calls = getattr(kind, verb), 0

    def interrupted(*rest, **named):
        nonlocal calls
        result = original(*rest, **named)
        calls += 1
        if calls == after:
            act()
        return result

    monkeypatch.setattr(kind, verb, interrupted)


@pytest.mark.parametrize("after", [1, 2])
def test_a_report_repeated_while_another_process_stores_it(two, monkeypatch, after):
    """The report is known, although its token is spent."""
    one, other = two
    one.add_admissions(TASK.id, [b"t" * 32])
    report = arrival(TASK, admission_hash=b"t" * 32)
    reported = []
    act = lambda: reported.extend(other.add([report]))  # noqa: E731
    meanwhile(monkeypatch, postgres._PostgresTransaction, "rows_among", after=after, act=act)
    assert one.add([report]) == [Outcome.KNOWN]
    assert reported == [Outcome.STORED]
    assert one.standing(TASK.id).waiting == len(every_row(one)["onions"]) == 1


@pytest.mark.parametrize("after", [1, 2])
def test_a_token_used_twice_at_the_same_moment(two, monkeypatch, after):
    one, other = two
    one.add_admissions(TASK.id, [b"t" * 32])
    first, second = (arrival(TASK, admission_hash=b"t" * 32) for _ in range(2))
    act = lambda: other.add([second])  # noqa: E731
    meanwhile(monkeypatch, postgres._PostgresTransaction, "rows_among", after=after, act=act)
    assert one.add([first]) == [Outcome.NOT_ADMITTED]
    assert [row[1] for row in every_row(one)["onions"]] == [second.onions]
    assert len(every_row(one)["seen"]) == 1


@pytest.mark.parametrize("after", [1, 2])
def test_reports_that_arrive_while_a_batch_closes_wait_for_the_next(two, monkeypatch, after):
    """Places are random, so 40 that all follow those of the batch would have probability 2^-40."""
    one, other = two
    one.add(arrivals(TASK, 4))
    act = lambda: other.add(arrivals(TASK, 40))  # noqa: E731
    meanwhile(monkeypatch, postgres._PostgresTransaction, "run", after=after, act=act)
    batch = one.close_batch(TASK.id, 4)
    assert len(b"".join(one.onions(batch))) == 4 * 3 * 48
    assert one.standing(TASK.id).waiting == len(every_row(one)["waiting"]) == 40


def test_a_report_that_arrives_while_the_task_expires_is_refused_or_counted(two, monkeypatch):
    """The expiry waits for running transactions, and leaves nothing behind."""
    one, other = two
    one.add(arrivals(TASK, 2))
    with ThreadPoolExecutor(1) as pool:
        expired = []

        def act():
            expired.append(pool.submit(other.expire, TASK.id))
            wait(expired, timeout=0.3)  # without waiting it would be done by then

        meanwhile(monkeypatch, postgres._PostgresTransaction, "rows_among", after=1, act=act)
        assert one.add(arrivals(TASK, 1)) == [Outcome.STORED]
        assert expired[0].result() == 1
    rows = every_row(one)
    assert rows["onions"] == rows["waiting"] == rows["members"] == []
    assert one.add(arrivals(TASK, 1)) == [Outcome.CLOSED]


def test_concurrent_closers_wait_for_each_other(two, monkeypatch):
    one, other = two
    one.add(arrivals(TASK, 7))
    with ThreadPoolExecutor(1) as pool:
        others = []

        def act():
            others.append(pool.submit(other.close_batch, TASK.id, 4))
            wait(others, timeout=0.5)  # without waiting it would have chosen its reports by then

        meanwhile(monkeypatch, one, "_count", after=1, act=act)
        assert one.close_batch(TASK.id, 4) is not None
        assert others[0].result() is None
    assert one.standing(TASK.id).waiting == len(every_row(one)["waiting"]) == 3
