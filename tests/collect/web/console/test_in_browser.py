"""The console in Chromium: live updates, phones, keyboard, dark mode, hostile labels."""

import re
import secrets
import time
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest
from playwright.sync_api import expect
from tests.browser import running_browser
from tests.collect.analyzer.batches import Waiting, answers_of, sent_by, tiny_task
from tests.collect.chaos import free_port, wait_until
from tests.collect.in_process import served
from tests.collect.server.operated import keys_of
from tests.collect.web.console.running import TOKEN, asked_task, release, settings_for
from tests.collect.web.console.test_public import HOSTILE
from tests.collect.web.console.test_sessions import Clock

from shuffledp import Ledger
from shuffledp.collect.analyzer.app import make_app
from shuffledp.collect.analyzer.settings import Served
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.shuffler.app import make_app as make_shuffler
from shuffledp.collect.shuffler.settings import Served as ServedByShuffler
from shuffledp.collect.shuffler.settings import Settings as OfShuffler
from shuffledp.collect.shuffler.settings import TaskOptions as OfAddedTasks
from shuffledp.collect.store import open_report_store
from shuffledp.collect.task.report import seal_report
from shuffledp.collect.web.sessions import IDLE, Sessions

PHONE, DESK = {"width": 390, "height": 800}, {"width": 1280, "height": 800}
SMALL_PHONE = {"width": 360, "height": 740}
SOON = 30_000
"""Timeout in milliseconds: a page polls every two seconds, on a busy machine later."""

