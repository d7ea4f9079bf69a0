"""What operators did holds after a restart, and in all processes of a server."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import anyio
import pytest

from shuffledp.collect.analyzer.app import NO_KEY
from shuffledp.collect.crypto.keys import destroy_secret
from shuffledp.collect.server.observability import LIMIT
from shuffledp.collect.server.registry import NOT_SERVED
from shuffledp.collect.server.storage import KEY_GONE
from shuffledp.collect.store import Arrival, ReportStore, open_report_store
from shuffledp.errors import BudgetError, ParameterError
from shuffledp.ledger import Ledger
from tests.collect.series import small_series
from tests.collect.server.operated import (
    HEADERS,
    KEPT,
    OTHER,
    SMALL,
    TASKS,
    USERS,
    analyzer,
    folder_of,
    keys_of,
    run,
    running,
    shuffler,
    until,
)
from tests.collect.shuffler.running import NOW
from tests.collect.tasks import small_task


def test_a_restart_keeps_what_operators_did(tmp_path):
    async def adding(server):
        assert (await server.add(KEPT.task)).status_code == 201
        assert (await server.add(OTHER.task)).status_code == 201
        assert (await server.report(KEPT.task)).status_code == 201
        assert (await server.close(OTHER.task.name)).status_code == 200

    async def restarted(server):
        assert await server.states() == {KEPT.task.name: "open", OTHER.task.name: "closed-early"}
        assert (await server.status(KEPT.task))["waiting"] == 1
        assert (await server.report(OTHER.task)).json()["reason"] == "closed"

    run(shuffler(tmp_path, KEPT, OTHER), adding)
    run(shuffler(tmp_path, KEPT, OTHER), restarted)


def test_a_task_of_the_start_is_closed_and_removed_for_good(tmp_path):
    """A restart with the same options does not bring it back."""

    def settings():
        found = shuffler(tmp_path, KEPT)
        return replace(found, served=found.options.served([KEPT.task]))

    async def ending(server):
        assert await server.states() == {KEPT.task.name: "open"}
        assert (await server.add(KEPT.task)).status_code == 200
        await server.close(KEPT.task.name)
        assert (await server.remove(KEPT.task.name)).status_code == 204

    async def restarted(server):
        assert await server.states() == {}
        assert (await server.report(KEPT.task)).json()["reason"] == "unknown-task"

    run(settings(), ending)
    run(settings(), restarted)


def started(read, test, **changes):
    """Check settings as the command does, and run a server with them."""
    read().check()
    return run(replace(read(), pause_after_wrong=0.0, every=0.01, clock=lambda: NOW, **changes), test)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [shuffler, analyzer])
@pytest.mark.parametrize("ending", ["removed", "closed early"])
def test_a_start_needs_no_key_of_a_task_that_an_operator_ended(tmp_path, kind, ending):
    task, read = KEPT.task, folder_of(tmp_path, KEPT, OTHER, kind=kind)

    async def before(server):
        if kind is shuffler:
            await server.report(task)
        assert (await server.close(task.name)).status_code == 200
        if ending == "removed":
            assert (await server.remove(task.name, unchecked=True)).status_code == 204

    async def after(server):
        served = {OTHER.task.name: "open"}
        assert await server.states() == (served if ending == "removed" else {task.name: "closed-early", **served})
        listed = (await server.client.get(TASKS, headers=HEADERS)).json()["tasks"]
        assert [each["problem"] for each in listed] == [None] * len(listed)
        shown = (await server.client.get(f"/v1/tasks/{task.name}")).status_code == 200
        assert shown is (kind is analyzer and ending == "closed early")
        if ending == "closed early":
            assert (await server.remove(task.name)).status_code == 204
            assert await server.states() == served

    started(read, before)
    destroy_secret(tmp_path / "keys" / f"{KEPT.keys[0 if kind is shuffler else -1].public[:8]}.key")
    started(read, after)
    started(read, lambda server: server.states())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [shuffler, analyzer])
def test_a_start_needs_no_key_of_a_task_whose_time_is_over(tmp_path, kind):
    closed = small_task(**SMALL, closes=datetime(2020, 2, 1, tzinfo=UTC))
    read, key = folder_of(tmp_path, closed, KEPT, kind=kind), closed.keys[0 if kind is shuffler else -1]
    if kind is shuffler:  # the key was destroyed while reports waited
        with open_report_store(tmp_path / "store.db") as store:
            store.prepare(closed.task)
            store.add([Arrival(task_id=closed.task.id, report_id=b"r" * 16, digest=b"d" * 16, onions=b"o", number=1)])
    destroy_secret(tmp_path / "keys" / f"{key.public[:8]}.key")

    async def test(server):
        assert await server.states() == {closed.task.name: "closed", KEPT.task.name: "open"}

    started(read, test)
    if kind is shuffler:
        with open_report_store(tmp_path / "store.db") as store:
            assert store.standing(closed.task.id).short_by == USERS - 1
    (tmp_path / "tasks" / "1.json").unlink()
    if kind is shuffler:
        with pytest.raises(ParameterError, match="nothing can be served"):
            partial(read, operator=[])()


async def lacks_its_key(server, task):
    """Whether a server says everywhere that it lacks the key of an open task, and serves the other one."""
    health = (await server.client.get("/health")).json()
    assert health == {"state": "problems", "problems": {task.name: [KEY_GONE]}}
    assert f'shuffledp_problems{{task="{task.name}"}} 1.0' in (await server.client.get("/metrics")).text
    assert (await server.client.get(f"/v1/tasks/{OTHER.task.name}")).status_code == 200
    for answer in (await server.report(task), await server.client.get(f"/v1/tasks/{task.name}/status")):
        assert (answer.status_code, answer.json()["detail"]) == (503, KEY_GONE)


@pytest.mark.parametrize("way", ["added", "of the start"])
def test_a_restart_shows_an_open_task_whose_key_is_gone(tmp_path, way, capfd):
    """People are told to try again, also where the task is of the start: other tasks are served."""
    task = KEPT.task
    key = keys_of(tmp_path / "keys", KEPT) / f"{KEPT.keys[0].public[:8]}.key"
    aside = tmp_path / "aside"

    async def adding(server):
        for one in (KEPT, OTHER):
            assert (await server.add(one.task)).status_code == 201

    async def restarted(server):
        await lacks_its_key(server, task)
        listed = (await server.client.get(TASKS, headers=HEADERS)).json()["tasks"]
        (problem,) = [each["problem"] for each in listed if each["problem"]]
        assert "no key belongs" in problem
        aside.rename(key)
        assert (await server.add(task)).status_code == 201
        assert (await server.report(task)).status_code == 201
        assert (await server.client.get("/health")).json() == {"state": "ok"}

    async def closed(server):
        await lacks_its_key(server, task)
        assert (await server.client.get(f"/ask/{task.name}")).status_code == 200  # whose program tries again
        assert (await server.close(task.name)).json()["problem"] is None
        assert (await server.client.get("/health")).json() == {"state": "ok"}
        assert (await server.report(task)).json()["reason"] == "unknown-task"

    read = folder_of(tmp_path, KEPT, OTHER) if way == "of the start" else partial(shuffler, tmp_path, OTHER)
    if way == "added":
        run(read(), adding)
    for test in (restarted, closed):
        key.rename(aside)
        LIMIT.reset()
        started(read, test, page=True) if way == "of the start" else run(read(page=True), test)
        (line,) = [each for each in capfd.readouterr().err.splitlines() if "task-not-served" in each]
        assert '"reason": "no-key"' in line


@pytest.mark.slow
def test_a_start_shows_a_series_without_a_key_of_a_later_round(tmp_path):
    """As when it is added: all its rounds are served, or none."""
    kept = small_series(**SMALL, rounds=2, opens=datetime.fromtimestamp(NOW, UTC), new_keys=True)
    read, series = folder_of(tmp_path, OTHER), kept.series
    (tmp_path / "tasks" / "series.json").write_text(series.to_json())
    keys_of(tmp_path / "keys", kept.round(1))

    async def test(server):
        assert (await server.client.get("/health")).json()["problems"] == {series.name: [KEY_GONE]}
        assert [(await server.report(series.task(number))).status_code for number in (1, 2)] == [503, 503]
        keys_of(tmp_path / "keys", kept.round(2))
        assert (await server.add(series)).json()["problem"] is None
        assert (await server.report(series.task(1))).status_code == 201
        assert (await server.client.get("/health")).json() == {"state": "ok"}

    started(read, test)


def test_an_analyzer_starts_without_the_key_of_an_open_task(tmp_path):
    read = folder_of(tmp_path, KEPT, OTHER, kind=analyzer)
    destroy_secret(tmp_path / "keys" / f"{KEPT.keys[-1].public[:8]}.key")

    async def test(server):
        assert (await server.status(KEPT.task))["problems"] == [NO_KEY]
        assert NO_KEY not in (await server.status(OTHER.task))["problems"]

    started(read, test)


def test_details_of_a_problem_are_only_for_operators(tmp_path):
    """They may name files of the server."""
    settings = shuffler(tmp_path, KEPT)
    settings.store.files.add(KEPT.task.id, KEPT.task.canonical)
    (tmp_path / "keys" / "broken.key").write_text("no key")

    async def test(server):
        health = (await server.client.get("/health")).json()
        assert health["problems"] == {KEPT.task.name: [NOT_SERVED]}
        (listed,) = (await server.client.get(TASKS, headers=HEADERS)).json()["tasks"]
        assert "broken.key" in listed["problem"]

    run(settings, test)


@pytest.mark.slow
def test_a_start_with_another_task_than_before_must_fit_the_ledger_with_both(tmp_path):
    read, ledger = folder_of(tmp_path, OTHER, kind=analyzer), tmp_path / "small.ledger"
    Ledger.create(ledger, epsilon=8.5, delta=0.011, population="tests")
    keys_of(tmp_path / "keys", KEPT, position=-1)
    read = partial(read, ledger=ledger)
    with read().store as store:
        store.files.add(KEPT.task.id, KEPT.task.canonical)
    with pytest.raises(BudgetError, match="2 releases"):
        read().check()
    partial(read, task=[])().check()  # so that its operator can remove the other
    with read().store as store:
        store.files.remove(KEPT.task.id, KEPT.task.canonical)
    read().check()


def test_a_store_is_closed_if_the_settings_are_wrong(tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(ReportStore, "close", lambda store: closed.append(store))
    read = folder_of(tmp_path, KEPT)
    with pytest.raises(ParameterError, match=r"no key belongs .* bring back the key, or remove the task"):
        partial(read, key=[keys_of(tmp_path / "others", OTHER)], operator=[])()
    assert len(closed) == 1


def test_a_process_that_is_killed_while_it_closes_a_task_is_continued(tmp_path):
    """The intention is stored first; the background work of any process then ends the task."""
    task = KEPT.task

    async def test(server):
        await server.add(task)
        for _ in range(USERS + 1):
            await server.report(task)
        with open_report_store(tmp_path / "reports.db") as other:
            other.files.close(task.id, task.canonical)

        async def ended():
            return (await server.status(task))["short_by"] == USERS - 1

        await until(ended)
        assert (await server.report(task)).json()["reason"] == "closed"
        assert await server.forward(task, 1) == [USERS]

    run(shuffler(tmp_path, KEPT), test)


def test_other_processes_follow_the_store(tmp_path):
    task = KEPT.task

    async def test():
        one, other = (shuffler(tmp_path, KEPT, background=background) for background in (True, False))
        async with running(one) as first, running(other) as second:
            await second.add(task)

            async def served():
                return (await first.report(task)).status_code == 201

            await until(served)
            await first.close(task.name)
            assert (await second.report(task)).json()["reason"] == "closed"  # at once: the store refuses it
            assert (await first.remove(task.name)).status_code == 204

            async def gone():
                return (await second.report(task)).json()["reason"] == "unknown-task"

            await until(gone)

    anyio.run(test)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["close", "tokens"])
def test_a_task_that_another_process_has_just_added_is_found(tmp_path, what):
    kept = small_task(**SMALL, admission="tokens")
    name = kept.task.name

    async def test():
        one, other = (shuffler(tmp_path, kept, background=background) for background in (True, False))
        async with running(replace(one, every=60.0)) as first, running(other) as second:
            await anyio.sleep(0.5)  # the first look of the first one is over, and the next is in a minute
            assert (await second.add(kept.task)).status_code == 201
            answer = await (first.close(name) if what == "close" else first.tokens(name, "0" * 64))
            assert answer.status_code == 200

    anyio.run(test)
