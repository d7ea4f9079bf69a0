"""Public responses of a shuffler, and that nothing it writes identifies senders."""

import asyncio
import hashlib
import json
import secrets
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from shuffledp.collect.crypto.keys import info, public_key, seal
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server import storage
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.store import open_report_store
from shuffledp.errors import DataError
from tests.collect.in_process import served
from tests.collect.shuffler.running import NEXT_HOP, NOW, TOKEN, Asked, running, sealed, settings_for
from tests.collect.tasks import small_task

ANSWER = "an-answer-that-nobody-else-gives"
KEPT = small_task(users=5, epsilon=8.0, delta=1e-2, answers=(ANSWER, "another"))
TASK = KEPT.task


def answers(options, *paths):
    async def run():
        async with running(options) as client:
            asked = Asked(client, TASK)
            for _ in range(7):
                await asked.report(sealed(TASK))
            await asked.report(b"x" * 100)
            await asked.batches()
            await asyncio.sleep(0.05)  # until refusals are written
            return [await client.get(path.format(task=asked.at)) for path in paths]

    return asyncio.run(run())


def test_the_task_is_the_bytes_of_its_name(tmp_path):
    (answer,) = answers(settings_for(tmp_path, KEPT), "{task}")
    assert hashlib.sha256(answer.content).hexdigest() == TASK.name
    assert answer.headers["content-type"] == "application/json"


def test_the_status_is_public_and_only_counts(tmp_path):
    (answer,) = answers(settings_for(tmp_path, KEPT), "{task}/status")
    assert answer.json() == {
        "task": TASK.name,
        "position": 0,
        "users": 5,
        "waiting": 2,
        "batches": 1,
        "batches_acknowledged": 0,
        "closed": False,
        "short_by": None,
        "refused": {"cannot-be-opened": 1},
        "problems": [],
    }


def test_metrics_are_for_prometheus(tmp_path):
    (answer,) = answers(settings_for(tmp_path, KEPT), "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    label = f'{{task="{TASK.name}"}}'
    for line in (
        f"shuffledp_reports_total{label} 7.0",
        f"shuffledp_reports_waiting{label} 2.0",
        f"shuffledp_batches_total{label} 1.0",
        f"shuffledp_batches_ready{label} 1.0",
        f"shuffledp_batches_acknowledged_total{label} 0.0",
        f'shuffledp_refused_total{{reason="cannot-be-opened",task="{TASK.name}"}} 1.0',
    ):
        assert line in lines
    assert "shuffledp_short_by{" not in answer.text  # not before the task is closed


def test_the_number_of_messages_is_not_public(tmp_path, monkeypatch):
    """Polled after every report, the counter would reveal more about the noise than the guarantee allows."""
    # other tests fill the disk meanwhile
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**10))

    async def reported(number):
        options = settings_for(tmp_path, KEPT, store=open_report_store(tmp_path / f"{number}.db"))
        async with running(options) as client:
            asked = Asked(client, TASK)
            assert (await asked.report(sealed(TASK, [0] * number))).status_code == 201
            return [(await client.get(path)).text for path in ("/metrics", f"{asked.at}/status")]

    assert asyncio.run(reported(1)) == asyncio.run(reported(2))


@pytest.mark.slow
def test_healthy(tmp_path):
    (answer,) = answers(settings_for(tmp_path, KEPT), "/health")
    assert (answer.status_code, answer.json()) == (200, {"state": "ok"})


def test_unhealthy_without_the_store_or_background_work(tmp_path):
    options = settings_for(tmp_path, KEPT)

    def failing(*_):
        raise DataError("the store is gone")

    async def run():
        async with running(options) as client:
            options.store.standing = options.store.ready = failing
            status = await client.get(f"/v1/tasks/{TASK.name}/status")
            batches = await client.get(f"/v1/tasks/{TASK.name}/batches", headers=NEXT_HOP)
            metrics = await client.get("/metrics")
            health = await client.get("/health")
            return [status, batches, metrics, health]

    status, batches, metrics, health = asyncio.run(run())
    for answer in (status, batches):
        assert answer.status_code == 503
        assert answer.json()["reason"] == Reason.UNAVAILABLE
    assert (health.status_code, health.json()) == (
        503,
        {
            "state": "degraded",
            "reason": "unknown-error",
            "problems": {TASK.name: [NOTHING_STORED]},
        },
    )
    assert 'shuffledp_store_failing{reason="unknown-error"} 1.0' in metrics.text
    for answer in (status, batches, metrics, health):
        assert "gone" not in answer.text


