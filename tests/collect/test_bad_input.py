"""Invalid requests are refused with a reason, failures are reported, and no acknowledged report is lost."""

import json
import resource
import secrets
import time
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from typer.testing import CliRunner

from shuffledp.cli.app import app
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.crypto.keys import KeyPair, write_key
from shuffledp.collect.server.auth import new_token
from shuffledp.collect.task.report import seal_report
from tests.collect.chaos import attempt, wait_until
from tests.collect.killing import assert_exact
from tests.collect.servers import Collection
from tests.collect.tasks import small_task

USERS = 10


def reason_of(port, task, sealed):
    answer = httpx.post(f"http://127.0.0.1:{port}/v1/tasks/{task.name}/reports", content=sealed, trust_env=False)
    return answer.json()["reason"] if answer.content else answer.status_code


def sealed_at(task, seconds):
    """A report from a clock that is ahead by this number of seconds."""
    now = int(time.time() + seconds)
    return seal_report(
        task, messages_of(task, "dark"), report_id=secrets.token_bytes(16), time=now - now % task.time_precision
    )


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    made = Collection(tmp_path_factory.mktemp("collection"), users=USERS, epsilon=8.0, delta=1e-2)
    with made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("days", "reason"), [(-400_000 / 24, "wrong-time"), (2, "wrong-time"), (0.001, 201)])
def test_wrong_clocks(collection, days, reason):
    """A clock that is ahead by less than the time precision is accepted."""
    seconds = max(days * 86_400, 1 - time.time())
    assert reason_of(collection.ports[0], collection.task, sealed_at(collection.task, seconds)) == reason


@pytest.mark.slow
def test_reports_to_another_key_or_of_another_task(collection):
    """The response only says that the report cannot be opened."""
    other = small_task(users=USERS, epsilon=8.0, delta=1e-2)
    assert reason_of(collection.ports[0], collection.task, sealed_at(other.task, 0)) == "cannot-be-opened"
    assert reason_of(collection.ports[0], other.task, sealed_at(other.task, 0)) == "unknown-task"


@pytest.mark.slow
@pytest.mark.parametrize(
    "header",
    [
        None,
        "Bearer",
        pytest.param(f"Bearer {new_token()}", id="a new token"),
        "Basic abc",
        "the token of somebody else",
    ],
)
def test_nothing_is_served_without_the_token(collection, header):
    """Neither lists nor batches nor acknowledgements."""
    at = f"http://127.0.0.1:{collection.ports[0]}/v1/tasks/{collection.task.name}/batches"
    headers = {} if header is None else {"authorization": header}
    for method, address in (("GET", at), ("GET", f"{at}/{'0' * 32}"), ("DELETE", f"{at}/{'0' * 32}")):
        answer = httpx.request(method, address, headers=headers, trust_env=False)
        assert (answer.status_code, answer.json()["reason"]) == (401, "no-token")


def arguments_of(collection, position, *, key):
    server = collection.server(position)
    words = list(server._arguments)
    words[words.index("--key") + 1] = str(key)
    return words


@pytest.mark.slow
@pytest.mark.parametrize("position", [0, 1])
def test_a_server_with_a_wrong_or_destroyed_key_does_not_start(collection, position, tmp_path):
    """The key of another server, of no server, and a missing key: one line each."""
    other = collection.folder / f"{collection.names[1 - position]}.key"
    nobody, destroyed = (write_key(KeyPair.generate(), tmp_path / f"{name}.key") for name in ("nobody", "destroyed"))
    destroyed.unlink()
    for key in (other, nobody, destroyed):
        result = CliRunner().invoke(app, arguments_of(collection, position, key=key))
        assert result.exit_code in (2, 3)
        assert "key" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_destroying_a_key_first_shows_what_is_lost(collection, tmp_path):
    key = tmp_path / "analyzer.key"
    write_key(collection.keys[-1], key)
    words = ["keys", "destroy", str(key), "--task", str(collection.path)]
    asked = CliRunner().invoke(app, words)
    assert asked.exit_code == 2
    assert "open until" in asked.stdout
    assert key.exists()
    assert CliRunner().invoke(app, [*words, "--yes"]).exit_code == 0
    assert not key.exists()


@pytest.mark.slow
def test_a_full_disk_acknowledges_nothing_and_loses_nothing(tmp_path):
    """A file size limit simulates a full disk: 503, and later everything works."""
    made = Collection(tmp_path, users=USERS, epsilon=8.0, delta=1e-2)
    reports = dict(made.report("dark") for _ in range(2 * USERS))
    waiting = list(reports)
    with made:
        shuffler = made.servers[0]
        statuses = [attempt(shuffler.port, made.task.name, sealed) for sealed in waiting[:5]]
        shuffler.limit(resource.RLIMIT_FSIZE, 4096)
        while_full = [attempt(shuffler.port, made.task.name, sealed) for sealed in waiting]
        shuffler.limit(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
        assert statuses == [201] * 5
        assert set(while_full[:5]) <= {201, 503}  # known reports need no write
        assert set(while_full[5:]) == {503}
        for sealed in waiting:
            wait_until(lambda sealed=sealed: attempt(shuffler.port, made.task.name, sealed) == 201, what="room")
        assert_exact(made, reports)


@pytest.mark.slow
def test_closed_and_future_tasks_are_refused(tmp_path):
    """Different reasons: only a task that is not open yet can be retried."""
    now = datetime.now(UTC)
    early = {"opens": now + timedelta(days=1), "closes": now + timedelta(days=2)}
    late = {"opens": now - timedelta(days=2), "closes": now - timedelta(days=1)}
    for times, reason in ((early, "not-yet-open"), (late, "closed")):
        folder = tmp_path / reason
        folder.mkdir()
        made = Collection(folder, users=USERS, epsilon=8.0, delta=1e-2, **times)
        with made.servers[0].start().wait_until_ready() as shuffler:
            moment = int(made.task.opens.timestamp())
            moment -= moment % made.task.time_precision
            sealed = seal_report(
                made.task, messages_of(made.task, "dark"), report_id=secrets.token_bytes(16), time=moment
            )
            assert reason_of(shuffler.port, made.task, sealed) == reason
            status = httpx.get(f"http://127.0.0.1:{shuffler.port}/v1/tasks/{made.task.name}/status", trust_env=False)
            assert json.loads(status.content)["waiting"] == 0
