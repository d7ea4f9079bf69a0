"""Batches have exactly `users` reports, are mixed as a whole, need the token, and are deleted after acknowledgement."""

import asyncio
import secrets
import threading
from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2

from shuffledp.collect.crypto.batch import HEAD_BYTES, BatchHead
from shuffledp.collect.crypto.keys import info, public_key, seal
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.auth import Accepted, new_token
from shuffledp.collect.server.background import StoppedError
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.shuffler.worker import LOOKS_BEFORE_HELPING, BatchCloser
from shuffledp.collect.store import Arrival, open_report_store
from tests.collect.shuffler.running import NEXT_HOP, NOW, TOKEN, Asked, running, sealed, settings_for
from tests.collect.tasks import CLOSES, small_task

KEPT = small_task(users=5, epsilon=8.0, delta=1e-2)
TASK = KEPT.task
LAYER = KEPT.layer(1)


def with_client(settings, use):
    """Run `use(asked)` against a shuffler; return its result."""

    async def run():
        async with running(settings) as client:
            return await use(Asked(client, settings.served[0].task))

    return asyncio.run(run())


async def filled(asked, number, symbols=(0,)):
    """Send this number of reports at the same time."""
    answers = await asyncio.gather(*(asked.report(sealed(TASK, symbols)) for _ in range(number)))
    assert {answer.status_code for answer in answers} == {201}


def symbols_in(content):
    """The messages of a batch for the analyzer, in order."""
    opened, refused = LAYER.open_block(content[HEAD_BYTES:])
    assert not refused
    return list(opened)


def test_a_batch_holds_exactly_the_messages_of_its_people(tmp_path):
    async def use(asked):
        for person in range(TASK.users):
            await asked.report(sealed(TASK, [person, person]))
        (batch,) = await asked.batches()
        return batch, (await asked.pulled(batch)).content

    batch, content = with_client(settings_for(tmp_path), use)
    head = BatchHead.from_bytes(content)
    assert (head.task_id, head.batch_id.hex(), head.position, head.number) == (TASK.id, batch["id"], 1, 10)
    assert batch["number"] == 10
    assert Counter(symbols_in(content)) == Counter(dict.fromkeys(range(5), 2))


@pytest.mark.parametrize("people", [4, 5, 9, 10, 23])
def test_concurrent_reports_form_batches_of_exactly_users_people(people, tmp_path):
    whole = people // TASK.users

    async def use(asked):
        await filled(asked, people)
        batches = await asked.batches(whole) if whole else []
        return batches, await asked.status()

    settings = settings_for(tmp_path)
    batches, status = with_client(settings, use)
    assert [batch["number"] for batch in batches] == [TASK.users] * whole  # each person sent one message
    assert (status["batches"], status["waiting"]) == (whole, people - whole * TASK.users)


def test_an_incomplete_batch_is_never_forwarded(tmp_path):
    """Also when the task closes: it is deleted, and the number of missing people is public."""
    now = [NOW]

    async def use(asked):
        await filled(asked, 7)
        (batch,) = await asked.batches()
        now[0] = int(CLOSES.timestamp())
        while (status := await asked.status())["short_by"] is None:
            await asyncio.sleep(0.01)
        assert await asked.batches() == [batch]  # the complete batch is still stored
        return status, await asked.report(sealed(TASK))

    settings = settings_for(tmp_path, clock=lambda: now[0])
    status, answer = with_client(settings, use)
    assert (status["short_by"], status["waiting"], status["batches"]) == (3, 0, 1)
    assert answer.json()["reason"] == Reason.CLOSED


def test_short_by_is_zero_without_waiting_reports(tmp_path):
    now = [NOW]

    async def use(asked):
        await filled(asked, 5)
        now[0] = int(CLOSES.timestamp())
        assert len(await asked.batches()) == 1
        while (status := await asked.status())["short_by"] is None:
            await asyncio.sleep(0.01)
        return status

    assert with_client(settings_for(tmp_path, clock=lambda: now[0]), use)["short_by"] == 0


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": f"Bearer {new_token()}"},
        {"authorization": TOKEN},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
    ],
    ids=["none", "another", "no-scheme", "another-scheme", "empty", "longer", "shorter"],
)
def test_nothing_is_served_without_the_token(headers, tmp_path):
    async def use(asked):
        await filled(asked, 5)
        (batch,) = await asked.batches()
        listed = await asked.client.get(f"{asked.at}/batches", headers=headers)
        answers = [listed, await asked.pulled(batch, headers), await asked.acknowledge(batch, headers)]
        assert await asked.batches() == [batch]
        return answers

    for answer in with_client(settings_for(tmp_path), use):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["reason"] == Reason.NO_TOKEN


