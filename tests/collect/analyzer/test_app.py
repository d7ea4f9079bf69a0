"""The HTTP API of an analyzer: releases in every format, counters, problems, and nothing of an incomplete batch."""

import io
import json
import threading

import anyio
import numpy as np
import pyarrow
import pytest

from shuffledp import Ledger
from shuffledp.collect.analyzer.shown import headers_for
from shuffledp.collect.analyzer.worker import LIMIT
from shuffledp.collect.server.http import BUSY, MOST_WAITING
from shuffledp.collect.task import task_of
from shuffledp.errors import DataError
from shuffledp.release.release import Release
from tests.collect.analyzer.batches import Waiting, batch_of, tiny_task
from tests.collect.analyzer.running import running, settings_for

A, B = bytes([1]) * 16, bytes([2]) * 16


@pytest.fixture
def kept():
    return tiny_task()


@pytest.fixture
def upstream(kept):
    waiting = Waiting()
    waiting.batches = {A: batch_of(kept, 0)[1], B: [*batch_of(kept, 1)[1], bytes(49)]}
    return waiting


async def _asked(settings, test):
    async with running(settings) as asked:
        return await test(asked)


def ask(settings, test):
    return anyio.run(_asked, settings, test)


@pytest.mark.slow
def test_releases_in_every_format(tmp_path, kept, upstream):
    ledger = Ledger.create(tmp_path / "l.ledger", epsilon=9.0, delta=0.1, population="people")

    async def test(asked):
        await asked.until(lambda status: status["releases"] == 2)
        listed = (await asked.get("/releases")).json()["releases"]
        assert [each["number"] for each in listed] == [1, 2]
        assert [each["people"] for each in listed] == [20, 20]
        assert [each["batches"] for each in listed] == [1, 1]
        found = await asked.get("/releases/1")
        assert found.headers["content-type"] == "application/json"
        assert (await asked.get("/releases/1.json")).content == found.content
        release = Release.from_json(found.text)
        assert release.column == kept.task.question
        assert release.privacy.guarantee == kept.task.guarantee
        assert (await asked.get("/releases/latest.json")).content == (await asked.get("/releases/2")).content
        csv = await asked.get("/releases/1.csv")
        assert csv.headers["content-type"] == "text/csv; charset=utf-8"
        assert csv.text == release.estimate.to_csv()
        arrow = await asked.get("/releases/latest.arrow")
        table = pyarrow.ipc.open_file(io.BytesIO(arrow.content)).read_all()
        latest = Release.from_json((await asked.get("/releases/2")).text)
        assert table.to_pydict() == latest.estimate.to_arrow().to_pydict()
        assert json.loads(table.schema.metadata[b"shuffledp"])["asked"]["task"] == kept.task.name
        page = await asked.get("/releases/1.html")
        assert "nobody held the data" in page.text
        assert "?</bdi> How many people gave each answer</h1>" in page.text
        assert "private_histogram(" not in page.text  # without the task, a program would not know the question
        assert page.headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'none'; style-src 'sha"
        )
        assert page.headers["content-security-policy"] == headers_for("html")["content-security-policy"]
        assert "form-action 'none'" in page.headers["content-security-policy"]
        for answer in (found, csv, arrow, page):
            assert answer.headers["x-content-type-options"] == "nosniff"
        for which in ("0", "3", "latest.txt", "-1", "1.json.csv", "x", "9" * 12):
            missing = await asked.get(f"/releases/{which}")
            assert missing.status_code == 404
            assert missing.headers["content-type"] == "application/problem+json"
        assert (await asked.get("/releases/3")).json()["detail"] == "No such release yet: there are 2, counted from 1."
        warned = [each["warnings"] for each in listed]
        assert sum("1 message was refused" in " ".join(each) for each in warned) == 1

    ask(settings_for(tmp_path, kept, upstream, ledger=ledger), test)
    assert len(ledger.entries) == 1


