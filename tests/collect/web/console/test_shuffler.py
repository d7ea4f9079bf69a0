"""The operator's page of tasks at a shuffler: tasks and tokens, who is let in, and what it shows."""

from dataclasses import replace
from functools import partial

import anyio
import httpx
import pytest
from tests.collect.in_process import client_in_process
from tests.collect.series import small_series
from tests.collect.server.operated import (
    HEADERS,
    KEPT,
    OPERATOR,
    SMALL,
    Operated,
    folder_of,
    shuffler,
)
from tests.collect.shuffler.running import TOKEN, sealed
from tests.collect.tasks import small_task
from tests.collect.web.console.running import BROWSER, FROM_HERE, HOST, Person

from shuffledp.collect.crypto.keys import write_secret
from shuffledp.collect.reaching import UpstreamError
from shuffledp.collect.server.auth import NO_OPERATORS, hash_of, new_token
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.shuffler.app import app_from, make_app
from shuffledp.collect.store.database import StoreError
from shuffledp.collect.web import administration

MANAGE = "/operator/manage"
ELSEWHERE = ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "none"})


class Operator(Person):
    """The operator of a shuffler with a browser; `server` is the same shuffler for programs."""

    def __init__(self, client):
        super().__init__(client, None)
        self.server = Operated(client)

    async def sign_in(self, token=OPERATOR, **more):
        return await super().sign_in(token, **more)

    async def send(self, path, content=b"", *, text="", **headers):
        """Send a form with a file or a text."""
        fields = {"file": ("file", content), "text": (None, text)}
        return await self.client.post(path, files=fields, headers=BROWSER | {"origin": HOST} | headers)

    async def post(self, path, **headers):
        return await self.client.post(path, headers=FROM_HERE | headers)

    async def tasks(self):
        return (await self.get(MANAGE)).text


def visit(settings, test):
    async def whole():
        async with client_in_process(make_app(settings)) as client:
            await test(Operator(client))

    anyio.run(whole)


def flat(page):
    return " ".join(page.text.split())


def test_a_task_is_added_closed_and_removed(tmp_path):
    task = KEPT.task

    async def test(person):
        answer = await person.get("/operator")
        assert (answer.status_code, answer.headers["location"]) == (307, MANAGE)
        assert (await person.sign_in(then=MANAGE)).headers["location"] == MANAGE
        assert "This shuffler has no task yet." in await person.tasks()
        answer = await person.send(MANAGE, task.to_json().encode())
        assert (answer.status_code, answer.headers["location"]) == (303, f"{MANAGE}?done=added")
        for number in range(2):
            assert f"{number} of 5 reports for the next batch." in await person.tasks()
            assert (await person.server.report(task)).status_code == 201
        confirm = await person.get(f"{MANAGE}/{task.name}/close")
        assert "deleted unread: 2 reports wait now for a batch of 5." in flat(confirm)
        assert (await person.server.report(task)).status_code == 201  # nothing happened so far
        answer = await person.post(f"{MANAGE}/{task.name}/close")
        assert answer.headers["location"] == f"{MANAGE}?done=closed"
        assert (await person.server.report(task)).status_code == 410
        page = await person.tasks()
        assert "Closed early by an operator." in page
        assert "The last batch fell short by 2 people and was deleted." in page
        assert "answered as for an unknown task" in (await person.get(f"{MANAGE}/{task.name}/remove")).text
        answer = await person.post(f"{MANAGE}/{task.name}/remove")
        assert answer.headers["location"] == f"{MANAGE}?done=removed"
        assert (await person.server.report(task)).status_code == 404

    visit(shuffler(tmp_path, KEPT), test)


def test_a_task_whose_batch_waits_is_not_removed(tmp_path):
    task = KEPT.task

    async def test(person):
        await person.server.add(task)
        await person.sign_in()
        for _ in range(5):
            await person.server.report(task)
        await person.post(f"{MANAGE}/{task.name}/close")
        answer = await person.post(f"{MANAGE}/{task.name}/remove")
        assert (answer.status_code, "has not fetched 1 batch yet" in answer.text) == (409, True)
        assert "1 batch complete, 0 fetched by the next server." in await person.tasks()
        assert "Remove unchecked" not in answer.text
        await person.server.forward(task, 1)
        assert (await person.post(f"{MANAGE}/{task.name}/remove")).status_code == 303

    visit(shuffler(tmp_path, KEPT), test)