def test_nothing_is_served_without_a_next_server(tmp_path):
    async def use(asked):
        await filled(asked, 5)
        return await asked.client.get(f"{asked.at}/batches", headers=NEXT_HOP)

    assert with_client(settings_for(tmp_path, next_servers=Accepted(())), use).status_code == 401


def test_a_batch_is_the_same_bytes_until_acknowledged(tmp_path):
    async def use(asked):
        await filled(asked, 5)
        (batch,) = await asked.batches()
        first, second = (await asked.pulled(batch)).content, (await asked.pulled(batch)).content
        acknowledged = [(await asked.acknowledge(batch)).status_code for _ in range(2)]
        gone = await asked.pulled(batch)
        return first, second, acknowledged, gone, await asked.status()

    settings = settings_for(tmp_path)
    first, second, acknowledged, gone, status = with_client(settings, use)
    assert first == second
    assert len(first) == HEAD_BYTES + 5 * TASK.onion_length(1)
    assert acknowledged == [204, 204]
    assert gone.json()["reason"] == Reason.UNKNOWN_BATCH
    assert (status["batches"], status["batches_acknowledged"], status["waiting"]) == (1, 1, 0)
    settings.store.close()
    onions = [first[at : at + 20] for at in range(HEAD_BYTES, len(first), TASK.onion_length(1))]
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert not [onion for onion in onions if onion in written]


def test_the_same_after_a_restart(tmp_path):
    async def fill(asked):
        await filled(asked, 5)
        (batch,) = await asked.batches()
        return (await asked.pulled(batch)).content

    async def pull(asked):
        (batch,) = await asked.batches()
        return (await asked.pulled(batch)).content

    assert with_client(settings_for(tmp_path), fill) == with_client(settings_for(tmp_path), pull)


@pytest.mark.parametrize("name", ["0" * 32, "0" * 31, "x" * 32, "0" * 30 + "%20%20", "..%2f"])
def test_a_missing_batch_is_unknown(name, tmp_path):
    async def use(asked):
        return [await asked.pulled({"id": name}), await asked.acknowledge({"id": name})]

    for answer in with_client(settings_for(tmp_path), use):
        assert answer.status_code == 404


def test_a_batch_is_unknown_under_another_task(tmp_path):
    other = small_task(users=6, epsilon=8.0, delta=1e-2)
    settings = settings_for(tmp_path)
    settings = replace(settings, served=[*settings.served, served_of(other)])

    async def use(asked):
        await filled(asked, 5)
        (batch,) = await asked.batches()
        elsewhere = Asked(asked.client, other.task)
        answers = [await elsewhere.pulled(batch), await elsewhere.acknowledge(batch)]
        assert await asked.batches() == [batch]
        return answers

    assert [answer.status_code for answer in with_client(settings, use)] == [404, 404]


def served_of(kept):
    return Served(task=kept.task, position=0, key=kept.keys[0])


def prepared(path, reports, task=TASK):
    """A store with reports of one message each: the number of the report."""
    store = open_report_store(path)
    store.prepare(task)
    width = task.onion_length(0)
    store.add(
        [
            Arrival(
                task_id=task.id,
                report_id=secrets.token_bytes(16),
                digest=bytes(16),
                onions=number.to_bytes(width),
                number=1,
            )
            for number in range(reports)
        ]
    )
    return store


class InMemory:
    """A minimal store that repeats batches of the same five messages."""

    def __init__(self, batches):
        self._waiting, self._closing, self.orders = batches, [], Counter()

    def close_batch(self, task_id, users):
        self._waiting -= 1
        if self._waiting < 0:
            return None
        self._closing.append(secrets.token_bytes(16))
        return self._closing[-1]

    def closing(self, task_id):
        return list(self._closing)

    def onions(self, batch_id):
        width = TASK.onion_length(0)
        yield b"".join(number.to_bytes(8) + bytes(width - 8) for number in range(2))
        yield b"".join(number.to_bytes(8) + bytes(width - 8) for number in range(2, 5))

    def keep_mixed(self, task_id, batch_id, number, blocks, refused):
        content, width = b"".join(blocks), TASK.onion_length(0)
        self.orders[tuple(content[at + 7] for at in range(0, len(content), width))] += 1
        self._closing.remove(batch_id)


def statistic_of(orders):
    """Chi-square over the 120 orders of five."""
    expected = sum(orders.values()) / 120
    return sum((orders[order] - expected) ** 2 / expected for order in permutations(range(5)))


