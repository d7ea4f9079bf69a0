"""A task is removed only when nothing of it is left to forward, count or release."""

import shutil
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from shuffledp.collect.analyzer.tasks import Shown, ShownTasks
from shuffledp.collect.crypto.keys import KeyPair, destroy_secret, write_secret
from shuffledp.collect.reaching import UpstreamError
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.shuffler.tasks import ServedTasks
from shuffledp.collect.store import FileState, open_report_store
from shuffledp.collect.web.status import ShufflerHealth, ShufflerStatus
from shuffledp.errors import ParameterError
from tests.collect.series import small_series
from tests.collect.server.operated import CHAIN, KEPT, OTHER, SMALL, USERS, analyzer, private_keys, run, shuffler, until
from tests.collect.shuffler.running import NOW, TOKEN, sealed
from tests.collect.store.made_up import arrivals, every_row


@pytest.mark.slow
def test_a_removed_task_no_longer_has_a_failing_upstream(tmp_path):
    task, token = CHAIN.task, tmp_path / "token"
    write_secret(token, TOKEN)

    async def test(server):
        async def failing():
            return "shuffledp_upstream_failing{" in (await server.client.get("/metrics")).text

        await server.add(task)
        await until(failing)
        await server.close(task.name)
        assert "previous shuffler does not answer" in (await server.remove(task.name)).json()["detail"]
        assert (await server.remove(task.name, unchecked=True)).status_code == 204
        assert not await failing()

    nobody = "http://127.0.0.1:9"
    run(shuffler(tmp_path, CHAIN, position=1, upstream=nobody, token=token), test)


def test_a_removed_task_that_is_added_again_closes_only_once(tmp_path, capfd):
    settings, task, calls = shuffler(tmp_path, KEPT), KEPT.task, []
    usual = settings.store.expire
    settings.store.expire = lambda task_id: calls.append(task_id) or usual(task_id)

    async def test(server):
        await server.add(task)
        assert (await server.report(task)).status_code == 201
        await server.close(task.name)
        assert (await server.remove(task.name)).status_code == 204
        calls.clear()
        await server.add(task)

        async def closed_again():
            return calls

        await until(closed_again)

    run(settings, test)
    logs = capfd.readouterr().err
    assert logs.count('"event": "task-added"') == 2
    assert logs.count('"event": "task-closed"') == 1


def left_in(path, task):
    """The reports that are left in a store, and the number of people missing in the last batch of a task."""
    with open_report_store(path / "reports.db") as store, store.database.reading() as transaction:
        ((left,),) = transaction.rows("SELECT COUNT(*) FROM onions")
        ((short_by,),) = transaction.rows("SELECT short_by FROM tasks WHERE task_id = ?", task.id)
    return left, short_by


@pytest.mark.parametrize("way", ["background", "close", "remove"])
def test_the_reports_of_a_closed_task_are_deleted_without_its_key(tmp_path, way):
    """The key was gone at a restart, so that nothing works on the task."""
    task, now = KEPT.task, [NOW]

    async def before(server):
        await server.add(task)
        for _ in range(3):
            assert (await server.report(task)).status_code == 201

    async def after(server):
        assert await server.states() == {task.name: "open" if way != "background" else "closed"}
        if way == "close":
            assert (await server.close(task.name)).json()["state"] == "closed-early"
        if way == "remove":
            now[0] = task.closes.timestamp() + 10  # long before the background looks at it again
            assert (await server.remove(task.name)).status_code == 204

    run(shuffler(tmp_path, KEPT, clock=lambda: now[0]), before)
    assert left_in(tmp_path, task) == (3, None)
    shutil.rmtree(tmp_path / "keys")
    if way == "background":
        now[0] = task.closes.timestamp() + 10
    run(shuffler(tmp_path, clock=lambda: now[0]), after)
    assert left_in(tmp_path, task) == (0, USERS - 3)


