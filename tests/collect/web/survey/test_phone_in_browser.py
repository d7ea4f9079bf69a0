"""The survey page on a phone, in Chromium: one screen, two taps, invitation links, languages, local times."""

import json
import re

import httpx
import pytest
from playwright.sync_api import expect
from tests.collect.web.survey.asking import RARE, Asking
from tests.collect.web.survey.visitor import visiting

from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.shuffler.ingest import SharedSecret

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 360, "height": 740}}
STRONG = {"epsilon": 1.0, "delta": 1e-6, "users": 200}
ASKED = {
    "question": "Which theme should the catalogue of the library have?",
    "asker": "City Library",
    "purpose": "We choose the theme that new visitors see first.",
    "contact": "survey@library.example",
}
GERMAN = {
    "question": "Welches Thema nutzen Sie?",
    "answers": ("dunkel", "hell", "wie das System"),
    "language": "de",
    "asker": "Stadtbibliothek",
    "purpose": "Wir wählen die Voreinstellung unseres Katalogs.",
    "contact": "https://bibliothek.example/umfrage",
}
THEMES, FORTY, IN_GERMAN, TWELVE, TWO_LINES, THIRTEEN = range(6)


@pytest.fixture(scope="module")
def surveys(tmp_path_factory):
    tasks = [
        {**ASKED, **STRONG, "answers": ("dark", "light", "system")},
        {**ASKED, **STRONG, "answers": [f"town {at}" for at in range(40)]},
        {**GERMAN, **STRONG},
        {**STRONG, "answers": [f"town {at}" for at in range(12)]},
        {**STRONG, "answers": [f"Answer number {at}" for at in range(40)]},
        {**STRONG, "answers": [f"town {at}" for at in range(13)]},
    ]
    with Asking(tmp_path_factory.mktemp("shuffler"), *tasks) as running:
        yield running


@pytest.fixture
def phone(browser):
    with visiting(browser, limit=None, **PHONE) as visitor:
        yield visitor


def bottom(visitor, selector):
    """The lower edge of an element, in pixels from the top of the page."""
    box = visitor.page.locator(selector).first.bounding_box()
    return box["y"] + box["height"]


@pytest.mark.parametrize("at", [THEMES, FORTY, IN_GERMAN])
def test_question_answers_button_and_privacy_are_on_one_screen(phone, surveys, at):
    phone.visit(surveys.page(at))
    assert bottom(phone, "#promise > p") <= 740
    assert bottom(phone, "#send") < bottom(phone, "#promise > p")
    assert bottom(phone, "#answers .choice") < 370
    assert phone.width[0] <= phone.width[1]


def test_answers_fill_their_rows_and_labels_their_boxes(phone, surveys):
    """The last odd answer has a whole row, and so have the two answers of every task together."""
    page = phone.visit(surveys.page(THEMES)).page
    *pair, odd, other, none = [each.bounding_box() for each in page.locator("#answers .choice").all()]
    assert pair[0]["y"] == pair[1]["y"]
    assert odd["width"] == pytest.approx(sum(each["width"] for each in pair), abs=10)
    assert other["y"] == none["y"]
    assert other["width"] + none["width"] == pytest.approx(odd["width"], abs=10)
    page = phone.visit(surveys.page(TWO_LINES)).page
    assert page.locator(".many").bounding_box()["height"] >= 190
    for label in page.locator("#answers .choice").all()[:6]:
        outer, inner = label.bounding_box(), label.locator("span").bounding_box()
        assert outer["y"] + 4 < inner["y"]
        assert inner["y"] + inner["height"] < outer["y"] + outer["height"] - 4


def test_an_answer_takes_two_taps(phone, surveys):
    """The report is in the journal before it is sent."""
    page = phone.visit(surveys.page(THEMES)).page
    kept = []
    page.route("**/reports", lambda route: (kept.extend(phone.everything_kept["journal"]), route.continue_()))
    page.get_by_text("dark", exact=True).click()
    page.get_by_role("button", name="Send", exact=True).click()
    phone.until("sent")
    assert [entry["state"] for entry in kept] == ["ready"]
    assert len(phone.posted) == 1
    assert "dark" not in json.dumps(phone.everything_kept)
    assert phone.complaints == []


def test_the_page_says_who_asks_and_what_for(phone, surveys):
    page = phone.visit(surveys.page(THEMES)).page
    shown = page.locator("header").inner_text()
    assert "Asked by City Library" in shown
    assert "Purpose: We choose the theme that new visitors see first." in shown
    page.get_by_text("About this survey", exact=True).click()
    assert (
        page.get_by_role("link", name="survey@library.example").get_attribute("href") == "mailto:survey@library.example"
    )


