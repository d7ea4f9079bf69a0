"""Releases against a ledger: entered before noise is drawn, and only then."""

import json
import sqlite3
from contextlib import closing
from datetime import date

import pytest

from shuffledp import (
    BudgetError,
    DataError,
    Edges,
    Histogram,
    Ledger,
    ParameterError,
    Periods,
    TooFewUsersError,
    private_histogram,
)
from shuffledp.explain.release import note_sentences
from shuffledp.release.release import Release

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
VALUES = ["a"] * 600 + ["b"] * 300
SPENT = "entry 1 of the ledger of people of the test counts as spent"


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "people.ledger", epsilon=2, delta=1e-5, population="people of the test")


@pytest.mark.parametrize("messages", [False, True])
def test_a_release_is_entered_and_says_so(ledger, tmp_path, messages):
    more = {"domain": ["a", "b"], "messages": True} if messages else {}
    release = private_histogram(VALUES, **GUARANTEE, **more, ledger=tmp_path / "people.ledger")
    (entry,) = ledger.entries
    assert entry.published
    assert (entry.people, entry.epsilon, entry.delta, entry.what) == (900, 1.0, 1e-6, release.column)
    assert entry.curve == release.protocol.privacy
    assert (
        "Entry 1 of the ledger of people of the test: all releases together have epsilon "
        in note_sentences(release)[-1]
    )
    assert "Left: one more release of any kind up to epsilon" in note_sentences(release)[-1]
    assert "ledger" not in release.asked
    assert str(tmp_path) not in release.to_json()
    assert Release.from_json(release.to_json()).notes == tuple(note_sentences(release))


def test_the_entry_is_there_when_noise_is_drawn(ledger, monkeypatch):
    seen, draw = [], Histogram._draw

    def watched(self, *arguments):
        seen.append([(entry.published, entry.made() == self) for entry in ledger.entries])
        return draw(self, *arguments)

    monkeypatch.setattr(Histogram, "_draw", watched)
    private_histogram(VALUES, **GUARANTEE, protocol="hist", ledger=ledger)
    assert seen == [[(False, True)]]


@pytest.mark.parametrize("domain", [None, ["a", "b"]])
def test_a_failure_while_noise_is_drawn_counts_as_spent(ledger, monkeypatch, domain):
    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Histogram, "_draw", fails)
    with pytest.raises(KeyboardInterrupt) as stopped:
        private_histogram(VALUES, **GUARANTEE, protocol="hist", domain=domain, ledger=ledger)
    assert stopped.value.__notes__ == [SPENT]
    (entry,) = ledger.entries
    assert not entry.published
    assert ledger.total.delta(0.5) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"domain": ["a"]}, DataError),  # someone holds another value
        ({"epsilon": 0.1, "protocol": "hist"}, TooFewUsersError),
        ({"estimator": "unbiased"}, ParameterError),  # needs a domain
        ({"epsilon": 2.5, "delta": 1e-4}, BudgetError),
        ({"column": "none"}, DataError),
    ],
)
def test_a_failure_before_noise_is_drawn_spends_nothing(ledger, asked, error):
    with pytest.raises(error) as stopped:
        private_histogram(VALUES, **{**GUARANTEE, **asked}, ledger=ledger)
    assert not hasattr(stopped.value, "__notes__")
    assert ledger.entries == ()


def test_a_ledger_that_cannot_be_used_is_noticed_before_anything_is_read(tmp_path):
    def values():
        raise AssertionError("was read")
        yield

    with pytest.raises(DataError, match=r"there is no ledger .*none\.ledger"):
        private_histogram(values(), **GUARANTEE, ledger=tmp_path / "none.ledger")


def test_a_release_without_an_entry_is_not_made(ledger, tmp_path, monkeypatch):
    """Another process holds the lock: nothing is drawn."""
    drawn = []
    monkeypatch.setattr(Histogram, "_draw", lambda *_: drawn.append("noise"))
    path = tmp_path / "people.ledger"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataError, match="was locked by another process"):
            private_histogram(VALUES, **GUARANTEE, protocol="hist", ledger=Ledger(path, patience=0.05))
        other.execute("ROLLBACK")
    assert drawn == []
    assert ledger.entries == ()


def test_a_release_is_not_lost_where_its_entry_cannot_be_marked(ledger, monkeypatch):
    def fails(*_):
        raise DataError("in use")

    monkeypatch.setattr(Ledger, "finish", fails)
    release = private_histogram(VALUES, **GUARANTEE, ledger=ledger)
    assert (
        note_sentences(release)[-1]
        == "Entry 1 of the ledger of people of the test, which could not be read afterwards."
    )
    assert not ledger.entries[0].published


def test_an_interrupt_while_the_entry_is_marked_says_that_it_counts(ledger, monkeypatch):
    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "finish", fails)
    with pytest.raises(KeyboardInterrupt) as stopped:
        private_histogram(VALUES, **GUARANTEE, ledger=ledger)
    assert stopped.value.__notes__ == [SPENT]


