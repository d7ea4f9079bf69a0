"""Batches: exactly `users` reports, mixed once, forwarded as often as asked, then deleted."""

import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest

from shuffledp.collect.store import Outcome, ReadyBatch, batches
from shuffledp.errors import DataError, ParameterError
from tests.collect.store.made_up import WIDTH, arrival, arrivals, every_row, task_of

TASK = task_of(4)


@pytest.fixture
def closed(reports):
    """A store with a closed batch and one waiting report, the batch id, and its onions."""
    reports.prepare(TASK)
    new = arrivals(TASK, 4)
    reports.add(new)
    batch_id = reports.close_batch(TASK.id, 4)
    reports.add(arrivals(TASK, 1))
    return reports, batch_id, {one.onions for one in new}


def test_a_batch_has_exactly_users_reports(reports):
    reports.prepare(TASK)
    reports.add(arrivals(TASK, 3))
    assert reports.close_batch(TASK.id, 4) is None
    reports.add(arrivals(TASK, 6))
    closed = [reports.close_batch(TASK.id, 4), reports.close_batch(TASK.id, 4)]
    assert reports.close_batch(TASK.id, 4) is None
    assert reports.standing(TASK.id).waiting == 1
    assert sorted(reports.closing(TASK.id)) == sorted(closed)
    assert all(len(batch_id) == 16 for batch_id in closed)
    assert [len(b"".join(reports.onions(batch_id))) for batch_id in closed] == [4 * 3 * WIDTH] * 2


def test_another_batch_size_is_refused(reports):
    reports.prepare(TASK)
    reports.add(arrivals(TASK, 8))
    for users in (1, 3, 5, 8):
        with pytest.raises(ParameterError, match="users"):
            reports.close_batch(TASK.id, users)
    assert reports.closing(TASK.id) == []


def test_batches_hold_every_report_once(reports):
    reports.prepare(TASK)
    new = arrivals(TASK, 12, number=1)
    reports.add(new)
    batches = [reports.close_batch(TASK.id, 4) for _ in range(3)]
    held = [block[at : at + WIDTH] for batch in batches for block in reports.onions(batch) for at in range(0, 192, 48)]
    assert sorted(held) == sorted(one.onions for one in new)


def test_concurrent_closers_share_no_report(reports):
    reports.prepare(TASK)
    new = arrivals(TASK, 41, number=1)

    def close(_):
        return [batch for _ in range(4) if (batch := reports.close_batch(TASK.id, 4))]

    def add(at):
        return reports.add(new[at : at + 7])

    with ThreadPoolExecutor(8) as pool:
        adding = [pool.submit(add, at) for at in range(0, 41, 7)]
        closing = [pool.submit(close, at) for at in range(6)]
        assert all(outcome == Outcome.STORED for done in adding for outcome in done.result())
        batches = [batch for done in closing for batch in done.result()]
    batches += close(0) + close(0) + close(0)
    assert len(batches) == 10
    onions = [b"".join(reports.onions(batch)) for batch in batches]
    assert [len(some) for some in onions] == [4 * WIDTH] * 10
    held = [some[at : at + WIDTH] for some in onions for at in range(0, len(some), WIDTH)]
    assert len(set(held)) == 40
    assert set(held) < {one.onions for one in new}
    assert reports.standing(TASK.id).waiting == 1


@pytest.mark.slow
def test_the_reports_of_a_batch_are_chosen_at_random(reports):
    """Neither by id, which an attacker chooses, nor by arrival; each failure has probability 1e-23."""
    reports.prepare(task := task_of(40))
    small = [arrival(task, report_id=bytes(15) + bytes([at]), number=1) for at in range(40)]
    large = [arrival(task, report_id=b"\xff" * 15 + bytes([at]), number=1) for at in range(40)]
    for one in (*small, *large):
        reports.add([one])
    onions = b"".join(reports.onions(reports.close_batch(task.id, 40)))
    held = [onions[at : at + WIDTH] for at in range(0, len(onions), WIDTH)]
    chosen = [one.onions for one in [*small, *large] if one.onions in held]
    assert len(chosen) == 40
    assert 0 < sum(one.onions in held for one in small) < 40
    assert held != chosen  # the order of arrival: one of 40! orders


def test_onions_come_in_blocks_of_whole_reports(reports, monkeypatch):
    monkeypatch.setattr(batches, "BLOCK", 1_000)
    reports.prepare(task := task_of(100))
    new = arrivals(task, 100, number=2)
    reports.add(new)
    blocks = list(reports.onions(reports.close_batch(task.id, 100)))
    assert all(len(block) % (2 * WIDTH) == 0 for block in blocks)
    assert max(len(block) for block in blocks[1:]) <= 1_000
    held = b"".join(blocks)
    assert sorted(held[at : at + 96] for at in range(0, len(held), 96)) == sorted(one.onions for one in new)


