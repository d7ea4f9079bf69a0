"""CORS: pages of every origin may read a task, its status and the response to a report, but no batches."""

import asyncio

import pytest

from shuffledp.errors import DataError
from tests.collect.shuffler.running import NEXT_HOP, Asked, running, sealed, settings_for
from tests.collect.tasks import small_task

KEPT = small_task(users=5, epsilon=8.0, delta=1e-2)
TASK = KEPT.task
ORIGIN = "access-control-allow-origin"
PAGE = {"origin": "https://a.page.example"}
ASKING_FIRST = {"access-control-request-headers": "authorization,content-type"}


def answers(options, ask):
    async def run():
        async with running(options) as client:
            return await ask(client)

    try:
        return asyncio.run(run())
    finally:
        options.store.close()


def test_a_page_may_read_the_outcome_of_a_report(tmp_path):
    """Accepted, refused or malformed: the page must be able to read the response."""

    async def ask(client):
        asked = Asked(client, TASK)
        yes = [await asked.report(sealed(TASK), **PAGE), await asked.report(b"x", **PAGE)]
        for path in (asked.at, f"{asked.at}/status", f"/v1/tasks/{'0' * 64}", f"{asked.at}/reports"):
            yes.append(await client.get(path, headers=PAGE))
        return yes

    found = answers(settings_for(tmp_path, KEPT), ask)
    assert [answer.status_code for answer in found] == [201, 400, 200, 200, 404, 405]
    for answer in found:
        assert answer.headers.get_list(ORIGIN) == ["*"]
        assert "access-control-allow-credentials" not in answer.headers


def test_a_page_may_read_server_errors(tmp_path):
    options = settings_for(tmp_path, KEPT)

    def broken(arrivals):
        raise DataError("gone")

    options.store.add = broken

    async def ask(client):
        refused = await Asked(client, TASK).report(sealed(TASK), **PAGE)
        options.store.standing = lambda task: 1 / 0
        return refused, await client.get(f"/v1/tasks/{TASK.name}/status", headers=PAGE)

    found = answers(options, ask)
    assert [answer.status_code for answer in found] == [503, 500]
    assert {answer.headers.get(ORIGIN) for answer in found} == {"*"}


@pytest.mark.parametrize(("path", "method"), [("", "GET"), ("/status", "GET"), ("/reports", "POST")])
def test_preflight_requests_are_answered(tmp_path, path, method):
    async def ask(client):
        headers = PAGE | ASKING_FIRST | {"access-control-request-method": method}
        return await client.options(f"/v1/tasks/{TASK.name}{path}", headers=headers)

    answer = answers(settings_for(tmp_path, KEPT), ask)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers[ORIGIN] == "*"
    assert answer.headers["access-control-allow-methods"] == method
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
    assert int(answer.headers["access-control-max-age"]) > 0
    assert "access-control-allow-credentials" not in answer.headers


def test_preflight_requests_store_and_count_nothing(tmp_path):
    async def ask(client):
        for _ in range(5):
            await client.options(f"/v1/tasks/{TASK.name}/reports", headers=PAGE, params={})
        return await Asked(client, TASK).status()

    status = answers(settings_for(tmp_path, KEPT, most_per_second=1), ask)
    assert (status["waiting"], status["refused"]) == (0, {})


def test_other_addresses_are_not_cross_origin(tmp_path):
    """Even a page that has the token of the next server cannot read a batch."""

    async def ask(client):
        asked = Asked(client, TASK)
        for _ in range(5):
            await asked.report(sealed(TASK))
        (batch,) = await asked.batches()
        one = f"{asked.at}/batches/{batch['id']}"
        paths = [f"{asked.at}/batches", one, "/health", "/metrics", "/nowhere", f"{asked.at}/", f"{asked.at}/reports/"]
        got = [await client.get(path, headers=NEXT_HOP | PAGE) for path in paths]
        first = [await client.options(path, headers=PAGE | ASKING_FIRST) for path in paths]
        return got, first, await client.delete(one, headers=NEXT_HOP | PAGE)

    got, first, deleted = answers(settings_for(tmp_path, KEPT), ask)
    assert [answer.status_code for answer in got] == [200, 200, 200, 200, 404, 404, 404]
    assert {answer.status_code for answer in first} <= {404, 405}
    for answer in (*got, *first, deleted):
        assert not [name for name in answer.headers if name.startswith("access-control")]