def test_the_reports_of_a_closed_round_are_deleted_without_its_key(tmp_path):
    """The series has no problem then: its other rounds are served."""
    kept = small_series(**SMALL, rounds=2, opens=datetime(2026, 1, 1, tzinfo=UTC), new_keys=True)
    series, now = kept.series, [kept.series.opens_at(1).timestamp() + 10]
    first = series.task(1)

    async def before(server):
        await server.add(series)
        body = sealed(first, time=int(now[0]))
        assert (await server.client.post(f"/v1/tasks/{first.name}/reports", content=body)).status_code == 201

    async def after(server):
        assert await server.states() == {series.name: "open"}

    run(shuffler(tmp_path, kept.round(1), kept.round(2), clock=lambda: now[0]), before)
    assert left_in(tmp_path, first) == (1, None)
    (tmp_path / "keys" / f"{kept.keys[0][0].public[:8]}.key").unlink()
    now[0] = series.opens_at(2).timestamp() + 10
    run(shuffler(tmp_path, clock=lambda: now[0]), after)
    assert left_in(tmp_path, first) == (0, USERS - 1)


def store_with_a_batch(path, task, state):
    """The store of a closed task, with one batch in a state."""
    store = open_report_store(path / "reports.db")
    store.prepare(task)
    if state != "none":
        store.add(arrivals(task, USERS))
        batch = store.close_batch(task.id, USERS)
        if state != "closed":
            store.keep_mixed(task.id, batch, 1, [b"mixed"], {})
        if state == "acknowledged":
            store.acknowledge(batch)
    store.expire(task.id)
    store.files.close(task.id, task.canonical)
    return store


def holds_messages(store):
    rows = every_row(store)
    return any(rows[table] for table in ("onions", "members", "drafts", "pieces"))


def tasks_without_keys(path, store):
    tasks = ServedTasks(shuffler(path / "machine", store=store, background=False), None)
    tasks.registry.update()
    return tasks


@pytest.mark.parametrize("state", ["closed", "mixed"])
def test_a_machine_without_the_key_keeps_a_task_whose_batch_waits(tmp_path, state):
    """Another machine with the same store has the key, or this one gets it later."""
    task = KEPT.task
    with store_with_a_batch(tmp_path, task, state) as store:
        tasks = tasks_without_keys(tmp_path, store)
        with pytest.raises(Refused, match=r"has not fetched 1 batch yet\. Only a server with the key") as refused:
            tasks.registry.remove(task.name)
        assert refused.value.reason is Reason.NOT_FINISHED
        assert holds_messages(store)
        tasks.registry.remove(task.name, unchecked=True)
        assert store.files.states() == {task.id: FileState.REMOVED}
        assert not holds_messages(store)
        assert store.standing(task.id).batches == 0


@pytest.mark.parametrize("state", ["none", "acknowledged"])
@pytest.mark.parametrize("unchecked", [False, True])
def test_a_machine_without_the_key_removes_a_task_without_batches(tmp_path, state, unchecked):
    task = KEPT.task
    with store_with_a_batch(tmp_path, task, state) as store:
        tasks_without_keys(tmp_path, store).registry.remove(task.name, unchecked=unchecked)
        assert store.files.states() == {task.id: FileState.REMOVED}
        assert store.standing(task.id).acknowledged == (state == "acknowledged")


def test_removing_a_task_unchecked_keeps_batches_that_can_be_forwarded(tmp_path):
    task = KEPT.task
    with store_with_a_batch(tmp_path, task, "mixed") as store:
        settings = shuffler(tmp_path, KEPT, store=store)
        tasks = ServedTasks(replace(settings, served=settings.options.served([task])), None)
        with pytest.raises(Refused, match="has not fetched 1 batch yet"):
            tasks.registry.remove(task.name, unchecked=True)
        assert holds_messages(store)