def test_from_13_answers_on_visitors_search(phone, surveys):
    page = phone.visit(surveys.page(TWELVE)).page
    assert page.get_by_role("searchbox").count() == 0
    page = phone.visit(surveys.page(THIRTEEN)).page
    page.get_by_label("Find your answer among 13").wait_for()
    page = phone.visit(surveys.page(FORTY)).page
    page.get_by_label("Find your answer among 40").fill("town 39")
    assert page.get_by_role("radio").count() == 3
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.get_by_label("town 39").is_checked()
    phone.send()
    phone.until("sent")


def test_times_are_local(browser, surveys):
    times = {}
    for zone in ("America/New_York", "Asia/Tokyo"):
        with visiting(browser, limit=None, timezone_id=zone) as visitor:
            visitor.visit(surveys.page(THEMES))
            times[zone] = visitor.page.locator("time").last.text_content()
            assert visitor.page.locator("time").last.get_attribute("title") == "2100-01-01 00:00 UTC"
    assert times["America/New_York"].startswith("December 31, 2099")
    assert times["Asia/Tokyo"].startswith("January 1, 2100")


def test_a_german_survey_is_german_to_its_end(phone, surveys):
    page = phone.visit(surveys.page(IN_GERMAN)).page
    assert page.locator("html").get_attribute("lang") == "de"
    phone.send()
    assert page.get_by_role("alert").inner_text() == "Wählen Sie zuerst eine Antwort oder „Keine Angabe“."
    seen = [page.locator("main").text_content()]
    phone.choose("dunkel").make()
    seen.append(page.locator("main").text_content())
    phone.send()
    phone.until("sent")
    seen.append(page.locator("main").text_content())
    assert "Ihr Bericht ist angekommen" in phone.notice("sent")
    for text in seen:
        text = re.sub(r"shuffledp send .*? --value -", "", text)
        assert not re.findall(r"\b(?:the|your|you|is|are|of|this|and|not|answer|answers|with|people)\b", text)
    assert "200 Menschen" in seen[0]
    assert phone.complaints == []


CLOSED_EARLY = {"users": 200, "waiting": 3, "batches": 0, "short_by": None, "closed": True}
NOT_AGAIN = "window.setInterval = () => 0"
"""The page asks for the status once, not every few seconds."""
SHOWN = """new MutationObserver(() => {
  const { shows } = document.querySelector("main").dataset;
  if (window.shown.at(-1) !== shows) window.shown.push(shows);
})"""
NOTE_SHOWN = f"""window.shown = [];
document.addEventListener("DOMContentLoaded", () =>
  {SHOWN}.observe(document.querySelector("main"), {{ attributes: true }}));"""


@pytest.mark.parametrize("last", ["status", "task", "neither"])
def test_a_survey_that_was_closed_early_never_asks(phone, surveys, last):
    """Whether the task or the status arrives first: no form stays, and none comes back."""
    held = []
    phone.context.add_init_script(NOTE_SHOWN)
    task = re.compile(rf"/v1/tasks/{surveys.kept[THEMES].task.name}$")
    phone.context.route(task, lambda route: held.append(route) if last == "task" else route.continue_())

    def status(route):
        if last == "status" and not held:
            held.append(route)
        else:
            route.fulfill(json=CLOSED_EARLY)

    phone.context.route("**/status", status)
    page = phone.page
    phone.context.add_init_script(NOT_AGAIN)
    page.goto(surveys.page(THEMES))
    if last == "status":
        phone.until("new").choose("dark")
        phone.first_of(held).fulfill(json=CLOSED_EARLY)
    phone.until("closed")
    if last == "task":
        check = phone.first_of(held)
        with page.expect_response(task):
            check.continue_()
    page.get_by_text("Your device has checked this promise.").wait_for(state="attached")
    page.wait_for_timeout(100)
    expect(phone.until("closed").page.locator("[data-state=closed]")).to_contain_text(
        "The survey was closed early.", timeout=20_000
    )
    assert page.locator("#answer").is_hidden()
    assert page.locator("#send").is_disabled()
    assert page.evaluate("window.shown").count("new") == (1 if last == "status" else 0)
    assert phone.posted == phone.complaints == []


def test_a_survey_is_shown_as_closed_before_the_server_says_its_time(browser, own):
    with visiting(browser) as visitor:
        visitor.context.add_init_script("AbortSignal.timeout = () => new AbortController().signal")
        held = []
        visitor.context.route("**/page/time", lambda route: held.append(route))
        page = visitor.visit(own.page()).choose(RARE).page
        visitor.context.route("**/status", lambda route: route.fulfill(json=CLOSED_EARLY))
        assert "The survey is closed. Reports that" in visitor.until("closed").notice("closed")
        assert page.locator("#answer").is_hidden()
        with page.expect_response("**/status"):
            pass
        (asked,) = held  # once, however often the status says so
        asked.continue_()
        expect(page.locator("[data-state=closed]")).to_contain_text("closed early. Reports that", timeout=20_000)


