"""A task as text for the people who answer it."""

import pytest
from msgspec.structs import replace

from shuffledp.collect.task.task import Claim
from shuffledp.explain.task import about, details, guarantee, summary
from tests.collect.tasks import small_task


def test_the_summary_of_a_task():
    facts = summary(small_task(shufflers=2).task)
    assert list(facts) == ["Answers", "Guarantee", "Accuracy", "Shufflers", "Analyzer", "Open", "Task id"]
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
