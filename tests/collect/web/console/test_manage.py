"""The operator's page of tasks: adding, closing and removing them in the console."""

import re
import threading
from dataclasses import replace

import httpx
import pytest
from tests.collect.web.console.running import (
    BROWSER,
    FROM_HERE,
    HOST,
    Shufflers,
    asked_task,
    release,
    settings_for,
    visit,
)

from shuffledp.collect.analyzer.settings import TaskOptions
from shuffledp.collect.crypto.keys import write_key, write_secret
from shuffledp.collect.server.auth import Accepted, new_token
from shuffledp.collect.web import administration
from shuffledp.collect.web.administration import file_in

MANAGE = "/operator/manage"


@pytest.fixture
def served():
    return asked_task()


@pytest.fixture
def added():
    return asked_task(question="A <b>second</b> question?", answers=("yes", "no"))


@pytest.fixture
def settings(tmp_path, served, added):
    """An analyzer with a task, and with the key of another one."""
    (tmp_path / "keys").mkdir()
    write_key(added.keys[-1], tmp_path / "keys" / "added.key")
    write_secret(tmp_path / "analyzer.token", new_token())
    options = TaskOptions(key=[tmp_path / "keys"], token=tmp_path / "analyzer.token", operators=Accepted((b"",)))
    return replace(settings_for(tmp_path, served), options=options)


async def send(person, content, **headers):
    files = {"file": ("task.json", content)}
    return await person.client.post(
        MANAGE, files=files, data={"text": ""}, headers={**BROWSER, "origin": HOST, **headers}
    )


async def post(person, path, **headers):
    return await person.client.post(f"{MANAGE}/{path}", headers=FROM_HERE | headers)


@pytest.mark.slow
def test_a_task_is_added_closed_and_removed(monkeypatch, settings, served, added):
    shufflers = Shufflers(served.task)

    async def test(person):
        await person.sign_in()
        assert f"{MANAGE}" in (await person.get("/operator")).text
        answer = await send(person, added.task.to_json().encode())
        assert (answer.status_code, answer.headers["location"]) == (303, f"{MANAGE}?done=added")
        page = (await person.get(answer.headers["location"])).text
        assert "The task was added." in page
        assert "A &lt;b&gt;second&lt;/b&gt; question?" in page
        assert (await send(person, added.task.canonical)).headers["location"] == f"{MANAGE}?done=known"
        assert (await person.get(f"/tasks/{added.task.name}")).status_code == 200
        name = served.task.name
        page = (await person.get(f"{MANAGE}/{name}/close")).text
        assert "never opened again" in page
        assert "People can answer until" in (await person.get(f"/tasks/{name}")).text  # nothing happened so far
        assert (await post(person, f"{name}/close")).headers["location"] == f"{MANAGE}?done=closed"
        shufflers.replies[0] = shufflers.status(short_by=3)
        assert "Closed early" in (await person.get(f"/tasks/{name}")).text
        assert "Closed early by an operator." in (await person.get(MANAGE)).text
        assert "no longer shown" in (await person.get(f"{MANAGE}/{name}/remove")).text
        assert (await person.get(f"/tasks/{name}")).status_code == 200
        assert (await post(person, f"{name}/remove")).headers["location"] == f"{MANAGE}?done=removed"
        assert (await person.get(f"/tasks/{name}")).status_code == 404
        for step in ("close", "remove"):
            assert (await post(person, f"{name}/{step}")).status_code == 404

    visit(monkeypatch, settings, test, shufflers)


def test_a_task_that_is_not_finished_is_not_removed(monkeypatch, settings, served):
    release(settings.store, served.task, 1)
    shufflers = Shufflers(served.task)

    async def test(person):
        await person.sign_in()
        at = f"{served.task.name}/remove"
        for words in ("People can still answer", "first shuffler has not closed", "still has 2 batches"):
            answer = await post(person, at)
            assert (answer.status_code, words in answer.text) == (409, True)
            if words.startswith("People"):
                await post(person, f"{served.task.name}/close")
            else:
                shufflers.replies[0] = shufflers.status(short_by=0, batches=3, batches_acknowledged=1)
        assert (await person.get(f"/tasks/{served.task.name}")).status_code == 200

    visit(monkeypatch, settings, test, shufflers)


def test_a_task_of_a_shuffler_that_does_not_answer_is_removed_unchecked(monkeypatch, settings, served):
    shufflers = Shufflers(served.task)
    shufflers.replies[0] = httpx.ConnectError("gone")

    async def test(person):
        await person.sign_in()
        at = f"{served.task.name}/remove"
        assert "Remove unchecked" not in (await post(person, at)).text  # it is open
        await post(person, f"{served.task.name}/close")
        answer = await post(person, at)
        assert (answer.status_code, "Shuffler 1 does not answer" in answer.text) == (409, True)
        (action,) = re.findall(r'action="([^"]*unchecked[^"]*)"', answer.text)
        assert (await post(person, action.removeprefix(f"{MANAGE}/"))).headers["location"] == f"{MANAGE}?done=removed"

    visit(monkeypatch, settings, test, shufflers)


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b"", 400, "choose a task file"),
        (b"{}", 422, "is missing"),
        (b"\x00\xff", 422, "not JSON"),
        (b"<script>", 422, "not JSON"),
    ],
)
def test_a_wrong_file_is_one_clear_error(monkeypatch, settings, content, status, words):
    async def test(person):
        await person.sign_in()
        answer = await send(person, content)
        assert (answer.status_code, words in answer.text) == (status, True), answer.text
        assert "<script>" not in answer.text
        for kind in ("text/plain", "multipart/form-data", "multipart/form-data; boundary=x", "multipart/mixed; é"):
            answer = await person.client.post(
                MANAGE, content=b"--x\r\n", headers=FROM_HERE | {"content-type": kind.encode()}
            )
            assert answer.status_code == 400

    visit(monkeypatch, settings, test)


