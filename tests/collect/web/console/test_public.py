"""The public pages: releases as text, pictures and files, and nothing from before a release."""

import io
import json
import re
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
import msgspec
import numpy as np
import pyarrow.parquet
import pytest
from tests.collect.releases import releases_of
from tests.collect.web.console.running import (
    BROWSER,
    OWN_LOOK,
    SIX,
    Shufflers,
    asked_task,
    batch_id,
    keep_batch,
    release,
    settings_for,
    visit,
)

from shuffledp import __version__
from shuffledp.collect.analyzer.shown import ENDINGS
from shuffledp.collect.server.http import BUSY, MOST_WAITING, BoundedCache
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.collect.web import console_context
from shuffledp.collect.web.console_context import Histories
from shuffledp.errors import DataError
from shuffledp.explain.history import MOST_VALUES, Past, history
from shuffledp.release.release import Release

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>'",
    "</title></section><svg onload=alert(3)>",
    "\N{RIGHT-TO-LEFT OVERRIDE}evil",
    "\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET}",
    "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}",
    "long " * 100,
)


@pytest.fixture
def kept():
    return asked_task()


def test_the_page_before_the_first_release(tmp_path, monkeypatch, kept):
    settings = settings_for(tmp_path, kept)

    async def test(person):
        (home, page) = await person.get("/"), await person.get(f"/tasks/{kept.task.name}")
        assert home.status_code == page.status_code == 200
        assert kept.task.question in home.text
        assert "No release yet." in home.text
        assert "There is no release yet" in page.text
        assert "Once 2,000 people have answered" in page.text
        fold = "<details><summary>For experts: the exact promise</summary>\n<p>Kept: at epsilon 1, delta is at most "
        in_view, experts = page.text.split(fold)
        assert "strong protection. Your answer makes any published result up to 2.72 times more likely" in in_view
        assert "epsilon" not in in_view
        assert "the task claims 1e-6" in experts
        assert kept.task.name in page.text

    visit(monkeypatch, settings, test)


@pytest.mark.parametrize("short_by", [None, 0, 3])
def test_a_task_that_the_first_shuffler_closed_early(tmp_path, monkeypatch, kept, short_by):
    """The analyzer learns it when it asks for the number of reports; visitors cause no request."""
    settings, shufflers = settings_for(tmp_path, kept), Shufflers(kept.task)
    release(settings.store, kept.task, 1)
    shufflers.replies[0] = shufflers.status(short_by=short_by)

    async def test(person):
        with anyio.fail_after(20):
            while len(shufflers.asked) < OWN_LOOK:
                await anyio.sleep(0.01)
        await anyio.sleep(0.05)
        for path in ("/", f"/tasks/{kept.task.name}"):
            page = (await person.get(path)).text
            assert ("Closed early: people can no longer answer." in page) == (short_by is not None)
            assert ("at the latest." in page) == (short_by is None)
        assert len(shufflers.asked) == OWN_LOOK

    visit(monkeypatch, settings, test, shufflers)


def test_a_closed_task_without_a_release(tmp_path, monkeypatch):
    kept = asked_task(closes=datetime.now(UTC) - timedelta(days=1))

    async def test(person):
        page = (await person.get(f"/tasks/{kept.task.name}")).text
        assert "<h2>There is no release</h2>" in page
        assert "Otherwise nothing is published" in page
        assert "Once 2,000 people" not in page
        assert "No release." in (await person.get("/")).text

    visit(monkeypatch, settings_for(tmp_path, kept), test)


