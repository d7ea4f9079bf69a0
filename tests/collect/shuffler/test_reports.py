"""Ingestion: which reports are accepted or refused and why, and that 201 means durable."""

import asyncio
import json
import os
import secrets
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from types import SimpleNamespace

import httpx
import pytest

from shuffledp.collect.crypto.keys import KeyPair, info, public_key, seal
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server import observability
from shuffledp.collect.server.observability import rounded_time
from shuffledp.collect.server.storage import KEY_GONE
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.store import open_report_store
from shuffledp.collect.task.report import seal_report, seal_versions
from shuffledp.errors import DataError
from tests.collect.in_process import served
from tests.collect.shuffler.running import NOW, Asked, running, sealed, settings_for
from tests.collect.tasks import small_task

KEPT = small_task(users=5, epsilon=8.0, delta=1e-2)
TASK = KEPT.task
HOUR = TASK.time_precision


def answered(settings, *bodies, task=TASK, **headers):
    """Send reports in turn; return the responses and the public status afterwards."""

    async def run():
        async with running(settings) as client:
            asked = Asked(client, task)
            answers = [await asked.report(body, **headers) for body in bodies]
            return answers, await asked.status()

    return asyncio.run(run())


def refused(settings, body, reason, *, task=TASK, **headers):
    """Check that a report is refused with this reason in a problem document, counted, and not stored."""
    (answer,), status = answered(settings, body, task=task, **headers)
    assert answer.status_code == reason.status
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["reason"] == reason
    assert document["type"] == f"urn:shuffledp:{reason}"
    assert document["status"] == reason.status
    assert document["title"] == reason.meaning
    assert document["detail"]
    assert status["refused"] == {reason: 1}
    assert status["waiting"] == 0
    assert settings.store.standing(task.id).refused == {reason: 1}  # also after the shuffler has stopped
    return answer


def with_inside(inside, task=TASK):
    """Seal any content as a report."""
    return seal(inside, public_key(task.shufflers[0].public_bytes), info(task.id, 0))


def opened_with(time, task=TASK, *, number=1):
    return with_inside(secrets.token_bytes(16) + time.to_bytes(8) + bytes(number * task.onion_length(0)), task)


def test_a_report_is_acknowledged_when_another_reader_of_the_disk_finds_it(tmp_path):
    async def run():
        async with running(settings_for(tmp_path)) as client:
            answer = await Asked(client, TASK).report(sealed(TASK))
            assert answer.status_code == HTTPStatus.CREATED
            with open_report_store(tmp_path / "shuffler-0.db") as other:
                assert other.standing(TASK.id).waiting == 1

    asyncio.run(run())


def test_repeated_bytes_are_accepted_and_count_once(tmp_path):
    body = sealed(TASK, [1, 2])
    answers, status = answered(settings_for(tmp_path), body, body, body)
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    assert status["waiting"] == 1
    again, status = answered(settings_for(tmp_path), body)  # also after a restart
    assert again[0].status_code == 201
    assert status["waiting"] == 1


def test_the_same_report_sealed_anew_counts_once(tmp_path):
    """Sealing the same content again makes the same report; only the outer layer differs."""
    inside = secrets.token_bytes(16) + NOW.to_bytes(8) + bytes(TASK.onion_length(0))
    answers, status = answered(settings_for(tmp_path), with_inside(inside), with_inside(inside))
    assert [answer.status_code for answer in answers] == [201, 201]
    assert status["waiting"] == 1


def test_other_bytes_under_a_known_id_are_refused(tmp_path):
    report_id = secrets.token_bytes(16)
    answers, status = answered(
        settings_for(tmp_path), sealed(TASK, [1], report_id=report_id), sealed(TASK, [2], report_id=report_id)
    )
    assert [answer.status_code for answer in answers] == [201, 409]
    assert answers[1].json()["reason"] == Reason.OTHER_BYTES
    assert status["waiting"] == 1
    assert status["refused"] == {"other-bytes": 1}


def test_a_report_to_another_key_cannot_be_opened(tmp_path):
    refused(settings_for(tmp_path), secrets.token_bytes(200), Reason.CANNOT_BE_OPENED)


def test_a_report_of_another_task_cannot_be_opened(tmp_path):
    other = small_task(users=6, epsilon=8.0, delta=1e-2).task
    refused(settings_for(tmp_path), sealed(other), Reason.CANNOT_BE_OPENED)


def test_a_changed_report_cannot_be_opened(tmp_path):
    body = bytearray(sealed(TASK))
    body[-1] ^= 1
    refused(settings_for(tmp_path), bytes(body), Reason.CANNOT_BE_OPENED)