def test_an_interrupt_right_after_the_entry_is_written_says_that_it_counts(ledger, monkeypatch):
    """The number of the entry is not known yet; an equal release that was stopped earlier is not meant."""
    spend = Ledger.spend
    ledger.spend(Histogram.calibrate(users=len(VALUES), bins=2, **GUARANTEE), what="value")

    def interrupted(self, *arguments, **options):
        spend(self, *arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "spend", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        private_histogram(VALUES, **GUARANTEE, protocol="hist", ledger=ledger)
    assert stopped.value.__notes__ == [SPENT.replace("entry 1", "entry 2")]


def test_an_interrupt_before_the_entry_is_written_says_nothing(ledger, monkeypatch):
    ledger.spend(Histogram.calibrate(users=len(VALUES), bins=2, **GUARANTEE), what="value")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "spend", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        private_histogram(VALUES, **GUARANTEE, protocol="hist", ledger=ledger)
    assert not hasattr(stopped.value, "__notes__")


@pytest.mark.parametrize("at", ["released_limit", "notes_on", "Release"])
def test_an_interrupt_while_the_release_is_described_says_that_it_counts(ledger, monkeypatch, at):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"shuffledp.release.private_histogram.{at}", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        private_histogram(VALUES, **GUARANTEE, ledger=ledger)
    assert stopped.value.__notes__ == [SPENT]


def test_without_a_ledger_an_interrupt_has_no_note(monkeypatch):
    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Histogram, "_draw", fails)
    with pytest.raises(KeyboardInterrupt) as stopped:
        private_histogram(VALUES, **GUARANTEE, protocol="hist")
    assert not hasattr(stopped.value, "__notes__")


@pytest.mark.slow
def test_releases_until_nothing_fits(ledger):
    """The one that is refused gives no result, and what fits is what the error says."""

    def release_all():
        for _ in range(50):
            private_histogram(VALUES, **GUARANTEE, protocol="hist", ledger=ledger)

    with pytest.raises(BudgetError) as refused:
        release_all()
    made = len(ledger.entries)
    assert 2 <= made < 50
    assert ledger.total.delta(2.0) <= 1e-5
    if refused.value.fits is not None:
        last = private_histogram(VALUES, epsilon=refused.value.fits, delta=1e-6, protocol="hist", ledger=ledger)
        assert len(ledger.entries) == made + 1
        assert json.loads(last.to_json())["asked"]["epsilon"] == refused.value.fits
    assert ledger.total.delta(2.0) <= 1e-5


def test_without_a_ledger_there_is_no_output(tmp_path):
    release = private_histogram(VALUES, **GUARANTEE)
    assert "ledger" not in " ".join(note_sentences(release))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {"trust": "curator"},
        {"trust": "curator", "domain": ["a", "b"]},
        {"user": "who", "values_per_person": 2, "column": "value"},
        {"user": "who", "where": "value = 'a'", "column": "value"},
    ],
)
def test_every_kind_of_release_is_entered(ledger, asked):
    data = {"value": VALUES, "who": list(range(900))} if "column" in asked else VALUES
    release = private_histogram(data, **GUARANTEE, **asked, ledger=ledger)
    (entry,) = ledger.entries
    assert entry.made() == release.protocol
    assert entry.curve == release.protocol.privacy
    assert ledger.total.delta(0.3) <= release.protocol.privacy.delta(0.3)
    with pytest.raises(BudgetError, match=r"The same release fits with epsilon="):
        private_histogram(data, **{**GUARANTEE, "epsilon": 2.0, "delta": 8e-6}, **asked, ledger=ledger)
    assert len(ledger.entries) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"column": "age"}, "age"),
        ({"column": "age", "domain": ["1", "2"], "other": True}, "age"),
        ({"column": "age", "domain": Edges("0:120:5")}, "age (0:120:5)"),
        (
            {"column": "age", "domain": Edges("0:120:5"), "where": "country = 'DE'"},
            "age (0:120:5) where country = 'DE'",
        ),
        ({"column": "age", "domain": Edges(n * n for n in range(40))}, "age (40 edges)"),
        (
            {"column": "day", "domain": Periods("month", start="2026-01-01", stop="2026-04-01")},
            "day (month from 2026-01-01 to 2026-04-01)",
        ),
        (
            {"column": ["country", "age"], "domain": [["DE", "FR"], Edges("18,65")], "user": "who"},
            "country \N{MULTIPLICATION SIGN} age (18,65)",
        ),
        (
            {"column": "age", "user": "who", "values_per_person": 3, "where": "country != 'FR'"},
            "age, up to 3 values per person where country != 'FR'",
        ),
    ],
)
def test_an_entry_says_what_was_asked(ledger, asked, what):
    """The public parts of the question: nothing in it comes from the data."""
    data = {
        "age": [20, 70] * 450,
        "day": [date(2026, 2, 1)] * 900,
        "country": ["DE", "FR"] * 450,
        "who": list(range(900)),
    }
    private_histogram(data, **GUARANTEE, **asked, ledger=ledger)
    assert ledger.entries[0].what == what