def test_a_later_shuffler_removes_a_task_unchecked_and_takes_no_tokens(tmp_path, monkeypatch):
    """The shuffler before it is gone."""

    def gone(*_):
        raise UpstreamError("gone")

    monkeypatch.setattr(Upstream, "_trying", gone)
    kept = small_task(**SMALL, shufflers=2, admission="tokens")
    settings = shuffler(tmp_path, kept, position=1, token=write_secret(tmp_path / "token", TOKEN))

    async def test(person):
        await person.server.add(kept.task)
        await person.sign_in()
        at, page = f"{MANAGE}/{kept.task.name}", await person.tasks()
        assert "reports for the next batch" not in page
        assert "Add tokens" not in page
        answer = await person.send(f"{at}/tokens", b"0" * 64)
        assert (answer.status_code, "needs no tokens" in answer.text) == (422, True)
        assert "goes on mixing" in (await person.get(f"{at}/close")).text
        await person.post(f"{at}/close")
        answer = await person.post(f"{at}/remove")
        assert (answer.status_code, "The previous shuffler does not answer" in answer.text) == (409, True)
        assert "will not be forwarded" in answer.text
        assert (await person.post(f"{at}/remove?unchecked=true")).headers["location"] == f"{MANAGE}?done=removed"

    visit(settings, test)


def test_tokens_are_added(tmp_path):
    kept = small_task(**SMALL, admission="tokens")
    tokens = [new_token() for _ in range(3)]
    hashes = [hash_of(token).hex() for token in tokens]

    async def test(person):
        await person.server.add(kept.task)
        await person.sign_in()
        at = f"{MANAGE}/{kept.task.name}/tokens"
        page = await person.tasks()
        assert "No unspent one-time token is left" in page
        assert at in page
        assert "Only hashes belong here" in (await person.get(at)).text
        for sent, added in (({"content": "\n".join(hashes[:2]).encode()}, 2), ({"text": "\r\n".join(hashes)}, 1)):
            answer = await person.send(at, **sent)
            assert (answer.status_code, answer.headers["location"]) == (303, f"{MANAGE}?done=tokens&number={added}")
            page = (await person.get(answer.headers["location"])).text
            assert f"{added} new hash{'es' if added > 1 else ''} added." in page
            assert "No unspent" not in page
        for token in tokens:
            assert (await person.server.report(kept.task, authorization=f"Bearer {token}")).status_code == 201
        await person.post(f"{MANAGE}/{kept.task.name}/close")
        assert "Add tokens" not in await person.tasks()
        answer = await person.send(at, hashes[0].encode())
        assert (answer.status_code, "Nothing was added: The task is closed." in answer.text) == (410, True)

    visit(shuffler(tmp_path, kept), test)


def test_a_secret_is_added(tmp_path):
    kept, secret = small_task(**SMALL, admission="secret"), new_token()

    async def test(person):
        await person.server.add(kept.task)
        await person.sign_in()
        at = f"{MANAGE}/{kept.task.name}/tokens"
        assert "Add a secret" in await person.tasks()
        assert "An earlier secret of the task stays valid." in (await person.get(at)).text
        assert (await person.send(at, text=hash_of(secret).hex())).status_code == 303
        assert (await person.server.report(kept.task, authorization=f"Bearer {secret}")).status_code == 201
        answer = await person.send(at, f"{'0' * 64}\n{'1' * 64}".encode())
        assert (answer.status_code, "needs one hash, got 2" in answer.text) == (400, True)

    visit(shuffler(tmp_path, kept), test)


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b"", 400, "Nothing was added: choose the file of hashes, or paste them."),
        (b"<script>alert(1)</script>", 400, "each line of the file must be the hash of a token"),
        (b"0" * 63, 400, "64 hexadecimal digits, got 63 other characters"),
        (b"\xff" * 64, 400, "64 hexadecimal digits, got 64 other characters"),
        (b"0" * 300_000, 413, "longer than this server accepts"),
    ],
)
def test_wrong_hashes_are_one_clear_error(tmp_path, monkeypatch, content, status, words):
    kept = small_task(**SMALL, admission="tokens")
    monkeypatch.setattr(administration, "_MOST_HASHES_BYTES", 200_000)

    async def test(person):
        await person.server.add(kept.task)
        await person.sign_in()
        answer = await person.send(f"{MANAGE}/{kept.task.name}/tokens", content)
        assert (answer.status_code, words in answer.text) == (status, True), answer.text
        assert answer.text.count('role="alert" id="problem"') == 1
        assert "<script>" not in answer.text

    visit(shuffler(tmp_path, kept), test)


