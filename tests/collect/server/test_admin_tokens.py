"""Who may operate a server, and the tokens and secrets that admit people to an added task."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest

from shuffledp.collect.crypto.keys import KeyPair, write_secret
from shuffledp.collect.server.auth import MOST_WRONG, hash_of, new_token
from shuffledp.collect.store import open_report_store
from tests.collect.server.operated import HEADERS, KEPT, OPERATOR, SMALL, TASKS, analyzer, run, shuffler
from tests.collect.shuffler.running import NOW, TOKEN
from tests.collect.tasks import small_task


@pytest.mark.parametrize("kind", [shuffler, analyzer])
def test_only_operators_may_do_this(tmp_path, kind):
    async def test(server):
        requests = [("GET", ""), ("POST", ""), ("DELETE", f"/{KEPT.task.name}"), ("POST", f"/{KEPT.task.name}/close")]
        for method, at in requests:
            for token in (None, "", TOKEN, OPERATOR[:-1], hash_of(OPERATOR).hex()):
                headers = {} if token is None else {"authorization": f"Bearer {token}"}
                answer = await server.client.request(
                    method, TASKS + at, headers=headers, content=KEPT.task.to_json().encode()
                )
                assert (answer.status_code, answer.json()["reason"]) == (401, "no-token")
                assert OPERATOR not in answer.text
        assert await server.states() == {}

    run(kind(tmp_path, KEPT), test)


def test_many_wrong_tokens_hold_up_nobody(tmp_path):
    async def test(server):
        async with anyio.create_task_group() as group:
            for _ in range(MOST_WRONG):
                group.start_soon(server.client.get, TASKS)
            await anyio.sleep(0.1)
            assert (await server.client.get(TASKS)).status_code == 429
            assert await server.states() == {}  # the right token never waits
            group.cancel_scope.cancel()

    run(replace(shuffler(tmp_path, KEPT), pause_after_wrong=30.0), test)


def test_one_time_tokens_are_added(tmp_path):
    kept = small_task(**SMALL, admission="tokens")
    tokens = [new_token() for _ in range(3)]
    hashes = [hash_of(token).hex() for token in tokens]

    async def test(server):
        await server.add(kept.task)
        assert "No unspent one-time token" in str((await server.status(kept.task))["problems"])
        assert (await server.report(kept.task)).status_code == 403
        assert (await server.tokens(kept.task.name, *hashes[:2])).json() == {"added": 2}
        assert (await server.tokens(kept.task.name, *hashes)).json() == {"added": 1}
        for token in tokens:
            assert (await server.report(kept.task, authorization=f"Bearer {token}")).status_code == 201
            assert (await server.report(kept.task, authorization=f"Bearer {token}")).status_code == 403
        for wrong in ("", "x", "0" * 63, "é" * 64):
            assert (await server.tokens(kept.task.name, wrong)).json()["reason"] == "malformed"

    run(shuffler(tmp_path, kept), test)


def test_tokens_of_a_task_that_takes_no_reports_are_refused(tmp_path):
    """Otherwise an operator would hand out tokens that never work."""
    kept = small_task(**SMALL, admission="tokens")
    elsewhere = small_task(**SMALL, admission="tokens", answers=("yes", "no"))
    with open_report_store(tmp_path / "reports.db") as store:
        store.files.add(elsewhere.task.id, elsewhere.task.canonical)
    token = hash_of(new_token()).hex()

    async def test(server):
        answer = await server.tokens(elsewhere.task.name, token)
        assert (answer.status_code, answer.json()["reason"]) == (422, "cannot-be-served")
        assert "no key belongs" in answer.json()["detail"]
        await server.add(kept.task)
        await server.close(kept.task.name)
        answer = await server.tokens(kept.task.name, token)
        assert (answer.status_code, answer.json()["reason"]) == (410, "closed")

    run(shuffler(tmp_path, kept), test)


def test_a_shared_secret_is_added_and_changed(tmp_path):
    kept = small_task(**SMALL, admission="secret")
    secrets = [new_token() for _ in range(2)]

    async def test(server):
        await server.add(kept.task)
        assert "secret is not known" in str((await server.status(kept.task))["problems"])
        for secret in secrets:
            assert (await server.report(kept.task, authorization=f"Bearer {secret}")).status_code == 403
            assert (await server.tokens(kept.task.name, hash_of(secret).hex())).json() == {"added": 1}
            for _ in range(2):  # it is not spent
                assert (await server.report(kept.task, authorization=f"Bearer {secret}")).status_code == 201
        assert (await server.report(kept.task)).status_code == 403
        assert (await server.status(kept.task))["problems"] == []
        assert (await server.tokens(kept.task.name, "0" * 64, "1" * 64)).json()["reason"] == "malformed"

    run(shuffler(tmp_path, kept), test)


def test_the_secret_of_the_server_ends_for_an_added_task_with_its_own(tmp_path):
    """The server's may be of another task, whose people must not answer this one."""
    kept, own = small_task(**SMALL, admission="secret"), new_token()
    servers = write_secret(tmp_path / "admission.secret", new_token()).read_text().strip()

    async def admitted(server):
        answers = [await server.report(kept.task, authorization=f"Bearer {secret}") for secret in (servers, own)]
        return [answer.status_code for answer in answers]

    async def test(server):
        await server.add(kept.task)
        assert await admitted(server) == [201, 403]
        await server.tokens(kept.task.name, hash_of(own).hex())
        assert await admitted(server) == [403, 201]

    async def restarted(server):
        assert await admitted(server) == [403, 201]

    def settings():
        return shuffler(tmp_path, kept, secret=tmp_path / "admission.secret")

    def of_the_start():
        found = settings()
        return replace(found, served=found.options.served([kept.task]))

    async def both(server):  # its secret is being changed
        assert await admitted(server) == [201, 201]

    run(settings(), test)
    run(settings(), restarted)
    run(of_the_start(), both)


