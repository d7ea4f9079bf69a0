"""Batches that cannot be mixed, forwarded, counted or released: health, metrics and the status say so and why."""

import asyncio
import errno
import threading

import pytest

from shuffledp.collect.analyzer.releases import Releasing
from shuffledp.collect.analyzer.worker import BATCH as NOT_COUNTED
from shuffledp.collect.analyzer.worker import RELEASE as NOT_RELEASED
from shuffledp.collect.server import background
from shuffledp.collect.server.background import LONGEST_PAUSE, TaskHealth
from shuffledp.collect.shuffler.worker import BATCH as NOT_FORWARDED
from shuffledp.collect.shuffler.worker import NOT_CLOSED, NOT_MIXED, BatchCloser
from tests.collect.analyzer import running as analyzer
from tests.collect.analyzer.batches import Waiting, batch_of, tiny_task
from tests.collect.shuffler.running import NOW, Asked, running, sealed, settings_for
from tests.collect.shuffler.test_batches import KEPT, TASK, filled, prepared
from tests.collect.store.failing import full_for, full_temporary_folder, missing_temporary_folder
from tests.collect.test_replays import CHAIN, ToMixer, onions_of

NEVER = threading.Event()
NO_SPACE = "No space left on device"
STORE_FULL = "Cause: the disk of the store is full."
FOLDER = f"Cause: {background.FOLDER} cannot be written"


def errors_in(text):
    """The number of failures of the store because its disk is full."""
    (line,) = [
        line for line in text.splitlines() if line.startswith("shuffledp_store_errors_total{") and "disk-full" in line
    ]
    return float(line.split()[-1])


async def reported(client, task):
    """Wait for a problem of a task; return the problems, the answer of /health and the metrics."""
    async with asyncio.timeout(10):
        while not (problems := (await client.get(f"/v1/tasks/{task.name}/status")).json()["problems"]):
            await asyncio.sleep(0.01)
    return problems, await client.get("/health"), (await client.get("/metrics")).text


async def mixing(settings):
    """What a first shuffler says while a complete batch cannot be mixed."""
    async with running(settings) as client:
        await filled(Asked(client, TASK), TASK.users)
        found = await reported(client, TASK)
        assert (await Asked(client, TASK).report(sealed(TASK))).status_code == 201  # reports are accepted
        return found


def test_a_batch_that_cannot_be_stored_after_mixing_is_named(tmp_path):
    with full_for("pieces"):
        problems, health, text = asyncio.run(mixing(settings_for(tmp_path, KEPT)))
    assert problems == [f"{NOT_MIXED} {STORE_FULL}"]
    assert (health.status_code, health.json()) == (
        200,  # a load balancer goes on sending reports, which can be stored
        {"state": "degraded", "reason": "disk-full", "problems": {TASK.name: problems}},
    )
    assert f'shuffledp_batches_to_be_mixed{{task="{TASK.name}"}} 1.0' in text
    assert 'shuffledp_store_failing{reason="disk-full"} 1.0' in text
    assert errors_in(text) >= 1


@pytest.mark.parametrize(
    ("failing", "why"),
    [(full_temporary_folder, NO_SPACE), (missing_temporary_folder, "No such file or directory")],
)
def test_a_temporary_folder_that_cannot_be_written_is_named(tmp_path, failing, why):
    settings = settings_for(tmp_path, KEPT)
    with failing():
        problems, health, text = asyncio.run(mixing(settings))
    assert problems == [f"{NOT_MIXED} {FOLDER} ({why})."]
    assert (health.status_code, health.json()) == (200, {"state": "problems", "problems": {TASK.name: problems}})
    assert f'shuffledp_batches_to_be_mixed{{task="{TASK.name}"}} 1.0' in text
    assert errors_in(text) == 0


