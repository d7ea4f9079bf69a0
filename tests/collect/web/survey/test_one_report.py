"""One report per device in Chromium: what is stored, shown, agreed to, sent and deleted."""

import json

import pytest
from tests.collect.web.survey.asking import (
    RARE,
    Asking,
)
from tests.collect.web.survey.visitor import visiting

from shuffledp.collect.server.auth import Accepted, hash_of
from shuffledp.collect.shuffler.ingest import SharedSecret
from shuffledp.collect.task import AnswerChoices

pytestmark = pytest.mark.slow


def test_there_is_one_report_for_a_device(browser, own):
    """After a reload, in a second tab and after sending: always the same bytes."""
    with visiting(browser) as visitor:
        page, second = visitor.visit(own.page()).page, visitor.context.new_page()
        second.goto(own.page())
        second.locator('main[data-shows="new"]').wait_for()
        made = visitor.choose(RARE).make().shown_hash
        page.reload()
        visitor.until("made")
        assert visitor.shown_hash == made
        assert "Nobody can see any more what is inside" in page.locator("#inside-gone").inner_text()
        second.get_by_label("light", exact=True).check()
        second.locator("#send").click()
        second.locator('main[data-shows="made"]').wait_for()
        assert second.locator("#sealed-hash").inner_text() == made
        visitor.send()
        visitor.until("sent")
        second.locator("#send").click()
        second.locator('main[data-shows="already"]').wait_for()
        page.reload()
        assert "You have answered in this browser" in visitor.until("already").notice("already")
        assert visitor.posted == [made]
        assert own.status()["waiting"] == 1


HOLD = """() => {
  const encrypt = crypto.subtle.encrypt.bind(crypto.subtle);
  const held = new Promise((resolve) => { window.release = resolve; });
  crypto.subtle.encrypt = async (...given) => { await held; return encrypt(...given); };
}"""
"""Hold every report of a page while it is made, until `release`."""


@pytest.mark.parametrize(("sends", "shows"), [(False, "made"), (True, "already")])
def test_another_tab_is_faster_while_a_report_is_made(browser, tmp_path, sends, shows):
    """The report of the other tab counts, and the answer that was given here is nowhere."""
    task = {"answers": AnswerChoices(["a", "b", "c"], 2), "protocol": None, "users": 300, "epsilon": 1.0, "delta": 1e-6}
    with Asking(tmp_path, task) as own, visiting(browser) as visitor:
        page, second = visitor.visit(own.page()).page, visitor.context.new_page()
        second.goto(own.page())
        second.locator('main[data-shows="new"]').wait_for()
        page.evaluate(HOLD)
        visitor.choose("a").send()
        second.get_by_label("b", exact=True).check()
        if not sends:
            second.locator("#inspect summary").click()
        second.locator("#send" if sends else "#inspect button").click()
        second.locator(f'main[data-shows="{"sent" if sends else "made"}"]').wait_for()
        page.evaluate("window.release()")
        visitor.until(shows)
        assert page.locator("#inside-text").text_content() == ""
        assert page.locator("input:checked").count() == 0
        assert len(set(visitor.posted)) == sends
        assert visitor.complaints == []


def test_a_report_is_kept_during_an_outage_and_sent_later(browser, own):
    """The page says so and retries by itself and at the next visit, with the same bytes."""
    with visiting(browser) as visitor:
        page = visitor.visit(own.page()).page
        made = visitor.choose(RARE).make().shown_hash
        own.stop()
        visitor.send()
        notice = visitor.until("kept").notice("kept")
        assert "Not sent yet, and kept on this device" in notice
        assert "cannot be reached" in notice
        assert page.evaluate("document.activeElement.textContent") == "Not sent yet, and kept on this device"
        assert f"one for {RARE}" not in page.content()
        page.get_by_text("The server does not answer at the moment").wait_for()
        own.start()
        visitor.until("sent")  # without any click
        assert set(visitor.posted) == {made}
        assert own.status()["waiting"] == 1
    with visiting(browser) as other:
        made = other.visit(own.page()).choose("light").make().shown_hash
        own.stop()
        other.send()
        other.until("kept")
        other.page.close()
        own.start()
        other.page = other.context.new_page()
        other.visit(own.page(), shows="sent")
        assert set(other.posted) == {made}
        assert own.status()["waiting"] == 2


def test_only_status_201_is_a_receipt(browser, asking):
    """Any other response, such as a login page of a network, is not a receipt."""
    with visiting(browser) as visitor:
        page = visitor.visit(asking.page()).page
        page.route("**/reports", lambda route: route.fulfill(status=200, body="welcome"))
        visitor.choose(RARE).make().send()
        assert "does not answer as it should" in visitor.until("kept").notice("kept")
        assert [entry["state"] for entry in visitor.everything_kept["journal"]] == ["ready"]


