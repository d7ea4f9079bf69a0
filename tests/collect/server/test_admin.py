"""Operators add, close and remove tasks at servers in this process; bad input."""

import hashlib
import json
import re
import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import msgspec
import pytest

from shuffledp.collect.crypto.keys import write_key, write_secret
from shuffledp.collect.store import FileState, open_report_store
from shuffledp.collect.task.guarantee import Claim
from shuffledp.ledger import Ledger
from tests.collect.series import small_series
from tests.collect.server.operated import (
    CHAIN,
    HEADERS,
    KEPT,
    OTHER,
    SMALL,
    TASKS,
    USERS,
    analyzer,
    keys_of,
    run,
    shuffler,
    until,
)
from tests.collect.shuffler.running import NEXT_HOP, TOKEN, sealed
from tests.collect.tasks import small_task


@pytest.mark.slow
def test_the_life_of_a_task(tmp_path):
    task = KEPT.task

    async def first(server):
        assert await server.states() == {}
        assert (await server.report(task)).json()["reason"] == "unknown-task"
        added = await server.add(task)
        assert (added.status_code, added.json()["state"], added.json()["kind"]) == (201, "open", "task")
        assert added.headers["cache-control"] == "no-store"
        assert (await server.add(task)).status_code == 200
        for _ in range(2 * USERS + 2):
            assert (await server.report(task)).status_code == 201
        assert not (await server.status(task))["closed"]
        assert "People can still answer" in (await server.remove(task.name)).json()["detail"]
        for _ in range(2):  # idempotent
            closed = await server.close(task.name)
            assert (closed.status_code, closed.json()["state"]) == (200, "closed-early")
            assert closed.json()["counters"]["short_by"] == USERS - 2
        assert (await server.report(task)).json()["reason"] == "closed"
        status = await server.status(task)
        assert (status["closed"], status["waiting"], status["batches"]) == (True, 0, 2)
        missing = await server.remove(task.name)
        assert (missing.status_code, missing.json()["reason"]) == (409, "not-finished")
        assert "has not fetched 2 batches" in missing.json()["detail"]
        assert await server.forward(task, 2) == [USERS, USERS]  # the incomplete batch is never forwarded
        for _ in range(2):
            assert (await server.remove(task.name)).status_code == 204
        for at in ("", "/status", "/batches"):
            answer = await server.client.get(f"/v1/tasks/{task.name}{at}", headers=NEXT_HOP)
            assert answer.json()["reason"] == "unknown-task"
        assert (await server.report(task)).json()["reason"] == "unknown-task"
        assert await server.states() == {}

    async def later(server):
        assert await server.states() == {}
        assert (await server.add(task)).json()["state"] == "closed-early"  # it does not open again
        assert (await server.report(task)).json()["reason"] == "closed"

    run(shuffler(tmp_path, KEPT), first)
    run(shuffler(tmp_path, KEPT), later)


def false_promise(task):
    return msgspec.structs.replace(task, claim=Claim(epsilon="0.01", delta="1e-9"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"\xff", "not JSON"),
        (b"[]", "must be an object"),
        (b"{}", "is missing"),
        (b"{" * 100_000, "not JSON"),
        (false_promise(KEPT.task), "which is weaker"),
        (OTHER.task, "no key belongs to a shuffler"),
    ],
    ids=["empty", "binary", "list", "object", "deep", "false", "keyless"],
)
def test_a_file_that_cannot_be_served_is_refused(tmp_path, content, words):
    async def test(server):
        answer = await server.add(content)
        assert (answer.status_code, answer.json()["reason"]) == (422, "cannot-be-served")
        assert words in answer.json()["detail"]
        assert await server.states() == {}

    run(shuffler(tmp_path, KEPT), test)


def test_the_checks_of_a_start_are_the_checks_of_an_added_task(tmp_path):
    elsewhere = small_task(**SMALL, addresses=("http://127.0.0.1:9", "http://127.0.0.1:99"))
    series = small_series(**SMALL)

    async def test(server):
        assert (await server.add(KEPT.task)).status_code == 201
        for asked, words in (
            (elsewhere.task, "different next servers"),
            (CHAIN.task, "token is missing"),
        ):
            answer = await server.add(asked)
            assert (answer.status_code, words in answer.json()["detail"]) == (422, True), answer.text
        assert (await server.add(series.series)).status_code == 201
        answer = await server.add(series.round(1).task)
        assert "served already" in answer.json()["detail"]
        assert await server.states() == {KEPT.task.name: "open", series.series.name: "open"}

    settings = shuffler(tmp_path, KEPT, elsewhere, series.round(1))
    write_key(CHAIN.keys[1], tmp_path / "keys" / "later.key")
    run(settings, test)


