"""The operator's pages: sign-in, sessions, headers, and all contents."""

from dataclasses import replace

import anyio
import pytest
from tests.collect.web.console.running import (
    FROM_HERE,
    OWN_LOOK,
    TOKEN,
    Shufflers,
    asked_task,
    keep_batch,
    release,
    settings_for,
    visit,
)
from tests.collect.web.console.test_sessions import Clock

from shuffledp import Ledger
from shuffledp.collect.analyzer.worker import STOPPED
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.auth import MOST_WRONG, Accepted, new_token
from shuffledp.collect.web.console_context import LedgerStatus
from shuffledp.collect.web.sessions import IDLE, LIFETIME, TOO_MANY, Sessions


@pytest.fixture
def kept():
    return asked_task()


@pytest.fixture
def settings(tmp_path, kept):
    return settings_for(tmp_path, kept)


SECRETS = ("1,234", ">766<", "missing for", "Ledger", "Servers", "Refused", "Sign out")
"""Settings of the operator's pages with fake shufflers."""


def paths(task):
    return "/operator", f"/operator/tasks/{task.name}"


def door_of(person):
    """The name of this analyzer's cookie."""
    return person.door.sessions.cookie


@pytest.mark.slow
def test_operator_pages_need_a_session(monkeypatch, kept, settings):
    async def test(person):
        for path in paths(kept.task):
            for cookie in ("", "shuffledp_operator=x", f"{door_of(person)}=x", f"{door_of(person)}="):
                found = await person.get(path, cookie=cookie)
                assert found.status_code == 403
                assert 'type="password"' in found.text
                assert not [each for each in SECRETS if each in found.text]

    assert len(visit(monkeypatch, settings, test).asked) <= OWN_LOOK


def test_the_right_token_opens_the_requested_page(monkeypatch, kept, settings):
    async def test(person):
        there = f"/operator/tasks/{kept.task.name}"
        assert f'name="then" value="{there}"' in (await person.get(there)).text
        welcome = await person.sign_in(f"  {TOKEN}\n", then=there)
        assert (welcome.status_code, welcome.headers["location"]) == (303, there)
        page = await person.get(there)
        assert page.status_code == 200
        assert all(each in page.text for each in SECRETS)

    visit(monkeypatch, settings, test)


def test_signing_in_redirects_only_to_operator_pages(monkeypatch, kept, settings):
    async def test(person):
        for then in (
            "https://evil.test/",
            "//evil.test",
            "/operator/tasks/../../x",
            f"/operator/tasks/{'/' * 64}",
            "x",
        ):
            assert (await person.sign_in(then=then)).headers["location"] == "/operator"
        assert "evil" not in (await person.sign_in("wrong", then='"><b>evil')).text

    visit(monkeypatch, settings, test)


def test_a_wrong_token_opens_nothing_and_leaves_no_trace(monkeypatch, capfd, kept, settings):
    wrong = ("", TOKEN[:-1], TOKEN + "x", TOKEN.swapcase(), new_token(), TOKEN[:8], "\N{SNOWMAN}", "x" * 3000)

    async def test(person):
        for token in wrong:
            found = await person.sign_in(token)
            assert found.status_code == 403
            assert "This is not the operator&#39;s token." in found.text
            assert "set-cookie" not in found.headers
            assert not token or token not in found.text
        assert (await person.get("/operator")).status_code == 403

    visit(monkeypatch, settings, test)
    logged = "".join(capfd.readouterr())
    assert not [token for token in wrong if len(token) > 7 and token in logged]
    assert TOKEN not in logged


def test_wrong_tokens_are_slowed_down_and_the_right_one_is_not(monkeypatch, kept, settings):
    async def test(person):
        answers = []

        async def guess():
            answers.append(await person.sign_in(new_token()))

        async with anyio.create_task_group() as group:
            for _ in range(MOST_WRONG):
                group.start_soon(guess)
            await anyio.sleep(0.05)
            assert answers == []
            too_many = await person.sign_in(new_token())
            assert (too_many.status_code, TOO_MANY in too_many.text) == (429, True)
            assert (await person.sign_in()).status_code == 303
            assert answers == []
            group.cancel_scope.cancel()

    visit(monkeypatch, replace(settings, pause_after_wrong=30.0), test)