def test_pasted_text_is_added(monkeypatch, settings, added):
    async def test(person):
        await person.sign_in()
        fields = {"file": ("", b""), "text": (None, added.task.to_json().replace("\n", "\r\n"))}
        answer = await person.client.post(MANAGE, files=fields, headers={**BROWSER, "origin": HOST})
        assert answer.headers["location"] == f"{MANAGE}?done=added"

    visit(monkeypatch, settings, test)


def test_a_wrong_paste_stays_in_the_form_with_its_error(monkeypatch, settings):
    """Escaped, and not if it is long. The error was at the top of the page, and the text had to be pasted again."""

    async def paste(person, text):
        fields = {"file": ("", b""), "text": (None, text)}
        return (await person.client.post(MANAGE, files=fields, headers={**BROWSER, "origin": HOST})).text

    async def test(person):
        await person.sign_in()
        page = await paste(person, '{"a": </textarea><script>')
        assert "{&#34;a&#34;: &lt;/textarea&gt;&lt;script&gt;</textarea>" in page
        assert page.count('role="alert" id="problem"') == page.count("autofocus") == 1
        assert page.index("<h2>Add a task</h2>") < page.index("<form", page.index("Add a task")) < page.index("problem")
        assert re.search(r'<textarea [^>]*aria-invalid="true" aria-describedby="problem" autofocus>', page)
        assert 'spellcheck="false"></textarea>' in (await person.get(MANAGE)).text
        assert "0000" not in await paste(person, "0" * (administration._MOST_PASTED + 1))
        assert re.search(r'<input type="file" name="file" aria-invalid="true"', (await send(person, b"{}")).text)

    visit(monkeypatch, settings, test)


def test_nothing_changes_without_a_session_or_from_another_site(monkeypatch, settings, served, added):
    content, name = added.task.to_json().encode(), served.task.name

    async def test(person):
        before = settings.store.files.states()
        for _ in range(2):
            for wrong in (
                {"origin": "http://evil.example"},
                {"sec-fetch-site": "cross-site"},
                {"sec-fetch-site": "none"},
            ):
                assert (await send(person, content, **wrong)).status_code == 403
                for step in ("close", "remove"):
                    assert (await post(person, f"{name}/{step}", **wrong)).status_code == 403
            person.client.cookies.clear()
            assert (await send(person, content)).status_code == 403
            for step in ("close", "remove"):
                assert (await post(person, f"{name}/{step}")).status_code == 403
                assert (await person.get(f"{MANAGE}/{name}/{step}")).status_code == 403
            assert "Sign in" in (await person.get(MANAGE)).text
            await person.sign_in(then=MANAGE)
        assert settings.store.files.states() == before == {}

    visit(monkeypatch, settings, test)


def test_the_page_has_the_headers_of_the_console(monkeypatch, settings):
    async def test(person):
        await person.sign_in()
        found = await person.get(MANAGE)
        assert found.headers["cache-control"] == "no-store"
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "form-action 'self'" in policy
        assert "unsafe" not in policy

    visit(monkeypatch, settings, test)


def test_an_empty_analyzer_has_a_page(monkeypatch, settings, served):
    async def test(person):
        await person.sign_in()
        assert "This analyzer has no task yet." in (await person.get(MANAGE)).text
        assert "This analyzer has no task yet." in (await person.get("/operator")).text
        assert (await person.get("/")).status_code == 200

    visit(monkeypatch, replace(settings, served=[]), test, Shufflers(served.task))


def test_a_large_form_does_not_stop_other_requests(monkeypatch, settings, added):
    """It is parsed beside the event loop."""
    threads = []

    def parsed(*given):
        threads.append(threading.current_thread())
        return file_in(*given)

    async def test(person):
        await person.sign_in()
        await send(person, added.task.canonical)
        assert [thread is threading.current_thread() for thread in threads] == [False]

    monkeypatch.setattr(administration, "file_in", parsed)
    visit(monkeypatch, settings, test)


NAMELESS = b"--b\r\ncontent-disposition: form-data\r\n\r\n1\r\n--b--"


@pytest.mark.parametrize("body", [b"", b"x", b"--b--", b"--b\r\n\r\n\r\n--b--\r\n", NAMELESS])
def test_forms_without_a_file(body):
    assert file_in("multipart/form-data; boundary=b", body).content == b""