ELSEWHERE = small_task(**SMALL, shufflers=2, addresses=tuple(f"http://127.0.0.1:{port}" for port in (66, 67, 11)))
"""A task whose shufflers have other addresses than those of CHAIN."""


def later_server(kind, folder, *kept, **options):
    """A second shuffler, or the analyzer after it."""
    if kind == "analyzer":
        return analyzer(folder, *kept, **options)
    if not (token := folder / "later.token").exists():
        write_secret(token, TOKEN)
    return shuffler(folder, *kept, position=1, token=token, **options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["analyzer", "shuffler"])
def test_the_token_is_not_shown_to_another_shuffler_after_a_task_was_removed(tmp_path, kind):
    """Its author could fetch and acknowledge batches in place of this server. After a restart the key may be gone."""

    async def refused(server):
        answer = await server.add(ELSEWHERE.task)
        assert (answer.status_code, answer.json()["reason"]) == (422, "cannot-be-served")
        assert "must be that of earlier tasks" in answer.json()["detail"]

    async def removed(server):
        assert (await server.add(CHAIN.task)).status_code == 201
        await server.close(CHAIN.task.name)
        assert (await server.remove(CHAIN.task.name, unchecked=True)).status_code == 204
        await refused(server)

    run(later_server(kind, tmp_path, CHAIN, ELSEWHERE), removed)
    shutil.rmtree(tmp_path / "keys")
    run(later_server(kind, tmp_path, ELSEWHERE), refused)


@pytest.mark.parametrize("kind", ["analyzer", "shuffler"])
def test_the_token_is_only_for_the_address_that_the_server_was_started_with(tmp_path, kind):
    options = later_server(kind, tmp_path, CHAIN, ELSEWHERE, upstream="http://127.0.0.1:9").options
    options.served([ELSEWHERE.task], earlier=[CHAIN.task])
    assert set(options.upstreams._known) == {"http://127.0.0.1:9"}


@pytest.mark.slow
@pytest.mark.parametrize("server", [shuffler, analyzer])
def test_an_added_task_with_the_key_of_another_is_noticed(tmp_path, capsys, server):
    """As at a start: the key is destroyed with the first of them, and the other takes no reports from then on."""
    same_key = msgspec.structs.replace(KEPT.task, question="With the same key?")

    async def test(server):
        for asked in (KEPT.task, OTHER.task):
            assert (await server.add(asked)).status_code == 201
        assert '"key-shared"' not in capsys.readouterr().err
        assert (await server.add(same_key)).status_code == 201
        assert capsys.readouterr().err.count('"key-shared"') == 1

    run(server(tmp_path, KEPT, OTHER), test)


def test_a_key_may_arrive_later(tmp_path):
    async def test(server):
        assert (await server.add(OTHER.task)).status_code == 422
        keys_of(tmp_path / "keys", OTHER)
        assert (await server.add(OTHER.task)).status_code == 201

    run(shuffler(tmp_path), test)


def test_a_task_without_its_key_on_this_machine_is_listed_with_the_problem(tmp_path):
    with open_report_store(tmp_path / "reports.db") as store:
        store.files.add(OTHER.task.id, OTHER.task.canonical)

    async def test(server):
        (listed,) = (await server.client.get(TASKS, headers=HEADERS)).json()["tasks"]
        assert "no key belongs" in listed["problem"]
        assert listed["counters"] is None
        assert (await server.report(OTHER.task)).json()["reason"] == "unavailable"

    run(shuffler(tmp_path, KEPT), test)


def test_a_task_is_served_at_once_when_it_is_added_again_after_its_key_arrived(tmp_path):
    with open_report_store(tmp_path / "reports.db") as store:
        store.files.add(OTHER.task.id, OTHER.task.canonical)

    async def test(server):
        assert (await server.report(OTHER.task)).json()["reason"] == "unavailable"
        keys_of(tmp_path / "keys", OTHER)
        again = await server.add(OTHER.task)
        assert (again.status_code, again.json()["problem"]) == (201, None)
        assert (await server.report(OTHER.task)).status_code == 201

    run(shuffler(tmp_path, KEPT), test)


