"""Texts that nobody listed, from 2,000 people to a release: one of them in a browser, the others simulated."""

import json

import pytest
from playwright.sync_api import expect

from shuffledp.collect.simulation import one_machine
from shuffledp.collect.simulation.crowd import send_crowd
from shuffledp.collect.simulation.one_machine import OneMachine
from shuffledp.collect.simulation.people import HOME_PAGES, Question
from shuffledp.errors import DataError, ParameterError
from shuffledp.explain.answers import note_on
from shuffledp.protocols.free_text import TextChoices
from shuffledp.release.release import Release
from tests.browser import running_browser
from tests.cli.commands import command
from tests.collect.chaos import wait_until
from tests.collect.tasks import small_task
from tests.collect.web.survey.visitor import visiting

PIECES = ("wiki", "pedia", ".org", "goo", "gle", ".com", "git", "hub", "news", ".net", "p", "e")
CHOICES = TextChoices(longest=13, levels=3, pieces=PIECES)
"""Few and long pieces: reports are short, and the detection limit is 5% of 2,000 people."""

ANSWERS = ["wikipedia.org"] * 900 + ["Google.com "] * 500 + ["github.com"] * 400 + ["news.net"] * 30
RARE = [f"{kind}{end}" for kind in ("goo", "hub", "git") for end in (".org", ".net", "news")]


@pytest.mark.slow
def test_people_and_a_browser_answer_and_the_shared_texts_are_found(tmp_path):
    """1,999 simulated people and one visitor complete the batch; the console shows the texts of many people."""
    others = [*ANSWERS, *RARE * 5, *["something else"] * 60, *[None] * 64]
    assert len(others) == 1_999
    question = Question.of("Your home page?", None, texts=CHOICES)
    with OneMachine(people=0, users=2_000, question=question, folder=tmp_path / "up") as machine:
        machine.wait_for_servers()
        sent = send_crowd(machine.task, others, processes=2)
        assert (sent.acknowledged, sent.refused, sent.unreachable) == (1_999, {}, 0)
        with running_browser() as browser, visiting(browser) as visitor:
            visitor.visit(machine.page)
            visitor.page.get_by_label("Your answer, up to 13 characters").fill(" Wikipedia.ORG")
            note = visitor.page.locator("#text-note")
            expect(note).to_have_text("This is what will be counted: wikipedia.org")
            visitor.make().send()
            visitor.until("sent")
            found = []
            wait_until(
                lambda: (
                    found.append(
                        machine._asked(f"{machine.task.analyzer.address}/v1/tasks/{machine.task.name}/releases/latest")
                    )
                    or found[-1]
                )
            )
            looks = visitor.context.new_page()
            looks.goto(machine.results)
            expect(looks.locator("#release")).to_contain_text("wikipedia.org")
            assert visitor.complaints == []
    release = Release.from_json(json.dumps(found[-1]))
    counts = {str(row.label): row for row in release.estimate.top()}
    assert set(counts) == {"wikipedia.org", "google.com", "github.com", "(other)", "(none)"}
    truth = {"wikipedia.org": 901, "google.com": 500, "github.com": 400, "(other)": 60, "(none)": 64}
    inside = [row.low <= truth[label] <= row.high for label, row in counts.items()]
    assert sum(inside) >= 4  # all of them with 95% confidence
    assert release.people == 2_000
    assert 30 < release.estimate.detection.limit < 200


def test_simulated_people_type_home_pages():
    question = Question.of(None, None, texts=CHOICES)
    people = question.of_people(2_000)
    assert people == question.of_people(2_000)
    assert people.count("wikipedia.org") == pytest.approx(520, abs=100)
    own = [page for page in people if page not in HOME_PAGES]
    assert len(own) == pytest.approx(200, abs=70)
    assert len(set(own)) > 0.99 * len(own)
    assert max(len(page) for page in people) <= 16
    task = question.possible(users=2_000, epsilon=1.0, delta=1e-6)
    assert task.code.pieces == PIECES


def test_simulated_people_type_the_lines_of_a_file(tmp_path):
    own = Question.of("Tea?", None, texts=CHOICES, typed=["tea", "tea", "milk"])
    assert own.shares == {"tea": 2 / 3, "milk": 1 / 3}
    assert Question.of("Tea?", ["tea", "milk"], texts=CHOICES).answers == ["tea", "milk"]
    with pytest.raises(ParameterError, match="must not be given together"):
        Question.of("Tea?", ["tea"], texts=CHOICES, typed=["tea"])
    with pytest.raises(ParameterError, match="answers_file must be given with free_text"):
        Question.of("Tea?", ["tea"], typed=["tea"])
    with pytest.raises(DataError, match="answers_file has no text"):
        Question.of("Tea?", None, texts=CHOICES, typed=[])


def test_up_takes_the_options_of_texts(tmp_path, monkeypatch):
    """The command makes a question with these pieces and these answers."""
    (tmp_path / "pieces.txt").write_text("\n".join(PIECES))
    (tmp_path / "pages.txt").write_text("news.net\n\nhub.com\nnews.net\n")
    asked = []

    def made(**options):
        asked.append(options["question"])
        raise DataError("enough")

    monkeypatch.setattr(one_machine, "OneMachine", made)
    texts = ["--free-text", "13", "--pieces", tmp_path / "pieces.txt", "--levels", "3", "--normalise", "none"]
    result = command("up", *texts, "--answers-file", tmp_path / "pages.txt")
    assert (result.returncode, result.stderr) == (3, "shuffledp up: enough\n")
    (question,) = asked
    assert question.words == "What is your home page?"
    assert question.shares == {"news.net": 2 / 3, "hub.com": 1 / 3}
    assert question.texts == TextChoices(longest=13, levels=3, pieces=PIECES, normalisation=())
    assert "cannot read the answers" in command("up", *texts, "--answers-file", tmp_path / "none.txt").stderr
    assert "must be given with --free-text" in command("up", "--levels", "3").stderr


@pytest.mark.parametrize(
    ("typed", "note"),
    [
        ("  TEA ", "This is what will be counted: tea"),
        (
            "tea and milk",
            "Your text counts as (other): it has more than 8 bytes, characters that the task does not count",
        ),
        ("t\u202e", "Your text counts as (other)"),
        ("  ", ""),
        (None, ""),
    ],
)
def test_send_says_what_is_counted(typed, note):
    found = note_on(small_task(texts=True, users=2_000).task, typed)
    assert (found or "").startswith(note)
    assert bool(found) == bool(note)
