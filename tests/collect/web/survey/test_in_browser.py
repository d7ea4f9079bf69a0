"""The survey page in Chromium: from the question to the receipt."""

import json

import pytest
from tests.collect.chaos import wait_until
from tests.collect.web.survey.asking import (
    HOSTILE,
    LONG,
    NUMBERS,
    ODD,
    RARE,
)
from tests.collect.web.survey.visitor import visiting

pytestmark = pytest.mark.slow


def test_a_visitor_answers_and_the_answer_is_nowhere(browser, own):
    """From the question to the complete batch; the answer is in no request, address or storage."""
    own.others_answer(4)
    with visiting(browser) as visitor:
        page = visitor.visit(own.page()).page
        assert page.title() == page.locator("h1").inner_text() == "Which theme do you use?"
        assert page.locator("#checked").inner_text() == "Your device has checked this promise."
        assert "4 of 5 people have answered for the next result, 1 is missing." in page.locator("main").inner_text()
        visitor.choose(RARE).make()
        assert f"one for {RARE}" in page.locator("#messages").inner_text()
        assert page.evaluate("document.activeElement.textContent") == "Your report is ready"
        assert visitor.posted == []
        promised = visitor.shown_hash
        visitor.send()
        visitor.until("sent")
        assert visitor.posted == [promised]
        assert "It counts as soon as its group of people is complete" in visitor.notice("sent")
        assert page.locator("#messages").inner_text() == ""
        page.get_by_text("A group has just become complete").wait_for()
        assert own.status()["batches"] == 1
        for request in visitor.requests:
            assert request.url.startswith(own.origin)
            assert RARE not in request.url
            assert RARE not in json.dumps(request.headers)
            assert RARE.encode() not in (request.post_data_buffer or b"")
        kept = visitor.everything_kept
        assert RARE not in json.dumps(kept)
        assert (kept["cookies"], kept["local"], kept["session"]) == ("", {}, {})
        assert [entry["state"] for entry in kept["journal"]] == ["sent"]
        assert visitor.complaints == []


def test_another_answer_and_no_answer_make_reports_of_the_same_form(browser, asking):
    for label in ("Another answer", "I would rather not say"):
        with visiting(browser) as visitor:
            visitor.visit(asking.page()).choose(label).make()
            of_each = (
                visitor.page.locator("#sealed-words").inner_text(),
                visitor.page.locator("#messages").inner_text(),
            )
            assert "bytes. Each message is encrypted" in of_each[0]
            assert f"one for {'another answer' if label.startswith('Another') else 'no answer'}" in of_each[1]


def test_no_report_without_a_choice(browser, asking):
    with visiting(browser) as visitor:
        page = visitor.visit(asking.page()).page
        visitor.send()
        assert "Choose an answer first" in page.get_by_role("alert").inner_text()
        assert visitor.everything_kept["journal"] == []


def test_without_scripts_the_page_says_so(browser, asking):
    with visiting(browser, java_script_enabled=False) as visitor:
        visitor.page.goto(asking.page())
        assert "This page needs JavaScript" in visitor.page.locator("body").inner_text()
        visitor.page.get_by_text("Answer without this page", exact=True).click()
        assert f"--pin {asking.task.name}" in visitor.page.locator("body").inner_text()
        assert not visitor.page.get_by_role("button", disabled=False).count()
        assert visitor.page.get_by_role("radio", name="light", disabled=True).count() == 1


def test_hostile_text_stays_text(browser, asking):
    with visiting(browser) as visitor:
        page = visitor.visit(asking.page(ODD)).page
        seen = HOSTILE.replace("\u202e", "\ufffd")  # it would show one answer and count another
        assert page.locator("h1").inner_text() == seen
        assert seen in page.locator("#answers").inner_text()
        assert page.get_by_role("radio").count() == 5
        assert page.locator("img").count() == 0
        assert visitor.width[0] <= visitor.width[1]
        page.get_by_role("radio").first.check()
        visitor.make()
        assert seen in page.locator("#messages").inner_text()
        assert visitor.width[0] <= visitor.width[1]
        assert visitor.complaints == []


def test_one_of_many_answers_is_found_by_typing(browser, asking):
    with visiting(browser) as visitor:
        page = visitor.visit(asking.page(LONG)).page
        assert page.get_by_role("radio").count() == 42
        page.get_by_label("Find your answer among 90").fill("apfel number 7")
        assert page.get_by_role("radio").count() == 3
        visitor.choose("Äpfel number 7")
        page.get_by_label("Find your answer").fill("nothing like it")
        assert "None of the answers has this in it" in page.locator("#answers").inner_text()
        assert page.get_by_label("Äpfel number 7").is_checked()  # the choice stays
        visitor.make()
        assert "one for Äpfel number 7" in page.locator("#messages").inner_text()