def test_tasks_status_health_and_metrics(tmp_path, kept, upstream):
    async def test(asked):
        assert (await asked.client.get("/health")).json() == {"state": "ok"}
        status = await asked.until(lambda status: status["releases"] == 2)
        assert status == {
            "task": kept.task.name,
            "users": 20,
            "batches": 2,
            "people": 40,
            "reported": None,
            "batches_refused": 0,
            "refused": {"cannot-be-opened": 1},
            "releases": 2,
            "releases_stopped": False,
            "problems": [],
        }
        assert task_of((await asked.get()).content).id == kept.task.id
        (task,) = (await asked.client.get("/v1/tasks")).json()["tasks"]
        assert (task["task"], task["question"]) == (kept.task.name, kept.task.question)
        text = (await asked.client.get("/metrics")).text
        name = kept.task.name
        assert f'shuffledp_batches_total{{task="{name}"}} 2.0' in text
        assert f'shuffledp_messages_refused_total{{reason="cannot-be-opened",task="{name}"}} 1.0' in text.replace(
            f'{{task="{name}",reason="cannot-be-opened"}}', f'{{reason="cannot-be-opened",task="{name}"}}'
        )
        unknown = await asked.client.get(f"/v1/tasks/{'0' * 64}/status")
        assert (unknown.status_code, unknown.json()["reason"]) == (404, "unknown-task")
        assert (await asked.client.post("/v1/tasks")).status_code == 405
        assert (await asked.client.get("/nothing")).status_code == 404

    ask(settings_for(tmp_path, kept, upstream), test)


def test_nothing_of_a_batch_is_visible_before_it_is_released(tmp_path, kept, upstream):
    """Also if the release would exceed the ledger: tallies are stored, and no response contains them."""
    ledger = Ledger.create(tmp_path / "small.ledger", epsilon=0.5, delta=1e-6, population="people")

    async def test(asked):
        status = await asked.until(lambda status: status["problems"])
        assert status["problems"] == [LIMIT]
        assert status["releases"] == 0
        assert (await asked.get("/releases")).json() == {"releases": []}
        for which in ("1", "latest", "latest.csv"):
            answer = await asked.get(f"/releases/{which}")
            assert answer.status_code == 404
            assert answer.json()["reason"] == "no-release"
            assert answer.json()["detail"].startswith("No release yet: 40 of 20 people are in counted batches")
        assert f'shuffledp_problems{{task="{kept.task.name}"}} 1.0' in (await asked.client.get("/metrics")).text

    ask(settings_for(tmp_path, kept, upstream, ledger=ledger), test)


def counting(monkeypatch, store, verb):
    """Record the calls of a method of the store."""
    asked, usual = [], getattr(store, verb)
    monkeypatch.setattr(store, verb, lambda *given: asked.append(given) or usual(*given))
    return asked


@pytest.mark.slow
def test_a_file_is_computed_once(tmp_path, kept, upstream, monkeypatch):
    """The stored JSON is read once for all formats, and served itself without a copy in the cache."""
    settings = settings_for(tmp_path, kept, upstream)
    read, usual = [], Release.from_json
    monkeypatch.setattr(Release, "from_json", lambda source: read.append(source) or usual(source))

    async def test(asked):
        await asked.until(lambda status: status["releases"] == 2)
        store = counting(monkeypatch, settings.store, "release")
        for ending in ("csv", "arrow", "parquet", "html"):
            found = [(await asked.get(f"/releases/{which}.{ending}")).content for which in (2, "latest", 2)]
            assert found[0] == found[1] == found[2] != (await asked.get(f"/releases/1.{ending}")).content
        assert len(read) == len(store) == 8
        for _ in range(3):
            await asked.get("/releases/latest.json")
        assert (len(read), len(store)) == (8, 11)

    ask(settings, test)


