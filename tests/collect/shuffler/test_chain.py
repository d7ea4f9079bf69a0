"""A second shuffler pulls, opens its layer and mixes. It acknowledges only what is durable."""

import threading
import time
from collections import Counter
from contextlib import closing, contextmanager

import httpx
import pytest

from shuffledp.collect.crypto.batch import HEAD_BYTES
from shuffledp.collect.crypto.keys import info, public_key, seal
from shuffledp.collect.reaching import UpstreamError
from shuffledp.collect.server.background import StoppedError
from shuffledp.collect.server.upstream import NO_BATCHES, Upstream
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.shuffler.tasks import problems_of
from shuffledp.collect.shuffler.worker import BATCH, BatchCloser, BatchMixer, most_people
from shuffledp.collect.store import ReadyBatch, open_report_store
from shuffledp.errors import DataError
from tests.collect.in_process import served
from tests.collect.shuffler.running import NEXT_HOP, NOW, TOKEN, sealed, settings_for
from tests.collect.shuffler.test_batches import Stopping
from tests.collect.tasks import small_task

KEPT = small_task(users=5, epsilon=8.0, delta=1e-2, shufflers=2)
TASK = KEPT.task
NEVER = threading.Event()


class Chain:
    """A first shuffler at an address, and the parts of a second one."""

    def __init__(self, path, address):
        self.path, self.address = path, address
        self.first = httpx.Client(base_url=f"{address}/v1/tasks/{TASK.name}", headers=NEXT_HOP)
        self.upstream = Upstream(address, TOKEN, pause=0.0)
        self.settings = settings_for(path, KEPT, position=1, upstream=self.upstream)
        self.store = self.settings.store
        self.store.prepare(TASK)
        self.now = 0.0
        self.relay = self.relay_from(self.upstream)

    def relay_from(self, upstream):
        """A second shuffler after its start; its clock is advanced by hand."""
        return BatchMixer(self.settings.served[0], upstream, self.store, processes=1, clock=lambda: self.now)

    def fill(self, *people):
        """Fill a batch at the first shuffler."""
        for symbols in people:
            assert self.first.post("/reports", content=sealed(TASK, symbols)).status_code == 201
        while not (listed := self.waiting()):
            time.sleep(0.01)  # gives time to the first shuffler, which shares this process
        return listed

    def waiting(self):
        return self.first.get("/batches").json()["batches"]

    def symbols(self):
        """The messages in all batches of the second shuffler, as the analyzer opens them."""
        found = []
        for batch in self.store.ready(TASK.id):
            opened, refused = KEPT.layer(2).open_block(b"".join(self.store.mixed(batch.batch_id)))
            assert not refused
            found += opened
        return found


@pytest.fixture
def chain(tmp_path):
    with chained(tmp_path) as both:
        yield both


@contextmanager
def chained(path):
    with served(make_app(settings_for(path, KEPT))) as address:
        both = Chain(path, address)
        try:
            yield both
        finally:
            both.first.close()
            both.upstream.close()


PEOPLE = ([0, 1], [1], [2, 2, 3], [4], [0])
SENT = Counter(symbol for symbols in PEOPLE for symbol in symbols)


def test_all_messages_arrive_once_and_are_deleted_upstream(chain):
    (listed,) = chain.fill(*PEOPLE)
    assert chain.relay.step(NEVER)
    assert Counter(chain.symbols()) == SENT
    (batch,) = chain.store.ready(TASK.id)
    assert (batch.batch_id.hex(), batch.number) == (listed["id"], 8)
    assert chain.waiting() == []
    assert chain.first.get("/status").json()["batches_acknowledged"] == 1
    assert not chain.relay.step(NEVER)


@pytest.mark.slow
def test_a_second_shuffler_forwards_what_only_the_analyzer_opens(chain):
    (listed,) = chain.fill(*PEOPLE)
    with served(make_app(chain.settings)) as address, httpx.Client(headers=NEXT_HOP) as client:
        batches = f"{address}/v1/tasks/{TASK.name}/batches"
        while not (second := client.get(batches).json()["batches"]):
            time.sleep(0.01)
        assert second == [{"id": listed["id"], "number": 8}]
        content = client.get(f"{batches}/{listed['id']}").content
    opened, refused = KEPT.layer(2).open_block(content[HEAD_BYTES:])
    assert (Counter(opened), refused) == (SENT, 0)
    assert KEPT.layer(1).open_block(content[HEAD_BYTES:])[0] == b""


