"""A number field and check boxes on the survey page, in Chromium: what is counted, the limit, and nothing is kept."""

import json

import pytest
from playwright.sync_api import expect
from tests.collect.web.survey.asking import Asking
from tests.collect.web.survey.visitor import visiting

from shuffledp.collect.task import AnswerChoices, AnswerEdges

pytestmark = pytest.mark.slow

NUMBERS, BELOW_ZERO, BOXES, MANY_BOXES, PADDED, GERMAN = range(6)
RARE = "a-hobby-that-nobody-else-has"
HOBBIES = [RARE, "chess", "running", "cooking", "reading"]
FIELD = "Your answer, a number"
NOTHING = "None of these, or I would rather not say"


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Tasks with numbers and with choices at one shuffler."""
    tasks = [
        {"answers": AnswerEdges("0:120:10", ["0.5"])},
        {"answers": AnswerEdges(f"-20,0,37.5,{10**250}", [])},
        {"answers": AnswerChoices(HOBBIES, 2)},
        {"answers": AnswerChoices([f"town {at}" for at in range(60)], 3)},
        {"answers": AnswerChoices(HOBBIES, 3), "protocol": "hist"},
        {"answers": AnswerEdges("0,12.5,500,1000", []), "language": "de"},
    ]
    made = [{"protocol": None, "users": 300} | each for each in tasks]
    with Asking(tmp_path_factory.mktemp("shuffler"), *made) as running:
        yield running


@pytest.fixture
def visit(browser, several):
    with visiting(browser, viewport={"width": 360, "height": 740}) as visitor:
        visitor.page.clock.install()
        yield lambda at: visitor.visit(several.page(at))


def note_of(visitor, typed):
    visitor.page.get_by_label(FIELD).fill(typed)
    return visitor.page.locator("#decimal-note")


def limit_of(visitor):
    return visitor.page.locator("#choices-limit")


def assert_nowhere(visitor, *words):
    """None of these words is in the page, in a request or in the storage of the browser."""
    kept = json.dumps(visitor.everything_kept)
    for word in words:
        assert word not in kept
        assert word not in visitor.page.locator("main").inner_text()
        for request in visitor.requests:
            assert word not in request.url
            assert word.encode() not in (request.post_data_buffer or b"")


def test_a_number_is_counted_in_its_interval_and_is_nowhere_else(visit, several):
    visitor, levels = visit(NUMBERS), several.kept[NUMBERS].task.values_per_person
    expect(note_of(visitor, " 41.0625 ")).to_have_text("Counted as 40 to below 50")
    assert visitor.page.get_by_label("The number above").is_checked()
    visitor.make()
    assert visitor.page.locator("#inside-text").inner_text() == "Your answer, as it is counted: 40 to below 50"
    words = visitor.page.locator("#inside-words").inner_text()
    wider = "a wider range" if levels == 2 else "wider ranges"
    assert f"{levels} are your answer: its range, and {wider} around it" in words
    assert "one for 40 to below 50" in visitor.page.locator("#messages").inner_text()
    assert visitor.page.get_by_label(FIELD).input_value() == ""
    visitor.send()
    visitor.until("sent")
    assert_nowhere(visitor, "41.0625", "40 to below 50")
    assert visitor.complaints == []


def test_numbers_at_and_outside_the_edges_say_where_they_are_counted(visit):
    visitor = visit(NUMBERS)
    counted = {
        "0": "0 to below 10",
        "-0.001": "below 0",
        "119.999": "110 to below 120",
        "120": "120 and above",
        "1e9": "120 and above",
        "+.5e2": "50 to below 60",
    }
    for typed, interval in counted.items():
        expect(note_of(visitor, typed)).to_have_text(f"Counted as {interval}")
        expect(visitor.page.get_by_label(FIELD)).to_have_attribute("aria-invalid", "false")


def test_text_that_is_not_a_number_says_that_it_counts_as_another_answer(visit):
    visitor = visit(NUMBERS)
    for typed in ("1,000", "forty", "0x10", "\uff14\uff12", "<b>12</b>"):
        note = note_of(visitor, typed)
        expect(note).to_contain_text(f"“{typed}” is not a number that can be counted. It counts as “another answer”.")
        assert ("Write 1000 instead of 1,000" in note.inner_text()) == ("," in typed)
        expect(visitor.page.get_by_label(FIELD)).to_have_attribute("aria-invalid", "true")
    visitor.inspect()
    visitor.insist()
    visitor.inspect()
    visitor.until("made")
    assert visitor.page.locator("#inside-text").inner_text() == "Your answer, as it is counted: another answer"


def german_note(visitor, typed):
    visitor.page.get_by_label("Ihre Antwort, eine Zahl").fill(typed)
    return visitor.page.locator("#decimal-note")


def test_a_german_number_is_counted_as_it_is_meant(visit):
    visitor = visit(GERMAN)
    assert "wie in 12 oder 12,5." in visitor.page.locator("#decimal-range").inner_text()
    for typed, interval in (
        ("12,5", "12,5 bis unter 500"),
        ("12,4", "0 bis unter 12,5"),
        ("-0,001", "unter 0"),
        ("0.500", "0 bis unter 12,5"),
        ("1500", "1000 und mehr"),
        ("1.500.000", "1000 und mehr"),
        ("-1.500.000", "unter 0"),
    ):
        expect(german_note(visitor, typed)).to_have_text(f"Gezählt als {interval}")
    german_note(visitor, "12,5")
    visitor.page.locator("#inspect summary").click()
    visitor.page.locator("#inspect button").click()
    visitor.until("made")
    assert visitor.page.locator("#inside-text").inner_text().endswith("gezählt wird: 12,5 bis unter 500")
    assert "eine für 12,5 bis unter 500" in visitor.page.locator("#messages").inner_text()


def test_a_number_with_a_point_of_thousands_is_not_guessed(visit):
    """It would be counted as 1.5. Another spelling of it is taken, so nobody is left out for their value."""
    visitor = visit(GERMAN)
    for typed in ("1.500", "-1.500"):
        note = german_note(visitor, typed)
        expect(note).to_contain_text(
            f"„{typed}“ kann {typed.replace('.', '')} oder {typed.replace('.', ',')} bedeuten."
        )
        assert "warning" in note.get_attribute("class")
    note = german_note(visitor, "1.500")
    expect(note).to_contain_text("„1.500“")
    for _ in range(2):
        visitor.send()
        alert = visitor.page.get_by_role("alert")
        assert alert.inner_text() == "Ändern Sie Ihre Eingabe, oder wählen Sie „Keine Angabe“."
        assert note.inner_text() == "„1.500“ kann 1500 oder 1,500 bedeuten. Schreiben Sie eines davon."
        visitor.insist()
    assert visitor.everything_kept["journal"] == visitor.posted == []
    german_note(visitor, "1,500")
    visitor.send()
    visitor.until("sent")


def test_a_number_that_is_none_is_sent_only_after_a_warning(visit):
    """Also if it is sent before the note has appeared, and with a double click."""
    visitor = visit(GERMAN)
    german_note(visitor, "1.500,50")
    visitor.page.locator("#send").evaluate(PRESS_TWICE)
    assert visitor.everything_kept["journal"] == []
    alert = visitor.page.get_by_role("alert")
    assert "drücken Sie den Knopf noch einmal, um sie trotzdem zu senden." in alert.inner_text()
    assert "„1.500,50“ ist keine Zahl" in visitor.page.locator("#decimal-note").inner_text()
    assert visitor.page.locator("main").inner_text().count("ist keine Zahl") == 1
    assert visitor.page.get_by_label("Ihre Antwort, eine Zahl").evaluate("each => each === document.activeElement")
    visitor.insist()
    german_note(visitor, "1.5,50")
    visitor.send()  # another text
    assert alert.inner_text().startswith("Ändern Sie Ihre Antwort")
    assert visitor.everything_kept["journal"] == []
    visitor.insist()
    visitor.send()
    visitor.until("sent")


PRESS_TWICE = "(button) => { button.click(); button.click(); }"
"""As fast as on an idle device, and also where the warning moves the button away."""


def test_the_field_says_its_range_and_needs_a_number(visit):
    visitor = visit(NUMBERS)
    field, range_text = visitor.page.get_by_label(FIELD), visitor.page.locator("#decimal-range").inner_text()
    assert "All numbers below 0 are counted together, and so are all numbers from 120 on." in range_text
    assert field.get_attribute("inputmode") == "decimal"
    assert field.get_attribute("aria-describedby") == "decimal-range decimal-note"
    assert visitor.page.locator("#decimal-note").get_attribute("role") == "status"
    visitor.send()
    assert "Choose an answer first" in visitor.page.get_by_role("alert").inner_text()
    visitor.page.get_by_label("The number above").check()
    visitor.send()
    assert "Type your answer first" in visitor.page.get_by_role("alert").inner_text()
    assert field.evaluate("field => field === document.activeElement")
    assert visitor.everything_kept["journal"] == []
    visitor.choose("I would rather not say").make()
    assert visitor.page.locator("#inside-text").inner_text() == ""
    assert "no answer" in visitor.page.locator("#messages").inner_text()
    assert visitor.width[0] <= visitor.width[1]


def test_a_keyboard_with_a_minus_sign_for_numbers_below_zero(visit):
    visitor = visit(BELOW_ZERO)
    assert visitor.page.get_by_label(FIELD).get_attribute("inputmode") == "text"
    expect(note_of(visitor, "-20")).to_have_text("Counted as -20 to below 0")
    expect(note_of(visitor, "1e250")).to_have_text(f"Counted as {10**250} and above")
    assert visitor.width[0] <= visitor.width[1]
    visitor.make()
    assert visitor.width[0] <= visitor.width[1]


def test_choices_end_at_the_limit_and_are_nowhere_afterwards(visit):
    visitor = visit(BOXES)
    page = visitor.page
    expect(limit_of(visitor)).to_have_text("Choose up to 2.")
    visitor.choose(RARE)
    expect(limit_of(visitor)).to_have_text("Choose up to 2: 1 chosen, 1 left.")
    visitor.choose("reading")
    expect(limit_of(visitor)).to_have_text("Choose up to 2: 2 chosen, none left. Uncheck one to choose another.")
    for label in ("chess", "running", "cooking", "Another answer"):
        assert page.get_by_label(label, exact=True).is_disabled()
    assert page.get_by_label(NOTHING).is_enabled()
    page.get_by_label("reading").uncheck()
    assert page.get_by_label("chess").is_enabled()
    visitor.choose("cooking").make()
    assert page.locator("#inside-text").inner_text() == f"Your choices: {RARE}; cooking"
    words = page.locator("#inside-words").inner_text()
    assert "2 are your choices" in words or words.startswith("2 messages.")
    for label in (RARE, "cooking"):
        assert f"one for {label}" in page.locator("#messages").inner_text()
    visitor.send()
    visitor.until("sent")
    assert_nowhere(visitor, RARE, "cooking")
    assert page.locator("#answers input:checked").count() == 0
    assert visitor.complaints == []


def test_no_choice_excludes_all_others_and_fills_up_with_empty_choices(visit):
    visitor = visit(PADDED)
    page = visitor.page
    visitor.choose("chess").choose("running").choose("cooking")
    assert page.get_by_label("reading").is_disabled()
    visitor.choose(NOTHING)
    assert page.locator("#answers input:checked").count() == 1
    assert page.get_by_label("reading").is_enabled()
    expect(limit_of(visitor)).to_have_text("Choose up to 3.")
    visitor.choose("reading")
    assert not page.get_by_label(NOTHING).is_checked()
    visitor.choose(NOTHING).make()
    assert page.locator("#inside-text").inner_text() == ""
    shown = page.locator("#messages").inner_text()
    assert "one for no answer" in shown
    assert "one for an empty choice" in shown


def test_no_report_without_a_checked_box(visit):
    visitor = visit(BOXES)
    visitor.send()
    assert "Choose at least one answer first, or the last box." in visitor.page.get_by_role("alert").inner_text()
    assert visitor.everything_kept["journal"] == []


def test_choices_are_found_by_typing_and_stay(visit):
    visitor = visit(MANY_BOXES)
    page = visitor.page
    search = page.get_by_label("Find your answer among 60")
    for number in (7, 59, 30):
        search.fill(f"town {number}")
        visitor.choose(f"town {number}")
    assert page.locator("#answers input:checked").count() == 3
    search.fill("town 4")
    assert page.get_by_label("town 41").is_disabled()
    page.get_by_label("town 59").uncheck()
    assert page.get_by_label("town 41").is_enabled()
    visitor.make()
    assert page.locator("#inside-text").inner_text() == "Your choices: town 7; town 30"
    assert visitor.width[0] <= visitor.width[1]


def test_boxes_are_usable_by_keyboard_and_screen_reader(visit):
    visitor = visit(BOXES)
    page = visitor.page
    group = page.get_by_role("group", name="Which theme do you use?")
    assert group.get_attribute("aria-describedby") == "choices-limit"
    assert group.get_by_role("checkbox").count() == len(HOBBIES) + 2
    assert limit_of(visitor).get_attribute("role") == "status"
    page.get_by_label(RARE).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.get_by_label("chess").is_checked()
    page.keyboard.press("Tab")
    assert page.get_by_label(NOTHING).evaluate("box => box === document.activeElement")
    page.keyboard.press("Enter")
    visitor.until("sent")
    assert len(visitor.posted) == 1
    assert visitor.width[0] <= visitor.width[1]
