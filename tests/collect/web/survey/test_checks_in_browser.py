"""Checks in Chromium before the question is asked: the guarantee, the page, the time, the browser."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect
from tests.collect.web.survey.asking import BROKEN, CLOSED, LATER, QUESTION, RARE, Asking
from tests.collect.web.survey.visitor import visiting

from shuffledp.collect.server.auth import Accepted, hash_of
from shuffledp.collect.shuffler.ingest import SharedSecret
from shuffledp.collect.web.survey import ask_page

pytestmark = pytest.mark.slow


def test_nothing_is_asked_before_opening_and_after_closing(browser, asking):
    with visiting(browser) as visitor:
        assert "Closed" in visitor.visit(asking.page(CLOSED), shows="closed").notice("closed")
        assert "Not open yet" in visitor.visit(asking.page(LATER), shows="not-open").notice("not-open")
        assert not visitor.page.get_by_role("radio").count()


@pytest.mark.parametrize("years", [-10, 100])
def test_a_wrong_clock_does_not_close_a_survey(browser, tmp_path, years):
    """The page says both times, keeps the token, and asks once the clock is right."""
    word = "a-secret-word"
    admission = SharedSecret(Accepted((hash_of(word),)))
    now = datetime.now(UTC)
    with Asking(tmp_path, {"admission": "secret"}, admission=admission) as own, visiting(browser) as visitor:
        visitor.page.clock.set_fixed_time(now.replace(year=now.year + years, day=1))
        notice = visitor.visit(f"{own.page()}#token={word}", shows="wrong-clock").notice("wrong-clock")
        assert f"{now.year + years} at " in notice
        assert f"{now.year} at " in notice
        assert "Closed" not in visitor.page.locator("main").inner_text()
        assert word in json.dumps(visitor.everything_kept["session"])
        visitor.page.clock.set_fixed_time(now)
        visitor.page.get_by_role("button", name="Try again").click()
        visitor.until("new").choose(RARE).send()
        visitor.until("sent")


def test_without_an_answer_of_the_server_a_clock_closes_nothing(browser, asking):
    with visiting(browser) as visitor:
        visitor.page.clock.set_fixed_time(datetime(2101, 1, 1, tzinfo=UTC))
        visitor.context.route("**/page/time", lambda route: route.abort())
        visitor.visit(asking.page(), shows="unavailable")


def test_a_survey_whose_key_is_gone_offers_no_form(browser, own):
    """A report would be refused, and count against the person's budget."""
    own.kept[0].keys[0].destroy()
    with visiting(browser) as visitor:
        visitor.visit(own.page(), shows="unavailable")
        assert "Answering is not possible now" in visitor.notice("unavailable")
        assert visitor.page.locator("#send").is_hidden()


def test_a_survey_that_closed_in_time_was_not_closed_early(browser, asking):
    """Also if the clock of the device is behind, and whatever the check of the task finds later."""
    checks = []
    with visiting(browser) as visitor:
        visitor.page.clock.set_fixed_time(datetime.now(UTC) - timedelta(days=3))
        visitor.context.route("**/v1/tasks/*", lambda route: checks.append(route))
        visitor.visit(asking.page(CLOSED), shows="closed")
        closed = visitor.page.locator("[data-state=closed]")
        expect(closed).to_contain_text("People could answer until", timeout=20_000)
        assert "closed early" not in visitor.notice("closed")
        check = visitor.first_of(checks)
        with visitor.page.expect_response("**/v1/tasks/*"):
            check.continue_()
        expect(closed).to_be_visible()
        assert visitor.page.evaluate("document.activeElement === document.body")


def test_a_form_that_turns_out_to_be_closed_leads_to_the_notice(browser, asking):
    """The device believes that the survey is open; the server answers when the form is already there."""
    answers = []
    with visiting(browser) as visitor:
        visitor.page.clock.set_fixed_time(datetime.now(UTC) - timedelta(days=3))
        visitor.context.route("**/status", lambda route: answers.append(route))
        visitor.visit(asking.page(CLOSED))
        visitor.context.unroute("**/status")
        for answer in answers:
            answer.continue_()
        visitor.until("closed")
        expect(visitor.page.locator("[data-state=closed] h2")).to_be_focused()
        assert not visitor.page.locator("#send").is_visible()


def test_a_survey_that_opens_later_is_no_matter_of_the_clock(browser, asking):
    with visiting(browser) as visitor:
        visitor.page.clock.set_fixed_time(datetime.now(UTC) - timedelta(days=3))
        visitor.visit(asking.page(LATER), shows="not-open")


def test_a_survey_opens_by_the_time_of_the_server(browser, asking):
    """Not days later, by a clock that is behind. The page then says what is wrong."""
    opens = asking.kept[LATER].task.opens
    said = [opens - timedelta(seconds=1), opens + timedelta(seconds=60)]
    with visiting(browser) as visitor:
        visitor.page.clock.set_fixed_time(opens - timedelta(days=3))
        visitor.context.route(
            "**/page/time",
            lambda route: route.fulfill(body=str(int(said.pop(0).timestamp())), content_type="text/plain"),
        )
        visitor.page.add_init_script(NOTE_STATES)  # it may be brief
        visitor.visit(asking.page(LATER), shows="wrong-clock")
        assert "not-open" in visitor.page.evaluate("window.shown")
        assert said == []


NOTE_STATES = """
window.shown = [];
new MutationObserver(() => {
  const { shows } = document.querySelector("main")?.dataset ?? {};
  if (shows !== undefined) window.shown.push(shows);
}).observe(document, { subtree: true, childList: true, attributeFilter: ["data-shows"] });
"""


