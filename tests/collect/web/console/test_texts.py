"""The console of tasks with texts: hostile and blocked texts, looking up an answer, and pages during a search."""

import csv
import html
import io
import json
import re
import threading

import anyio
import pytest
from tests.collect.analyzer.texts import FORMULA, HOSTILE, LONG, SCRIPT, tally_of, text_task
from tests.collect.web.console.running import asked_task, batch_id, release, settings_for, visit

from shuffledp.collect.analyzer.releases import Releasing
from shuffledp.collect.analyzer.settings import Settings
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.collect.task.follow_up import LONGEST_LOOKUP
from shuffledp.errors import DataError
from shuffledp.protocols.free_text import FreeText
from shuffledp.release.free_text import Blocklist

PEOPLE = dict.fromkeys((*HOSTILE, "news.test/sport"), 80) | {None: 40}


@pytest.fixture(scope="module")
def kept():
    return text_task()


@pytest.fixture
def settings(tmp_path, kept):
    return settings_for(tmp_path, kept)


def keep(store, task, *numbers, people=PEOPLE):
    store.prepare(task)
    for number in numbers:
        tally = to_bytes(tally_of(task, people, seed=number))
        assert store.keep_tally(task.id, batch_id(task, number), tally, task.users, {})


def released(settings, task, *numbers, people=PEOPLE):
    keep(settings.store, task, *numbers, people=people)
    assert Releasing(task, settings.store).release() == len(numbers)


def addresses(task):
    """Every public page and file about the first release."""
    files = [f"/v1/tasks/{task.name}/releases/1.{ending}" for ending in ("json", "csv", "html", "parquet", "arrow")]
    lists = [f"/v1/tasks/{task.name}/releases", f"/v1/tasks/{task.name}/releases/latest"]
    return [*files, *lists, "/", f"/tasks/{task.name}", f"/tasks/{task.name}/releases/1"]


# What strangers wrote ---------------------------------------------------------------------------------------------


def test_hostile_texts_are_shown_and_do_nothing(monkeypatch, kept, settings):
    released(settings, kept.task, 1, 2)

    async def test(person):
        base = f"/v1/tasks/{kept.task.name}/releases/1"
        pages = [(await person.get(path)).text for path in (f"/tasks/{kept.task.name}", f"{base}.html")]
        pages.append((await person.signed_in()).text)
        for page in pages:
            assert html.escape(SCRIPT, quote=False) in page
            assert SCRIPT not in page
            assert "<b>\"'" not in page
            assert "x" * 199 not in re.sub(r'<th scope="row">.*?</th>', "", page)  # long texts are shortened in charts
            for found in re.findall(r"<bdi>(.*?)</bdi>", page):
                assert "<" not in found
        rows = list(csv.reader(io.StringIO((await person.get(f"{base}.csv")).text)))
        labels = {row[0] for row in rows[1:]}
        assert {f"'{FORMULA}", "'@sum(1)", "'-2+3", '"(other)"', "(other)", '"(hidden)"', LONG} < labels
        assert not [label for label in labels if label[0] in "=@" or (label[0] in "+-" and not label[1:].isdecimal())]
        stored = json.loads((await person.get(f"{base}.json")).text)
        assert {SCRIPT, FORMULA, LONG} < {row["label"] for row in stored["histogram"]}

    visit(monkeypatch, settings, test)


def test_texts_with_marks_that_change_the_direction_cannot_be_found(kept):
    for mark in "\u202e\u2066\u200b\x1b\x07\ufeff":
        assert kept.task.is_other(f"news.test{mark}")


# Blocked words ----------------------------------------------------------------------------------------------------


def test_blocked_words_are_on_no_page_and_in_no_file(monkeypatch, tmp_path, kept):
    settings = settings_for(tmp_path, kept, block=Blocklist.of(["SCRIPT", "news", "=@sum(1)"]))
    released(settings, kept.task, 1, 2)

    async def test(person):
        await person.sign_in()
        for path in (*addresses(kept.task), f"/operator/tasks/{kept.task.name}"):
            found = await person.get(path)
            assert found.status_code == 200
            for word in (b"script>alert", b"script&gt;alert", b"news.test", b"@sum"):
                assert word not in found.content, path
        stored = json.loads((await person.get(addresses(kept.task)[0])).text)
        rows = {(row["label"], row.get("kind")): row for row in stored["histogram"]}
        hidden = rows["(hidden)", "NoText"]
        assert hidden["low"] <= 3 * 80 <= hidden["high"]
        assert rows['"(hidden)"', None]["count"] != hidden["count"]  # a text of this name is another row
        assert "(hidden)" in (await person.get(f"/tasks/{kept.task.name}")).text

    visit(monkeypatch, settings, test)


def test_a_longer_blocklist_hides_words_of_earlier_releases(monkeypatch, tmp_path, kept):
    settings = settings_for(tmp_path, kept)
    released(settings, kept.task, 1)
    settings.store.close()
    for block, shown in ((None, True), (Blocklist.of(["sport"]), False), (Blocklist.of(["other word"]), True)):

        async def test(person, shown=shown):
            for path in (f"/tasks/{kept.task.name}", f"/v1/tasks/{kept.task.name}/releases/1.csv"):
                assert ("news.test/sport" in (await person.get(path)).text) == shown

        visit(monkeypatch, settings_for(tmp_path, kept, block=block), test)


