"""A task as text for the people who answer it."""

import pytest

from shuffledp.explain.task import details, guarantee, summary
from tests.collect.tasks import small_task


def test_the_summary_of_a_task():
    facts = summary(small_task(shufflers=2).task)
    assert list(facts) == ["Answers", "Guarantee", "Accuracy", "Shufflers", "Analyzer", "Open", "Task id"]
    assert all(len(text) < 200 for text in facts.values())


def test_details_of_a_task():
    task = small_task().task
    parts = details(task)
    assert list(parts)[:7] == [
        "Question", "What is counted", "Guarantee", "Who must be trusted", "Who may answer", "What leaves the device",
        "Accuracy",
    ]  # fmt: skip
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
