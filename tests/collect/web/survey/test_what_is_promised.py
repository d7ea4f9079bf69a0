"""Checks in Chromium before the question is asked: the guarantee, the page, the time, the browser."""

import pytest
from tests.collect.web.survey.asking import BROKEN, CLOSED, LATER, QUESTION, Asking
from tests.collect.web.survey.visitor import visiting

from shuffledp.collect.web.survey import ask_page

pytestmark = pytest.mark.slow


def test_before_and_after_its_time_nothing_is_asked(browser, asking):
    with visiting(browser) as visitor:
        assert "Closed" in visitor.visit(asking.page(CLOSED), shows="closed").notice("closed")
        assert "Not open yet" in visitor.visit(asking.page(LATER), shows="not-open").notice("not-open")
        assert not visitor.page.get_by_role("radio").count()


def test_a_promise_that_is_not_kept_has_no_form(browser, asking, monkeypatch):
    """Also if the server claims otherwise: the browser computes the guarantee itself."""
    with visiting(browser) as visitor:
        said = visitor.visit(asking.page(BROKEN), shows="broken").notice("broken")
        assert "claims delta=1e-06 at epsilon=1, but its parameters give" in said.replace("1e-6", "1e-06")
        assert not visitor.page.locator("#answer").count()
        monkeypatch.setattr("shuffledp.collect.web.survey.promise_of", lambda task: (None, None))
        lie = ask_page(asking.kept[BROKEN].task)
        assert "Make my report" in lie
        visitor.page.route("**/ask/*", lambda route: route.fulfill(body=lie, content_type="text/html"))
        visitor.visit(asking.page(BROKEN), shows="broken")
        assert not visitor.page.get_by_role("button", name="Make my report").is_visible()


def test_a_page_that_says_other_figures_than_the_task_is_refused(browser, asking):
    with visiting(browser) as visitor:
        honest = ask_page(asking.task)
        lie = honest.replace(f'data-epsilon="{asking.task.claim.epsilon}"', 'data-epsilon="1"')
        assert lie != honest
        visitor.page.route("**/ask/*", lambda route: route.fulfill(body=lie, content_type="text/html"))
        said = visitor.visit(asking.page(), shows="broken").notice("broken")
        assert "other figures than the task itself" in said


def visit_instead(visitor, address, lie, shows):
    """Visit an address that serves another page."""
    visitor.page.route("**/ask/*", lambda route: route.fulfill(body=lie, content_type="text/html"))
    return visitor.visit(address, shows=shows)


def test_a_page_that_says_another_delta_than_the_task_is_refused(browser, asking):
    honest = ask_page(asking.task)
    lie = honest.replace(f'data-delta="{asking.task.claim.delta}"', 'data-delta="0.000001"')
    assert lie != honest
    with visiting(browser) as visitor:
        visit_instead(visitor, asking.page(), lie, "broken")
        assert "other figures than the task itself" in visitor.notice("broken")
        assert not visitor.page.get_by_role("radio").count()


def test_the_question_is_that_of_the_task_whatever_the_page_says(browser, asking):
    honest = ask_page(asking.task)
    lie = honest.replace(f">{QUESTION}</h1>", ">Which theme is the best?</h1>")
    assert lie != honest
    with visiting(browser) as visitor:
        visit_instead(visitor, asking.page(), lie, "new")
        assert visitor.page.locator("h1").inner_text() == QUESTION


def test_a_promise_of_next_to_nothing_is_not_agreed_to(browser, tmp_path):
    """Even if the claim is true."""
    with Asking(tmp_path, {"epsilon": 1.0, "delta": 0.5}) as weak, visiting(browser) as visitor:
        said = visitor.visit(weak.page(), shows="broken").notice("broken")
        assert "weaker than this page lets you agree to" in said
        assert not visitor.page.get_by_role("radio").count()


SHOWN_BOUNDS = """async (bounds) => {
  const { checkedInWords } = await import("/page/claims.js");
  return bounds.map((reached) => {
    checkedInWords({ epsilon: 1, reached });
    return /delta at most (.+) at epsilon/.exec(document.getElementById("checked-figures").textContent)[1];
  });
}"""


def test_a_bound_that_the_page_shows_is_never_below_it(browser, asking):
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
def test_a_browser_that_cannot_is_told_what_to_do(browser, asking, missing, shows):
    with visiting(browser) as visitor:
        visitor.context.add_init_script(missing)
        said = visitor.visit(asking.page(), shows=shows).notice(shows)
        assert "the command at the end of this page" in said
