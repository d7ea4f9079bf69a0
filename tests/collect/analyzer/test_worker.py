"""Pulling and counting batches: each counts once, also after a kill; broken batches delay no other."""

import threading

import numpy as np
import pytest

from shuffledp import Ledger
from shuffledp.collect.analyzer.worker import BATCH, LIMIT, RELEASE, BatchAnalyzer
from shuffledp.collect.reaching import UpstreamError
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.background import LONGEST_BACK_OFF, StoppedError
from shuffledp.collect.server.upstream import NO_BATCHES
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.errors import DataError
from tests.collect.analyzer.batches import Waiting, batch_of, sealed, tiny_task
from tests.collect.analyzer.running import settings_for
from tests.collect.releases import releases_of

A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))


class Killed(BaseException):
    """Stands for a kill of the process."""


@pytest.fixture
def kept():
    return tiny_task()


@pytest.fixture
def upstream(kept):
    waiting = Waiting()
    waiting.batches = {A: batch_of(kept, 0)[1], B: batch_of(kept, 1)[1]}
    return waiting


@pytest.fixture
def started(tmp_path, kept):
    """Make an analyzer as after a start; its clock is advanced by hand."""
    stores = []

    def start(upstream, **changes):
        settings = settings_for(tmp_path, kept, upstream, **changes)
        stores.append(settings.store)
        settings.store.prepare(kept.task)
        work = BatchAnalyzer(settings.served[0], settings, clock=lambda: now[0])
        return work, settings.store

    now = start.now = [0.0]
    yield start
    for store in stores:
        store.close()


def step(work):
    return work.step(threading.Event())


def public_problem(words, error):
    """The public problem: it quotes only errors of the previous server."""
    return f"{words} Cause: {error}." if isinstance(error, UpstreamError) else words


def tallies(store, kept):
    return {each.batch_id: each for each in store.tallies(kept.task.id)}


def expected(kept, seed):
    return kept.task.protocol.tally(np.array(batch_of(kept, seed)[0]))


def test_batches_are_counted_acknowledged_and_released(started, upstream, kept):
    work, store = started(upstream)
    assert step(work)
    assert not step(work)
    assert {batch: from_bytes(each.tally) for batch, each in tallies(store, kept).items()} == {
        A: expected(kept, 0),
        B: expected(kept, 1),
    }
    assert upstream.acknowledged == [A, B]
    assert len(releases_of(store, kept.task.id)) == 2
    assert work.health.problems == []


def test_a_batch_pulled_twice_counts_once(started, upstream, kept):
    batches = dict(upstream.batches)
    work, store = started(upstream)
    step(work)
    upstream.batches = batches  # as after a lost acknowledgement
    step(work)
    assert upstream.pulled == [A, B]
    assert upstream.acknowledged == [A, B, A, B]
    assert from_bytes(tallies(store, kept)[A].tally) == expected(kept, 0)
    assert len(releases_of(store, kept.task.id)) == 2


@pytest.mark.parametrize("joined", [False, True])
def test_killed_between_tally_and_acknowledgement(started, upstream, kept, monkeypatch, joined):
    with monkeypatch.context() as patch:

        def killed(*_):
            raise Killed

        patch.setattr(upstream, "acknowledge", killed)
        work, store = started(upstream, joined=joined)
        with pytest.raises(Killed):
            step(work)
        assert len(tallies(store, kept)) == 1
        assert releases_of(store, kept.task.id) == []
    work, store = started(upstream, joined=joined)
    step(work)
    assert upstream.pulled == [A, B]
    assert {batch: from_bytes(each.tally) for batch, each in tallies(store, kept).items()} == {
        A: expected(kept, 0),
        B: expected(kept, 1),
    }
    assert len(releases_of(store, kept.task.id)) == (1 if joined else 2)


def test_killed_between_tally_and_release(started, upstream, kept, tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "l.ledger", epsilon=9.0, delta=0.1, population="people")
    with monkeypatch.context() as patch:

        def killed(*_, **__):
            raise Killed

        work, store = started(upstream, ledger=ledger)
        patch.setattr(store, "keep_release", killed)
        with pytest.raises(Killed):
            step(work)
        assert upstream.batches == {}
        assert [entry.published for entry in ledger.entries] == [False]
        assert releases_of(store, kept.task.id) == []
    work, store = started(upstream, ledger=ledger)
    assert step(work)
    assert len(releases_of(store, kept.task.id)) == 2
    assert [entry.published for entry in ledger.entries] == [True]


def test_a_batch_with_too_few_messages_is_refused_and_not_stored(started, upstream, kept):
    upstream.batches[A] = batch_of(kept, 0)[1][:10]
    upstream.batches[B] = [*batch_of(kept, 1)[1], bytes(49), batch_of(kept, 1)[1][0]]
    work, store = started(upstream)
    step(work)
    refused, counted = tallies(store, kept)[A], tallies(store, kept)[B]
    assert (refused.problem, refused.tally) == (Reason.TOO_FEW_MESSAGES.value, b"")
    assert counted.refused == {Reason.CANNOT_BE_OPENED.value: 1, Reason.REPEATED.value: 1}
    assert upstream.acknowledged == [A, B]
    assert len(releases_of(store, kept.task.id)) == 1
    assert work.health.problems == []


def test_people_of_a_batch_that_was_refused_count_in_another(started, upstream, kept):
    """Nobody in it was counted, so its messages are not remembered."""
    complete = batch_of(kept, 0)[1]
    upstream.batches = {A: complete[:10]}
    work, store = started(upstream)
    step(work)
    upstream.batches = {B: complete}
    step(work)
    assert (tallies(store, kept)[A].problem, tallies(store, kept)[B].problem) == (Reason.TOO_FEW_MESSAGES.value, None)
    assert tallies(store, kept)[B].refused == {}


