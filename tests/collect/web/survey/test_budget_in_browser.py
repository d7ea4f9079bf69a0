"""The visitor's own budget on the survey page, in Chromium: figures, limit, refusal, two tabs."""

import pytest
from tests.collect.web.survey.asking import Asking
from tests.collect.web.survey.visitor import STORE_LIMIT, visiting

pytestmark = pytest.mark.slow

ALIKE = {"epsilon": 1.0, "delta": 1e-6, "users": 200}
FIRST, SECOND, THIRD, WEAK = range(4)


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Three tasks with (1, 1e-6), and one with little noise."""
    tasks = [{**ALIKE, "question": f"Which theme, {at}?"} for at in range(3)]
    with Asking(tmp_path_factory.mktemp("shuffler"), *tasks, {}) as running:
        yield running


def words(visitor):
    return " ".join(visitor.page.locator("#budget-words").inner_text().split())


def open_budget(visitor):
    fold = visitor.page.locator("#budget")
    if fold.get_attribute("open") is None:
        fold.locator("summary").first.click()


def set_limit(visitor, figure, *, shows):
    open_budget(visitor)
    visitor.page.get_by_label("My limit", exact=True).fill(figure)
    visitor.page.get_by_role("button", name="Save my limit").click()
    return visitor.until(shows)


def test_a_visitor_sees_what_an_answer_uses_and_runs_out(browser, several):
    with visiting(browser, limit=None) as visitor:
        visitor.visit(several.page(FIRST))
        assert words(visitor) == "This answer uses 0.86 of 3; 0 used so far."
        set_limit(visitor, "1,25", shows="new")
        visitor.choose("light").make().send()
        visitor.until("sent")
        visitor.visit(several.page(SECOND))
        assert words(visitor) == "This answer uses 0.36 of 1.25; 0.86 used so far."
        visitor.choose("light").make()  # made and not sent: it counts
        visitor.visit(several.page(THIRD), shows="over-budget")
        assert "have used 1.21 of your privacy budget of 1.25. With this answer it would be 1.5." in visitor.notice(
            "over-budget"
        )
        assert not visitor.page.locator("#send").is_visible()
        set_limit(visitor, "2", shows="new")
        assert words(visitor) == "This answer uses 0.29 of 2; 1.21 used so far."
        assert visitor.complaints == []
        assert len(visitor.posted) == 1


def test_a_weak_task_is_over_the_default_limit(browser, several):
    with visiting(browser, limit=None) as visitor:
        visitor.visit(several.page(WEAK), shows="over-budget")
        visitor.page.get_by_text(
            "A question with stronger protection and one value per person would still fit, with at most"
        ).wait_for()
        notice = visitor.notice("over-budget")
        assert "earlier answers" not in notice
        assert (
            "This answer needs an extra chance of more than 1 in 100,000, the most that your limit allows. "
            "To answer, raise the extra chance of your limit to 0.01 or more." in notice
        )
        assert words(visitor) == "This answer needs a larger extra chance than your limit allows."
        visitor.page.get_by_role("link", name="Change your limit").click()
        assert visitor.page.get_by_label("Extra chance (delta) of my limit", exact=True).is_visible()
        assert visitor.page.evaluate("document.activeElement.id") == "limit-delta"
        assert 0 < visitor.page.locator("#limit-delta").bounding_box()["y"] < 844
        visitor.page.keyboard.type("0.01")
        visitor.page.keyboard.press("Enter")
        set_limit(visitor.until("new"), "1", shows="over-budget")
        assert "Your privacy budget is 1. This answer alone would use 2.64." in visitor.notice("over-budget")
        visitor.page.get_by_role("link", name="Change your limit").click()
        assert visitor.page.evaluate("document.activeElement.id") == "limit-figure"
        visitor.page.keyboard.type("50")
        visitor.page.keyboard.press("Enter")
        visitor.until("new")
        factor = visitor.page.locator("#budget-factor").inner_text()
        assert factor.endswith("more than a million times more likely. That is almost no protection.")


@pytest.mark.parametrize("wrong", ["", "none", "0", "-1", "1e9"])
def test_a_wrong_limit_is_not_stored(browser, several, wrong):
    with visiting(browser, limit=None) as visitor:
        visitor.visit(several.page(FIRST))
        set_limit(visitor, wrong, shows="new")
        visitor.page.get_by_text("Enter a limit from 0.001 to 50").wait_for()
        visitor.visit(several.page(FIRST))
        assert " of 3;" in words(visitor)


def test_another_tab_can_use_the_budget_up(browser, several):
    with visiting(browser, limit=(1.0, 1e-5)) as visitor:
        visitor.visit(several.page(FIRST)).choose("light")
        first = visitor.page
        visitor.page = visitor.context.new_page()
        visitor.visit(several.page(SECOND)).choose("light").make()
        visitor.page = first
        visitor.send()
        visitor.until("over-budget")
        visitor.page.get_by_text(
            "A question with stronger protection and one value per person would still fit, with at most 1.7"
        ).wait_for()
        assert visitor.posted == []
        assert len(visitor.everything_kept["journal"]) == 1


def test_a_report_that_was_made_is_not_sent_over_a_smaller_limit(browser, several):
    with visiting(browser, limit=None) as visitor:
        visitor.visit(several.page(FIRST)).choose("light").make()
        visitor.page.evaluate(STORE_LIMIT, [0.5, 1e-5])  # as another tab does
        visitor.send()
        visitor.until("kept-over-budget")
        assert "together have used 0.86. That is more than your privacy budget of 0.5 allows." in visitor.notice(
            "kept-over-budget"
        )
        assert visitor.posted == []
        set_limit(visitor, "1", shows="sent")  # the visitor has agreed to send it
        assert len(visitor.posted) == 1


def test_answers_that_are_not_counted_are_left_out_of_every_sentence(browser, several):
    with visiting(browser, limit=None) as visitor:
        visitor.visit(several.page(FIRST))
        open_budget(visitor)
        factor = visitor.page.locator("#budget-factor")
        assert factor.inner_text() == (
            "With a limit of 3, all your answers here together can make any result at most 21 times more likely, with "
            "an extra chance of at most 1 in 100,000 on top."
        )
        visitor.page.evaluate(FIRST_VERSION)
        visitor.visit(several.page(FIRST))
        open_budget(visitor)
        assert factor.inner_text().startswith("With a limit of 3, the counted answers together can make")
        budget = " ".join(visitor.page.locator("#budget").inner_text().split())
        assert "Not counted: 1 earlier answer" in budget
        assert "adds up what the counted answers could reveal together" in budget
        assert "all your answers" not in budget
        visitor.choose("light").make().page.evaluate(STORE_LIMIT, [0.5, 1e-5])
        visitor.send()
        notice = visitor.until("kept-over-budget").notice("kept-over-budget")
        assert "With this report, the counted answers together have used 0.86." in notice


def test_a_smaller_delta_does_not_blame_the_next_answer(browser, several):
    """Nor a report that was made: the advice for one answer would not be enough for the earlier ones."""
    with visiting(browser, limit=(50.0, 0.1)) as visitor:
        visitor.visit(several.page(WEAK)).choose("light").make()
        visitor.page.evaluate(STORE_LIMIT, [50.0, 1e-5])
        visitor.send()
        assert "More is used already than your limit allows." in visitor.until("kept-over-budget").notice(
            "kept-over-budget"
        )
        notice = visitor.visit(several.page(FIRST), shows="over-budget").notice("over-budget")
        assert "More is used already than your limit allows." in notice
        assert "needs" not in notice
        assert words(visitor) == "More is used already than your limit allows."
        assert visitor.page.locator("#budget-factor").text_content() == ""
        visitor.page.get_by_role("link", name="Change your limit").click()
        assert visitor.page.evaluate("document.activeElement.id") == "limit-delta"


FIRST_VERSION = """
async () => {
  const { IndexedDBJournal } = await import("/client/src/index.js");
  const journal = new IndexedDBJournal();
  await journal.keep("0".repeat(64), new Uint8Array([1]));
}
"""
"""Adds an entry without its parameters, as earlier versions did."""


def test_the_exact_figures_are_rounded_up(browser, several):
    with visiting(browser, limit=None) as visitor:
        visitor.visit(several.page(FIRST))
        exact = visitor.page.evaluate(EXACT)
        shown = visitor.page.locator("#budget-figures").text_content()
        after = float(shown.split(" before and ")[1].split()[0])
        assert exact <= after < exact * 1.001


EXACT = """
async () => {
  const { useOf } = await import("/client/src/budget.js");
  const { readTask } = await import("/client/src/index.js");
  const address = `/v1/tasks/${document.querySelector("main").dataset.task}`;
  const task = await readTask(new Uint8Array(await (await fetch(address)).arrayBuffer()));
  return useOf([], task, { epsilon: 3, delta: 1e-5, byResults: false }).after;
}
"""


def test_the_figures_stay_on_the_device(browser, several):
    with visiting(browser, limit=None) as visitor:
        visitor.visit(several.page(FIRST))
        set_limit(visitor, "2.718", shows="new")
        visitor.choose("light").make().send()
        visitor.until("sent")
        for request in visitor.requests:
            assert "2.718" not in request.url
            assert b"2.718" not in (request.post_data_buffer or b"")
            assert "2.718" not in str(request.headers)
