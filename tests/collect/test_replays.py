"""Ciphertexts in two batches: replayed by a first shuffler that works with the analyzer, or by a restored store.

The replay succeeded in 10 of 10 rounds before later servers remembered ciphertexts, and a restored store made 600 of
1,000 people count twice.
"""

import shutil
import threading

import pytest

from shuffledp.collect.analyzer.worker import STOPPED, BatchAnalyzer
from shuffledp.collect.client.making import new_report
from shuffledp.collect.crypto.keys import info, unseal, write_secret
from shuffledp.collect.server.settings import Upstreams
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.shuffler.tasks import problems_of
from shuffledp.collect.shuffler.worker import BatchCloser, BatchMixer
from shuffledp.collect.store import Arrival, Outcome, open_report_store, open_tally_store
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task.report import open_report
from tests.collect.analyzer.batches import Waiting, batch_of, tiny_task
from tests.collect.analyzer.running import settings_for
from tests.collect.server.operated import run, shuffler, until
from tests.collect.shuffler.running import NOW, TOKEN
from tests.collect.tasks import small_task

CHAIN = small_task(users=20, honest_users=15, answers=("yes",), protocol="hist", epsilon=4.0, delta=0.05, shufflers=2)
NEVER = threading.Event()
A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))


def step(work):
    work.step(NEVER)


def onions_of(kept, answer="yes"):
    """The onions of one person, as the first shuffler sees them."""
    opened = open_report(kept.task, new_report(kept.task, answer), kept.keys[0])
    each = kept.task.onion_length(0)
    return [opened.onions[at : at + each] for at in range(0, len(opened.onions), each)]


class ToMixer(Waiting):
    """A first shuffler that serves whatever batches it likes."""

    def batch(self, task, batch_id, *, position):
        return super().batch(task, batch_id, position=position + 1)


@pytest.fixture
def mixer(tmp_path):
    """An honest second shuffler, its store and its dishonest upstream."""
    upstream = ToMixer()
    served = Served(task=CHAIN.task, position=1, key=CHAIN.keys[1], upstream=upstream)
    with open_report_store(tmp_path / "second.db") as store:
        store.prepare(CHAIN.task)
        yield BatchMixer(served, upstream, store, processes=1), store, upstream, served


def forwarded(store, batch_id):
    content, each = b"".join(store.mixed(batch_id)), CHAIN.task.onion_length(2)
    return {content[at : at + each] for at in range(0, len(content), each)}


@pytest.mark.slow
def test_a_person_in_two_batches_is_not_in_what_both_forwarded_batches_share(mixer):
    """The attack: what two batches of the honest second shuffler have in common is one person."""
    work, store, upstream, served = mixer
    person = onions_of(CHAIN)
    crowds = [[onion for _ in range(19) for onion in onions_of(CHAIN)] for _ in range(2)]
    upstream.batches = {A: person + crowds[0]}
    step(work)
    upstream.batches = {B: crowds[1] + person}
    step(work)
    first, second = forwarded(store, A), forwarded(store, B)
    assert len(first) == len(person) + len(crowds[0])
    assert first & second == set()
    assert len(second) == len(crowds[1])
    standing = store.standing(CHAIN.task.id)
    assert standing.refused == {"replayed": len(person)}
    (told,) = problems_of(served, standing, store)
    assert told.startswith(f"{len(person)} messages had been in an earlier batch and were dropped.")


@pytest.mark.slow
def test_ciphertexts_are_remembered_after_their_task_was_removed(tmp_path, monkeypatch):
    """An operator adds the task again, and the first shuffler replays a person among new ones."""
    upstream, task, address = ToMixer(), CHAIN.task, "http://127.0.0.1:9"
    monkeypatch.setattr(Upstreams, "at", lambda *_: upstream)
    person, crowd = onions_of(CHAIN), [onion for _ in range(20) for onion in onions_of(CHAIN)]
    settings = shuffler(tmp_path, CHAIN, position=1, upstream=address, token=write_secret(tmp_path / "token", TOKEN))

    async def test(server):
        async def processed():
            return upstream.batches == {}

        for batches in ({A: person + people_in_one(20)}, {B: person + crowd}):
            assert (await server.add(task)).json()["problem"] is None
            upstream.batches = batches
            await until(processed)
            standing = settings.store.standing(task.id)
            (batch,) = await server.forward(task, 1)
            await server.close(task.name)
            assert (await server.remove(task.name, unchecked=True)).status_code == 204
        assert batch == len(crowd)
        assert standing.refused == {"replayed": len(person)}

    run(settings, test)