def test_a_batch_that_cannot_be_closed_is_named_until_the_disk_has_space(tmp_path, monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE", 0.05)

    async def run():
        async with running(settings_for(tmp_path, KEPT)) as client:
            asked = Asked(client, TASK)
            with full_for("batches"):
                await filled(asked, TASK.users)
                found = await reported(client, TASK)
            await asked.batches()
            return found, await asked.status()

    (problems, health, text), later = asyncio.run(run())
    assert problems == [f"{NOT_CLOSED} {STORE_FULL}"]
    assert health.json()["reason"] == "disk-full"
    assert errors_in(text) >= 1
    assert later["problems"] == []


def test_counters_of_refusals_that_cannot_be_stored_count_as_failures(tmp_path):
    async def run():
        async with running(settings_for(tmp_path, KEPT)) as client:
            await Asked(client, TASK).report(b"no report")
            async with asyncio.timeout(10):
                while not errors_in(text := (await client.get("/metrics")).text):
                    await asyncio.sleep(0.01)
            return text

    with full_for("refusals"):
        assert errors_in(asyncio.run(run())) >= 1


def test_a_batch_that_cannot_be_mixed_is_tried_again_and_delays_no_other(tmp_path):
    now, tried = [0.0], []
    store = prepared(tmp_path / "store.db", TASK.users)
    health = TaskHealth(TASK.id, clock=lambda: now[0], longest=LONGEST_PAUSE)
    closer, keep = BatchCloser(TASK, store, clock=lambda: NOW, health=health), store.keep_mixed

    def keep_mixed(task_id, batch_id, *rest):
        tried.append(batch_id)
        if batch_id == tried[0]:
            raise OSError
        keep(task_id, batch_id, *rest)

    store.keep_mixed = keep_mixed
    assert not closer.step(NEVER)
    assert health.problems == [NOT_MIXED]
    prepared(tmp_path / "store.db", TASK.users).close()
    assert closer.step(NEVER)  # the other batch
    assert len(store.ready(TASK.id)) == 1
    for second in range(1, 100):
        now[0] = float(second)
        closer.step(NEVER)
    assert tried.count(tried[0]) == 1 + 7  # after 1, 3, 7, 15, 31, 61 and 91 seconds
    store.keep_mixed = keep
    now[0] += LONGEST_PAUSE
    assert closer.step(NEVER)
    assert health.problems == []
    store.close()


@pytest.mark.parametrize(
    ("failing", "why", "state"),
    [(full_for("pieces"), STORE_FULL, "degraded"), (full_temporary_folder(), f"{FOLDER} ({NO_SPACE}).", "problems")],
    ids=["store", "folder"],
)
def test_a_batch_that_a_later_shuffler_cannot_forward_is_named(tmp_path, failing, why, state):
    upstream = ToMixer()
    upstream.batches = {bytes(16): [onion for _ in range(20) for onion in onions_of(CHAIN)]}

    async def run():
        async with running(settings_for(tmp_path, CHAIN, position=1, upstream=upstream)) as client:
            return await reported(client, CHAIN.task)

    with failing:
        problems, health, text = asyncio.run(run())
    assert problems == [f"{NOT_FORWARDED} {why}"]
    assert (health.status_code, health.json()["state"]) == (200, state)
    assert (errors_in(text) > 0) == (state == "degraded")


@pytest.mark.parametrize(
    ("failing", "sentence", "why", "state"),
    [
        (full_for("tallies"), NOT_COUNTED, STORE_FULL, "degraded"),
        (full_for("releases"), NOT_RELEASED, STORE_FULL, "degraded"),
        (full_temporary_folder(), NOT_COUNTED, f"{FOLDER} ({NO_SPACE}).", "problems"),
    ],
    ids=["tally", "release", "folder"],
)
def test_what_an_analyzer_cannot_store_is_named(tmp_path, failing, sentence, why, state):
    kept, upstream = tiny_task(), Waiting()
    upstream.batches = {bytes(16): batch_of(kept)[1]}

    async def run():
        async with analyzer.running(analyzer.settings_for(tmp_path, kept, upstream)) as asked:
            return await reported(asked.client, kept.task)

    with failing:
        problems, health, text = asyncio.run(run())
    assert problems == [f"{sentence} {why}"]
    assert (health.status_code, health.json()["state"]) == (200, state)
    assert ('shuffledp_store_failing{reason="disk-full"} 1.0' in text) == (state == "degraded")
    assert (errors_in(text) > 0) == (state == "degraded")


def test_an_error_of_the_system_during_a_release_is_named(tmp_path, monkeypatch):
    """Such as a ledger whose folder cannot be written."""
    kept, upstream = tiny_task(), Waiting()
    upstream.batches = {bytes(16): batch_of(kept)[1]}

    def refused(*_):
        raise PermissionError(errno.EPERM, "/srv/ledger of somebody")

    monkeypatch.setattr(Releasing, "release", refused)

    async def run():
        async with analyzer.running(analyzer.settings_for(tmp_path, kept, upstream)) as asked:
            return await reported(asked.client, kept.task)

    problems, _, _ = asyncio.run(run())
    assert problems == [f"{NOT_RELEASED} {FOLDER} (Operation not permitted)."]