@pytest.mark.slow
def test_a_task_of_a_later_version_hinders_no_other(tmp_path, capfd):
    """Another process, of a later version, has added it to the store that they share."""
    later = msgspec.json.encode(msgspec.json.decode(OTHER.task.canonical) | {"version": 9})
    name = hashlib.sha256(later).digest()
    with open_report_store(tmp_path / "reports.db") as store:
        store.files.add(name, later)

    async def test(server):
        assert await server.states() == {}
        assert (await server.add(KEPT.task)).status_code == 201
        assert (await server.report(KEPT.task)).status_code == 201
        assert (await server.close(name.hex())).status_code == 404
        assert (await server.close(KEPT.task.name)).status_code == 200
        assert (await server.report(KEPT.task)).json()["reason"] == "closed"
        await anyio.sleep(0.1)

    run(shuffler(tmp_path, KEPT), test)
    events = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [each["task"] for each in events if each["event"] == "task-not-served"] == [name.hex()]
    assert "store-failed" not in {each["event"] for each in events}


def test_names_that_are_no_task(tmp_path):
    async def test(server):
        for name in ("0" * 64, "x", KEPT.task.name.upper(), "%00", "..%2f"):
            for ask in (server.close, server.remove):
                answer = await ask(name)
                assert answer.status_code == 404
            assert (await server.tokens(name, "0" * 64)).status_code == 404

    run(shuffler(tmp_path, KEPT), test)


def test_a_series_is_added_closed_and_removed_with_all_rounds(tmp_path):
    kept = small_series(**SMALL, rounds=3, opens=datetime(2027, 1, 1, tzinfo=UTC))
    series, now = kept.series, [kept.series.opens_at(2).timestamp() + 10]
    open_round, later = series.task(2), series.task(3)

    def report(task):
        return sealed(task, time=int(now[0]))

    async def sent(server, task):
        return await server.client.post(f"/v1/tasks/{task.name}/reports", content=report(task))

    async def test(server):
        added = (await server.add(series)).json()
        assert (added["kind"], added["rounds"], added["state"], added["counters"]) == ("series", 3, "open", None)
        for _ in range(USERS + 2):
            assert (await sent(server, open_round)).status_code == 201
        refused = await server.close(open_round.name)
        assert "give the id of the series" in refused.json()["detail"]
        assert (await server.close(series.name)).json()["state"] == "closed-early"
        assert (await sent(server, open_round)).json()["reason"] == "closed"
        assert (await server.status(open_round))["short_by"] == USERS - 2
        now[0] = series.opens_at(3).timestamp() + 10  # the next round does not open
        assert (await sent(server, later)).json()["reason"] == "closed"
        assert (await server.status(later))["closed"]
        assert await server.forward(open_round, 1) == [USERS]

        async def removed():
            return (await server.remove(series.name)).status_code == 204

        await until(removed)
        for path in (f"/v1/series/{series.name}", f"/v1/tasks/{open_round.name}"):
            assert (await server.client.get(path)).json()["reason"] == "unknown-task"

    run(shuffler(tmp_path, kept.round(1), clock=lambda: now[0]), test)


def test_a_round_does_not_open_again_after_its_series_was_closed(tmp_path):
    kept = small_series(**SMALL, rounds=3, opens=datetime(2027, 1, 1, tzinfo=UTC))
    series, later = kept.series, kept.series.task(2)
    now = [series.opens_at(1).timestamp() + 10]

    def settings():
        return shuffler(tmp_path, kept.round(1), clock=lambda: now[0])

    async def closing(server):
        await server.add(series)
        await server.close(series.name)

        async def removed():
            return (await server.remove(series.name)).status_code == 204

        await until(removed)
        refused = await server.add(later)
        assert (refused.status_code, refused.json()["reason"]) == (422, "cannot-be-served")
        assert "was closed early or removed" in refused.json()["detail"]

    async def started_with_it(server):
        now[0] = series.opens_at(2).timestamp() + 10
        body = sealed(later, time=int(now[0]))
        answer = await server.client.post(f"/v1/tasks/{later.name}/reports", content=body)
        assert answer.json()["reason"] == "closed"

    run(settings(), closing)
    found = settings()
    run(replace(found, served=found.options.served([later])), started_with_it)