def test_a_server_that_never_answers_does_not_keep_a_visitor_waiting(browser, asking):
    with visiting(browser) as visitor:
        visitor.page.clock.set_fixed_time(datetime(2101, 1, 1, tzinfo=UTC))
        visitor.context.route("**/status", lambda route: None)
        visitor.visit(asking.page(), shows="unavailable")


def test_a_false_claim_has_no_form(browser, asking, monkeypatch):
    """Also if the server claims otherwise: the browser computes the guarantee itself."""
    with visiting(browser) as visitor:
        notice = visitor.visit(asking.page(BROKEN), shows="broken").notice("broken")
        assert "claims delta=1e-06 at epsilon=1, but its parameters give" in notice.replace("1e-6", "1e-06")
        assert "epsilon" not in visitor.page.locator("main").inner_text()
        assert not visitor.page.locator("#answer").count()
        promise = asking.task.check()
        monkeypatch.setattr("shuffledp.collect.web.survey.promise_of", lambda task: (promise, None))
        lie = ask_page(asking.kept[BROKEN].task)
        assert 'id="send"' in lie
        visitor.page.route("**/ask/*", lambda route: route.fulfill(body=lie, content_type="text/html"))
        visitor.visit(asking.page(BROKEN), shows="broken")
        assert not visitor.page.locator("#send").is_visible()


def test_a_page_with_other_figures_than_the_task_is_refused(browser, asking):
    with visiting(browser) as visitor:
        honest = ask_page(asking.task)
        lie = honest.replace(f'data-epsilon="{asking.task.claim.epsilon}"', 'data-epsilon="1"')
        assert lie != honest
        visitor.page.route("**/ask/*", lambda route: route.fulfill(body=lie, content_type="text/html"))
        notice = visitor.visit(asking.page(), shows="broken").notice("broken")
        assert "other figures than the task itself" in notice


def visit_instead(visitor, address, lie, shows):
    """Visit an address that serves another page."""
    visitor.page.route("**/ask/*", lambda route: route.fulfill(body=lie, content_type="text/html"))
    return visitor.visit(address, shows=shows)


def test_a_page_with_another_delta_than_the_task_is_refused(browser, asking):
    honest = ask_page(asking.task)
    lie = honest.replace(f'data-delta="{asking.task.claim.delta}"', 'data-delta="0.000001"')
    assert lie != honest
    with visiting(browser) as visitor:
        visit_instead(visitor, asking.page(), lie, "broken")
        assert "other figures than the task itself" in visitor.notice("broken")
        assert not visitor.page.get_by_role("radio").count()


def test_a_page_that_praises_a_weak_task_is_refused(browser, asking):
    """The device finds the strength by itself."""
    honest = ask_page(asking.task)
    lie = honest.replace('data-strength="weak"', 'data-strength="strong"')
    assert lie != honest
    with visiting(browser) as visitor:
        assert "Weak protection" in visitor.visit(asking.page()).page.locator("#promise").inner_text()
        visit_instead(visitor, asking.page(), lie, "broken")
        assert "other figures than the task itself" in visitor.notice("broken")


def test_the_question_comes_from_the_task(browser, asking):
    honest = ask_page(asking.task)
    lie = honest.replace(f">{QUESTION}</h1>", ">Which theme is the best?</h1>")
    assert lie != honest
    with visiting(browser) as visitor:
        visit_instead(visitor, asking.page(), lie, "new")
        assert visitor.page.locator("h1").inner_text() == QUESTION


def test_a_very_weak_guarantee_is_refused(browser, tmp_path):
    """Even if the claim is true."""
    with Asking(tmp_path, {"epsilon": 1.0, "delta": 0.5}) as weak, visiting(browser) as visitor:
        notice = visitor.visit(weak.page(), shows="broken").notice("broken")
        assert "weaker than this page lets you agree to" in notice
        assert not visitor.page.get_by_role("radio").count()


SHOWN_BOUNDS = """async (bounds) => {
  const { checkedInWords } = await import("/client/survey/claims.js");
  return bounds.map((reached) => {
    checkedInWords({ epsilon: 1, delta: 1, reached, exact: true, strength: "weak" });
    return /delta at most (.+) at epsilon/.exec(document.getElementById("checked-figures").textContent)[1];
  });
}"""


def test_bounds_on_the_page_are_rounded_up(browser, asking):
    parts = (1.0, 1.001, 1.2341, 5.5555, 9.994, 9.9961)
    bounds = [part * 10.0**power for part in parts for power in range(-12, 0)]
    with visiting(browser) as visitor:
        shown = visitor.visit(asking.page()).page.evaluate(SHOWN_BOUNDS, bounds)
    for bound, text in zip(bounds, shown, strict=True):
        assert bound <= float(text) <= 1.011 * bound


@pytest.mark.parametrize(
    ("missing", "shows"),
    [
        ("Object.defineProperty(window, 'isSecureContext', { value: false })", "insecure"),
        ("crypto.subtle.generateKey = () => Promise.reject(new Error())", "unsupported"),
        ("IDBFactory.prototype.open = () => { throw new Error() }", "unsupported"),
    ],
)
def test_an_unsupported_browser_gets_advice(browser, asking, missing, shows):
    with visiting(browser, limit=None) as visitor:
        visitor.context.add_init_script(missing)
        notice = visitor.visit(asking.page(), shows=shows).notice(shows)
        assert "the command under “Answer without this page”" in notice