def test_a_report_that_is_refused_for_good_stays_so(browser, asking):
    problem = {"status": 400, "content_type": "application/problem+json", "body": '{"reason": "malformed"}'}
    with visiting(browser) as visitor:
        page = visitor.visit(asking.page()).page
        page.route("**/reports", lambda route: route.fulfill(**problem))
        visitor.choose(RARE).make().send()
        notice = visitor.until("refused").notice("refused")
        assert "The server refused the report, and sending it again does not help. The report is dropped." in notice
        assert "malformed" not in page.locator("main").inner_text()
        page.unroute("**/reports")
        page.reload()
        visitor.until("refused")
        assert len(visitor.posted) == 1


def test_a_report_that_the_server_does_not_know_yet_is_kept(browser, own):
    problem = {"status": 404, "content_type": "application/problem+json", "body": '{"reason": "unknown-task"}'}
    with visiting(browser) as visitor:
        page = visitor.visit(own.page()).page
        page.route("**/reports", lambda route: route.fulfill(**problem))
        visitor.choose(RARE).send()
        notice = visitor.until("kept").notice("kept")
        assert "The server does not know this survey." in notice
        assert "dropped" not in page.locator("main").inner_text()
        assert "unknown-task" not in page.locator("main").inner_text()
        assert [entry["state"] for entry in visitor.everything_kept["journal"]] == ["ready"]
        page.unroute("**/reports")
        visitor.until("sent")
        assert len(set(visitor.posted)) == 1


def test_a_wrong_secret_can_be_corrected(browser, tmp_path):
    admission = SharedSecret(Accepted((hash_of("the-right-one"),)))
    with Asking(tmp_path, {"admission": "secret"}, admission=admission) as own, visiting(browser) as visitor:
        page = visitor.visit(own.page()).page
        visitor.choose(RARE)
        for unusable, why in (("", "Fill in this field first."), ("no word at all", "This is no secret")):
            page.get_by_label("The secret of this survey").fill(unusable)
            visitor.send()
            assert why in page.get_by_role("alert").inner_text()
        assert visitor.posted == []
        page.get_by_label("The secret of this survey").fill("the-wrong-one")
        made = visitor.make().shown_hash
        visitor.send()
        assert "Not let in" in visitor.until("not-admitted").notice("not-admitted")
        page.get_by_label("The secret of this survey").fill("the-right-one")
        visitor.send()
        visitor.until("sent")
        assert set(visitor.posted) == {made}


def test_a_secret_is_not_left_on_the_page(browser, tmp_path):
    admission = SharedSecret(Accepted((hash_of("the-right-one"),)))
    with Asking(tmp_path, {"admission": "secret"}, admission=admission) as own, visiting(browser) as visitor:
        page = visitor.visit(own.page()).page
        visitor.choose(RARE)
        page.get_by_label("The secret of this survey").fill("the-right-one")
        visitor.make().send()
        visitor.until("sent")
        assert page.locator("#admission").input_value() == ""
        assert "the-right-one" not in json.dumps(visitor.everything_kept)


CLOSED_NOW = {"status": 410, "content_type": "application/problem+json", "body": '{"reason": "closed"}'}
LOSE_THE_JOURNAL = """async () => {
  const { IndexedDBJournal } = await import("/client/src/index.js");
  const limit = await new IndexedDBJournal().limit();
  await new Promise((done) => {
    const asked = indexedDB.deleteDatabase("shuffledp");
    asked.onsuccess = asked.onblocked = done;
  });
  await new IndexedDBJournal().storeLimit(limit); // the task of these tests needs it
}"""


def test_an_agreement_is_for_one_report(browser, own):
    """After the browser has lost an agreed report, the next one is not sent automatically."""
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("system").make()
        visitor.page.evaluate(LOSE_THE_JOURNAL)
        visitor.send()
        visitor.until("no-journal").visit(own.page()).choose("light").make()
        visitor.visit(own.page(), shows="made")
        assert visitor.posted == []
        shown = visitor.shown_hash
        visitor.send()
        visitor.until("sent")
        assert visitor.posted == [shown]


def test_an_unseen_report_is_not_sent(browser, own):
    """Another tab made a new report after the first was lost: this tab shows it before sending."""
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("system").make()
        before = visitor.shown_hash
        visitor.page.evaluate(LOSE_THE_JOURNAL)
        visitor.page.evaluate(
            """async (address) => {
              const { Client } = await import("/client/src/index.js");
              const client = await Client.open(new URL(address, location.href), { pin: address.slice(-64) });
              await client.prepare("light");
            }""",
            f"/v1/tasks/{own.task.name}",
        )
        visitor.send()
        visitor.page.locator("#inside-gone").wait_for()
        assert visitor.posted == []
        assert visitor.shown_hash != before
        visitor.send()
        visitor.until("sent")
        assert visitor.posted == [visitor.shown_hash]


def test_a_lost_report_is_not_replaced_silently(browser, own):
    """The visitor is asked again, and nothing is sent without consent."""
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("system").make()
        visitor.page.evaluate(LOSE_THE_JOURNAL)
        visitor.visit(own.page(), shows="new")
        assert visitor.posted == []