def test_the_page_of_a_release_is_complete(tmp_path, monkeypatch, kept):
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, 1, 2)

    async def test(person):
        page = (await person.get(f"/tasks/{kept.task.name}")).text
        latest = Release.from_json((await person.get(f"/v1/tasks/{kept.task.name}/releases/2")).text)
        assert "<h2>Release 2</h2>" in page
        assert f'made on <time datetime="{settings.store.release(kept.task.id).made.isoformat()}"' in page
        assert f"with shuffledp {__version__}" in page
        for answer in SIX:
            low, high = latest.estimate.interval(answer)
            assert f"{low:,} to {high:,}" in page
        assert "How well each person is protected" in page
        assert "nobody held the data" in page
        assert "Anybody could send any number of reports" in page
        assert "Over the last 2 releases" in page
        assert f'href="/tasks/{kept.task.name}/releases/1"' in page
        first = (await person.get(f"/tasks/{kept.task.name}/releases/1")).text
        assert "<h2>Release 1</h2>" in first
        assert "<h2>Release 2</h2>" not in first
        home = (await person.get("/")).text
        assert "2 releases, the latest of" in home

    visit(monkeypatch, settings, test)


def test_a_reader_of_a_result_learns_who_asked_and_what_the_rows_mean(tmp_path, monkeypatch, kept):
    task = msgspec.structs.replace(kept.task, version=2, asker="<b>Library", contact="ask@example.org")
    kept = replace(kept, task=task)
    settings = settings_for(tmp_path, kept)
    told = (
        "Asked by <bdi>&lt;b&gt;Library</bdi> · Contact: <bdi>ask@example.org</bdi>",
        "The survey itself says this: nobody checked it.",
    )

    async def test(person):
        before = (await person.get(f"/tasks/{task.name}")).text
        release(settings.store, task, 1)
        pages = [(await person.get(f"/tasks/{task.name}{each}")).text for each in ("", "/releases/1")]
        report = (await person.get(f"/v1/tasks/{task.name}/releases/1.html")).text
        for page in (before, *pages, report):
            assert all(each in " ".join(page.split()) for each in told)
        for page in (*pages, report):
            assert "<b>Warning.</b> Only for tests: one operator ran all servers of this survey and could read" in page
            assert "(other) stands for any other answer; (none) stands for no answer." in " ".join(page.split())
        assert not any(word in FOLDS.sub("", page) for page in pages for word in ("epsilon", "delta"))

    visit(monkeypatch, settings, test)


FOLDS = re.compile(r"<details>.*?</details>", re.DOTALL)


def test_the_rows_of_a_chart_of_numbers_are_in_a_fold(tmp_path, monkeypatch):
    kept = asked_task(protocol="ranges", edges="0:100:10")
    settings = settings_for(tmp_path, kept)
    settings.store.prepare(kept.task)
    tree = kept.task.tree
    tally = sampled_nodes(kept.task, tree.paths(np.arange(kept.task.users) % kept.task.answers.size))
    settings.store.keep_tally(kept.task.id, batch_id(kept.task, 1), to_bytes(tally), kept.task.users, {}, None)

    async def test(person):
        page = (await person.until(f"/tasks/{kept.task.name}", "<h2>Release 1</h2>")).text
        in_view = FOLDS.sub("", page)
        assert "10 to below 20" in page
        assert "10 to below 20" not in in_view
        assert in_view.count('<rect class="bar"') == 2  # (other) and (none) have no column

    visit(monkeypatch, settings, test)


def sampled_nodes(task, nodes):
    """The tally of people whose values are these nodes of the tree."""
    truth = np.bincount(nodes.ravel(), minlength=task.protocol.bins)
    return task.protocol.sample_tally(truth, rng=np.random.default_rng(1))


def test_warnings_are_shown(tmp_path, monkeypatch, kept):
    settings = settings_for(tmp_path, kept)
    settings.store.prepare(kept.task)
    keep_batch(settings.store, kept.task, 1, refused={"repeated": 3})

    async def test(person):
        page = await person.until(f"/tasks/{kept.task.name}", "<h2>Release 1</h2>")
        assert "<b>Warning.</b> 3 messages were refused and not counted" in page.text

    visit(monkeypatch, settings, test)