def in_a_seal(inside):
    return seal(inside, public_key(TASK.shufflers[0].public_bytes), info(TASK.id, 0))


IDS = [bytes([at]) * 16 for at in range(3)]
TIMES = [NOW, NOW + TASK.time_precision, 0, 2**64 - 1, NOW + 1]
INSIDE = some.builds(
    lambda report_id, time, number, rest: report_id + time.to_bytes(8) + bytes(number * TASK.onion_length(0)) + rest,
    some.sampled_from(IDS) | some.binary(min_size=16, max_size=16),
    some.sampled_from(TIMES),
    some.integers(0, 3),
    some.just(b"") | some.binary(max_size=5),
)
BODIES = some.binary(max_size=300) | INSIDE.map(in_a_seal) | some.binary(max_size=100).map(in_a_seal)
HEADERS = some.none() | some.text(some.characters(min_codepoint=32, max_codepoint=126), max_size=40)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    """One shuffler for all examples."""
    with served(make_app(settings_for(tmp_path_factory.mktemp("fuzzed"), KEPT))) as address, httpx.Client() as client:
        yield client, f"{address}/v1/tasks/{TASK.name}"


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=BODIES, authorization=HEADERS)
def test_any_body_gets_a_reason(fuzzed, body, authorization):
    client, address = fuzzed
    headers = {} if authorization is None else {"authorization": authorization.strip()}
    answer = client.post(f"{address}/reports", content=body, headers=headers)
    if answer.status_code != 201:
        assert answer.json()["reason"] in list(Reason)
        assert answer.status_code == Reason(answer.json()["reason"]).status
        assert answer.status_code < 500


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=some.sampled_from(["GET", "DELETE", "POST", "PUT"]),
    path=some.lists(
        some.sampled_from(["batches", "status", "reports", "..", "%00", "0" * 32, "%ff", "é", ""]), max_size=4
    ),
)
def test_any_request_gets_no_server_error(fuzzed, method, path):
    client, address = fuzzed
    answer = client.request(method, "/".join([address, *path]), headers=NEXT_HOP)
    assert answer.status_code < 500
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"


NOTHING_STORED = "Nothing can be stored, since the store failed: reports are refused and batches wait."

AGENT = "an-agent-that-nobody-else-has/17.3"


@pytest.mark.slow
def test_nothing_written_identifies_senders(tmp_path, capfd):
    """Accepted, refused and failing requests from a known address, agent and token, which are searched for."""
    options = settings_for(tmp_path, KEPT)
    secret = secrets.token_urlsafe(24)
    add, calls = options.store.add, []

    def sometimes(arrivals):
        calls.append(1)
        if len(calls) == 3:
            raise DataError(f"failed for {AGENT} with {secret} from 127.0.0.1")
        return add(arrivals)

    options.store.add = sometimes
    bodies = [sealed(TASK) for _ in range(7)] + [b"x" * 50, b"x" * 100_000, sealed(TASK, time=NOW + 10**6)]
    with (
        served(make_app(options)) as address,
        httpx.Client(
            headers={"user-agent": AGENT, "authorization": f"Bearer {secret}", "x-forwarded-for": AGENT}
        ) as us,
    ):
        texts = []
        for body in bodies:
            texts.append(us.post(f"{address}/v1/tasks/{TASK.name}/reports", content=body).text)
        for path in (
            "/health",
            "/metrics",
            "/nowhere",
            f"/v1/tasks/{TASK.name}/status",
            f"/v1/tasks/{TASK.name}/batches",
        ):
            texts.append(us.get(f"{address}{path}").text)
        texts.append(us.get(f"{address}/v1/tasks/{TASK.name}/batches", headers=NEXT_HOP).text)
    options.store.close()
    logged = capfd.readouterr()
    lines = [json.loads(line) for line in logged.err.splitlines()]
    assert {"reports-not-stored"} <= {line["event"] for line in lines}
    assert not logged.out
    written = [file.read_bytes() for file in tmp_path.iterdir()]
    everything = b"\n".join([logged.err.encode(), *written, *(text.encode() for text in texts)])
    port = address.rpartition(":")[2]
    for personal in (
        AGENT,
        secret,
        TOKEN,
        "Bearer",
        "127.0.0.1",
        f":{port}",
        "httpx",
        ANSWER,
        *map(bytes.hex, bodies[:3]),
    ):
        assert personal.encode() not in everything
    for body in bodies[:7]:
        assert body[:32] not in everything  # recorded ciphertexts are not found here either
