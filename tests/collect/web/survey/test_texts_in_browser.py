"""A text field on the survey page, in Chromium: what is counted, what is not, and nothing is kept."""

import json

import pytest
from playwright.sync_api import expect
from tests.collect.web.survey.asking import TEXTS
from tests.collect.web.survey.visitor import visiting

pytestmark = pytest.mark.slow

FIELD = "Your answer, up to 8 characters"


@pytest.fixture
def visitor(browser, asking):
    with visiting(browser) as one:
        one.page.clock.install()
        yield one.visit(asking.page(TEXTS))


def note_of(visitor, typed):
    visitor.page.get_by_label(FIELD).fill(typed)
    return visitor.page.locator("#text-note")


def test_the_counted_text_is_shown_before_it_is_sent(visitor):
    """The text after normalisation; the typed one is in no request and in no storage."""
    expect(note_of(visitor, "  Rarely/?zanzibar=1 ")).to_have_text("This is what will be counted: rarely")
    assert visitor.page.locator("#text-limit").inner_text() == "6 of 8 characters used."
    assert visitor.page.get_by_label("The text above").is_checked()
    visitor.make()
    assert visitor.page.locator("#inside-text").inner_text() == "Your answer, as it is counted: rarely"
    words = visitor.page.locator("#inside-words").inner_text()
    assert "8 are the beginnings of your text, scrambled so that each fits many texts" in words
    assert "beginning 1: key" in visitor.page.locator("#messages").inner_text()
    assert visitor.page.get_by_label(FIELD).input_value() == ""
    visitor.send()
    visitor.until("sent")
    assert visitor.page.locator("#inside-text").inner_text() == ""
    kept = json.dumps(visitor.everything_kept)
    for word in ("rarely", "Rarely", "zanzibar"):
        assert word not in kept
        assert word not in visitor.page.content()
        for request in visitor.requests:
            assert word not in request.url
            assert word.encode() not in (request.post_data_buffer or b"")
    assert visitor.complaints == []


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("ninechars", "it is longer than 8 characters"),
        ("a b", "this question cannot count “space”"),
        ("gr\u00fc\u00df!", "this question cannot count “\u00fc”, “\u00df”, “!”"),
        ("a\u202eb", "this question cannot count “\ufffd”"),
    ],
)
def test_a_text_that_is_not_counted_itself_says_why(visitor, typed, why):
    message = f"Your text itself will not be counted: {why}. It counts as “another answer”."
    expect(note_of(visitor, typed)).to_have_text(message)
    visitor.inspect()
    visitor.insist()
    visitor.make()
    assert visitor.page.locator("#inside-text").inner_text() == "Your answer, as it is counted: another answer"


def test_a_text_that_is_not_counted_is_sent_only_after_a_warning(visitor):
    """Also if it is sent before the note has appeared; it can be sent."""
    note_of(visitor, "ninechars")
    field = visitor.page.get_by_label(FIELD)
    field.press("Enter")
    message = "Your text itself will not be counted: it is longer than 8 characters. It counts as “another answer”."
    alert = visitor.page.get_by_role("alert")
    assert alert.inner_text() == "Change your answer, or press the button again to send it anyway."
    assert visitor.page.locator("main").inner_text().count(message) == 1
    assert visitor.page.locator("#text-note").inner_text() == message
    assert field.evaluate("field => field === document.activeElement")
    assert visitor.everything_kept["journal"] == visitor.posted == []
    visitor.insist()
    visitor.send()
    visitor.until("sent")
    assert "ninechars" not in visitor.page.content()


def test_an_empty_text_is_no_answer_yet(visitor):
    expect(note_of(visitor, "tea")).not_to_be_empty()
    expect(note_of(visitor, "  ?x ")).to_be_empty()
    visitor.send()
    assert "Choose an answer first" in visitor.page.get_by_role("alert").inner_text()
    visitor.page.get_by_label("The text above").check()
    visitor.send()
    assert "Type your answer first" in visitor.page.get_by_role("alert").inner_text()
    assert visitor.page.get_by_label(FIELD).evaluate("field => field === document.activeElement")
    assert visitor.everything_kept["journal"] == []
    visitor.choose("I would rather not say").make()
    assert visitor.page.locator("#inside-text").inner_text() == ""


def test_a_screen_reader_gets_the_notes_and_the_page_fits(visitor):
    field = visitor.page.get_by_label(FIELD)
    assert field.get_attribute("aria-describedby") == "text-limit text-note"
    assert visitor.page.locator("#text-note").get_attribute("role") == "status"
    assert not visitor.page.get_by_label("Another answer").count()
    expect(note_of(visitor, "w" * 200)).to_contain_text("it is longer than 8 characters")
    wide, window = visitor.width
    assert wide <= window
    assert "A text that many people give is published as it stands." in visitor.page.locator("#answer").inner_text()