def test_nothing_before_a_release_is_public(tmp_path, monkeypatch, kept):
    """Waiting people, refusals, problems and shufflers: public pages neither request nor show them."""
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, 1)
    keep_batch(settings.store, kept.task, 2, problem="too-few-messages", refused={"malformed": 4321})
    shufflers = Shufflers(kept.task)
    shufflers.replies[0] = shufflers.status(waiting=1777, refused={"closed": 1778}, problems=["a pipe is broken"])

    async def test(person):
        for path in ("/", f"/tasks/{kept.task.name}", f"/tasks/{kept.task.name}/releases/1"):
            page = (await person.get(path)).text.replace(kept.task.name, "")  # whose digits are random
            for hidden in ("1,777", "1777", "223", "1,778", "4,321", "4321", "pipe", "waiting", "noise is missing"):
                assert hidden not in page, (path, hidden)

    assert len(visit(monkeypatch, settings, test, shufflers).asked) <= OWN_LOOK


def test_a_counted_batch_changes_no_public_page_before_its_release(tmp_path, monkeypatch, kept):
    settings = settings_for(tmp_path, kept, served=[], only_shown=[kept.task])  # nothing is released meanwhile
    release(settings.store, kept.task, 1)
    paths = ("/", f"/tasks/{kept.task.name}", f"/tasks/{kept.task.name}/releases/1")

    async def test(person):
        before = [(await person.get(path)).text for path in paths]
        keep_batch(settings.store, kept.task, 2, refused={"not-a-message": 5})
        assert [(await person.get(path)).text for path in paths] == before
        assert "Counted, not released yet" in (await person.signed_in()).text

    visit(monkeypatch, settings, test)


def test_files_to_download(tmp_path, monkeypatch, kept):
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, 1)
    at, name = f"/v1/tasks/{kept.task.name}/releases", f"shuffledp-{kept.task.name[:12]}-release-1"

    async def test(person):
        page = (await person.get(f"/tasks/{kept.task.name}")).text
        for ending in ("csv", "json", "parquet", "html"):
            assert f'href="{at}/1.{ending}"' in page
        for ending in ENDINGS:
            for which in ("1", "latest"):
                file = await person.get(f"{at}/{which}.{ending}")
                how = "inline" if ending == "html" else "attachment"
                assert file.headers["content-disposition"] == f'{how}; filename="{name}.{ending}"'
                assert file.headers["x-content-type-options"] == "nosniff"
        assert "content-disposition" not in (await person.get(f"{at}/1")).headers
        parquet = await person.get(f"{at}/1.parquet")
        assert parquet.headers["content-type"] == "application/vnd.apache.parquet"
        table = pyarrow.parquet.read_table(io.BytesIO(parquet.content))
        made = Release.from_json((await person.get(f"{at}/1")).text)
        assert table.to_pydict() == made.estimate.to_arrow().to_pydict()
        assert json.loads(table.schema.metadata[b"shuffledp"])["asked"]["task"] == kept.task.name

    visit(monkeypatch, settings, test)


def test_labels_stay_text(tmp_path, monkeypatch):
    kept = asked_task(answers=HOSTILE)
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, 1, 2)

    async def test(person):
        await person.sign_in()
        for path in (f"/tasks/{kept.task.name}", f"/operator/tasks/{kept.task.name}"):
            page = (await person.get(path)).text
            assert "alert(1)" in page
            for bad in ("<script>alert", "<img", "<svg onload", "</title></section>", "\N{RIGHT-TO-LEFT OVERRIDE}"):
                assert bad not in page, (path, bad)
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page

    visit(monkeypatch, settings, test)


def test_a_hostile_question_stays_text(tmp_path, monkeypatch):
    kept = asked_task(question="".join(HOSTILE[:3]))
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, 1)

    async def test(person):
        await person.sign_in()
        name = kept.task.name
        for path in ("/", f"/tasks/{name}", f"/tasks/{name}/releases/1", "/operator", f"/operator/tasks/{name}"):
            page = (await person.get(path)).text
            assert "&lt;script&gt;alert(1)" in page
            for bad in ("<script>alert", "<img", "<svg onload", "</title></section>"):
                assert bad not in page, (path, bad)

    visit(monkeypatch, settings, test)