def test_mixed_bytes_are_stored_unchanged(closed):
    reports, batch_id, _ = closed
    blocks = [b"a" * 700_000, b"b" * 700_000, b"", b"c" * 3_000_000]
    reports.keep_mixed(TASK.id, batch_id, 12, blocks, {"repeated": 2})
    assert reports.closing(TASK.id) == []
    assert reports.ready(TASK.id) == [ReadyBatch(batch_id=batch_id, number=12)]
    for _ in range(2):
        pieces = list(reports.mixed(batch_id))
        assert b"".join(pieces) == b"".join(blocks)
        assert max(len(piece) for piece in pieces) <= 1 << 20
    assert reports.standing(TASK.id).refused == {"repeated": 2}


def test_keeping_is_idempotent(closed):
    reports, batch_id, _ = closed
    reports.keep_mixed(TASK.id, batch_id, 12, [b"first"], {"repeated": 2})
    reports.keep_mixed(TASK.id, batch_id, 11, [b"second"], {"repeated": 2})
    assert b"".join(reports.mixed(batch_id)) == b"first"
    assert reports.ready(TASK.id) == [ReadyBatch(batch_id=batch_id, number=12)]
    assert reports.standing(TASK.id).refused == {"repeated": 2}
    assert len(every_row(reports)["pieces"]) == len(every_row(reports)["drafts"]) == 1


def test_the_first_of_two_concurrent_drafts_is_kept(closed):
    """The second stores its draft while the first still writes."""
    reports, batch_id, _ = closed

    def slowly():
        yield b"first" * 300_000
        reports.keep_mixed(TASK.id, batch_id, 12, [b"second"], {"repeated": 1})
        yield b"first" * 300_000
        yield b"first" * 300_000

    reports.keep_mixed(TASK.id, batch_id, 12, slowly(), {"repeated": 7})
    assert b"".join(reports.mixed(batch_id)) == b"second"
    assert reports.standing(TASK.id).refused == {"repeated": 1}
    rows = every_row(reports)
    assert len(rows["pieces"]) == len(rows["drafts"]) == 1


def test_a_batch_mixed_by_another_process_is_not_read_as_complete(closed, monkeypatch):
    reports, batch_id, _ = closed
    monkeypatch.setattr(batches, "_FIRST_REPORTS", 1)
    blocks = reports.onions(batch_id)
    next(blocks)
    reports.keep_mixed(TASK.id, batch_id, 12, [b"mixed"], {})
    with pytest.raises(DataError, match="another process"):
        list(blocks)
    with pytest.raises(DataError, match="no such batch"):
        reports.onions(batch_id)


def test_failed_mixing_leaves_the_batch_unchanged(closed):
    reports, batch_id, onions = closed

    def failing():
        yield b"x" * 2_000_000
        raise RuntimeError("a key was lost")

    with pytest.raises(RuntimeError, match="a key was lost"):
        reports.keep_mixed(TASK.id, batch_id, 12, failing(), {"repeated": 2})
    assert reports.closing(TASK.id) == [batch_id]
    assert reports.ready(TASK.id) == []
    assert not reports.has_batch(batch_id)
    held = b"".join(reports.onions(batch_id))
    assert {held[at : at + 144] for at in range(0, len(held), 144)} == onions
    rows = every_row(reports)
    assert (rows["pieces"], rows["drafts"], rows["refusals"]) == ([], [], [])


def test_abandoned_drafts_are_deleted(closed):
    reports, batch_id, _ = closed
    for _ in range(10):
        reports._write_draft(batch_id, [b"x" * 10])
        assert len(every_row(reports)["drafts"]) <= 3
    reports.keep_mixed(TASK.id, batch_id, 12, [b"mixed"], {})
    assert len(every_row(reports)["pieces"]) == 1


def test_the_kept_draft_is_not_deleted(closed, monkeypatch):
    """As after a kill between storing the batch and deleting other drafts."""
    reports, batch_id, _ = closed
    for _ in range(2):
        reports._write_draft(batch_id, [b"x" * 10])
    with monkeypatch.context() as killed:
        killed.setattr(reports, "_tidy", lambda *_: None)
        reports.keep_mixed(TASK.id, batch_id, 12, [b"mixed"], {})
    assert len(every_row(reports)["drafts"]) == 3
    reports.keep_mixed(TASK.id, batch_id, 12, [b"mixed again"], {})
    assert b"".join(reports.mixed(batch_id)) == b"mixed"
    assert len(every_row(reports)["drafts"]) == len(every_row(reports)["pieces"]) == 1


def test_mixing_deletes_the_onions_of_reports(closed):
    reports, batch_id, _ = closed
    reports.keep_mixed(TASK.id, batch_id, 12, [b"mixed"], {})
    rows = every_row(reports)
    assert len(rows["onions"]) == len(rows["waiting"]) == 1  # the report that is in no batch
    assert rows["members"] == []