def test_a_release_that_cannot_be_read_is_not_shown_with_a_blocklist(monkeypatch, tmp_path, kept):
    settings = settings_for(tmp_path, kept, block=Blocklist.of(["insult"]))
    keep(settings.store, kept.task, 1)
    newer = b'{"shuffledp_release": 99, "histogram": [{"label": "insult"}]}'
    settings.store.keep_release(kept.task.id, release=newer, batches=[batch_id(kept.task, 1)])

    async def test(person):
        for path in addresses(kept.task):
            found = await person.get(path)
            assert "insult" not in found.text, path
        listed = await person.get(f"/v1/tasks/{kept.task.name}/releases")
        assert "blocked words cannot be hidden" in listed.text

    visit(monkeypatch, settings, test)


def test_a_blocklist_that_cannot_be_read_stops_the_start(tmp_path):
    with pytest.raises(DataError, match=r"blocklist .* cannot be read"):
        Settings.read(task=[], key=[], store=str(tmp_path / "s.db"), ledger=tmp_path / "l", block=tmp_path / "none")
    assert not (tmp_path / "s.db").exists()


# Looking up an answer ---------------------------------------------------------------------------------------------


def lookup(task, value):
    return f"/operator/tasks/{task.name}/lookup?value={value}"


def test_an_answer_is_looked_up_by_operators_only(monkeypatch, kept, settings):
    released(settings, kept.task, 1, 2)

    async def test(person):
        refused = await person.get(lookup(kept.task, "news.test/sport"))
        assert refused.status_code == 403
        assert "people gave this answer" not in refused.text
        assert f'action="/operator/tasks/{kept.task.name}/lookup"' in (await person.signed_in()).text
        page = (await person.get(lookup(kept.task, " NEWS.test/sport "))).text
        low, high = (
            int(end) for end in re.search(r"<b>(\d+) to (\d+)</b><span>people gave this answer", page).groups()
        )
        assert low <= 160 <= high  # false failures below 5%, and the seeds are fixed
        assert "<h2><bdi>news.test/sport</bdi></h2>" in page
        assert "in 2 released batches" in page
        nobody = (await person.get(lookup(kept.task, "mail.test"), accept="application/json")).json()
        assert nobody["value"] == "mail.test"
        assert nobody["low"] == 0
        assert (await person.get(lookup(kept.task, ""), accept="application/json")).json()["value"] == "(none)"
        assert (await person.get(lookup(kept.task, "?"), accept="application/json")).json()["value"] == "(other)"

    visit(monkeypatch, settings, test)


def test_a_looked_up_answer_is_escaped_and_short(monkeypatch, kept, settings):
    released(settings, kept.task, 1)

    async def test(person):
        await person.sign_in()
        page = (await person.get(lookup(kept.task, "%3Cscript%3Ealert(1)%3C/script%3E"))).text
        assert SCRIPT not in page
        assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in page
        quoted = (await person.get(lookup(kept.task, "%22%3E%3Cimg src=x onerror=alert(1)%3E"))).text
        assert "<img" not in quoted
        assert (await person.get(lookup(kept.task, "x" * LONGEST_LOOKUP))).status_code == 200
        assert (await person.get(lookup(kept.task, "x" * (LONGEST_LOOKUP + 1)))).status_code == 400
        assert (await person.get(lookup(kept.task, "%00%ff%e2%80%ae"))).status_code == 200

    visit(monkeypatch, settings, test)


def test_only_released_batches_are_looked_up(monkeypatch, kept, settings):
    """Before its release a batch has no entry in the ledger."""
    monkeypatch.setattr(Releasing, "release", lambda *_: 0)
    keep(settings.store, kept.task, 1)

    async def test(person):
        page = (await person.signed_in()).text
        assert "Look up an answer" not in page
        assert "There is no release yet." in (await person.get(lookup(kept.task, "news.test/sport"))).text

    visit(monkeypatch, settings, test)


def test_one_listed_answer_is_looked_up(monkeypatch, tmp_path):
    kept = asked_task(protocol="hashed")
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, 1)

    async def test(person):
        await person.sign_in()
        found = (await person.get(lookup(kept.task, "dark"), accept="application/json")).json()
        shown = json.loads((await person.get(f"/v1/tasks/{kept.task.name}/releases/1.json")).text)
        (row,) = (row for row in shown["histogram"] if row["label"] == "dark")
        assert found["count"] == pytest.approx(row["count"])
        assert (found["low"], found["high"]) == (row["low_alone"], row["high_alone"])
        assert (await person.get(lookup(kept.task, "Dark"), accept="application/json")).json()["value"] == "(other)"

    visit(monkeypatch, settings, test)


def test_answers_of_other_protocols_are_all_shown(monkeypatch, tmp_path):
    kept = asked_task()
    settings = settings_for(tmp_path, kept)
    release(settings.store, kept.task, 1)

    async def test(person):
        assert "Look up an answer" not in (await person.signed_in()).text
        assert (await person.get(lookup(kept.task, "dark"))).status_code == 404

    visit(monkeypatch, settings, test)


# A search in the background ---------------------------------------------------------------------------------------


def test_pages_answer_during_a_search(monkeypatch, kept, settings):
    searching, may_end, search = threading.Event(), threading.Event(), FreeText.estimate

    def slow(self, *args, **options):
        searching.set()
        assert may_end.wait(30)
        return search(self, *args, **options)

    monkeypatch.setattr(FreeText, "estimate", slow)
    keep(settings.store, kept.task, 1)

    async def test(person):
        assert await anyio.to_thread.run_sync(searching.wait, 30)
        for path in ("/", f"/tasks/{kept.task.name}", "/health", f"/v1/tasks/{kept.task.name}/status"):
            assert (await person.get(path)).status_code == 200
        assert "There is no release yet" in (await person.get(f"/tasks/{kept.task.name}")).text
        may_end.set()
        assert "news.test/sport" in (await person.until(f"/tasks/{kept.task.name}", "Release 1")).text

    try:
        visit(monkeypatch, settings, test)
    finally:
        may_end.set()