@pytest.mark.slow
def test_only_durable_batches_are_acknowledged(chain):
    (listed,) = chain.fill(*PEOPLE)
    keep = chain.store.keep_mixed

    def full(*_):
        raise DataError("is the disk full?")

    chain.store.keep_mixed = full
    assert not chain.relay.step(NEVER)
    assert chain.waiting() == [listed]
    assert chain.relay.health.problems == [BATCH]
    chain.store.keep_mixed = keep
    chain.now = 1.0
    assert chain.relay.step(NEVER)
    assert chain.relay.health.problems == []
    assert Counter(chain.symbols()) == SENT


@pytest.mark.slow
@pytest.mark.parametrize("looks", [1, 2, 3])
def test_a_stop_while_pulling_loses_and_doubles_nothing(chain, looks):
    (listed,) = chain.fill(*PEOPLE)
    try:
        chain.relay.step(Stopping(looks))
    except StoppedError:
        assert chain.waiting() == [listed]
    chain.relay_from(chain.upstream).step(NEVER)
    assert Counter(chain.symbols()) == SENT
    assert chain.waiting() == []


def test_a_known_batch_is_only_acknowledged(chain):
    chain.fill(*PEOPLE)
    acknowledge = chain.upstream.acknowledge
    chain.upstream.acknowledge = lambda task, batch_id: None  # killed just before the acknowledgement
    chain.relay.step(NEVER)
    before = b"".join(chain.store.mixed(chain.store.ready(TASK.id)[0].batch_id))
    chain.upstream.acknowledge = acknowledge
    chain.upstream.batch = None  # the source is not asked
    chain.relay.step(NEVER)
    assert b"".join(chain.store.mixed(chain.store.ready(TASK.id)[0].batch_id)) == before
    assert chain.waiting() == []


@pytest.mark.slow
def test_invalid_and_repeated_onions_are_counted(chain):
    """Invalid layers, and two layers around the same onion."""
    inner = seal(bytes([3]), public_key(TASK.analyzer.public_bytes), info(TASK.id, 2))
    second = public_key(TASK.shufflers[1].public_bytes)
    onions = [
        bytes(TASK.onion_length(0)),
        seal(inner, second, info(TASK.id, 1)),
        seal(inner, second, info(TASK.id, 1)),
        seal(inner, second, info(TASK.id, 2)),  # for another position in the chain
    ]
    for at, onion in enumerate(onions):
        inside = bytes([at]) * 16 + NOW.to_bytes(8) + onion
        body = seal(inside, public_key(TASK.shufflers[0].public_bytes), info(TASK.id, 0))
        assert chain.first.post("/reports", content=body).status_code == 201
    chain.fill([1] * 5)
    chain.relay.step(NEVER)
    assert sorted(chain.symbols()) == [1] * 5 + [3]
    assert chain.store.standing(TASK.id).refused == {"cannot-be-opened": 2, "repeated": 1}


@pytest.mark.slow
def test_a_wrong_token_is_a_problem_until_it_works(chain, capsys):
    chain.fill(*PEOPLE)
    asked = []
    with closing(Upstream(chain.address, "another", pause=0.0)) as stranger:
        relay, ready = chain.relay_from(stranger), stranger.ready
        stranger.ready = lambda task: asked.append(chain.now) or ready(task)
        for moment in range(10):
            chain.now = float(moment)
            assert not relay.step(NEVER)
            (reported,) = relay.health.problems
            assert reported.startswith(NO_BATCHES)
            assert "does not know this token: start it with the hash of this token" in reported
        assert asked == [0.0, 1.0, 3.0, 7.0]  # with growing pauses
        assert "does not know this token" in capsys.readouterr().err
        assert chain.store.ready(TASK.id) == []
        stranger.ready = chain.upstream.ready
        chain.now = 15.0
        relay.step(NEVER)
        assert not any(reported.startswith(NO_BATCHES) for reported in relay.health.problems)


@pytest.mark.slow
def test_problems_are_public(tmp_path):
    with closing(Upstream("http://127.0.0.1:9", TOKEN, pause=0.0)) as unreachable:
        settings = settings_for(tmp_path, KEPT, position=1, upstream=unreachable)
        with served(make_app(settings)) as address, httpx.Client(base_url=address) as client:
            while not (reported := client.get(f"/v1/tasks/{TASK.name}/status").json()["problems"]):
                time.sleep(0.01)
            assert reported[0].startswith(f"{NO_BATCHES} Cause: the previous server cannot be reached")
            assert "127.0.0.1" not in reported[0]
            assert f'shuffledp_problems{{task="{TASK.name}"}} 1.0' in client.get("/metrics").text


