"""Releases of texts of local data: their place in the ledger, and rows of any content."""

import pytest

from shuffledp.errors import BudgetError
from shuffledp.ledger import Ledger
from shuffledp.protocols.free_text import FreeText, LocalMessages, TextChoices
from shuffledp.release.free_text import private_texts

CHOICES = TextChoices(longest=3, alphabet="abcde", width=1, levels=3)
ROWS = ["abc"] * 300 + ["de"] * 200


def released(rows=ROWS, **options):
    return private_texts(rows, texts=CHOICES, epsilon=4.0, delta=1e-4, **options)


def test_an_interrupted_search_is_in_the_ledger_and_counts_as_spent(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    ledger = Ledger.create(tmp_path / "spent.ledger", epsilon=5.0, delta=1e-3, population="people")
    monkeypatch.setattr(FreeText, "estimate_local", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        released(ledger=ledger)
    (entry,) = ledger.entries
    assert not entry.published
    assert "counts as spent" in stopped.value.__notes__[0]


@pytest.mark.slow
def test_no_message_is_made_without_a_budget(tmp_path, monkeypatch):
    def made(*_, **__):
        raise AssertionError("messages were made")

    ledger = Ledger.create(tmp_path / "spent.ledger", epsilon=1.0, delta=1e-6, population="people")
    monkeypatch.setattr(LocalMessages, "__init__", made)
    with pytest.raises(BudgetError):
        released(ledger=ledger)
    assert not ledger.entries


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", ["abc", None, 5, b"abc", "a\ud800", "a\0b", "x" * 10**6, "a" + "\u0301\u0316" * 10**5, "(other)", "abc/"]
)
def test_one_row_of_any_content_changes_nothing_but_counts(row):
    one, two = released(), released([*ROWS[1:], row])
    assert [note.kind for note in one.notes] == [note.kind for note in two.notes]
    assert (one.warnings, one.asked, one.protocol) == (two.warnings, two.asked, two.protocol)