def test_a_batch_of_another_task_or_server_is_refused_and_delays_no_other(started, upstream, kept):
    upstream.batches |= {A: sealed(kept, [0] * 90, position=0), C: []}
    work, store = started(upstream)
    step(work)
    assert {batch: each.problem for batch, each in tallies(store, kept).items()} == {
        A: "too-few-messages",
        B: None,
        C: "too-few-messages",
    }


@pytest.mark.parametrize(
    "broken",
    [UpstreamError("what the previous server sends is no batch"), OSError("disk"), RuntimeError("a process died")],
)
def test_an_unreadable_batch_stays_upstream_and_delays_no_other(started, upstream, kept, broken):
    whole = upstream.batches[A]
    upstream.batches[A] = broken
    work, store = started(upstream)
    assert step(work)
    assert set(tallies(store, kept)) == {B}
    assert upstream.acknowledged == [B]
    assert work.health.problems == [public_problem(BATCH, broken)]
    assert not step(work)
    assert upstream.pulled == [A, B]  # not before the pause has passed
    for pulled, moment in ((3, 1.0), (3, 2.9), (4, 3.0), (5, 7.0)):
        started.now[0] = moment
        step(work)
        assert len(upstream.pulled) == pulled
    upstream.batches[A] = whole
    started.now[0] = 100.0
    step(work)
    assert set(tallies(store, kept)) == {A, B}
    assert work.health.problems == []


def test_pauses_grow_up_to_a_limit(started, upstream):
    upstream.batches = {A: UpstreamError("broken")}
    work, _ = started(upstream)
    for _ in range(30):
        started.now[0] += LONGEST_BACK_OFF
        step(work)
    assert len(upstream.pulled) == 30


def test_the_list_of_batches_is_asked_for_soon_after_a_long_outage(started, upstream, monkeypatch):
    """The pauses of single batches grow further."""
    work, _ = started(upstream)

    def away(task):
        raise UpstreamError("cannot be reached", try_again=True)

    with monkeypatch.context() as patch:
        patch.setattr(upstream, "ready", away)
        for _ in range(30):
            started.now[0] += LONGEST_BACK_OFF
            step(work)
    started.now[0] += 29.0
    assert not step(work)
    started.now[0] += 1.0
    assert step(work)
    assert work.health.problems == []


def test_an_unreachable_upstream_is_a_problem_and_polled_with_growing_pauses(started, upstream, monkeypatch):
    work, _ = started(upstream)
    asked = []
    with monkeypatch.context() as patch:

        def away(task):
            asked.append(started.now[0])
            raise UpstreamError("cannot be reached", try_again=True)

        patch.setattr(upstream, "ready", away)
        for moment in range(40):
            started.now[0] = moment / 2
            assert not step(work)
            assert work.health.problems == [f"{NO_BATCHES} Cause: cannot be reached."]
    assert asked == [0.0, 1.0, 3.0, 7.0, 15.0]
    started.now[0] = 40.0
    assert step(work)
    assert work.health.problems == []


def test_a_failed_acknowledgement_is_retried(started, upstream, kept):
    upstream.broken["acknowledge"] = True
    work, store = started(upstream)
    step(work)
    assert len(releases_of(store, kept.task.id)) == 2  # the tally is stored
    assert work.health.problems == [public_problem(BATCH, UpstreamError("gone"))]
    upstream.broken.clear()
    started.now[0] = 5.0
    step(work)
    assert upstream.acknowledged == [A, B]
    assert upstream.pulled == [A, B]
    assert work.health.problems == []


def test_over_the_limit_nothing_is_published_and_a_problem_is_shown(started, upstream, kept, tmp_path):
    ledger = Ledger.create(tmp_path / "small.ledger", epsilon=0.5, delta=1e-6, population="people")
    work, store = started(upstream, ledger=ledger)
    step(work)
    assert work.health.problems == [LIMIT]
    assert work.withheld
    assert releases_of(store, kept.task.id) == []
    assert len(tallies(store, kept)) == 2
    assert ledger.entries == ()


def test_a_failed_release_is_retried(started, upstream, kept, monkeypatch):
    work, store = started(upstream)
    with monkeypatch.context() as patch:

        def full(*_, **__):
            raise DataError("the disk is full")

        patch.setattr(store, "keep_release", full)
        step(work)
        assert work.health.problems == [RELEASE]
    started.now[0] = 5.0
    assert step(work)
    assert len(releases_of(store, kept.task.id)) == 2


def test_the_next_start_continues_after_a_stop(started, upstream, kept):
    work, store = started(upstream)
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(StoppedError):
        work.step(stopping)
    assert tallies(store, kept) == {}
    assert upstream.acknowledged == []
    with pytest.raises(StoppedError):
        work._counter.count([b"".join(upstream.batches[A])], stopping=stopping)


def test_logs_have_only_numbers(started, upstream, kept, capsys):
    upstream.batches[C] = DataError("somewhere there is data")
    work, _ = started(upstream)
    step(work)
    written = capsys.readouterr().err
    assert '"event": "batch-counted"' in written
    assert '"event": "released"' in written
    assert "somewhere" not in written
    assert "yes" not in written


def test_upstream_errors_are_logged_as_sentences(started, upstream, capsys):
    upstream.batches = {A: UpstreamError("a batch ended within its head")}
    work, _ = started(upstream)
    step(work)
    assert '"why": "a batch ended within its head"' in capsys.readouterr().err