@pytest.mark.parametrize(
    "inside",
    [
        b"",
        secrets.token_bytes(24),
        secrets.token_bytes(16) + NOW.to_bytes(8) + b"x",
        secrets.token_bytes(16) + (NOW + 1).to_bytes(8) + bytes(TASK.onion_length(0)),
    ],
    ids=["nothing", "no-messages", "part-of-a-message", "a-precise-time"],
)
def test_a_report_of_another_form_is_refused(inside, tmp_path):
    refused(settings_for(tmp_path), with_inside(inside), Reason.MALFORMED)


def test_an_empty_body_is_refused(tmp_path):
    refused(settings_for(tmp_path), b"", Reason.CANNOT_BE_OPENED)


def test_more_messages_than_allowed_are_more_bytes_than_allowed(tmp_path):
    answer = refused(settings_for(tmp_path), opened_with(NOW, number=TASK.most_messages + 1), Reason.TOO_LARGE)
    assert answer.headers["connection"] == "close"


def test_the_longest_report_is_accepted(tmp_path):
    answers, _ = answered(settings_for(tmp_path), opened_with(NOW, number=TASK.most_messages))
    assert answers[0].status_code == 201


@pytest.mark.parametrize("fewer", [1, 2, 5])
def test_a_padded_report_with_fewer_messages_is_refused(fewer, tmp_path):
    kept = small_task(users=20, epsilon=8.0, delta=1e-2, protocol="hist")
    number = kept.task.most_messages
    assert number == 6
    short = opened_with(NOW, kept.task, number=number - fewer)
    refused(settings_for(tmp_path, kept), short, Reason.MALFORMED, task=kept.task)
    whole = opened_with(NOW, kept.task, number=number)
    answers, _ = answered(settings_for(tmp_path, kept), whole, task=kept.task)
    assert answers[0].status_code == 201


def test_an_unserved_task_is_unknown(tmp_path):
    async def run():
        async with running(settings_for(tmp_path)) as client:
            answer = await client.post(f"/v1/tasks/{'0' * 64}/reports", content=sealed(TASK))
            metrics = (await client.get("/metrics")).text
            return answer, metrics

    answer, metrics = asyncio.run(run())
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert answer.json()["reason"] == Reason.UNKNOWN_TASK
    assert f'shuffledp_requests_for_unknown_tasks_total{{process="{os.getpid()}"}} 1.0' in metrics


@pytest.mark.parametrize("ahead", [0, HOUR])
def test_a_clock_ahead_by_one_step_is_accepted(ahead, tmp_path):
    answers, _ = answered(settings_for(tmp_path), opened_with(NOW + ahead))
    assert answers[0].status_code == 201


def test_a_clock_further_ahead_is_refused(tmp_path):
    refused(settings_for(tmp_path), opened_with(NOW + 2 * HOUR), Reason.WRONG_TIME)


def test_an_old_report_within_the_task_is_accepted(tmp_path):
    answers, _ = answered(settings_for(tmp_path), opened_with(NOW - 1000 * HOUR))
    assert answers[0].status_code == 201


