"""The state of a ledger as text."""

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