def test_the_cookie(monkeypatch, kept, settings):
    async def test(person):
        plain = (await person.sign_in()).headers["set-cookie"]
        assert plain.startswith("shuffledp_operator_")
        parts = {part.strip().lower() for part in plain.split(";")[1:]}
        assert parts == {"httponly", "samesite=strict", "path=/operator", f"max-age={int(LIFETIME)}"}
        name = plain.partition("=")[2].partition(";")[0]
        assert name not in repr(vars(settings.sessions))
        # behind a proxy that terminates TLS
        behind = (await person.sign_in(origin="https://test")).headers["set-cookie"].lower()
        assert "secure" in behind

    visit(monkeypatch, settings, test)


def test_every_session_is_new_and_the_one_before_ends(monkeypatch, kept, settings):
    async def test(person):
        await person.sign_in()
        first = dict(person.client.cookies)
        await person.sign_in()
        second = dict(person.client.cookies)
        assert first.keys() == second.keys()
        assert first != second
        person.client.cookies.clear()
        old = "; ".join(f"{name}={value}" for name, value in first.items())
        assert (await person.get("/operator", cookie=old)).status_code == 403

    visit(monkeypatch, settings, test)


def test_signing_out(monkeypatch, kept, settings):
    async def test(person):
        assert (await person.signed_in()).status_code == 200
        cookies = dict(person.client.cookies)
        gone = await person.client.post("/operator/logout", headers=FROM_HERE)
        assert (gone.status_code, gone.headers["location"]) == (303, "/operator")
        assert dict(person.client.cookies) == {}
        kept_cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        assert (await person.get("/operator", cookie=kept_cookie)).status_code == 403

    visit(monkeypatch, settings, test)


def test_a_session_expires(monkeypatch, kept, settings):
    clock = Clock()

    async def test(person):
        assert (await person.signed_in()).status_code == 200
        clock.now += IDLE - 1
        assert (await person.get("/operator", **{"x-console": "watching"})).status_code == 200
        clock.now += 1
        assert (await person.get("/operator")).status_code == 403
        assert (await person.signed_in()).status_code == 200

    visit(monkeypatch, replace(settings, sessions=Sessions(clock=clock)), test)


def test_sessions_belong_to_one_analyzer(monkeypatch, tmp_path, kept, settings):
    """Neither does the same analyzer after a restart."""
    cookies = {}

    async def first(person):
        await person.sign_in()
        cookies.update(person.client.cookies)

    async def second(person):
        sent = "; ".join(f"{name}={value}" for name, value in cookies.items())
        assert (await person.get("/operator", cookie=sent)).status_code == 403

    visit(monkeypatch, settings, first)
    visit(monkeypatch, settings_for(tmp_path, kept), second)


