"""The state of a ledger as text."""

import re
from dataclasses import replace

import pytest

from shuffledp import Histogram, Ledger
from shuffledp.explain.ledger import details, left, spent_note, summary
from shuffledp.ledger import Spent


def ledger(tmp_path, **more):
    return Ledger.create(tmp_path / "l", epsilon=3, delta=1e-5, population="customers", **more)


def test_an_empty_ledger(tmp_path):
    assert summary(ledger(tmp_path).standing) == [
        "customers: nothing is spent of the limit, epsilon 3 at delta 1e-5.",
        "Left: one more release of any kind up to epsilon 3, at delta 1e-6.",
    ]


def test_a_ledger_with_a_release(tmp_path):
    opened = ledger(tmp_path)
    opened.spend(Histogram.calibrate(users=10_000, bins=20, epsilon=1, delta=1e-6), what="theme")
    standing = opened.standing
    first, second = summary(standing)
    assert first.startswith("customers: 1 release spent epsilon 0.")
    assert second == (
        f"Left: one more release of any kind up to epsilon {standing.left_epsilon:g}, or epsilon "
        f"{standing.left_epsilon_of_hist:g} or more with protocol hist and one value per person, at delta 1e-6."
    )
    assert list(details(standing)) == ["Total", "Left", "Not published"]
    note = spent_note(Spent(population="customers", number=1, standing=standing))
    assert note.startswith("Entry 1 of the ledger of customers: all releases together have epsilon 0.")
    assert note.endswith(f"Left: {left(standing)}.")


@pytest.mark.parametrize("epsilon", [0.12341, 0.98741, 1.00001, 2.4649, 2.9999])
def test_what_is_spent_is_never_shown_smaller(tmp_path, epsilon):
    opened = ledger(tmp_path)
    opened.spend_elsewhere(epsilon=0.1, delta=1e-7, what="a model")
    small = epsilon * 1e-6
    standing = replace(
        opened.standing, epsilon=epsilon, delta=small, reached=2 * small, sum_of_epsilons=3 * epsilon,
        sum_of_deltas=4 * small, budget=replace(opened.budget, by_results=True),
    )  # fmt: skip
    parts = details(standing)
    found = [
        *re.findall(r"spent epsilon (\S+) of", summary(standing)[0]),
        *re.findall(r"have epsilon (\S+) of", spent_note(Spent(population="customers", number=1, standing=standing))),
        *re.findall(r"gives epsilon (\S+) at", parts["Total"]),
        *re.findall(r"and delta (\S+) at", parts["Total"]),
        *re.findall(r"would be (\S+), of the deltas (\S+)\.", parts["Total"])[0],
        *re.findall(r"at most (\S+) at", parts["Choices after seeing results"]),
    ]
    true = [epsilon, epsilon, epsilon, small, 3 * epsilon, 4 * small, 2 * small]
    assert len(found) == len(true)
    for text, bound in zip(found, true, strict=True):
        assert bound <= float(text) <= 1.01 * bound


def test_a_ledger_that_is_over_its_limit(tmp_path):
    opened = ledger(tmp_path)
    opened.spend_elsewhere(epsilon=4, delta=1e-4, what="a model")
    assert summary(opened.standing)[1:] == ["More is spent than the limit allows.", "Left: nothing more fits."]


def test_a_limit_that_holds_for_choices_by_results(tmp_path):
    standing = ledger(tmp_path, by_results=True).standing
    assert "known only by its guarantee" in left(standing)
    assert "Choices after seeing results" in details(standing)


def test_a_ledger_that_cannot_be_read_afterwards():
    assert [spent_note(Spent(population="customers", number=3, standing=None))] == [
        "Entry 3 of the ledger of customers, which could not be read afterwards."
    ]