def test_acknowledging_deletes_all_but_the_ids(closed, monkeypatch):
    monkeypatch.setattr(batches, "_PIECES", 2)
    reports, batch_id, _ = closed
    assert reports.acknowledge(batch_id) is False  # not mixed yet
    assert reports.acknowledge(secrets.token_bytes(16)) is False
    assert reports.closing(TASK.id) == [batch_id]
    reports.keep_mixed(TASK.id, batch_id, 12, [b"m" * 5_000_000], {})
    for _ in range(2):
        assert reports.acknowledge(batch_id) is True
        assert reports.ready(TASK.id) == []
        assert reports.has_batch(batch_id)
        rows = every_row(reports)
        assert rows["pieces"] == rows["drafts"] == rows["members"] == []
        assert (len(rows["seen"]), len(rows["onions"])) == (5, 1)
    with pytest.raises(DataError, match="acknowledged"):
        reports.mixed(batch_id)
    reports.keep_mixed(TASK.id, batch_id, 12, [b"mixed again"], {})
    assert reports.ready(TASK.id) == []
    assert every_row(reports)["pieces"] == []


def test_a_batch_acknowledged_while_read_is_not_read_as_complete(closed):
    reports, batch_id, _ = closed
    reports.keep_mixed(TASK.id, batch_id, 12, [b"m" * 3_000_000], {})
    pieces = reports.mixed(batch_id)
    next(pieces)
    reports.acknowledge(batch_id)
    with pytest.raises(DataError, match="incomplete"):
        list(pieces)


def test_batches_from_a_shuffler_before_this_one(reports):
    other = task_of(4, "another")
    reports.prepare(TASK)
    reports.prepare(other)
    batch_id = secrets.token_bytes(16)
    assert not reports.has_batch(batch_id)
    reports.keep_mixed(TASK.id, batch_id, 7, [b"mixed"], {"cannot be opened": 1})
    assert reports.has_batch(batch_id)
    assert reports.has_batch(batch_id, TASK.id)
    assert not reports.has_batch(batch_id, other.id)
    assert reports.ready(TASK.id) == [ReadyBatch(batch_id=batch_id, number=7)]
    assert reports.ready(other.id) == []
    assert reports.acknowledge(batch_id)
    standing = reports.standing(TASK.id)
    assert (standing.batches, standing.acknowledged, standing.refused) == (1, 1, {"cannot be opened": 1})


def test_discarding_deletes_the_batches_that_the_next_server_does_not_have(closed):
    """The reports in no batch stay, and so do the ids of batches: none of them is stored again."""
    reports, batch_id, _ = closed
    mixed, done = b"m" * 16, b"d" * 16
    for each in (mixed, done):
        reports.keep_mixed(TASK.id, each, 1, [b"mixed"], {})
    reports.acknowledge(done)
    assert reports.unacknowledged(TASK.id) == 2
    for _ in range(2):
        reports.discard(TASK.id)
        assert reports.unacknowledged(TASK.id) == 0
        rows = every_row(reports)
        assert rows["members"] == rows["drafts"] == rows["pieces"] == []
        assert len(rows["onions"]) == len(rows["waiting"]) == 1
        standing = reports.standing(TASK.id)
        assert (standing.batches, standing.acknowledged) == (1, 1)
    for each in (batch_id, mixed):  # another process was mixing it
        reports.keep_mixed(TASK.id, each, 1, [b"mixed"], {})
    assert reports.ready(TASK.id) == []
    assert every_row(reports)["pieces"] == []


def test_a_task_that_was_never_prepared_has_no_batches(reports):
    assert reports.unacknowledged(TASK.id) == 0
    reports.discard(TASK.id)


def test_an_empty_batch_is_stored(reports):
    """All onions of the previous server may have been refused."""
    reports.prepare(TASK)
    reports.keep_mixed(TASK.id, b"b" * 16, 0, [], {"cannot be opened": 9})
    assert reports.ready(TASK.id) == [ReadyBatch(batch_id=b"b" * 16, number=0)]
    assert list(reports.mixed(b"b" * 16)) == []


def test_an_expired_task_keeps_complete_batches_and_deletes_the_rest(reports):
    reports.prepare(TASK)
    other = task_of(4, "another")
    reports.prepare(other)
    reports.add(arrivals(other, 3))
    reports.add_admissions(TASK.id, [b"t" * 32])
    known = arrivals(TASK, 9)
    reports.add(known)
    for first in (True, False):
        assert reports.expire(TASK.id) is first
        assert len(reports.closing(TASK.id)) == 2
        rows = every_row(reports)
        assert (len(rows["onions"]), len(rows["members"]), len(rows["waiting"])) == (8 + 3, 8, 3)
        assert rows["admissions"] == []
    late = [*arrivals(TASK, 4), known[0]]
    assert reports.add(late) == [Outcome.CLOSED] * 5
    standing = reports.standing(TASK.id)
    assert (standing.waiting, standing.batches, standing.short_by) == (0, 2, 3)
    assert reports.standing(other.id).waiting == 3


@pytest.mark.parametrize(("people", "short_by"), [(0, 0), (1, 3), (3, 1), (4, 0), (5, 3)])
def test_the_number_of_missing_people(reports, people, short_by):
    reports.prepare(TASK)
    reports.add(arrivals(TASK, people))
    reports.expire(TASK.id)
    assert reports.standing(TASK.id).short_by == short_by