def briefly_open():
    """A task that opens half an hour before NOW, within a step of its precision, and closes in 30 hours."""
    opens = datetime.fromtimestamp(NOW - HOUR // 2, UTC)
    return small_task(users=5, epsilon=8.0, delta=1e-2, opens=opens, closes=opens + timedelta(hours=30))


@pytest.mark.parametrize(
    ("now", "time", "taken"),
    [
        (NOW, NOW, True),
        (NOW, NOW - HOUR, True),  # the step in which it opens
        (NOW, NOW - 2 * HOUR, False),
        (NOW + 29 * HOUR, NOW + 29 * HOUR, True),  # the last step
        (NOW + 29 * HOUR, NOW + 30 * HOUR, False),  # one step ahead, but after the end
        (NOW, 0, False),
        (NOW, (2**64 - 1) // HOUR * HOUR, False),
    ],
)
def test_a_time_outside_the_task_is_refused(now, time, taken, tmp_path):
    kept = briefly_open()
    settings = settings_for(tmp_path, kept, clock=lambda: now)
    body = opened_with(time, kept.task)
    if taken:
        assert answered(settings, body, task=kept.task)[0][0].status_code == 201
    else:
        refused(settings, body, Reason.WRONG_TIME, task=kept.task)


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (NOW - HOUR // 2 - 1, Reason.NOT_YET_OPEN),
        (NOW - HOUR // 2, None),
        (NOW - HOUR // 2 + 30 * HOUR - 1, None),
        (NOW - HOUR // 2 + 30 * HOUR, Reason.CLOSED),
    ],
)
def test_a_task_is_open_from_its_first_to_its_last_second(now, reason, tmp_path):
    kept = briefly_open()
    settings = settings_for(
        tmp_path, kept, clock=lambda: now, background=False
    )  # otherwise the background work would expire the task
    body = sealed(kept.task, time=max(now, NOW - HOUR // 2))
    if reason is None:
        assert answered(settings, body, task=kept.task)[0][0].status_code == 201
    else:
        refused(settings, body, reason, task=kept.task)


def test_a_later_shuffler_accepts_no_reports(tmp_path):
    kept = small_task(users=5, epsilon=8.0, delta=1e-2, shufflers=2)
    upstream = Upstream("http://127.0.0.1:9", "nobody is asked")
    settings = settings_for(tmp_path, kept, position=1, upstream=upstream, background=False)
    refused(settings, sealed(kept.task), Reason.CANNOT_BE_OPENED, task=kept.task)


class Broken:
    """A store with a full disk: it fails before or after it stores a report."""

    def __init__(self, store, *, after=False):
        self._store, self._after, self.broken = store, after, True

    def __getattr__(self, name):
        return getattr(self._store, name)

    def add(self, arrivals):
        if self.broken and not self._after:
            raise DataError("cannot write the store: is the disk full?")
        outcomes = self._store.add(arrivals)
        if self.broken:
            raise OSError("the connection to the store broke")
        return outcomes


def test_a_report_that_is_not_stored_is_not_acknowledged(tmp_path):
    store = Broken(open_report_store(tmp_path / "shuffler.db"))
    refused(settings_for(tmp_path, store=store), sealed(TASK), Reason.UNAVAILABLE)


def test_all_reports_of_a_failed_commit_are_refused_and_can_be_retried(tmp_path):
    store = Broken(open_report_store(tmp_path / "shuffler.db"), after=True)
    bodies = [sealed(TASK) for _ in range(4)]

    async def run():
        async with running(settings_for(tmp_path, store=store)) as client:
            asked = Asked(client, TASK)
            first = await asyncio.gather(*(asked.report(body) for body in bodies))
            store.broken = False
            again = await asyncio.gather(*(asked.report(body) for body in bodies))
            return first, again, await asked.status()

    first, again, status = asyncio.run(run())
    assert [answer.status_code for answer in first] == [503] * 4
    assert first[0].headers["retry-after"] == "1"
    assert [answer.status_code for answer in again] == [201] * 4
    assert status["waiting"] == 4


def test_requests_at_the_same_time_share_commits(tmp_path):
    class Counting(Broken):
        commits = 0

        def add(self, arrivals):
            self.commits += 1
            return self._store.add(arrivals)

    store = Counting(open_report_store(tmp_path / "shuffler.db"))

    async def run():
        async with running(settings_for(tmp_path, store=store, background=False)) as client:
            asked = Asked(client, TASK)
            return await asyncio.gather(*(asked.report(sealed(TASK)) for _ in range(100)))

    assert {answer.status_code for answer in asyncio.run(run())} == {201}
    assert store.commits < 50
    assert store.standing(TASK.id).waiting == 100


def test_more_per_second_than_allowed_are_refused(tmp_path):
    settings = settings_for(tmp_path, most_per_second=2)
    answers, status = answered(settings, *(sealed(TASK) for _ in range(4)))
    assert [answer.status_code for answer in answers][:3] == [201, 201, 429]
    assert answers[2].json()["reason"] == Reason.TOO_MANY_REQUESTS
    assert answers[2].headers["retry-after"] == "1"
    assert status["refused"]["too-many-requests"] >= 1


def test_a_shuffler_accepts_reports_of_seal_report(tmp_path):
    time = NOW - NOW % HOUR
    body = seal_report(TASK, [3, 1, 2], report_id=secrets.token_bytes(16), time=time)
    answers, _ = answered(settings_for(tmp_path), body)
    assert answers[0].status_code == 201


def test_nothing_is_logged_about_a_report(tmp_path, capsys):
    """Not even that there was one: log collectors add the time of a line, which says when a person reported."""
    other_bytes = [sealed(TASK, report_id=bytes(16)), sealed(TASK, report_id=bytes(16))]
    bodies = [sealed(TASK), sealed(TASK), *other_bytes, b"not a report"]
    answers, _ = answered(settings_for(tmp_path, KEPT), *bodies)
    assert [answer.status_code for answer in answers] == [201, 201, 201, 409, 400]
    assert capsys.readouterr().err == ""


def test_one_of_two_versions_of_a_report_counts(tmp_path):
    """A device whose clock is two days ahead: its report, its fallback twice, and its report two days later."""
    clock, later = [float(NOW)], 2 * 86_400
    times = [TASK.time_step(NOW + later), TASK.first_time]
    report, fallback = seal_versions(TASK, [0], report_id=secrets.token_bytes(16), times=times)

    async def run():
        async with running(settings_for(tmp_path, clock=lambda: clock[0])) as client:
            asked = Asked(client, TASK)
            answers = [await asked.report(body) for body in (report, fallback, fallback)]
            clock[0] += later
            return [*answers, await asked.report(report)], await asked.status()

    (refused, *accepted, other), status = asyncio.run(run())
    assert refused.json()["reason"] == Reason.WRONG_TIME
    assert refused.json()["server_time"] == TASK.time_step(NOW)
    assert [answer.status_code for answer in accepted] == [201, 201]
    assert other.status_code == Reason.OTHER_BYTES.status
    assert other.json()["reason"] == Reason.OTHER_BYTES
    assert "server_time" not in other.json()
    assert status["waiting"] == 1


@pytest.mark.slow
def test_the_content_type_does_not_matter_and_201_has_no_body(tmp_path):
    """As the wire format says."""
    kinds = ({}, {"content-type": "application/octet-stream"}, {"content-type": "text/plain"})
    for headers in kinds:
        (answer,), status = answered(settings_for(tmp_path), sealed(TASK), **headers)
        assert (answer.status_code, answer.content, status["closed"]) == (201, b"", False)


def test_a_report_with_an_upgrade_to_another_protocol_is_not_refused_for_good(tmp_path):
    """Programs that speak HTTP/2 ask for it over http://; uvicorn then passes on no body."""
    upgrade = {"connection": "Upgrade", "upgrade": "h2c"}
    with served(make_app(settings_for(tmp_path, KEPT))) as address:
        at, report = f"{address}/v1/tasks/{TASK.name}/reports", sealed(TASK)
        answer = httpx.post(at, content=report, headers=upgrade, trust_env=False)
        assert (answer.status_code, answer.json()["reason"]) == (503, "unavailable")
        assert httpx.post(at, content=report, trust_env=False).status_code == 201


def test_a_lost_key_ends_no_report(tmp_path):
    """Clients keep their reports after 503, since the file of the key may come back; not once the task is closed."""
    lost = KeyPair.from_private_bytes(KEPT.keys[0].private_bytes)
    lost.destroy()
    kept = SimpleNamespace(task=TASK, keys=[lost])
    (answer,), status = answered(settings_for(tmp_path, kept), sealed(TASK))
    assert (answer.status_code, answer.json()["reason"], answer.json()["detail"]) == (503, "unavailable", KEY_GONE)
    assert status["problems"] == [KEY_GONE]
    (answer,), _ = answered(settings_for(tmp_path, kept, clock=TASK.closes.timestamp), sealed(TASK))
    assert answer.json()["reason"] == "closed"


def test_without_its_key_nobody_is_asked(tmp_path):
    """A report that is made in vain counts against the budget of its person."""
    lost = KeyPair.from_private_bytes(KEPT.keys[0].private_bytes)
    lost.destroy()

    async def fetched(clock):
        settings = settings_for(tmp_path, SimpleNamespace(task=TASK, keys=[lost]), clock=clock)
        async with running(settings) as client:
            return (await client.get(f"/v1/tasks/{TASK.name}")).status_code

    assert asyncio.run(fetched(lambda: NOW)) == 503
    assert asyncio.run(fetched(TASK.closes.timestamp)) == 200


def test_a_slow_report_that_ends_after_the_closing_time_is_refused(tmp_path):
    closes = TASK.closes.timestamp()
    now, body = [closes - 1], sealed(TASK, time=int(closes) - 7200)

    async def slow():
        yield body[:10]
        now[0] = closes + 100
        yield body[10:]

    async def run():
        async with running(settings_for(tmp_path, clock=lambda: now[0], every=60)) as client:  # nothing expires it
            answer = await Asked(client, TASK).report(slow())
            assert answer.json()["reason"] == "closed"
            assert (await Asked(client, TASK).status())["waiting"] == 0

    asyncio.run(run())


DAY = 86_400


def test_log_lines_say_no_more_about_time_than_reports(tmp_path, capsys, monkeypatch):
    """The line of a complete batch is written when its last person reports."""
    kept, afternoon = small_task(users=5, epsilon=8.0, delta=1e-2, time_precision=DAY), NOW - NOW % DAY + 15.5 * HOUR
    monkeypatch.setattr(observability, "rounded_time", lambda _, *steps: rounded_time(afternoon, *steps))

    async def run():
        async with running(settings_for(tmp_path, kept)) as client:
            asked = Asked(client, kept.task)
            for _ in range(5):
                assert (await asked.report(sealed(kept.task))).status_code == 201
            await asked.batches()

    asyncio.run(run())
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    of_task = [line for line in lines if line.get("task") == kept.task.name]
    assert {"batch-closed", "batch-mixed"} <= {line["event"] for line in of_task}
    assert {line["time"] for line in of_task} == {rounded_time(afternoon, DAY)}
    assert rounded_time(afternoon, DAY).endswith("T00:00:00Z")