def test_unknown_addresses(tmp_path, monkeypatch, kept):
    """A page for browsers, a problem document for programs."""
    settings = settings_for(tmp_path, kept)
    name, none = kept.task.name, "0" * 64

    async def test(person):
        await person.sign_in()
        paths = ("/nothing", f"/tasks/{none}", f"/tasks/{name}/releases/7", f"/tasks/{name}/releases/x")
        for path in (*paths, f"/tasks/{name}/releases/{'9' * 40}", f"/operator/tasks/{none}", "/console/none.js"):
            found = await person.get(path)
            assert found.status_code == 404
            assert "There is no such page" in found.text
            assert found.headers["content-type"].startswith("text/html")
        assert (await person.get("/operator/login")).status_code == 405
        for path in (f"/v1/tasks/{none}", f"/v1/tasks/{name}/releases/1", "/v1/nothing"):
            found = await person.get(path)
            assert (found.status_code, found.headers["content-type"]) == (404, "application/problem+json")
        found = await person.client.get("/nothing", headers={"accept": "application/json"})
        assert found.headers["content-type"] == "application/problem+json"
        head = await person.client.head("/", headers=BROWSER)
        assert (head.status_code, head.content) == (200, b"")

    visit(monkeypatch, settings, test)


def test_an_unreachable_store_is_described(tmp_path, monkeypatch, kept):
    settings = settings_for(tmp_path, kept)

    def away(*_):
        raise DataError("the database at a secret address is away")

    async def test(person):
        for verb in ("release", "listed", "standing", "batches"):
            monkeypatch.setattr(settings.store, verb, away)
        for path in ("/", f"/tasks/{kept.task.name}"):
            found = await person.get(path)
            assert found.status_code == 503
            assert "The store does not answer: try again later." in found.text
            assert "secret" not in found.text
        operator = await person.signed_in()
        assert operator.status_code == 200
        assert "The analyzer&#39;s store does not answer" in operator.text

    visit(monkeypatch, settings, test)


def test_a_release_of_a_newer_program_can_still_be_downloaded(tmp_path, monkeypatch, kept):
    settings = settings_for(tmp_path, kept)
    settings.store.prepare(kept.task)
    keep_batch(settings.store, kept.task, 1)
    settings.store.keep_release(kept.task.id, release=b'{"format": "of the future"}', batches=[batch_id(kept.task, 1)])

    async def test(person):
        page = await person.get(f"/tasks/{kept.task.name}")
        assert page.status_code == 200
        assert "cannot be shown by this version" in page.text
        assert "1.json" in page.text

    visit(monkeypatch, settings, test)


def test_releases_of_the_same_length_are_not_confused(tmp_path, kept):
    store = settings_for(tmp_path, kept).store
    release(store, kept.task, 1)
    one = store.release(kept.task.id)
    other = replace(one, release=one.release.replace(__version__.encode(), b"9.8.7", 1))
    assert len(other.release) == len(one.release)
    assert [console_context.rendered(each).version for each in (one, other, one)] == [__version__, "9.8.7", __version__]


def test_a_release_is_rendered_once(tmp_path, monkeypatch, kept):
    """A browser that has the page gets 304."""
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, 1, 2)
    drawn = []
    monkeypatch.setattr(console_context, "RENDERED", BoundedCache(most_bytes=2**20, size=lambda _: 0))
    usual = console_context.parts
    monkeypatch.setattr(console_context, "parts", lambda release: drawn.append(release) or usual(release))

    async def test(person):
        first = await person.get(f"/tasks/{kept.task.name}")
        tag = first.headers["etag"]
        for _ in range(5):
            again = await person.get(f"/tasks/{kept.task.name}", **{"if-none-match": tag})
            assert (again.status_code, again.content) == (304, b"")
        assert len(drawn) == 1
        release(settings.store, kept.task, 3)
        newer = await person.get(f"/tasks/{kept.task.name}", **{"if-none-match": tag})
        assert newer.status_code == 200
        assert "<h2>Release 3</h2>" in newer.text

    visit(monkeypatch, settings, test)