def test_an_invalid_number_is_reported_at_its_field(browser, asking):
    with visiting(browser) as visitor:
        page = visitor.visit(asking.page(NUMBERS)).page
        field, note = page.get_by_role("textbox"), page.locator("#number-note")
        for written in ("3.5", "abc", "1e1", "٤٢"):
            field.fill(written)
            assert "Type a whole number from -5 to 119, in the digits 0 to 9." in note.inner_text()
            assert field.get_attribute("aria-invalid") == "true"
            visitor.send()
            assert page.get_by_role("alert").inner_text().startswith("Change what you typed, or choose “I would rather")
            assert page.locator("main").inner_text().count("Type a whole number") == 1
            assert field.evaluate("field => field === document.activeElement")
        field.fill("120")
        assert "counts as another answer" in note.inner_text()
        field.fill("119")
        assert (note.inner_text(), field.get_attribute("aria-invalid")) == ("", "false")
        visitor.make()


def test_a_number_is_written(browser, asking):
    with visiting(browser) as visitor:
        visitor.page.clock.install()
        page = visitor.visit(asking.page(NUMBERS)).page
        field = page.get_by_label("Your answer, a whole number from -5 to 119")
        field.fill("500")
        assert "The number is not between -5 and 119. It counts as another answer." in page.inner_text("#answers")
        visitor.send()
        assert page.get_by_role("alert").inner_text().startswith("Change your answer, or press the button again")
        assert page.locator("main").inner_text().count("It counts as another answer.") == 1
        assert field.evaluate("field => field === document.activeElement")
        assert visitor.everything_kept["journal"] == []
        visitor.insist()
        visitor.inspect()
        visitor.until("made")
    with visiting(browser) as visitor:
        page = visitor.visit(asking.page(NUMBERS)).page
        field = page.get_by_label("Your answer, a whole number from -5 to 119")
        field.fill("-3")
        assert "counts as another answer" not in page.locator("#answers").inner_text()
        visitor.make()
        assert "one for -3" in page.locator("#messages").inner_text()
        assert field.input_value() == ""


def test_the_page_works_with_a_keyboard(browser, own):
    with visiting(browser) as visitor:
        page = visitor.visit(own.page()).page
        press = page.keyboard.press
        press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        press("Tab")
        assert page.evaluate("document.activeElement.type") == "radio"
        press("Space")
        press("ArrowDown")
        assert page.get_by_label("light", exact=True).is_checked()
        press("Tab")
        assert page.evaluate("document.activeElement.id") == "send"
        press("Enter")
        visitor.until("sent")
        assert page.evaluate("document.activeElement.textContent") == "Your report has arrived"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_is_wider_than_the_window(browser, asking, width):
    with visiting(browser, viewport={"width": width, "height": 800}) as visitor:
        visitor.visit(asking.page())
        assert visitor.width[0] <= visitor.width[1]
        for box in (each.bounding_box() for each in visitor.page.locator("label.choice:visible, button:visible").all()):
            assert box["height"] >= 44
        visitor.choose(RARE).make()
        assert visitor.width[0] <= visitor.width[1]


def test_dark_mode(browser, asking):
    shades = {}
    for scheme in ("light", "dark"):
        with visiting(browser, color_scheme=scheme) as visitor:
            visitor.visit(asking.page())
            shades[scheme] = [sum(visitor.page.evaluate(SHADE.format(of))) for of in ("backgroundColor", "color")]
    assert shades["light"][0] > 600 > 300 > shades["light"][1]
    assert shades["dark"][0] < 300 < 600 < shades["dark"][1]


SHADE = "getComputedStyle(document.body).{}.match(/[0-9]+/g).slice(0, 3).map(Number)"


def test_the_page_recovers_after_a_restart(browser, own):
    """A visitor who arrives during a restart does not stay with an error."""
    with visiting(browser) as visitor:
        failing = "**/v1/tasks/*"
        visitor.page.route(failing, lambda route: route.abort())
        visitor.visit(own.page(), shows="unavailable")
        visitor.page.unroute(failing)
        visitor.page.get_by_role("button", name="Try again").click()
        visitor.until("new")


def test_a_visitor_who_has_answered_is_led_to_the_results(browser, own):
    """And learns who sees that they look; before, nothing leads away from the question."""
    with visiting(browser) as visitor:
        standing = visitor.visit(own.page()).page.locator("#standing")
        assert standing.get_by_role("link").count() == 0
        visitor.choose("light").send()
        visitor.until("sent")
        (link,) = standing.get_by_role("link").all()
        assert link.get_attribute("href") == f"http://127.0.0.1:9/tasks/{own.task.name}"
        assert "Opening them shows the analyzer your network address" in standing.inner_text()
        visitor.page.reload()
        visitor.until("already")
        assert standing.get_by_role("link").is_visible()


def test_results_appear_on_an_open_page(browser, own):
    with visiting(browser) as visitor:
        page = visitor.visit(own.page()).page
        own.others_answer(5)
        page.get_by_text("A group has just become complete").wait_for()
        page.get_by_text("About this survey", exact=True).click()
        link = page.get_by_role("link", name="/tasks/")
        assert link.get_attribute("href") == f"{own.task.analyzer.address}/tasks/{own.task.name}"
        wait_until(lambda: own.status()["batches"] == 1, what="the batch")