def test_a_survey_closed_early_has_no_form_for_a_visitor_over_the_limit(browser, own):
    """Nor for one who answered: the page no longer says that the report will count."""
    with visiting(browser, limit=None) as visitor:
        visitor.visit(own.page(), shows="over-budget")
        visitor.context.route("**/status", lambda route: route.fulfill(json=CLOSED_EARLY))
        visitor.until("closed")
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose(RARE).send()
        visitor.until("sent")
        visitor.context.route("**/status", lambda route: route.fulfill(json=CLOSED_EARLY))
        visitor.visit(own.page(), shows="closed-sent")


def test_a_report_is_counted_on_the_page_at_once(browser, own):
    with visiting(browser) as visitor:
        visitor.context.add_init_script(NOT_AGAIN)
        page = visitor.visit(own.page()).page
        page.get_by_text("0 of 5 people have answered").wait_for()
        visitor.choose(RARE).send()
        visitor.until("sent")
        page.get_by_text("1 of 5 people has answered for the next result, 4 are missing.").wait_for()


@pytest.fixture
def secret(tmp_path):
    """A survey for people who know a secret, and the secret."""
    word = new_token()
    admission = SharedSecret(Accepted((hash_of(word),)))
    with Asking(tmp_path, {"admission": "secret"}, admission=admission) as own:
        yield own, word


def tokens_in(visitor):
    return [request.headers.get("authorization") for request in visitor.requests if request.method == "POST"]


def test_an_invitation_link_asks_for_nothing_and_survives_a_reload(browser, secret):
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        page = visitor.visit(f"{own.page()}#token={word}").page
        assert page.url == own.page()
        assert not page.locator("#admission").is_visible()
        page.reload()
        visitor.until("new")
        assert not page.locator("#admission").is_visible()
        visitor.choose(RARE).send()
        visitor.until("sent")
        assert tokens_in(visitor) == [f"Bearer {word}"]
        assert not [request.url for request in visitor.requests if word in request.url]
        assert word not in json.dumps(visitor.everything_kept)
        assert word not in page.content()


def test_another_origin_leads_on_with_the_token_after_a_reload(browser, secret):
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        elsewhere = own.page().replace("127.0.0.1", "localhost")
        page = visitor.visit(f"{elsewhere}#token={word}", shows="elsewhere").page
        page.reload()
        visitor.until("elsewhere")
        link = page.get_by_role("link", name="To the page at its address")
        assert link.get_attribute("href") == f"{own.page()}#token={word}"


def test_a_link_that_is_opened_in_the_same_tab_is_taken(browser, secret):
    """The browser does not load the page again; the choice stays."""
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        page = visitor.visit(own.page()).choose(RARE).page
        page.goto(f"{own.page()}#token={word}")
        page.locator("#admission").wait_for(state="hidden")
        assert page.url == own.page()
        visitor.send()
        visitor.until("sent")
        assert tokens_in(visitor) == [f"Bearer {word}"]
        page.goto(f"{own.page()}#token={word}")
        visitor.until("already")
        assert page.url == own.page()
        assert word not in json.dumps(visitor.everything_kept)


@pytest.mark.parametrize("shown", ["needs-token", "not-admitted", "elsewhere"])
def test_a_link_in_the_same_tab_continues_where_a_token_was_missing(browser, secret, shown):
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        if shown == "elsewhere":
            elsewhere = own.page().replace("127.0.0.1", "localhost")
            page = visitor.visit(elsewhere, shows="elsewhere").page
            page.goto(f"{elsewhere}#token={word}")
            page.locator(f"#own-address[href='{own.page()}#token={word}']").wait_for()
            return
        visitor.visit(own.page()).choose(RARE)
        visitor.page.locator("#admission").fill("another-word")
        visitor.send()
        visitor.until("not-admitted")
        if shown == "needs-token":
            visitor.visit(own.page(), shows="needs-token")
        visitor.page.goto(f"{own.page()}#token={word}")
        visitor.until("sent")


def test_a_typed_token_is_sent_with_the_answer(browser, secret):
    """The form is cleared when the report is made; the token stays, also where the page may store nothing itself."""
    own, word = secret
    for script in ("", "Storage.prototype.setItem = () => { throw new Error() }"):
        with visiting(browser, **PHONE) as visitor:
            visitor.context.add_init_script(script)
            visitor.visit(own.page()).choose(RARE).page.locator("#admission").fill(word)
            visitor.send()
            visitor.until("sent")
            assert tokens_in(visitor) == [f"Bearer {word}"]