def test_a_task_without_tokens_and_an_unknown_task_take_none(tmp_path):
    async def test(person):
        await person.server.add(KEPT.task)
        await person.sign_in()
        assert f"{KEPT.task.name}/tokens" not in await person.tasks()
        answer = await person.send(f"{MANAGE}/{KEPT.task.name}/tokens", b"0" * 64)
        assert (answer.status_code, "needs no tokens for this task" in answer.text) == (422, True)
        for name in ("0" * 64, "x", "%00"):
            for step in ("close", "remove", "tokens"):
                for answer in (
                    await person.get(f"{MANAGE}/{name}/{step}"),
                    await person.send(f"{MANAGE}/{name}/{step}"),
                ):
                    assert answer.status_code == 404
                    assert "There is no such page" in answer.text
                    assert "All tasks of this shuffler" in answer.text

    visit(shuffler(tmp_path, KEPT), test)


def test_a_wrong_task_file_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr(administration, "MOST_FILE_BYTES", 200_000)
    of_another_server = small_task(**SMALL, answers=("yes", "no")).task.to_json().encode()

    async def test(person):
        await person.sign_in()
        for content, status, words in (
            (b"", 400, "choose a task file"),
            (b"{}", 422, "is missing"),
            (of_another_server, 422, "no key belongs to a shuffler"),
            (b" " * 300_000, 413, "longer than this server accepts"),
        ):
            answer = await person.send(MANAGE, content)
            assert (answer.status_code, words in answer.text) == (status, True), answer.text
        assert await person.server.states() == {}

    visit(shuffler(tmp_path, KEPT), test)


def test_nothing_changes_without_a_session_or_from_another_site(tmp_path):
    kept = small_task(**SMALL, admission="tokens")
    task, forms = kept.task, ("", f"/{kept.task.name}/close", f"/{kept.task.name}/remove", f"/{kept.task.name}/tokens")

    async def test(person):
        await person.server.add(task)
        for signed_in in (False, True):
            if signed_in:
                assert (await person.sign_in()).status_code == 303
            for form in forms:
                for wrong in (*ELSEWHERE, *([] if signed_in else [{}])):
                    answer = await person.send(MANAGE + form, b"0" * 64, **wrong)
                    assert (answer.status_code, "Sign in" in answer.text) == (403, True)
                if not signed_in:
                    assert (await person.get(MANAGE + form)).status_code == 403
        assert await person.server.states() == {task.name: "open"}
        assert "No unspent one-time token" in await person.tasks()
        for wrong in ELSEWHERE:  # a program's token opens no page, and a form of another site ends no session
            assert (await person.post("/operator/logout", **wrong)).status_code == 403
        assert "Sign out" in await person.tasks()
        await person.post("/operator/logout")
        assert (await person.get(MANAGE, **HEADERS)).status_code == 403

    visit(shuffler(tmp_path, kept), test)


def test_a_wrong_token_waits_and_the_right_one_does_not(tmp_path):
    async def test(person):
        with anyio.move_on_after(0.05) as waiting:
            await person.sign_in("wrong")
        assert waiting.cancelled_caught
        answer = await person.sign_in()
        (cookie,) = answer.headers.get_list("set-cookie")
        for part in ("HttpOnly", "Path=/operator", "SameSite=strict"):
            assert part in cookie
        assert "Sign out" in await person.tasks()

    visit(replace(shuffler(tmp_path), pause_after_wrong=30.0), test)


def test_pages_have_the_headers_of_the_console(tmp_path):
    async def test(person):
        form = await person.get(MANAGE)
        assert "The operator of this shuffler signs in here." in form.text
        await person.sign_in()
        for page in (form, await person.get(MANAGE), await person.get(f"{MANAGE}/x/close")):
            assert page.headers["cache-control"] == "no-store"
            assert page.headers["referrer-policy"] == "same-origin"  # the origin of forms is checked
            assert "access-control-allow-origin" not in page.headers
            policy = page.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            for file in ("look.css", "console.css", "console.js", "console.svg"):
                assert (f"/console/{file}" in page.text) == ((await person.get(f"/console/{file}")).status_code == 200)

    visit(shuffler(tmp_path), test)