def test_a_list_of_releases_reads_each_release_once(tmp_path, kept, upstream, monkeypatch):
    settings = settings_for(tmp_path, kept, upstream)
    later = {B: upstream.batches.pop(B)}

    async def test(asked):
        await asked.until(lambda status: status["releases"] == 1)
        alone = counting(monkeypatch, settings.store, "release")
        for _ in range(5):
            assert [each["number"] for each in (await asked.get("/releases")).json()["releases"]] == [1]
        assert len(alone) == 1
        upstream.batches = later
        await asked.until(lambda status: status["releases"] == 2)
        alone.clear()
        for _ in range(5):
            listed = (await asked.get("/releases")).json()["releases"]
            assert [(each["number"], each["people"]) for each in listed] == [(1, 20), (2, 20)]
        assert alone == [(kept.task.id, 2)]

    ask(settings, test)


@pytest.mark.parametrize("what", ["/releases/{}.csv", "/releases"])
def test_too_many_requests_at_once_are_refused(tmp_path, kept, upstream, monkeypatch, what):
    """Cached files, and responses that need no computation, are still served."""
    settings = settings_for(tmp_path, kept, upstream)
    go = threading.Event()

    async def test(asked):
        await asked.until(lambda status: status["releases"] == 2)
        assert (await asked.get("/releases/2.html")).status_code == 200
        usual, waiting, found = settings.store.release, [], []

        def slow(*given):
            waiting.append(given)
            go.wait(60)
            return usual(*given)

        async def one():
            found.append(await asked.get(what.format(1)))
            if found[-1].status_code == 503:
                go.set()

        monkeypatch.setattr(settings.store, "release", slow)
        async with anyio.create_task_group() as group:
            for _ in range(MOST_WAITING + 1):
                group.start_soon(one)
        assert sorted(answer.status_code for answer in found) == [200] * MOST_WAITING + [503]
        refused = next(answer for answer in found if answer.status_code == 503)
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.headers["retry-after"] == "1"
        assert (refused.json()["reason"], refused.json()["detail"]) == ("unavailable", BUSY)
        assert len(waiting) == len(set(waiting))
        assert (await asked.get(what.format(1))).status_code == 200
        assert (await asked.get("/releases/2.html")).status_code == 200

    ask(settings, test)


def test_joined_releases(tmp_path, kept, upstream):
    async def test(asked):
        await asked.until(lambda status: status["people"] == 40 and status["releases"])
        latest = Release.from_json((await asked.get("/releases/latest")).text)
        assert latest.estimate.people == 40
        truth = kept.task.protocol.tally(np.array([*batch_of(kept, 0)[0], *batch_of(kept, 1)[0]]))
        expected = kept.task.protocol.joined(2).estimate(truth, reports=40, domain=kept.task.labels)
        assert set(latest.estimate) == set(expected)
        assert all(latest.estimate[label] == expected[label] for label in expected)

    ask(settings_for(tmp_path, kept, upstream, joined=True), test)


def test_a_store_that_does_not_answer(tmp_path, kept, monkeypatch):
    settings = settings_for(tmp_path, kept)

    def away(*_):
        raise DataError("the database at a secret address is away")

    async def test(asked):
        monkeypatch.setattr(settings.store, "standing", away)
        monkeypatch.setattr(settings.store, "listed", away)
        monkeypatch.setattr(settings.store, "release", away)
        health, metrics = await asked.client.get("/health"), await asked.client.get("/metrics")
        assert (health.status_code, health.json()["reason"]) == (503, "unknown-error")
        assert 'shuffledp_store_failing{reason="unknown-error"} 1.0' in metrics.text
        for address in (f"{asked.at}/status", f"{asked.at}/releases", f"{asked.at}/releases/1"):
            answer = await asked.client.get(address)
            assert (answer.status_code, answer.json()["reason"]) == (503, "unavailable")
            assert "secret" not in answer.text

    ask(settings, test)


def test_everything_continues_after_a_restart(tmp_path, kept, upstream):
    later = {B: upstream.batches.pop(B)}

    async def first(asked):
        await asked.until(lambda status: status["releases"] == 1)

    async def second(asked):
        await asked.until(lambda status: status["releases"] == 2)
        assert (await asked.status())["people"] == 40

    ask(settings_for(tmp_path, kept, upstream), first)
    upstream.batches = later
    ask(settings_for(tmp_path, kept, upstream), second)
