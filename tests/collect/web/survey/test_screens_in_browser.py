"""The layout of the survey page in Chromium: one small screen, full rows, languages, and a program that fails."""

import pytest
from tests.collect.tasks import text_answers
from tests.collect.web.survey.asking import Asking
from tests.collect.web.survey.visitor import visiting

from shuffledp.collect.task import AnswerChoices

pytestmark = pytest.mark.slow

SMALL = {"viewport": {"width": 360, "height": 640}}
STRONG = {"epsilon": 1.0, "delta": 1e-6, "users": 200}
ENGLISH = {
    "question": "How do you usually get to work?",
    "asker": "City Library",
    "purpose": "We choose the theme that new visitors see first.",
}
GERMAN = {
    "question": "Wie kommen Sie meistens zur Arbeit?",
    "asker": "Stadtbibliothek",
    "purpose": "Wir wählen die Voreinstellung unseres Katalogs.",
    "language": "de",
}
FRENCH = {**STRONG, "question": "Quel thème ?", "language": "fr"}
KINDS = {
    "eight": {**STRONG, "answers": [f"{at} answers of length"[:20] for at in range(8)]},
    "forty": {**STRONG, "answers": [f"town {at}" for at in range(40)]},
    "text": {"answers": text_answers(), "protocol": None, "users": 2000, "epsilon": 1.0, "delta": 1e-6},
}
SCREENS = {
    **{
        f"{kind} {words.get('language', 'en')}": kept | words
        for kind, kept in KINDS.items()
        for words in (ENGLISH, GERMAN)
    },
    **{str(number): {**STRONG, "answers": [f"town {at}" for at in range(number)]} for number in (3, 5, 6, 7)},
    "french": {**FRENCH, "answers": ("sombre", "clair")},
    "french boxes": {**FRENCH, "answers": AnswerChoices(["sombre", "clair", "mixte"], 2), "protocol": None},
    "french list": {**FRENCH, "answers": [f"ville {at}" for at in range(20)]},
}


@pytest.fixture(scope="module")
def screens(tmp_path_factory):
    """The address of each page."""
    with Asking(tmp_path_factory.mktemp("shuffler"), *SCREENS.values()) as running:
        yield {name: running.page(at) for at, name in enumerate(SCREENS)}


@pytest.mark.parametrize("name", [name for name in SCREENS if name.partition(" ")[0] in KINDS])
def test_the_button_and_the_verdict_are_on_the_first_screen_of_a_small_phone(browser, screens, name):
    """However many answers there are; and no answer hides behind them while the page scrolls."""
    with visiting(browser, limit=None, **SMALL) as visitor:
        page = visitor.visit(screens[name]).page
        button, verdict = (page.locator(at).bounding_box() for at in ("#send", ".bar strong"))
        for box in (button, verdict):
            assert 0 < box["y"] < box["y"] + box["height"] <= 640
        assert page.locator(".bar strong").inner_text() == ("Starker Schutz" if "de" in name else "Strong protection")
        last = page.locator("#answers input").last
        last.focus()
        assert last.bounding_box()["y"] + 20 < page.locator(".bar").bounding_box()["y"]
        visitor.send()
        alert = page.locator("#missing").bounding_box()
        assert 0 < alert["y"] < alert["y"] + alert["height"] <= 640
        assert visitor.width[0] <= visitor.width[1]


@pytest.mark.parametrize(("number", "rows"), [("3", [3]), ("5", [3, 2]), ("6", [3, 3]), ("7", [4, 3])])
def test_short_answers_fill_their_rows(browser, screens, number, rows):
    with visiting(browser, limit=None, viewport={"width": 1280, "height": 800}) as visitor:
        boxes = [
            each.bounding_box() for each in visitor.visit(screens[number]).page.locator("#answers > .choice").all()
        ]
        assert len(boxes) == int(number)
        found = {}
        for box in boxes:
            found.setdefault(box["y"], []).append(box["x"] + box["width"])
        assert [len(row) for row in found.values()] == rows
        assert max(map(max, found.values())) - min(map(max, found.values())) < 1


@pytest.mark.parametrize("name", ["french", "french boxes", "french list"])
def test_answers_keep_the_language_of_the_task(browser, screens, name):
    with visiting(browser, limit=None) as visitor:
        page = visitor.visit(screens[name]).page
        languages = [each.get_attribute("lang") for each in page.locator("#answers .choice span").all()]
        assert languages == ["fr"] * (len(languages) - 2) + [None, None]
        assert len(languages) >= 4
        assert [page.locator(at).get_attribute("lang") for at in ("h1", "legend")] == ["fr", "fr"]


def test_a_choice_that_does_not_match_is_not_called_found(browser, screens):
    with visiting(browser, limit=None) as visitor:
        page = visitor.visit(screens["forty en"]).choose("town 7").page
        page.get_by_role("searchbox").fill("town 12")
        found = page.locator("#answers [role=status]")
        assert found.inner_text() == "1 found. Your choice stays first."
        assert page.locator(".many .choice").all_inner_texts() == ["town 7", "town 12"]
        page.get_by_role("searchbox").fill("town 7")
        assert found.inner_text() == "1 found."


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_page_whose_program_does_not_load_says_so(browser, screens, motion):
    with visiting(browser, limit=None, reduced_motion=motion) as visitor:
        visitor.page.route("**/survey.js", lambda route: route.abort())
        visitor.page.goto(screens["6"])
        assert visitor.page.evaluate(REWIND) == [8000]
        late = visitor.page.locator(".late")
        assert not late.is_visible()
        assert late.bounding_box()["height"] == pytest.approx(0, abs=1)
        assert "is checking" not in visitor.page.locator("main").inner_text()
        visitor.page.evaluate("document.getAnimations().map((each) => each.finish())")
        assert late.is_visible()
        assert "The program of this page did not load." in late.inner_text()


REWIND = """document.getAnimations().map((each) => {
  each.pause();
  each.currentTime = 0; // however long the page took to load
  return each.effect.getTiming().duration;
})"""


def test_a_page_whose_program_runs_does_not_say_that_it_did_not_load(browser, screens):
    with visiting(browser, limit=None) as visitor:
        visitor.visit(screens["6"])
        assert visitor.page.evaluate("document.getAnimations().length") == 0
        assert not visitor.page.locator(".late").is_visible()
    with visiting(browser, limit=None, java_script_enabled=False) as visitor:
        visitor.page.goto(screens["6"])
        assert "This page needs JavaScript" in visitor.page.locator("body").inner_text()
        assert visitor.page.evaluate("getComputedStyle(document.querySelector('.late')).display") == "none"