@pytest.mark.parametrize("kind", [shuffler, analyzer])
def test_health_does_not_wait_for_a_store_that_is_slow_to_say_what_operators_did(tmp_path, kind):
    settings = kind(tmp_path, KEPT)
    files, usual = settings.store.files, settings.store.files.states
    asked, answered, late = threading.Event(), threading.Event(), []

    def states():
        asked.set()
        late.append(not answered.wait(10))
        return usual()

    async def test(server):
        await server.add(KEPT.task)
        files.states = states
        await anyio.to_thread.run_sync(asked.wait)
        assert (await server.client.get("/health")).status_code == 200
        answered.set()

    run(settings, test)
    assert late
    assert True not in late


def test_closing_after_the_closing_time_changes_nothing(tmp_path):
    task = KEPT.task

    async def test(server):
        await server.add(task)
        assert (await server.close(task.name)).json()["state"] == "closed"

    settings = shuffler(tmp_path, KEPT, clock=lambda: task.closes.timestamp() + 1)
    run(settings, test)
    with open_report_store(tmp_path / "reports.db") as store:
        assert store.files.states() == {task.id: FileState.SERVED}


def test_a_task_is_in_no_survey_page_before_and_after_its_life(tmp_path):
    task = KEPT.task

    async def test(server):
        async def page():
            return (await server.client.get(f"/ask/{task.name}")).status_code

        assert await page() == 404
        await server.add(task)
        assert await page() == 200
        await server.close(task.name)
        assert (await server.remove(task.name)).status_code == 204
        assert await page() == 404

    run(shuffler(tmp_path, KEPT, page=True), test)


def test_the_list_of_questions_says_which_are_closed_early(tmp_path):
    async def test(server):
        for kept in (KEPT, OTHER):
            await server.add(kept.task)
        assert "closed" not in (await server.client.get("/")).text
        await server.close(OTHER.task.name)
        first, second = re.findall(r"<li>.*?</li>", (await server.client.get("/")).text, re.DOTALL)
        shown = {KEPT.task.name: False, OTHER.task.name: True}
        for item in (first, second):
            (name,) = [name for name in shown if name in item]
            assert ("closed</p>" in item) is shown[name]
            assert ("until" in item) is not shown[name]

    run(shuffler(tmp_path, KEPT, OTHER, page=True), test)


@pytest.mark.slow
def test_an_analyzer_shows_a_task_from_its_addition_to_its_removal(tmp_path):
    task = KEPT.task

    async def test(server):
        assert (await server.client.get("/v1/tasks")).json() == {"tasks": []}
        assert (await server.add(task)).status_code == 201
        (listed,) = (await server.client.get("/v1/tasks")).json()["tasks"]
        assert listed["task"] == task.name
        assert (await server.client.get(f"/tasks/{task.name}")).status_code == 200
        assert "People can still answer" in (await server.remove(task.name)).json()["detail"]
        assert (await server.close(task.name)).json()["state"] == "closed-early"
        missing = await server.remove(task.name)
        assert (missing.status_code, missing.json()["reason"]) == (409, "not-finished")
        assert "Shuffler 1 does not answer" in missing.json()["detail"]
        assert (await server.remove(task.name, unchecked=True)).status_code == 204
        assert (await server.client.get("/v1/tasks")).json() == {"tasks": []}
        assert (await server.client.get(f"/tasks/{task.name}")).status_code == 404
        assert (await server.tokens(task.name, "0" * 64)).status_code == 422  # they go to the first shuffler

    run(analyzer(tmp_path, KEPT), test)


@pytest.mark.slow
def test_an_added_task_must_fit_the_ledger(tmp_path):
    ledger = tmp_path / "budget.ledger"
    Ledger.create(ledger, epsilon=8.5, delta=0.011, population="tests")

    async def test(server):
        assert (await server.add(KEPT.task)).status_code == 201
        refused = await server.add(OTHER.task)
        assert (refused.status_code, refused.json()["reason"]) == (422, "cannot-be-served")
        assert "ledger" in refused.json()["detail"]
        await server.close(KEPT.task.name)
        await server.remove(KEPT.task.name, unchecked=True)
        assert (await server.add(OTHER.task)).status_code == 201  # nothing of the first was released

    run(analyzer(tmp_path, KEPT, OTHER, ledger=ledger), test)