def test_a_batch_with_too_few_messages_is_not_forwarded(chain):
    """Five messages are too few for five people, who send one each and noise."""
    chain.fill([1], [1], [1], [1], [1])
    assert chain.relay.step(NEVER)
    assert chain.store.ready(TASK.id) == []
    assert chain.waiting() == []  # and it is deleted upstream
    standing = chain.store.standing(TASK.id)
    assert standing.refused == {"too-few-messages": 1}
    (reported,) = problems_of(chain.settings.served[0], standing, chain.store)
    assert reported.startswith("1 batch had too few messages")
    with closing(open_report_store(chain.path / "shuffler-1.db")) as again:
        assert again.standing(TASK.id).refused == {"too-few-messages": 1}  # also after a restart


def test_a_refused_batch_whose_acknowledgement_was_lost_counts_once(chain):
    (listed,) = chain.fill([1], [1], [1], [1], [1])
    acknowledge = chain.upstream.acknowledge
    chain.upstream.acknowledge = lambda task, batch_id: None
    chain.relay.step(NEVER)
    chain.store.refuse_batch(TASK.id, bytes.fromhex(listed["id"]), {"too-few-messages": 1})
    chain.upstream.acknowledge = acknowledge
    chain.upstream.batch = None  # the source is not asked
    chain.relay.step(NEVER)
    assert chain.waiting() == []
    assert chain.store.standing(TASK.id).refused == {"too-few-messages": 1}


def test_padded_reports_are_counted_by_their_one_length():
    padded = small_task(users=5, epsilon=8.0, delta=1e-2, shufflers=2, protocol="sparse").task
    assert most_people(padded, 5 * padded.most_messages) == 5
    assert most_people(padded, 5 * padded.most_messages - 1) == 4


class Several:
    """A batch source in which one batch cannot be read."""

    def __init__(self, batches):
        self.batches, self.pulled = batches, []

    def ready(self, task):
        return [ReadyBatch(batch_id=each, number=0) for each in self.batches]

    @contextmanager
    def batch(self, task, batch_id, *, position):
        self.pulled.append(batch_id)
        if self.batches[batch_id] is None:
            raise UpstreamError("a batch ended within its head")
        yield iter([self.batches[batch_id]])

    def acknowledge(self, task, batch_id):
        del self.batches[batch_id]


def test_a_failed_batch_delays_no_other(chain):
    inside = [seal(bytes([1]), public_key(TASK.analyzer.public_bytes), info(TASK.id, 2)) for _ in range(8)]
    whole = b"".join(seal(each, public_key(TASK.shufflers[1].public_bytes), info(TASK.id, 1)) for each in inside)
    broken, good = b"\x01" * 16, b"\x02" * 16
    upstream = Several({broken: None, good: whole})
    relay = chain.relay_from(upstream)
    assert relay.step(NEVER)
    assert [batch.batch_id for batch in chain.store.ready(TASK.id)] == [good]
    assert relay.health.problems == [f"{BATCH} Cause: a batch ended within its head."]
    assert not relay.step(NEVER)
    assert upstream.pulled == [broken, good]  # not before the pause has passed
    del upstream.batches[broken]
    relay.step(NEVER)
    assert relay.health.problems == []  # the pause is over


@pytest.mark.slow
def test_the_order_changes_at_the_second_shuffler_too(chain):
    """The order of 60 messages stays the same with probability 1 / 60!."""
    (listed,) = chain.fill(*[list(range(5)) * 2 + [3, 4]] * 5)
    content = chain.first.get(f"/batches/{listed['id']}").content[HEAD_BYTES:]
    inside, _ = KEPT.layer(1).open_block(content)
    chain.relay.step(NEVER)
    (batch,) = chain.store.ready(TASK.id)
    mixed = b"".join(chain.store.mixed(batch.batch_id))
    width = TASK.onion_length(2)
    before, after = ([part[at : at + width] for at in range(0, len(part), width)] for part in (inside, mixed))
    assert sorted(before) == sorted(after)
    assert before != after


def test_only_whole_batches_reach_the_second_shuffler(chain):
    for _ in range(4):
        chain.first.post("/reports", content=sealed(TASK))
    assert not chain.relay.step(NEVER)
    assert chain.store.ready(TASK.id) == []


def test_the_first_shuffler_works_alone(tmp_path):
    settings = settings_for(tmp_path, KEPT)
    settings.store.prepare(TASK)
    assert not BatchCloser(TASK, settings.store, clock=lambda: NOW).step(NEVER)