def test_a_changed_ciphertext_is_no_new_one():
    """Nobody can make another ciphertext of the same content from one, whichever bit is changed."""
    (onion, *_), key, context = onions_of(CHAIN), CHAIN.keys[1].private, info(CHAIN.task.id, 1)
    assert unseal(onion, key, context) is not None
    for at in range(8 * len(onion)):
        changed = bytearray(onion)
        changed[at // 8] ^= 1 << at % 8
        assert unseal(bytes(changed), key, context) is None


@pytest.mark.slow
def test_a_batch_that_loses_its_minimum_is_not_forwarded(mixer):
    work, store, upstream, _ = mixer
    people = [onions_of(CHAIN) for _ in range(30)]
    upstream.batches = {A: [onion for person in people[:20] for onion in person]}
    step(work)
    upstream.batches = {B: [onion for person in people[10:] for onion in person]}
    step(work)
    assert [batch.batch_id for batch in store.ready(CHAIN.task.id)] == [A]
    assert upstream.batches == {}  # it is acknowledged: nothing will change
    replayed = sum(map(len, people[10:20]))
    assert store.standing(CHAIN.task.id).refused == {"replayed": replayed, "too-few-messages": 1}
    # those who were in no accepted batch may come again, in a batch with enough others
    upstream.batches = {C: [onion for person in people[20:] for onion in person] + people_in_one(15)}
    step(work)
    assert len(forwarded(store, C)) == len(set(people_in_one(15))) + sum(map(len, people[20:]))


_MADE = {}


def people_in_one(number):
    """The onions of some people, the same every time."""
    if number not in _MADE:
        _MADE[number] = [onion for _ in range(number) for onion in onions_of(CHAIN)]
    return _MADE[number]


class Killed(BaseException):
    """Stands for a kill of the process."""


@pytest.mark.parametrize("moment", ["before the acknowledgement", "before the batch is stored"])
def test_a_batch_processed_again_does_not_find_its_own_ciphertexts(mixer, moment, monkeypatch):
    work, store, upstream, _ = mixer

    def kill(*_, **__):
        raise Killed

    upstream.batches = {A: people_in_one(20)}
    with monkeypatch.context() as broken:
        broken.setattr(*((upstream, "acknowledge") if "acknowl" in moment else (store, "_count_refusals")), kill)
        with pytest.raises(Killed):
            step(work)
    step(work)
    assert forwarded(store, A) == set(map(opened_by_second, people_in_one(20)))
    assert store.standing(CHAIN.task.id).refused == {}


def opened_by_second(onion):
    return unseal(onion, CHAIN.keys[1].private, info(CHAIN.task.id, 1))


def test_two_processes_with_the_same_batch_find_no_replays(mixer, tmp_path):
    """The second one stores its batch after the first one, and before that one's acknowledgement."""
    work, store, upstream, served = mixer
    upstream.batches = {A: people_in_one(20)}
    with open_report_store(tmp_path / "second.db") as same:
        other = BatchMixer(served, upstream, same, processes=1)
        keep, spent = store.keep_mixed, []

        def later(*given, **named):
            if not spent:
                spent.append(other.step(NEVER))
            return keep(*given, **named)

        store.keep_mixed = later
        step(work)
    assert spent == [True]
    assert len(forwarded(store, A)) == len(people_in_one(20))
    assert store.standing(CHAIN.task.id).refused == {}
    assert work.health.problems == []


# The analyzer


@pytest.fixture
def analyzer(tmp_path):
    """Make an analyzer after a start, of a task with one shuffler."""
    kept, stores = tiny_task(), []

    def start(upstream, **more):
        settings = settings_for(tmp_path, kept, upstream)
        stores.append(settings.store)
        settings.store.prepare(kept.task)
        return BatchAnalyzer(settings.served[0], settings, **more), settings.store

    yield start
    for store in stores:
        store.close()


def test_a_message_in_two_batches_counts_once(analyzer):
    kept, upstream = tiny_task(), Waiting()
    first, second = batch_of(kept, 0)[1], batch_of(kept, 1)[1]
    more = [onion for seed in (2, 3) for onion in batch_of(kept, seed)[1]]
    work, store = analyzer(upstream)
    upstream.batches = {A: first}
    step(work)
    upstream.batches = {B: second + more + first[:7]}
    step(work)
    one, two = sorted(store.tallies(kept.task.id), key=lambda each: each.batch_id)
    assert (one.refused, two.refused) == ({}, {"replayed": 7})
    assert from_bytes(two.tally).messages == sum(len(batch_of(kept, seed)[0]) for seed in (1, 2, 3))


@pytest.mark.parametrize("moment", ["before the acknowledgement", "before the tally is stored"])
def test_a_batch_counted_again_does_not_find_its_own_messages(analyzer, moment, monkeypatch):
    kept, upstream = tiny_task(), Waiting()
    upstream.batches = {A: batch_of(kept, 0)[1]}
    work, store = analyzer(upstream)

    def kill(*_, **__):
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(*((upstream, "acknowledge") if "acknowl" in moment else (store, "keep_tally")), kill)
        with pytest.raises(Killed):
            step(work)
    again, store = analyzer(upstream)
    step(again)
    (tally,) = store.tallies(kept.task.id)
    assert (tally.refused, tally.problem) == ({}, None)


@pytest.mark.parametrize(
    ("reported", "releases", "stopped"),
    [(None, 1, False), (19, 0, True), (20, 1, False), (21, 1, False)],
)
def test_more_people_counted_than_reported_stop_the_releases(analyzer, reported, releases, stopped):
    kept, upstream = tiny_task(), Waiting()
    upstream.batches = {A: batch_of(kept, 0)[1]}
    work, store = analyzer(upstream, ask_reported=lambda: reported)
    step(work)
    assert store.standing(kept.task.id).people == 20
    assert (store.standing(kept.task.id).releases, work.stopped, work.reported) == (releases, stopped, reported)
    assert (work.health.problems, work.withheld) == (([STOPPED], True) if stopped else ([], False))


def test_a_stop_lasts_until_the_first_shuffler_has_enough_reports(analyzer):
    kept, upstream, now, reported = tiny_task(), Waiting(), [0.0], [19]
    upstream.batches = {A: batch_of(kept, 0)[1]}
    work, store = analyzer(upstream, ask_reported=lambda: reported[0], clock=lambda: now[0])
    step(work)
    reported[0], now[0] = None, 1000.0  # it does not answer any more
    step(work)
    assert (work.stopped, work.health.problems, store.standing(kept.task.id).releases) == (True, [STOPPED], 0)
    reported[0], now[0] = 20, 2000.0
    step(work)
    assert (work.stopped, work.health.problems, store.standing(kept.task.id).releases) == (False, [], 1)
    assert not work.withheld


def test_a_batch_that_is_counted_while_the_shuffler_answers_stops_nothing(analyzer):
    """Another process counts it: its reports were accepted after the answer was sent."""
    kept, upstream = tiny_task(), Waiting()
    upstream.batches = {A: batch_of(kept, 0)[1]}

    def answer():
        (counted,) = store.tallies(kept.task.id)
        store.keep_tally(kept.task.id, B, counted.tally, kept.task.users, {}, None)
        return 20

    work, store = analyzer(upstream, ask_reported=answer)
    step(work)
    assert store.standing(kept.task.id).people == 40
    assert (work.stopped, work.health.problems) == (False, [])


def test_fewer_reports_are_noticed_without_a_new_batch(analyzer):
    kept, upstream, now, reported = tiny_task(), Waiting(), [0.0], [20]
    upstream.batches = {A: batch_of(kept, 0)[1]}
    work, store = analyzer(upstream, ask_reported=lambda: reported[0], clock=lambda: now[0])
    step(work)
    reported[0] = 0  # its store was restored
    for now[0], stopped in ((59.0, False), (61.0, True)):
        step(work)
        assert work.stopped is stopped
    assert store.standing(kept.task.id).releases == 1


# A restored store


def add_people(store, kept, number):
    """Add the reports of other people."""
    arrivals = []
    for _ in range(number):
        opened = open_report(kept.task, new_report(kept.task, "yes"), kept.keys[0])
        arrivals.append(
            Arrival(
                task_id=kept.task.id,
                report_id=opened.report_id,
                digest=opened.digest,
                onions=opened.onions,
                number=opened.number,
            )
        )
    assert store.add(arrivals) == [Outcome.STORED] * len(arrivals)


class FromStore:
    """The batches of a first shuffler's store in this process."""

    def __init__(self, store):
        self.store = store

    def ready(self, task):
        return self.store.ready(task.id)

    def batch(self, task, batch_id, *, position):
        return Waiting.batch(self.content(batch_id), task, batch_id, position=position)

    def content(self, batch_id):
        waiting = Waiting()
        waiting.batches = {batch_id: [b"".join(self.store.mixed(batch_id))]}
        return waiting

    def acknowledge(self, task, batch_id):
        self.store.acknowledge(batch_id)

    def close(self):
        pass


def mixed_at(store, task):
    BatchCloser(task, store, clock=lambda: NOW).step(NEVER)


def reported_by(store, task):
    standing = store.standing(task.id)
    return standing.batches * task.users + standing.waiting


@pytest.mark.slow
def test_a_restored_store_of_the_first_shuffler_counts_nobody_twice(tmp_path):
    """12 of 20 people are in the copy; after it is restored, 8 others fill the batch again."""
    kept, path, copy = tiny_task(), tmp_path / "first.db", tmp_path / "copy.db"
    task = kept.task
    with open_tally_store(tmp_path / "analyzer.db") as tallies:
        tallies.prepare(task)
        with open_report_store(path) as first:
            first.prepare(task)
            add_people(first, kept, 12)
        shutil.copy(path, copy)
        for _ in range(2):
            with open_report_store(path) as first:
                first.prepare(task)
                add_people(first, kept, 8)
                mixed_at(first, task)
                settings = settings_for(tmp_path, kept, FromStore(first), store=tallies, owns_store=False)
                work = BatchAnalyzer(settings.served[0], settings, ask_reported=lambda at=first: reported_by(at, task))
                step(work)
            shutil.copy(copy, path)
        standing = tallies.standing(task.id)
        assert (standing.batches, standing.problems, standing.people, standing.releases) == (2, 1, 20, 1)
        assert standing.refused["replayed"] > 0
        (refused,) = [each for each in tallies.tallies(task.id) if each.problem]
        assert (refused.problem, refused.tally) == ("too-few-messages", b"")