def test_pressing_twice_still_shows_what_is_inside(browser, own):
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("system")
        visitor.page.locator("#inspect summary").click()
        visitor.page.locator("#inspect button").dblclick()
        visitor.until("made")
        visitor.page.wait_for_timeout(300)
        assert visitor.page.locator("#inside").is_visible()
        assert "one for system" in visitor.page.locator("#messages").inner_text()


def test_messages_are_gone_from_the_page_when_it_is_left_or_over(browser, own):
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("system").make()
        inside = visitor.page.locator("#inside")
        assert "one for system" in inside.text_content()
        assert inside.get_attribute("translate") == "no"
        visitor.page.evaluate("window.dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        assert "one for system" not in visitor.page.content()
        visitor.page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        visitor.page.locator("#inside-gone").wait_for()
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("system").make()
        visitor.context.route("**/reports", lambda route: route.fulfill(**CLOSED_NOW))
        visitor.send()
        visitor.until("closed-kept")
        assert "one for system" not in visitor.page.content()


def test_a_report_sent_by_another_tab_is_removed_here(browser, own):
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("light")
        other = visitor.context.new_page()
        first, visitor.page = visitor.page, other
        visitor.visit(own.page()).choose("system").make()
        visitor.page = first
        visitor.send()
        visitor.until("made")
        assert first.locator("input:checked").count() == 0
        assert "one for" not in first.locator("main").text_content()
        visitor.send()
        visitor.until("sent")
        visitor.page = other
        other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        visitor.until("already")
        assert "one for" not in other.locator("main").text_content()
        assert len(visitor.posted) == 1


OVER = {"users": 5, "waiting": 0, "batches": 0, "short_by": 5}


def test_an_open_page_stops_asking_when_the_task_closes(browser, own):
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("light")
        visitor.context.route("**/status", lambda route: route.fulfill(json=OVER))
        assert "This browser holds no report for it" in visitor.until("closed").notice("closed")
        assert visitor.page.locator("#answer").is_hidden()
        assert visitor.posted == []


def test_after_closing_an_unconfirmed_report_is_not_called_lost(browser, own):
    """The receipt of the first report was lost; what another tab sent is known from the journal."""
    with visiting(browser) as visitor:
        page = visitor.visit(own.page()).page

        def lose_the_receipt(route):
            assert route.fetch().status == 201
            route.abort()

        page.route("**/reports", lose_the_receipt)
        visitor.choose("light").make().send()
        visitor.until("kept")
        page.unroute("**/reports")
        page.route("**/reports", lambda route: route.fulfill(**CLOSED_NOW))
        page.get_by_role("button", name="Send now").click()
        notice = visitor.until("closed-kept").notice("closed-kept")
        assert "It counts only if it was sent and had arrived anyway" in notice
        assert own.status()["waiting"] == 1
    with visiting(browser) as visitor:
        first = visitor.visit(own.page()).page
        visitor.page = visitor.context.new_page()
        visitor.visit(own.page()).choose("light").make().send()
        visitor.until("sent")
        visitor.page = first
        visitor.context.route("**/status", lambda route: route.fulfill(json=OVER))
        assert "counts if its group was complete by then" in visitor.until("closed-sent").notice("closed-sent")


def test_after_closing_unsent_and_refused_reports_do_not_count(browser, own):
    malformed = {"status": 400, "content_type": "application/problem+json", "body": '{"reason": "malformed"}'}
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("light").make()
        visitor.context.route("**/status", lambda route: route.fulfill(json=OVER))
        assert "you did not send it" in visitor.until("closed-unsent").notice("closed-unsent")
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("light").make()
        visitor.context.route("**/reports", lambda route: route.fulfill(**malformed))
        visitor.send()
        visitor.until("refused")
        visitor.context.route("**/status", lambda route: route.fulfill(json=OVER))
        assert "had been refused before" in visitor.until("closed-refused").notice("closed-refused")
        assert "had been refused before" in visitor.visit(own.page(), shows="closed-refused").notice("closed-refused")


def test_another_origin_of_the_server_does_not_ask_again(browser, own):
    """A browser has a journal per origin, and would make a second report."""
    with visiting(browser) as visitor:
        visitor.visit(own.page()).choose("light").make().send()
        visitor.until("sent")
        elsewhere = own.page().replace("127.0.0.1", "localhost")
        visitor.visit(elsewhere, shows="elsewhere")
        assert visitor.page.locator("#answer").is_hidden()
        visitor.page.get_by_role("link", name="To the page at its address").click()
        visitor.until("already")
        assert visitor.page.url == own.page()
        assert len(visitor.posted) == 1


def test_a_visitor_who_has_answered_is_not_asked_again(browser, own):
    with visiting(browser) as visitor:
        command = visitor.visit(own.page()).page.get_by_text("shuffledp send")
        visitor.page.get_by_text("Answer without this page", exact=True).click()
        assert command.is_visible()
        assert "A sent answer cannot be changed." in visitor.page.locator("#promise").inner_text()
        visitor.choose("light").make().send()
        visitor.until("sent")
        assert command.is_hidden()
        assert visitor.page.locator("#task-id").is_visible()