@pytest.mark.slow
def test_too_many_pages_at_once_are_refused(tmp_path, monkeypatch, kept):
    """One more request is refused; cached pages are still served."""
    monkeypatch.setattr(console_context, "RENDERED", BoundedCache(most_bytes=2**20, size=lambda _: 0))
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, *range(1, MOST_WAITING + 3))
    go = threading.Event()

    async def test(person):
        latest = f"/tasks/{kept.task.name}"
        assert (await person.get(latest)).status_code == 200
        usual, found = console_context.read, []
        monkeypatch.setattr(console_context, "read", lambda content: usual(content) if go.wait(60) else None)

        async def one(number):
            found.append(await person.get(f"/tasks/{kept.task.name}/releases/{number}"))
            if found[-1].status_code == 503:
                assert (await person.get(latest)).status_code == 200
                go.set()

        async with anyio.create_task_group() as group:
            for number in range(1, MOST_WAITING + 2):
                group.start_soon(one, number)
        assert sorted(page.status_code for page in found) == [200] * MOST_WAITING + [503]
        refused = next(page for page in found if page.status_code == 503)
        assert refused.headers["content-type"].startswith("text/html")
        assert refused.headers["retry-after"] == "1"
        assert BUSY in refused.text

    visit(monkeypatch, settings, test)


def test_the_history_equals_one_of_complete_releases(tmp_path, kept):
    """Only the drawn values are kept of each release, and unreadable releases are skipped."""
    store = settings_for(tmp_path, kept).store
    release(store, kept.task, 1, 2, 3)
    keep_batch(store, kept.task, 4)
    store.keep_release(kept.task.id, release=b"{}", batches=[batch_id(kept.task, 4)])
    whole = [(each, Release.from_json(each.release.decode())) for each in releases_of(store, kept.task.id)[:3]]
    expected = history([Past(each.number, each.made, made.estimate.people, made) for each, made in whole])
    histories = Histories(store)
    assert expected in histories.of(kept.task)
    past = list(histories._past(kept.task, [3, 2, 1]))
    assert [len(each.release.estimate) for each in past] == [MOST_VALUES] * 3 < [len(whole[0][1].estimate)] * 3
    store.close()


def test_no_request_waits_for_a_history_that_is_being_rendered(tmp_path, kept, monkeypatch):
    store = settings_for(tmp_path, kept).store
    release(store, kept.task, 1, 2)
    histories = Histories(store)
    before = histories.of(kept.task)
    release(store, kept.task, 3)
    usual, meanwhile = histories._rendered, []
    monkeypatch.setattr(
        histories, "_rendered", lambda *given: meanwhile.append(histories.of(kept.task)) or usual(*given)
    )
    after = histories.of(kept.task)
    assert meanwhile == [before]
    assert "Over the last 3 releases" in after
    assert histories.of(kept.task) == after
    store.close()


def test_releases_are_shown_without_the_key(tmp_path, monkeypatch, kept):
    settings = settings_for(tmp_path, kept, served=[], only_shown=[kept.task])
    release(settings.store, kept.task, 1)

    async def test(person):
        assert "<h2>Release 1</h2>" in (await person.get(f"/tasks/{kept.task.name}")).text
        assert "has no key for the task" in (await person.signed_in()).text
        status = (await person.get(f"/v1/tasks/{kept.task.name}/status")).json()
        assert status["releases"] == 1
        assert "has no key for the task" in status["problems"][0]
        assert (await person.get("/health")).status_code == 200

    visit(monkeypatch, settings, test)