@pytest.mark.slow
@pytest.mark.parametrize("server", [shuffler, analyzer])
def test_the_key_of_a_task_that_was_closed_early_is_destroyed_without_a_problem(tmp_path, server):
    """As that of a task whose closing time has passed: it is the usual end of a task."""
    task = KEPT.task

    async def after(server):
        assert (await server.status(task))["problems"] == []

    async def test(server):
        async def problems():
            return any("private key is gone" in each for each in (await server.status(task))["problems"])

        await server.add(task)
        for file in (tmp_path / "keys").iterdir():
            destroy_secret(file)
        await until(problems)
        await server.close(task.name)
        await after(server)
        assert not await problems()

    run(server(tmp_path, KEPT), test)
    if server is analyzer:  # a shuffler cannot serve the task any more
        run(server(tmp_path), after)


class Before:
    """The server before, as a later server asks it; `says` gives its answer."""

    def __init__(self, says):
        self.says = says

    def left(self, task):
        return self.says()

    def ready(self, task):
        return []

    def close(self):
        pass


def second_shuffler(folder, says):
    """The tasks of a second shuffler with a closed task; the first one gives these answers."""
    served = Served(task=CHAIN.task, position=1, key=CHAIN.keys[1], upstream=Before(says))
    tasks = ServedTasks(replace(shuffler(folder), served=[served]), None)
    tasks.prepare([served])
    tasks.registry.close(CHAIN.task.name)
    return tasks


def test_a_batch_that_arrives_while_a_shuffler_asks_for_batches_is_not_lost(tmp_path):
    task = CHAIN.task

    def says():
        tasks._store.keep_mixed(task.id, b"b" * 16, 1, [bytes(task.onion_length(2))], {})
        return 0

    tasks = second_shuffler(tmp_path, says)
    with pytest.raises(Refused, match="has not fetched 1 batch"):
        tasks.registry.remove(task.name)
    assert task.name in tasks.registry.tasks


def test_a_later_shuffler_keeps_a_task_of_which_the_one_before_has_batches(tmp_path):
    answers = [UpstreamError("gone"), None, 2, 0]

    def says():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    tasks, name = second_shuffler(tmp_path, says), CHAIN.task.name
    for words in ("does not answer", "has not closed the task", "still has 2 batches"):
        with pytest.raises(Refused, match=words) as refused:
            tasks.registry.remove(name)
        assert refused.value.reason is Reason.NOT_FINISHED
    tasks.registry.remove(name)
    assert name not in tasks.registry.tasks


@pytest.mark.parametrize("way", ["unchecked", "destroyed"])
def test_a_later_shuffler_does_not_ask_in_vain_before_it_removes_a_task(tmp_path, way):
    """The one before may be gone; without the key no batch could be opened."""
    tasks = second_shuffler(tmp_path, lambda: pytest.fail("it was asked"))
    if way == "destroyed":
        pair = KeyPair.from_private_bytes(CHAIN.keys[1].private_bytes)
        tasks.served = {CHAIN.task.name: replace(tasks.served[CHAIN.task.name], key=pair)}
        pair.destroy()
    tasks.registry.remove(CHAIN.task.name, unchecked=way == "unchecked")
    assert CHAIN.task.name not in tasks.registry.tasks


def shown_tasks(folder, shufflers):
    """The tasks of an analyzer with a closed task, whose shufflers have this health."""
    settings = analyzer(folder, KEPT)
    served, _ = settings.options.served([KEPT.task])
    tasks = ShownTasks(replace(settings, served=served), shufflers=shufflers, ask_reported=lambda task: None)
    settings.store.prepare(KEPT.task)
    tasks.registry.close(KEPT.task.name)
    return tasks


