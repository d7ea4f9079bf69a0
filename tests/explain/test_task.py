"""A task as text for the people who answer it."""

import re

import pytest
from msgspec.structs import replace

from shuffledp.collect.task.guarantee import Claim, Promise
from shuffledp.collect.task.task import BETA
from shuffledp.explain.collected import Collected, collected_notes
from shuffledp.explain.task import about, checked, details, guarantee, summary
from tests.collect.tasks import small_task


def test_the_summary_of_a_task():
    facts = summary(small_task(shufflers=2).task)
    assert list(facts) == ["Answers", "Guarantee", "Accuracy", "Report", "Shufflers", "Analyzer", "Open", "Task id"]
    assert all(len(text) < 200 for text in facts.values())


def test_details_of_a_task():
    task = small_task().task
    parts = details(task)
    assert list(parts)[:8] == [
        "Question", "What is counted", "Guarantee", "For experts", "Who must be trusted", "Who may answer",
        "What leaves the device", "Accuracy",
    ]  # fmt: skip
    assert parts["Guarantee"].startswith("strong protection. Your answer makes any published result up to 2.72 times")
    assert "epsilon" not in parts["Guarantee"]
    assert parts["For experts"].startswith("Kept: at epsilon 1, delta is at most ")
    assert parts["Who must be trusted"].startswith("Your answer stays private unless both servers (")
    assert "the server of a survey page changes that page" in parts["Who must be trusted"]


@pytest.mark.parametrize(
    ("epsilon", "strength"),
    [(0.5, "strong protection"), (2, "moderate protection"), (8, "weak protection")],
)
def test_the_strength_of_a_guarantee_is_named(epsilon, strength):
    said = guarantee(small_task(epsilon=epsilon).task)
    assert said.startswith(f"{strength} (epsilon {epsilon:g}, delta ")
    if epsilon == 8:
        assert "up to 2,981 times more likely" in said
    assert f"{about(small_task(epsilon=epsilon).task)['guarantee']['strength']} protection" == strength


def test_a_false_guarantee_has_no_strength():
    task = small_task().task
    broken = replace(task, claim=Claim("0.01", "1e-9"))
    facts, parts = about(broken)["guarantee"], details(broken)
    assert (facts["kept"], facts["strength"], facts["reached_delta"]) == (False, None, None)
    assert "claims delta=1e-09" in facts["problem"]
    assert parts["Guarantee"].startswith("NOT KEPT: the noise of this task gives less protection")
    assert parts["For experts"].startswith("The task claims delta=1e-09 at epsilon=0.01")
    for text in (guarantee(broken), parts["Guarantee"], parts["For experts"]):
        assert not [word for word in ("strong", "moderate") if word in text]


@pytest.mark.parametrize("reached", [1.0001e-6, 9.994e-7, 2.4649e-9, 1e-20])
def test_a_computed_delta_is_never_shown_smaller(reached):
    said = checked(Promise(epsilon=1.0, delta=1e-5, reached=reached, exact=True))
    (shown,) = re.findall(r"delta is at most (\S+) \(computed exactly\)", said)
    assert reached <= float(shown) <= 1.011 * reached


def test_errors_are_never_shown_smaller():
    task = small_task(protocol="dummy-poisson").task
    error = task.protocol.error(BETA).simultaneous
    assert error % 1  # otherwise nothing is rounded
    for said in (summary(task)["Accuracy"], details(task)["Accuracy"]):
        (shown,) = re.findall(r"±([\d,]+) people", said)
        assert error <= int(shown.replace(",", "")) < error + 1


def test_the_warning_of_a_task_has_the_error_that_is_shown():
    task = small_task(users=60, protocol="ranges").task
    (error,) = re.findall(r"±(\d+) people", summary(task)["Accuracy"])
    assert f"an error of up to {error} of 60 people says little" in details(task)["Warning"]


@pytest.mark.parametrize("chance", [1.0001e-14, 9.94e-15])
def test_the_chance_of_drawing_again_is_never_shown_smaller(chance):
    facts = Collected(
        task="t", protocol="dummy", false_positives=True, answers=3, batches=1, users=250, honest_users=250,
        shufflers=1, admission="anybody", most_messages=9, padded=False, chance_of_more=chance, refused={},
        surplus=False, short=False,
    )  # fmt: skip
    notes = " ".join(collected_notes(facts))
    (shown,) = re.findall(r"with probability at most (\S+), which", notes)
    assert chance <= float(shown) <= 1.11 * chance
    assert "and 3 forged reports (1%) by at most 27 people" in notes
    assert "Answers stay private unless the shuffler and the analyzer cheat together, a shuffler throws away" in notes
    assert "the server of a survey page changed that page" in notes