@pytest.mark.parametrize("operators", [True, False])
def test_the_page_is_there_only_with_an_operator_and_beside_the_survey_page(tmp_path, operators):
    settings = shuffler(tmp_path, KEPT, page=True)
    settings = replace(settings, served=settings.options.served([KEPT.task]))

    async def test(person):
        assert (await person.get("/")).headers["location"] == f"/ask/{KEPT.task.name}"
        assert "form-action 'none'" in (await person.get(f"/ask/{KEPT.task.name}")).headers["content-security-policy"]
        assert (await person.get("/page/survey.css")).status_code == 200
        unknown = await person.get("/unknown")
        assert (unknown.status_code, unknown.json()["status"]) == (404, 404)  # no page leads visitors to the operator's
        own = ("/operator", MANAGE, f"{MANAGE}/{KEPT.task.name}/tokens", "/console/console.js", "/console/look.css")
        found = [(await person.get(path)).status_code for path in own]
        assert found == ([307, 403, 403, 200, 200] if operators else [404] * 5)
        if not operators:
            assert (await person.sign_in()).json()["status"] == 404

    visit(settings if operators else replace(settings, operators=NO_OPERATORS), test)


def test_the_page_shows_nothing_that_the_public_status_does_not(tmp_path):
    """Everything but the texts of the page is in the status, and nothing is about one report."""
    kept, tokens = small_task(**SMALL, admission="tokens"), [new_token() for _ in range(3)]

    async def test(person):
        await person.server.add(kept.task)
        await person.sign_in()
        await person.server.tokens(kept.task.name, *(hash_of(token).hex() for token in tokens))
        before = await person.tasks()
        refused = await person.server.report(kept.task, authorization="Bearer wrong")
        assert (refused.status_code, await person.tasks()) == (403, before)
        body = sealed(kept.task, report_id=b"i" * 16)
        await person.client.post(
            f"/v1/tasks/{kept.task.name}/reports", content=body, headers={"authorization": f"Bearer {tokens[0]}"}
        )
        status, page = await person.server.status(kept.task), await person.tasks()
        assert page == before.replace("0 of 5", "1 of 5").replace('value="0"', f'value="{status["waiting"]}"')

    visit(shuffler(tmp_path, kept), test)


def test_of_a_series_the_page_shows_the_open_round(tmp_path):
    made = small_series()

    async def test(person):
        assert (await person.server.add(made.series)).status_code == 201
        await person.sign_in()
        assert "Round 3: 0 of 200 reports for" in await person.tasks()

    visit(shuffler(tmp_path, made.round(1)), test)


def test_a_store_that_does_not_answer_is_a_page_and_the_session_stays(tmp_path, monkeypatch):
    settings = shuffler(tmp_path, KEPT)

    def fails(*_):
        raise StoreError("gone")

    async def test(person):
        await person.server.add(KEPT.task)
        await person.sign_in()
        with monkeypatch.context() as patched:
            patched.setattr(settings.store, "standing", fails)
            answer = await person.get(MANAGE)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "This does not work at the moment" in answer.text
            assert (await person.client.get(MANAGE)).json()["reason"] == "unavailable"  # a program
        assert KEPT.task.name in await person.tasks()

    visit(settings, test)


def test_all_processes_of_a_server_have_the_same_sessions(tmp_path):
    async def test(read_settings):
        apps = [app_from(read_settings, background) for background in (True, False)]
        async with client_in_process(apps[0]) as first, client_in_process(apps[1]) as second:
            one, other = Operator(first), Operator(second)
            await one.sign_in()
            second.cookies = httpx.Cookies(first.cookies)
            assert KEPT.task.name in await other.tasks()
            await other.post("/operator/logout")
            second.cookies = httpx.Cookies(first.cookies)
            for person in (one, other):
                assert (await person.get(MANAGE)).status_code == 403

    anyio.run(test, partial(folder_of(tmp_path, KEPT), sessions=tmp_path / "sessions"))