def test_the_own_secret_of_a_task_holds_from_its_opening(tmp_path):
    """It is taken up before, since the server looks only now and then."""
    opens = datetime.fromtimestamp(NOW, tz=UTC)
    kept, own = small_task(**SMALL, admission="secret", opens=opens), new_token()
    servers = write_secret(tmp_path / "admission.secret", new_token()).read_text().strip()
    now = [NOW - 30.0]

    async def test(server):
        await server.add(kept.task)
        await server.tokens(kept.task.name, hash_of(own).hex())
        now[0] = NOW
        answers = [await server.report(kept.task, authorization=f"Bearer {secret}") for secret in (servers, own)]
        assert [answer.status_code for answer in answers] == [403, 201]

    settings = shuffler(tmp_path, kept, secret=tmp_path / "admission.secret", clock=lambda: now[0])
    run(replace(settings, every=60.0), test)


def test_a_task_for_anybody_needs_no_tokens(tmp_path):
    async def test(server):
        await server.add(KEPT.task)
        answer = await server.tokens(KEPT.task.name, "0" * 64)
        assert (answer.status_code, answer.json()["detail"]) == (422, "This server needs no tokens for this task.")

    run(shuffler(tmp_path, KEPT), test)


def test_answers_and_logs_hold_nothing_of_people_and_tokens(tmp_path, capfd):
    kept = small_task(**SMALL, admission="tokens")
    token, key = new_token(), KeyPair.generate()

    async def test(server):
        texts = [(await server.add(kept.task)).text]
        texts.append((await server.tokens(kept.task.name, hash_of(token).hex())).text)
        await server.report(kept.task, authorization=f"Bearer {token}")
        await server.client.get(TASKS, headers={"authorization": f"Bearer {key.public}"})
        texts.append((await server.client.get(TASKS, headers=HEADERS)).text)
        texts.append((await server.close(kept.task.name)).text)
        return "".join(texts)

    answers = run(shuffler(tmp_path, kept), test)
    logs = capfd.readouterr().err
    events = {json.loads(line)["event"] for line in logs.splitlines()}
    assert {"task-added", "admission-hashes-added", "task-closed-early"} <= events
    for secret in (
        token,
        hash_of(token).hex(),
        OPERATOR,
        hash_of(OPERATOR).hex(),
        key.public,
        "127.0.0.1",
        str(tmp_path),
    ):
        assert secret not in logs
        assert secret not in answers