def test_forms_of_other_sites_are_refused(monkeypatch, kept, settings):
    elsewhere = (
        {"origin": "https://evil.test"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://test.evil"},
        {"origin": "http://[broken"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    )

    async def test(person):
        for headers in elsewhere:
            found = await person.sign_in(**headers)
            assert found.status_code == 403
            assert "set-cookie" not in found.headers
        assert (await person.sign_in(origin="null", **{"sec-fetch-site": "same-origin"})).status_code == 303
        for headers in elsewhere:
            await person.client.post("/operator/logout", headers=FROM_HERE | headers)
            assert (await person.get("/operator")).status_code == 200
        no_origin = {key: value for key, value in FROM_HERE.items() if key != "origin"}
        assert (await person.client.post("/operator/logout", headers=no_origin)).status_code == 403

    visit(monkeypatch, settings, test)


def test_invalid_forms_are_refused(monkeypatch, kept, settings):
    async def test(person):
        for body in (b"\xff\xfe", b"token=" + b"x" * 10_000, b"&".join([b"a=1"] * 50)):
            found = await person.client.post("/operator/login", content=body, headers=FROM_HERE)
            assert found.status_code == 400
            assert "could not be read" in found.text
        assert (await person.client.post("/operator/login", content=b"", headers=FROM_HERE)).status_code == 403

    visit(monkeypatch, settings, test)


def test_operator_pages_are_not_cached(monkeypatch, kept, settings):
    """Neither by browsers nor by proxies, including redirects and 304 responses."""

    async def test(person):
        answers = [await person.get("/operator"), await person.sign_in("wrong"), await person.sign_in()]
        for path in paths(kept.task):
            answers.append(await person.get(path))
        unchanged = await person.get("/operator", **{"if-none-match": answers[-2].headers["etag"]})
        answers += [unchanged, await person.get(f"/operator/tasks/{'0' * 64}")]
        answers.append(await person.client.post("/operator/logout", headers=FROM_HERE))
        assert [each.headers["cache-control"] for each in answers] == ["no-store"] * len(answers)
        assert unchanged.status_code == 304

    visit(monkeypatch, settings, test)


def test_every_page_has_the_strict_policy(monkeypatch, kept, settings):
    release(settings.store, kept.task, 1)
    name = kept.task.name

    async def test(person):
        closed = [await person.get(path) for path in paths(kept.task)]
        wrong = await person.sign_in("wrong")
        await person.sign_in()
        public = ("/", f"/tasks/{name}", f"/tasks/{name}/releases/1", "/nothing")
        opened = [await person.get(path) for path in (*public, *paths(kept.task))]
        for page in (*closed, wrong, *opened):
            parts = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
            assert parts == {
                "default-src": "'none'",
                "script-src": "'self'",
                "style-src": "'self'",
                "img-src": "'self'",
                "connect-src": "'self'",
                "form-action": "'self'",
                "base-uri": "'none'",
                "frame-ancestors": "'none'",
            }
            assert page.headers["x-content-type-options"] == "nosniff"
            assert page.headers["cross-origin-opener-policy"] == "same-origin"
            assert " style=" not in page.text
            assert "http" not in page.text.replace("http://127.0.0.1", "")
        for path in ("/console/look.css", "/console/console.css", "/console/console.js", "/console/console.svg"):
            file = await person.get(path)
            assert file.status_code == 200
            assert "url(" not in file.text
            assert "@import" not in file.text

    visit(monkeypatch, settings, test)


def test_without_a_token_the_page_explains_how_to_get_one(monkeypatch, tmp_path, kept):
    async def test(person):
        page = await person.get("/operator")
        assert "shuffledp keys token --out operator.token" in page.text
        assert "--operator HASH" in page.text
        assert 'type="password"' not in page.text
        for token in ("", TOKEN):
            assert (await person.sign_in(token)).status_code == 403

    visit(monkeypatch, settings_for(tmp_path, kept, operators=Accepted(())), test)


def test_the_operator_page_shows_everything(monkeypatch, tmp_path):
    kept = asked_task(shufflers=2, admission="tokens")
    ledger = Ledger.create(tmp_path / "l.ledger", epsilon=3.0, delta=1e-5, population="our <b>readers</b>")
    settings = settings_for(tmp_path, kept, ledger=ledger)
    release(settings.store, kept.task, 1, 2, ledger=ledger)
    keep_batch(settings.store, kept.task, 3, problem="too-few-messages", refused={"not-a-message": 5})
    shufflers = Shufflers(kept.task)
    shufflers.replies[0] = shufflers.status(batches=3)
    shufflers.replies[1] = shufflers.status(1, refused={"no-token": 11}, problems=["No room for <i>files</i>."])

    async def test(person):
        page = (await person.signed_in()).text
        expected = (
            "<b>7,234</b><span>people have reported</span>",
            "<b>4,000</b><span>are counted, in 2 batches",
            "<b>1,234</b><span>wait for the next batch of 2,000",
            "<b>766</b><span>people are missing for it",
            '<progress max="2000" value="1234"',
            "<b><bdi>Shuffler 2</bdi>:</b>",
            "No room for &lt;i&gt;files&lt;/i&gt;.",
            "The task is closed.",
            "This needs the token of the next server, or of an operator.",
            "The number is no message of the protocol.",
            "Refused: The batch has fewer messages than its number of reports requires, so its noise is incomplete.",
            "3 batches, the latest first. Each batch is released by itself.",
            "In release 2</a>",
            "our &lt;b&gt;readers&lt;/b&gt;",
            "epsilon is spent, at delta 1e-5",
            "Left: one more release of any kind",
            "1 entry",
            '<span class="status good">answers</span>',
            '<span class="status waiting">answers, with problems</span>',
            "Every report needs a one-time token",
            kept.task.analyzer.key,
            *(place.key for place in kept.task.shufflers),
            kept.task.name,
            f'href="/v1/tasks/{kept.task.name}"',
            "2020-01-01 00:00:00 UTC",
        )
        assert [each for each in expected if each not in page] == []
        overview = (await person.get("/operator")).text
        assert "766 people missing for the next batch." in overview
        assert overview.count('class="status bad"') == 1
        assert "Shuffler 2: No room for" in overview

    visit(monkeypatch, settings, test, shufflers)


def test_the_operator_page_of_a_closed_task(monkeypatch, kept, settings):
    shufflers = Shufflers(kept.task)
    shufflers.replies[0] = shufflers.status(waiting=0, short_by=766)

    async def test(person):
        page = (await person.signed_in()).text
        assert "Its last batch fell short by 766 people: it was deleted unread." in page
        people = 2_000 * shufflers.replies[0]["batches"] + 1_234  # including the people of the last batch
        assert f"<b>{people:,}</b><span>people have reported</span>" in page
        assert "<progress" not in page

    visit(monkeypatch, settings, test, shufflers)


def test_a_ledger_that_cannot_be_read(monkeypatch, tmp_path, kept):
    Ledger.create(tmp_path / "secret.ledger", epsilon=3.0, delta=1e-5, population="people")
    settings = settings_for(tmp_path, kept, ledger=tmp_path / "secret.ledger")

    async def test(person):
        (tmp_path / "secret.ledger").write_bytes(b"nothing")
        page = (await person.signed_in()).text
        assert "The ledger cannot be read at the moment" in page
        assert "secret.ledger" not in page

    visit(monkeypatch, settings, test)


def test_a_missing_ledger_is_shown(monkeypatch, kept, settings):
    async def test(person):
        assert "started without a ledger" in (await person.signed_in("/operator")).text

    visit(monkeypatch, settings, test)


def test_more_people_counted_than_reported_is_shown(monkeypatch, kept, settings):
    """On the page, in the status, in the health and in the metrics; nothing is released meanwhile."""
    settings.store.prepare(kept.task)
    for number in (1, 2):
        keep_batch(settings.store, kept.task, number, refused={"replayed": 7})
    shufflers = Shufflers(kept.task)
    shufflers.replies[0] = shufflers.status(batches=1, waiting=1999)
    replays = "14 messages had been in an earlier batch and were dropped. Was the store of a server before this one"

    async def test(person):
        status, health, metrics = (f"/v1/tasks/{kept.task.name}/status", "/health", "/metrics")
        while not (found := (await person.get(status)).json())["releases_stopped"]:
            await anyio.sleep(0.01)
        assert (found["people"], found["reported"], found["releases"]) == (4000, 3999, 0)
        assert found["problems"][0] == STOPPED
        assert found["problems"][1].startswith(replays)
        answer = await person.get(health)
        assert answer.status_code == 200
        assert answer.json() == {"state": "problems", "problems": {kept.task.name: found["problems"]}}
        text = (await person.get(metrics)).text
        assert f'shuffledp_releases_stopped{{task="{kept.task.name}"}} 1.0' in text
        assert f'shuffledp_messages_refused_total{{reason="replayed",task="{kept.task.name}"}} 14.0' in text
        for page in (await person.signed_in("/operator"), await person.signed_in()):
            assert STOPPED in page.text
        assert replays in page.text
        assert Reason.REPLAYED.meaning in page.text

    visit(monkeypatch, settings, test, shufflers)


def test_the_standing_of_a_ledger_follows_its_entries(tmp_path):
    ledger = Ledger.create(tmp_path / "l.ledger", epsilon=3, delta=1e-5, population="people")
    status = LedgerStatus(tmp_path / "l.ledger")
    assert status._look().entries == ()
    ledger.spend_elsewhere(epsilon=1, delta=1e-7, what="a model")
    assert [entry.what for entry in status._look().entries] == ["a model"]
    (tmp_path / "l.ledger").unlink()
    assert status._look() == "unreadable"