HASTE = "const wait = setTimeout; window.setTimeout = (then, pause) => wait(then, pause / 4);"
"""These tests poll four times as often."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """A shuffler and an analyzer of three tasks: one fills, one has hostile labels, one has no running shuffler."""
    folder, clock, next_token = tmp_path_factory.mktemp("console"), Clock(), new_token()
    at = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
    filling = tiny_task(addresses=tuple(at))
    hostile = asked_task(answers=HOSTILE, question=" ".join(HOSTILE))
    given_out = asked_task(question=" ".join(HOSTILE), admission="tokens", addresses=tuple(at))
    away = asked_task(addresses=(f"http://127.0.0.1:{free_port()}", at[1]))
    ledger = Ledger.create(folder / "l.ledger", epsilon=9.0, delta=0.1, population=HOSTILE[0])
    settings = settings_for(folder, filling, ledger=ledger, sessions=Sessions(clock=clock))
    for each in (hostile, away):
        release(settings.store, each.task, 1, 2, ledger=ledger)
    waiting = [Served(task=each.task, key=each.keys[-1], upstream=Waiting()) for each in (hostile, away)]
    pulled = Served(task=filling.task, key=filling.keys[-1], upstream=Upstream(at[0], next_token))
    shuffler = OfShuffler(
        served=[ServedByShuffler(task=filling.task, position=0, key=filling.keys[0])],
        store=open_report_store(folder / "shuffler.db"),
        next_servers=Accepted((hash_of(next_token),)),
        every=0.05,
        owns_store=True,
        operators=Accepted((hash_of(TOKEN),)),
        options=OfAddedTasks(key=[keys_of(folder / "keys", given_out)], operators=Accepted((b"",))),
    )
    analyzer = make_app(replace(settings, served=[pulled, *waiting]))
    with served(make_shuffler(shuffler), port=int(at[0].rpartition(":")[2])), served(analyzer) as address:
        yield SimpleNamespace(
            at=address,
            shuffler=at[0],
            filling=filling.task,
            hostile=hostile.task,
            away=away.task,
            given_out=given_out.task,
            clock=clock,
        )


@pytest.fixture
def tab(browser, servers):
    """Open tabs in new browser contexts; fail on console errors and on requests to other servers."""
    contexts, complaints = [], []

    def opened(**options):
        contexts.append(browser.new_context(**({"viewport": DESK} | options)))
        contexts[-1].add_init_script(HASTE)
        page = contexts[-1].new_page()
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda messages: complaints.append(messages.text) if "ontent Security" in messages.text else None
        )
        page.on(
            "request",
            lambda asked: (
                complaints.append(asked.url) if not asked.url.startswith((servers.at, servers.shuffler)) else None
            ),
        )
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def sign_in(page, servers, token=TOKEN, path="/operator", at=None):
    page.goto((at or servers.at) + path)
    page.fill("input[name=token]", token)
    page.click("main button[type=submit]")


def public_paths(servers):
    hostile = f"/tasks/{servers.hostile.name}"
    return "/", f"/tasks/{servers.filling.name}", hostile, f"{hostile}/releases/1", "/nothing", "/operator"


def operator_paths(servers):
    return "/operator", *(f"/operator/tasks/{task.name}" for task in (servers.filling, servers.hostile, servers.away))


def report(servers, number):
    """Send this number of reports."""
    task, now = servers.filling, int(time.time())
    for answer in answers_of(task)[:number]:
        sealed = seal_report(
            task, sent_by(task, [answer]), report_id=secrets.token_bytes(16), time=now - now % task.time_precision
        )
        sent = httpx.post(f"{servers.shuffler}/v1/tasks/{task.name}/reports", content=sealed)
        assert sent.status_code == 201


HEARING = """() => {
  window.heard = [];
  const news = document.getElementById("news");
  new MutationObserver(() => heard.push(news.textContent)).observe(news, { childList: true });
}"""
"""The live region for screen readers; each announcement replaces the last."""


def test_a_batch_fills_and_its_release_appears_without_a_reload(tab, servers):
    operator, public = tab(), tab()
    path = f"/tasks/{servers.filling.name}"
    sign_in(operator, servers, path=f"/operator{path}")
    public.goto(servers.at + path)
    for page in (operator, public):
        page.evaluate("window.sameAsEver = true")
        page.evaluate(HEARING)
    expect(operator.locator("progress")).to_have_js_property("value", 0, timeout=SOON)
    expect(public.locator("main")).to_contain_text("There is no release yet", timeout=SOON)
    report(servers, 13)
    expect(operator.locator("progress")).to_have_js_property("value", 13, timeout=SOON)
    expect(operator.locator("#people")).to_contain_text("7people are missing for it", timeout=SOON)
    assert not re.search(r"\b13\b", public.locator("main").inner_text())  # the number may occur in ids and ports
    report(servers, 7)
    for page in (operator, public):
        expect(page.locator("#release h2").first).to_have_text("Release 1", timeout=SOON)
        wait_until(lambda page=page: "Release 1 is available." in page.evaluate("heard.join()"), what="the news")
    expect(operator.locator("#batches")).to_contain_text("In release 1", timeout=SOON)
    expect(operator.locator("#ledger")).to_contain_text("spent", timeout=SOON)
    # a focused part is not replaced, and open folds stay open
    public.click("#release summary")
    public.focus("#release a.button >> nth=0")
    report(servers, 20)
    expect(public.locator("#history h2").first).to_have_text("Over the last 2 releases", timeout=SOON)
    expect(public.locator("#release h2").first).to_have_text("Release 1")
    public.evaluate("document.activeElement.blur()")
    expect(public.locator("#release h2").first).to_have_text("Release 2", timeout=SOON)
    assert public.locator("#release details").evaluate("fold => fold.open")
    for page in (operator, public):
        assert page.evaluate("window.sameAsEver")


def test_phones_show_every_page_without_horizontal_scrolling(tab, servers):
    """In light and dark mode, and with the longest labels."""
    page = tab(viewport=PHONE)

    def look(path):
        page.goto(servers.at + path)
        papers = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            papers.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert papers == ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]

    for path in public_paths(servers):
        look(path)
    sign_in(page, servers)
    for path in operator_paths(servers):
        look(path)
    assert page.locator("#ledger bdi").first.inner_text() == HOSTILE[0]


def focused(page):
    return page.evaluate(
        "[document.activeElement.textContent.trim() || document.activeElement.name, "
        "getComputedStyle(document.activeElement).outlineStyle]"
    )


def test_everything_can_be_done_with_the_keyboard(tab, servers):
    page = tab()
    page.goto(f"{servers.at}/operator/tasks/{servers.hostile.name}")
    page.wait_for_function("document.activeElement.name === 'token'")  # a browser focuses it when it paints
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#people")
    page.keyboard.press("Tab")
    assert focused(page) == ["Skip to the content", "solid"]
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert focused(page) == ["Public page", "solid"]
    everything = page.locator("main :is(a[href], button, summary, input, [tabindex='0']):visible").count()
    seen = 1
    while True:
        page.keyboard.press("Tab")
        words, outline = focused(page)
        if not page.evaluate("document.querySelector('main').contains(document.activeElement)"):
            break
        assert outline == "solid", words
        seen += 1
    assert seen == everything
    for _ in range(5):
        page.keyboard.press("Tab")
        if focused(page)[0] == "Sign out":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("input[name=token]")


def test_a_wrong_token_and_then_the_right_one(tab, servers):
    """Also without JavaScript."""
    for scripts in (True, False):
        page = tab(java_script_enabled=scripts)
        sign_in(page, servers, token="not the token")
        assert page.locator("[role=alert]").first.inner_text().startswith("This is not the operator's token.")
        assert page.locator("input[name=token]").get_attribute("aria-invalid") == "true"
        page.fill("input[name=token]", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Sign out")
        assert page.url == f"{servers.at}/operator"
        (cookie,) = page.context.cookies(f"{servers.at}/operator")
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/operator")
        assert page.context.cookies(f"{servers.at}/") == []


def test_the_end_of_a_session_is_shown(tab, servers):
    page = tab()
    sign_in(page, servers)
    page.wait_for_selector("text=Sign out")
    servers.clock.now += IDLE
    expect(page.locator("#connection")).to_contain_text("Your session has ended", timeout=SOON)
    expect(page.locator("[data-live]")).to_have_count(0)
    page.click("#connection a")
    page.wait_for_selector("input[name=token]")


def test_an_untouched_page_does_not_prolong_the_session(tab, servers):
    """Its session ends, however often the page has refreshed itself."""
    page, messages = tab(), []
    page.on(
        "response", lambda answer: messages.append(answer.request.headers.get("x-console"))
    )  # the server saw the request
    sign_in(page, servers)
    page.wait_for_selector("text=Sign out")

    def looks(how, times=1):
        messages.clear()
        for _ in range(SOON // 50):
            if messages.count(how) >= times:
                return
            page.wait_for_timeout(50)
        raise AssertionError(f"it is never {how}")

    looks("watching")
    page.keyboard.press("Shift")
    looks("active")
    servers.clock.now += IDLE / 2
    page.evaluate("dispatchEvent(new Event('scroll'))")  # as when a part above grows without activity
    looks("watching", times=2)
    expect(page.locator("#connection")).to_be_hidden()
    servers.clock.now += IDLE / 2
    expect(page.locator("#connection")).to_contain_text("Your session has ended", timeout=SOON)


def test_an_unreachable_analyzer_is_shown_and_retried(tab, servers):
    page = tab()
    page.goto(servers.at)
    page.route(f"{servers.at}/", lambda route: route.abort())
    expect(page.locator("#connection")).to_contain_text(
        re.compile(r"The analyzer does not answer. What you see is from \d\d:\d\d:\d\d UTC\."), timeout=SOON
    )
    page.unroute(f"{servers.at}/")
    expect(page.locator("#connection")).to_be_hidden(timeout=SOON)


def test_an_unreachable_shuffler_is_described(tab, servers):
    page = tab()
    sign_in(page, servers, path=f"/operator/tasks/{servers.away.name}")
    expect(page.locator("#problems")).to_contain_text("Shuffler: It cannot be reached (ConnectError).", timeout=SOON)
    expect(page.locator("#servers .bad")).to_have_text("does not answer")
    expect(page.locator("#people")).to_contain_text("The number of waiting people is unknown")
    expect(page.locator("#release h2").first).to_have_text("Release 2")


def test_hostile_labels_stay_text(tab, servers):
    page = tab()
    sign_in(page, servers, path=f"/operator/tasks/{servers.hostile.name}")
    page.wait_for_selector("#people")
    for path in (page.url.replace("/operator", ""), page.url, servers.at):
        page.goto(path)
        assert "<script>alert(1)</script>" in page.locator("main").inner_text()
        assert page.locator("main img, main script, main [onload], main [onerror]").count() == 0
    assert page.title() == "Results"


def tab_to(page, name):
    """Press Tab until a link, button or field has the focus; every one on the way shows that it has."""
    for _ in range(40):
        page.keyboard.press("Tab")
        words, outline = focused(page)
        assert outline == "solid", words
        if words == name:
            return
    raise AssertionError(f"{name} cannot be reached")


def press(page, name, shows):
    """Use a link or button with the keyboard; the page that follows shows a text, and fits a phone."""
    tab_to(page, name)
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text(shows, timeout=SOON)
    assert page.evaluate("document.documentElement.scrollWidth") <= SMALL_PHONE["width"], shows


def test_an_error_is_in_view_and_at_the_form(tab, servers):
    """On a page of several screens, with what was pasted."""
    page = tab(viewport=SMALL_PHONE)
    sign_in(page, servers, path="/operator/manage")
    page.fill("textarea", "{</textarea>}")
    page.locator("main").get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("The task was not added: ")
    expect(page.locator("textarea")).to_be_focused()
    assert page.locator("textarea").input_value() == "{</textarea>}"
    box = page.locator("#problem").bounding_box()
    assert page.evaluate("scrollY") > SMALL_PHONE["height"]
    assert 0 <= box["y"] < box["y"] + box["height"] <= SMALL_PHONE["height"]


def test_tasks_are_managed_with_the_keyboard_on_a_small_phone(tab, servers):
    """Each page at both servers: a task is added, gets tokens, is closed, and is removed, also unchecked."""
    page, content = tab(viewport=SMALL_PHONE), servers.given_out.to_json()
    sign_in(page, servers, at=servers.shuffler)
    expect(page.locator("h1")).to_have_text("Tasks")
    press(page, "Add", "The task was not added: choose a task file")
    tab_to(page, "text")
    page.keyboard.insert_text(content)
    press(page, "Add", "The task was added.")
    press(page, "Add tokens", "Only hashes belong here")
    press(page, "Add", "Nothing was added: choose the file of hashes")
    tab_to(page, "text")
    page.keyboard.insert_text(hash_of(new_token()).hex())
    press(page, "Add", "1 new hash added.")
    page.goto(f"{servers.shuffler}/operator/manage/{servers.given_out.name}/close")
    press(page, "Close early", "The task was closed.")
    press(page, "Remove", "no longer listed")
    press(page, "Remove", "The task was removed.")
    sign_in(page, servers, path=f"/operator/manage/{servers.away.name}/close")
    page.goto(f"{servers.at}/operator/manage/{servers.away.name}/close")
    press(page, "Close early", "The task was closed.")
    press(page, "Remove", "Its results are no longer shown")
    press(page, "Remove", "It cannot be removed now. Shuffler 1 does not answer")
    press(page, "Remove unchecked", "The task was removed.")