@pytest.mark.slow
def test_the_order_is_uniform_over_the_whole_batch():
    """False failure rate 1e-6."""
    store = InMemory(2400)
    BatchCloser(TASK, store, clock=lambda: NOW).step(threading.Event())
    assert sum(store.orders.values()) == 2400
    assert statistic_of(store.orders) < chi2.isf(1e-6, 119)


def test_mixing_each_block_separately_is_detected():
    rng = np.random.default_rng(1)
    orders = Counter((*map(int, rng.permutation(2)), *map(int, 2 + rng.permutation(3))) for _ in range(2400))
    assert statistic_of(orders) > chi2.isf(1e-6, 119)


def test_repeated_onions_are_left_out_and_counted(tmp_path):
    """An honest ciphertext never repeats: a second copy is a replay."""
    onion = bytes(TASK.onion_length(0))

    def copied():
        inside = secrets.token_bytes(16) + NOW.to_bytes(8) + onion
        return seal(inside, public_key(TASK.shufflers[0].public_bytes), info(TASK.id, 0))

    async def use(asked):
        for body in [copied(), copied(), copied(), sealed(TASK), sealed(TASK)]:
            assert (await asked.report(body)).status_code == 201
        (batch,) = await asked.batches()
        return batch, await asked.status()

    batch, status = with_client(settings_for(tmp_path), use)
    assert batch["number"] == 3
    assert status["refused"] == {"repeated": 2}


class Stopping(threading.Event):
    """An event that is set after this number of checks."""

    def __init__(self, looks):
        super().__init__()
        self._looks = looks

    def is_set(self):
        self._looks -= 1
        return self._looks < 0


@pytest.mark.parametrize("looks", [0, 1])
def test_mixing_continues_after_a_stop(looks, tmp_path):
    """Stop while reports are read (0) or while mixed onions are written (1)."""
    store = prepared(tmp_path / "store.db", 5)
    with pytest.raises(StoppedError):
        BatchCloser(TASK, store, clock=lambda: NOW).step(Stopping(looks))
    (batch_id,) = store.closing(TASK.id)
    assert store.ready(TASK.id) == []
    BatchCloser(TASK, store, clock=lambda: NOW).step(threading.Event())
    (batch,) = store.ready(TASK.id)
    assert (batch.batch_id, batch.number) == (batch_id, 5)
    assert {onion[-1] for onion in onions_of(store, batch)} == set(range(5))


def onions_of(store, batch):
    content, width = b"".join(store.mixed(batch.batch_id)), TASK.onion_length(0)
    return [content[at : at + width] for at in range(0, len(content), width)]


def test_failed_mixing_is_retried(tmp_path):
    store = prepared(tmp_path / "store.db", 5)
    closing = BatchCloser(TASK, store, clock=lambda: NOW)
    with pytest.raises(StoppedError):
        closing.step(Stopping(1))
    assert closing.step(threading.Event())
    assert len(store.ready(TASK.id)) == 1
    assert not closing.step(threading.Event())


def test_two_closers_on_one_store_close_every_batch_once(tmp_path):
    store = prepared(tmp_path / "store.db", 103)
    other = open_report_store(tmp_path / "store.db")
    workers = [BatchCloser(TASK, each, clock=lambda: NOW) for each in (store, other)]
    threads = [threading.Thread(target=worker.step, args=(threading.Event(),)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batches = store.ready(TASK.id)
    assert [batch.number for batch in batches] == [5] * 20
    numbers = [int.from_bytes(onion) for batch in batches for onion in onions_of(store, batch)]
    assert len(set(numbers)) == 100
    assert store.standing(TASK.id).waiting == 3


def test_an_abandoned_batch_is_mixed_after_a_while(tmp_path):
    store = prepared(tmp_path / "store.db", 5)
    helper = BatchCloser(TASK, store, clock=lambda: NOW)
    store.close_batch(TASK.id, TASK.users)  # by a machine that is gone
    looks = 0
    while not helper.step(threading.Event()):
        looks += 1
    assert looks == LOOKS_BEFORE_HELPING - 1
    assert len(store.ready(TASK.id)) == 1


def test_complete_batches_of_a_closed_task_are_mixed_after_a_restart(tmp_path):
    store = prepared(tmp_path / "store.db", 12)
    BatchCloser(TASK, store, clock=CLOSES.timestamp).step(threading.Event())
    assert [batch.number for batch in store.ready(TASK.id)] == [5, 5]
    assert store.standing(TASK.id).short_by == 3
    BatchCloser(TASK, store, clock=CLOSES.timestamp).step(threading.Event())
    assert store.standing(TASK.id).short_by == 3