def test_a_pasted_link_is_a_token_and_other_text_is_not(browser, secret):
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        field = visitor.visit(own.page()).choose(RARE).page.locator("#admission")
        for wrong in ("abc def", f"https://elsewhere.example/ask/#token={word}", own.page()):
            field.fill(wrong)
            visitor.send()
            assert (
                "This is no secret, token or invitation link of this survey. Copy it again."
                in visitor.page.get_by_role("alert").inner_text()
            )
            assert field.evaluate("field => field === document.activeElement")
        assert visitor.posted == visitor.everything_kept["journal"] == []
        field.fill(f" {own.page()}#token={word} ")
        visitor.send()
        visitor.until("sent")
        assert tokens_in(visitor) == [f"Bearer {word}"]


def test_a_visitor_who_has_answered_keeps_no_token(browser, secret):
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        visitor.visit(f"{own.page()}#token={word}").choose(RARE).send()
        visitor.until("sent")
        visitor.page.goto("about:blank")
        visitor.visit(f"{own.page()}#token={word}", shows="already")
        assert word not in json.dumps(visitor.everything_kept)


def test_a_visitor_whose_report_was_refused_keeps_no_token(browser, secret):
    """No other report is made, so nothing needs the token any more; also when they come back."""
    own, word = secret
    problem = {"status": 400, "content_type": "application/problem+json", "body": '{"reason": "malformed"}'}
    with visiting(browser, **PHONE) as visitor:
        visitor.visit(f"{own.page()}#token={word}").page.route("**/reports", lambda route: route.fulfill(**problem))
        visitor.choose(RARE).send()
        visitor.until("refused")
        assert word not in json.dumps(visitor.everything_kept)
        visitor.page.goto("about:blank")
        visitor.visit(f"{own.page()}#token={word}", shows="refused")
        assert word not in json.dumps(visitor.everything_kept)
        assert visitor.page.locator("#admission").input_value() == ""


@pytest.mark.parametrize("link", ["", "#token=", "#token=-", "#token=%zz", "#other"])
def test_without_a_token_nothing_is_made_or_sent(browser, secret, link):
    """Also not for a visitor who wants to see the report first: its answer could not be changed any more."""
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        page = visitor.visit(own.page() + link).choose(RARE).page
        for press in (visitor.send, visitor.inspect):
            page.evaluate("document.activeElement.blur()")
            press()
            page.wait_for_function("document.activeElement.id === 'admission'")
            assert page.get_by_role("alert").inner_text() == "Fill in this field first."
            page.wait_for_timeout(100)  # making a report would not take longer
            assert visitor.everything_kept["journal"] == visitor.posted == []
        if link:
            return
        page.get_by_label("The secret of this survey").fill(word)
        visitor.make().send()
        visitor.until("sent")
        assert tokens_in(visitor) == [f"Bearer {word}"]


def test_a_report_that_was_looked_at_waits_for_its_token(browser, secret):
    """In a new tab the token is gone: the page asks for it, also after a reload."""
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        visitor.visit(f"{own.page()}#token={word}").choose(RARE).make().page.close()
        page = visitor.page = visitor.context.new_page()
        visitor.visit(own.page(), shows="made").send()
        page.get_by_role("alert").wait_for()
        page.reload()
        visitor.until("made").send()
        page.get_by_role("alert").wait_for()
        assert visitor.posted == []
        page.get_by_label("The secret of this survey").fill(word)
        visitor.send()
        visitor.until("sent")
        assert tokens_in(visitor) == [f"Bearer {word}"]


def test_a_report_that_was_not_taken_waits_for_its_token(browser, secret):
    """In a new tab the token is gone: the page asks for it instead of sending without one."""
    own, word = secret
    with visiting(browser, **PHONE) as visitor:
        visitor.visit(f"{own.page()}#token={word}")
        visitor.page.route("**/reports", lambda route: route.abort())
        visitor.choose(RARE).send()
        visitor.until("kept")
        visitor.page.close()
        sent = len(visitor.posted)
        visitor.page = visitor.context.new_page()
        visitor.visit(own.page(), shows="needs-token")
        assert len(visitor.posted) == sent
        visitor.page.get_by_label("The secret of this survey").fill(word)
        visitor.send()
        visitor.until("sent")
        assert len(set(visitor.posted)) == 1


def test_a_wrong_token_of_a_link_is_forgotten(browser, secret):
    own, _ = secret
    with visiting(browser, **PHONE) as visitor:
        visitor.visit(f"{own.page()}#token=another-word").choose(RARE).send()
        visitor.until("not-admitted")
        assert visitor.page.locator("#admission").is_visible()
        assert visitor.everything_kept["session"] == {}


def test_the_page_is_compressed_and_the_program_has_its_hash(surveys):
    answer = httpx.get(surveys.page(THEMES), headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert re.search(r'src="/page/survey.js" integrity="sha384-[A-Za-z0-9+/=]{64}"', answer.text)