def test_a_batch_that_arrives_while_the_analyzer_asks_for_batches_is_not_lost(tmp_path):
    task = KEPT.task

    def shufflers(_):
        tasks._store.keep_tally(task.id, b"b" * 16, b"", USERS, {})
        status = ShufflerStatus(waiting=0, batches=1, acknowledged=1, short_by=0)
        return [ShufflerHealth(position=0, address="http://127.0.0.1:9", answers=True, status=status)]

    tasks = shown_tasks(tmp_path, shufflers)
    with pytest.raises(Refused, match="1 batch counted, but not released"):
        tasks.registry.remove(task.name)
    assert task.name in tasks.registry.tasks


@pytest.mark.parametrize(("withheld", "has_key"), [(False, True), (True, True), (False, False)])
def test_a_batch_that_is_never_released_does_not_keep_its_task(tmp_path, withheld, has_key):
    """The ledger's limit is reached, releases are stopped, or the task is only shown."""
    task = KEPT.task
    tasks = shown_tasks(tmp_path, lambda _: [])
    tasks._store.keep_tally(task.id, b"b" * 16, b"", USERS, {})
    if has_key:
        tasks.work_on[task.name] = SimpleNamespace(withheld=withheld)
    else:
        tasks.registry.items = {task.name: Shown(task)}
    if has_key and not withheld:
        with pytest.raises(Refused, match="1 batch counted, but not released"):
            tasks.registry.remove(task.name)
    else:
        tasks.registry.remove(task.name)
        assert task.name not in tasks.registry.tasks


@pytest.mark.slow
@pytest.mark.parametrize("server", [shuffler, analyzer])
def test_the_key_of_a_removed_task_is_dropped_when_its_file_is_destroyed(tmp_path, server):
    """What still refers to a key does not matter: settings of the start do until the next start."""
    settings, pair = server(tmp_path, KEPT), KEPT.keys[0 if server is shuffler else -1]
    if server is shuffler:
        settings = replace(settings, served=settings.options.served([KEPT.task]))

    async def test(server):
        await server.add(KEPT.task)
        await server.close(KEPT.task.name)
        assert (await server.remove(KEPT.task.name, unchecked=True)).status_code == 204
        for file in (tmp_path / "keys").iterdir():
            destroy_secret(file)

        async def dropped():
            return private_keys(pair) == 0

        await until(dropped)

    run(settings, test)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["/metrics", "/health"])
def test_a_task_that_is_added_during_a_scrape_does_not_break_it(tmp_path, page):
    settings = shuffler(tmp_path, KEPT, OTHER)
    store, other = settings.store, OTHER.task
    usual, asked = store.standing, []

    def standing(task_id):
        """Let an operator of another process add a task, and wait until this process serves it."""
        asked.append(task_id)
        if len(asked) == 1:
            store.files.add(other.id, other.canonical)
            while True:
                with suppress(ParameterError):
                    usual(other.id)
                    break
            time.sleep(0.1)
        return usual(task_id)

    async def test(server):
        await server.add(KEPT.task)
        asked.clear()
        store.standing = standing
        assert (await server.client.get(page)).status_code == 200
        assert asked[0] == KEPT.task.id
        assert (await server.client.get(f"/v1/tasks/{other.name}")).status_code == 200

    run(settings, test)


@pytest.mark.parametrize("server", [shuffler, analyzer])
def test_a_removed_task_is_added_again_without_its_key(tmp_path, server):
    """An analyzer shows its releases, as after a restart; a shuffler has nothing to show."""
    task = KEPT.task

    async def test(server):
        assert (await server.add(task)).status_code == 201
        await server.close(task.name)
        for file in (tmp_path / "keys").iterdir():
            destroy_secret(file)
        assert (await server.remove(task.name, unchecked=True)).status_code == 204
        return await server.add(task), await server.client.get(f"/v1/tasks/{task.name}/releases")

    added, releases = run(server(tmp_path, KEPT), test)
    if server is analyzer:
        assert (added.status_code, added.json()["state"]) == (201, "closed-early")
        assert releases.json() == {"releases": []}
    else:
        assert "no key of it is left" in added.json()["detail"]
        assert releases.status_code == 404
