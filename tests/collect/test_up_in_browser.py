"""`shuffledp up` in a browser: answer, see a result appear, and open the console."""

import itertools
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from shuffledp.collect.simulation.people import MOST_A_SECOND, Question, check_pace, usual_pace
from shuffledp.errors import ParameterError
from tests.browser import running_browser
from tests.collect.web.survey.visitor import visiting

SOON = 60_000
"""Timeout in milliseconds, for a busy machine."""


@pytest.fixture
def reported(tmp_path):
    """The output of the command while its servers run."""
    asked = ["--question", "Tea or coffee?", "--answers", "tea, coffee, <b>neither</b>", "--people", "200"]
    process = subprocess.Popen(
        [sys.executable, "-m", "shuffledp", "up", *asked, "--pace", "40", "--folder", str(tmp_path / "up")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield "".join(itertools.takewhile(lambda line: "Ctrl-C" not in line, process.stderr))
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.slow
def test_a_visitor_answers_and_sees_the_next_result_appear(reported, tmp_path):
    page, results, operator = (
        re.search(rf"^{words}:? +(http://127\.0\.0\.1:\S+)", reported, flags=re.MULTILINE)[1]
        for words in ("Answer in a browser", "Results", "Operator's console")
    )
    (token,) = re.findall(r"\(token: (\S+)\)$", reported, flags=re.MULTILINE)
    assert token == str(tmp_path / "up" / "operator.token")
    assert reported.splitlines()[0] == f"Results will be at {results}"
    with running_browser() as browser, visiting(browser) as visitor:
        looks = visitor.context.new_page()
        looks.goto(results)
        expect(looks.locator("h1")).to_have_text("Tea or coffee?")
        expect(looks.locator("#release")).to_contain_text("200 people", timeout=SOON)
        visitor.visit(page).choose("<b>neither</b>").send()
        visitor.until("sent")
        expect(looks.locator("#release")).to_contain_text("400 people", timeout=SOON)
        assert visitor.complaints == []
        looks.goto(operator)
        looks.fill("input[name=token]", Path(token).read_text().strip())
        looks.click("main button[type=submit]")
        expect(looks.locator("#batches")).to_contain_text("In release 2", timeout=SOON)
        assert looks.url == operator


def test_a_custom_question():
    usual, own = Question.of(None, None), Question.of("Tea?", ["yes", "no", "later"])
    assert usual == Question()
    assert own.answers == ["yes", "no", "later"]
    assert sum(own.shares.values()) == pytest.approx(1.0)
    people = own.of_people(500)
    assert people == own.of_people(500)
    assert people.count("yes") > people.count("no") > people.count("later") > 0
    assert set(itertools.islice(own.of_others(), 2_500)) == set(own.answers)


@pytest.mark.parametrize(
    ("words", "answers", "message"),
    [
        ("Tea?", None, "must be given together"),
        (None, ["yes"], "must be given together"),
        ("Tea?", ["yes", "yes"], "there twice"),
        ("Tea?", ["", ""], "answers must not be empty"),
        (" ", ["yes", "no"], "question must not be empty"),
    ],
)
def test_half_a_question_is_refused(words, answers, message):
    with pytest.raises(ParameterError, match=message):
        Question.of(words, answers)


def test_the_pace_of_people():
    assert usual_pace(90) == 1.0
    assert usual_pace(10**6) < MOST_A_SECOND
    assert check_pace(0) == 0
    for wrong in (-1.0, MOST_A_SECOND + 1, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="pace must be from 0 to 100"):
            check_pace(wrong)
