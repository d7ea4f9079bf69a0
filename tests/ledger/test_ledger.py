"""A ledger: what is entered, what is refused, what would fit, and files that are none."""

import json
import sqlite3
import stat
from dataclasses import replace

import pytest

from shuffledp import BinarySum, BudgetError, DataError, Histogram, Ledger, ParameterError, SparseHistogram
from shuffledp.accounting.bounds import StatedCurve
from shuffledp.accounting.composition import composed
from shuffledp.ledger import store
from shuffledp.ledger.ledger import _same_kind
from shuffledp.protocols import CATALOGUE
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.target import Target

LIMIT = {"epsilon": 3.0, "delta": 1e-5}
HISTOGRAM = Histogram.calibrate(users=10_000, bins=20, epsilon=1, delta=1e-6)
FIT = 10
"""So many of that histogram are within the limit (test_exactly_the_number_that_fits)."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some people.ledger"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, **LIMIT, population="customers of 2026")


def fill(ledger, number):
    for _ in range(number):
        ledger.spend(HISTOGRAM, what="theme")


def test_a_new_ledger_is_empty_private_and_keeps_its_limit(ledger, path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    opened = Ledger(str(path))
    assert (opened.population, opened.budget.epsilon, opened.budget.delta) == ("customers of 2026", 3.0, 1e-5)
    assert opened.entries == ()
    assert opened.total.delta(0.0) == 0.0
    assert repr(opened) == "<Ledger of customers of 2026: limit epsilon 3, delta 1e-5>"
    assert Ledger.of(opened) is opened
    assert opened.standing.left_epsilon == opened.standing.left_epsilon_of_hist == 3.0


def test_an_entry_holds_the_exact_parameters(ledger):
    assert ledger.spend(HISTOGRAM, what="theme") == 1
    (entry,) = ledger.entries
    assert (entry.number, entry.what, entry.protocol, entry.people) == (1, "theme", "Histogram", 10_000)
    assert (entry.epsilon, entry.delta, entry.published) == (1.0, 1e-6, False)
    assert json.loads(entry.parameters)["missing_probability"] == HISTOGRAM.missing_probability
    assert entry.made() == HISTOGRAM
    assert entry.curve == HISTOGRAM.privacy
    ledger.finish(1)
    assert ledger.entries[0].published
    with pytest.raises(ParameterError, match="number must be the number of an entry of this ledger, got 2"):
        ledger.finish(2)


@pytest.mark.parametrize(
    "name", [name for name, entry in CATALOGUE.items() if entry.advised or entry.model == "central"]
)
def test_protocols_are_made_anew_from_their_entries(name, ledger):
    target = Target(users=20_000, bins=30, epsilon=0.7, delta=1e-7)
    made = CATALOGUE[name].make(target)
    ledger.spend(made, what=name, entry=CATALOGUE[name])
    assert ledger.entries[0].curve == made.privacy
    assert _same_kind(made, CATALOGUE[name], 0.7) == made
    if CATALOGUE[name].model != "central":
        fewer = CATALOGUE[name].make(replace(target, honest_users=15_000))
        assert _same_kind(fewer, CATALOGUE[name], 0.7) == fewer


@pytest.mark.slow
def test_a_person_with_several_values_is_accounted_with_all_of_them(ledger):
    several = Histogram.calibrate(users=10_000, bins=20, epsilon=1, delta=1e-6, values_per_person=3)
    ledger.spend(several, what="apps")
    assert ledger.total.delta(0.4) == several.privacy.delta(0.4)
    assert _same_kind(several, None, 1.0) == several


@pytest.mark.slow
def test_the_total_is_the_composition_and_not_a_sum(ledger):
    others = [
        SparseHistogram.calibrate(users=10_000, bins=20, epsilon=0.5, delta=1e-7),
        StabilityHistogram.calibrate(users=10_000, bins=20, epsilon=0.5, delta=1e-7),
        LaplaceHistogram.calibrate(users=10_000, bins=20, epsilon=0.3, delta=1e-7),
    ]
    fill(ledger, 2)
    for protocol in others:
        ledger.spend(protocol, what="more")
    ledger.spend_elsewhere(epsilon=0.2, delta=1e-8, what="a model")
    stated = StatedCurve(stated_epsilon=0.2, stated_delta=1e-8)
    truth = composed([HISTOGRAM.privacy, HISTOGRAM.privacy, *(each.privacy for each in others), stated])
    assert ledger.total == truth
    standing = ledger.standing
    assert standing.delta == truth.delta(3.0) == standing.reached
    assert standing.epsilon == truth.epsilon(1e-5) < standing.sum_of_epsilons
    assert standing.sum_of_epsilons == pytest.approx(3.5)
    assert standing.sum_of_deltas == pytest.approx(2.31e-6)


def test_only_the_noise_of_honest_people_counts_against_the_limit(path):
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6, population="all")
    with pytest.raises(BudgetError):
        ledger.spend(replace(HISTOGRAM, honest_users=9_000), what="theme")
    ledger.spend(HISTOGRAM, what="theme")


def test_a_release_slightly_over_the_limit_is_refused(path):
    ledger = Ledger.create(path, epsilon=1.0, delta=HISTOGRAM.privacy.delta(1.0) / 1.001, population="all")
    with pytest.raises(BudgetError):
        ledger.spend(HISTOGRAM, what="theme")


@pytest.mark.slow
def test_exactly_the_number_that_fits(ledger):
    assert HISTOGRAM.privacy.times(FIT).delta(3.0) <= 1e-5 < HISTOGRAM.privacy.times(FIT + 1).delta(3.0)
    fill(ledger, FIT)
    with pytest.raises(BudgetError):
        ledger.spend(HISTOGRAM, what="theme")
    assert len(ledger.entries) == FIT


@pytest.mark.slow
def test_one_release_may_take_all(path):
    whole = Histogram.calibrate(users=10_000, bins=20, **LIMIT)
    ledger = Ledger.create(path, **LIMIT, population="all")
    ledger.spend(whole, what="everything")
    assert ledger.standing.left_epsilon is None or ledger.standing.left_epsilon < 0.2
    with pytest.raises(BudgetError):
        ledger.spend(HISTOGRAM, what="theme")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hist", "sparse-best", "dummy"])
def test_a_refusal_says_what_would_fit_and_that_fits(name, ledger):
    fill(ledger, FIT - 1)
    entry, target = CATALOGUE[name], Target(users=50_000, bins=40, epsilon=2.5, delta=1e-7)
    with pytest.raises(
        BudgetError, match=r"exceeds the limit of the ledger of customers of 2026, epsilon 3 with"
    ) as refused:
        ledger.spend(entry.make(target), what="age", entry=entry)
    fits = refused.value.fits
    assert f"The same release fits with epsilon={fits:g} at delta 1e-7" in str(refused.value)
    assert "nothing was released" in str(refused.value)
    assert len(ledger.entries) == FIT - 1
    with pytest.raises(BudgetError):
        ledger.spend(entry.make(replace(target, epsilon=fits * 1.03)), what="age", entry=entry)
    ledger.spend(entry.make(replace(target, epsilon=fits)), what="age", entry=entry)
    assert ledger.total.delta(3.0) <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("many", [0, 1, 6])
def test_what_is_left_fits_whatever_the_kind(ledger, many):
    """What fits of the paper's histogram alone is more, and of other kinds too much."""
    ledger.spend(StabilityHistogram.calibrate(users=10_000, bins=20, epsilon=0.5, delta=1e-7), what="by a curator")
    fill(ledger, many)
    standing, total = ledger.standing, ledger.total
    left, of_hist = standing.left_epsilon, standing.left_epsilon_of_hist

    def allowed(curve):
        return ledger.budget.allows(composed([total, curve]))

    for name in ("stability", "laplace", "hist", "sparse-best", "dummy"):
        for each, delta in ((1, 1e-6), (1, 1e-9), (2, 1e-6)):
            target = Target(users=50_000, bins=40, epsilon=left, delta=delta, values_per_person=each)
            assert allowed(CATALOGUE[name].make(target).privacy), (name, each, delta)
    assert allowed(StatedCurve(stated_epsilon=left, stated_delta=1e-6))
    assert allowed(Histogram.calibrate(users=50_000, bins=20, epsilon=of_hist, delta=1e-6).privacy)
    assert left < of_hist
    assert not allowed(StatedCurve(stated_epsilon=of_hist, stated_delta=1e-6))


@pytest.mark.slow
def test_a_refusal_where_nothing_fits(ledger):
    ledger.spend_elsewhere(epsilon=2.9999, delta=9.9e-6, what="nearly all")
    with pytest.raises(BudgetError, match=r"No epsilon of at least 0\.03 fits at delta 1e-6") as refused:
        ledger.spend(HISTOGRAM, what="theme")
    assert refused.value.fits is None
    assert isinstance(refused.value, ParameterError)


@pytest.mark.slow
def test_what_was_spent_elsewhere_is_a_fact(ledger):
    """It is entered also beyond the limit, and nothing fits afterwards."""
    assert ledger.spend_elsewhere(epsilon=2.0, delta=0.0, what="a table") == 1
    assert not ledger.standing.over
    assert ledger.spend_elsewhere(epsilon=2.0, delta=1e-6, what="a model") == 2
    standing = ledger.standing
    assert standing.over
    assert standing.left_epsilon is standing.left_epsilon_of_hist is None
    assert standing.epsilon == pytest.approx(4.0, rel=0.01)
    assert standing.entries[1].published
    assert standing.entries[1].people is None
    with pytest.raises(BudgetError):
        ledger.spend(HISTOGRAM, what="theme")


@pytest.mark.parametrize(("epsilon", "delta"), [(0.123456789, 1.23456789e-7), (1.9999999, 0.0), (2, 1e-20)])
def test_what_was_spent_elsewhere_is_entered_exactly(ledger, path, epsilon, delta):
    ledger.spend_elsewhere(epsilon=epsilon, delta=delta, what="a model")
    (entry,) = Ledger(path).entries
    assert (entry.epsilon, entry.delta) == (epsilon, delta)
    assert Ledger(path).total.epsilon(delta or 1e-20) >= epsilon * (1 - 1e-9)


@pytest.mark.parametrize(
    ("spent", "reason"),
    [
        ({"epsilon": -1, "delta": 0.1}, "^epsilon must not be negative, got -1"),
        ({"epsilon": 1, "delta": 1.0}, "^delta must be at least 0 and below 1, got 1"),
        ({"epsilon": "1", "delta": 0}, "^epsilon must be"),
    ],
)
def test_wrong_guarantees_are_not_entered(ledger, spent, reason):
    with pytest.raises(ParameterError, match=reason):
        ledger.spend_elsewhere(**spent, what="a model")
    assert ledger.entries == ()


def test_a_limit_that_holds_whatever_is_decided_by_results_allows_less(path):
    ledger = Ledger.create(path, **LIMIT, population="seen", by_results=True)
    fill(ledger, FIT - 2)
    with pytest.raises(BudgetError) as refused:
        ledger.spend(HISTOGRAM, what="theme")
    assert refused.value.fits is not None
    standing = ledger.standing
    assert standing.delta < standing.reached <= 1e-5


def test_half_of_a_limit_by_results_is_for_what_is_revealed_outright(path):
    ledger = Ledger.create(path, **LIMIT, population="seen", by_results=True)
    ledger.spend_elsewhere(epsilon=0.0, delta=0.49e-5, what="a model")
    assert not ledger.standing.over
    ledger.spend_elsewhere(epsilon=0.0, delta=0.02e-5, what="another")
    assert ledger.standing.over


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"epsilon": 99}, {"delta": 0}, {"delta": 1}, {"population": " "}])
def test_wrong_limits_make_no_file(path, wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Ledger.create(path, **{**LIMIT, "population": "x", **wrong})
    assert list(path.parent.iterdir()) == []


def test_descriptions_are_lines(ledger):
    ledger.spend(HISTOGRAM, what="two\nlines\x00\t" + "x" * 300)
    assert ledger.entries[0].what.startswith("two lines xxx")
    assert len(ledger.entries[0].what) == 200
    for wrong in ("", "  ", None, 3):
        with pytest.raises(ParameterError, match="what must describe"):
            ledger.spend(HISTOGRAM, what=wrong)
    assert len(ledger.entries) == 1


def test_protocols_that_cannot_be_made_anew_are_refused(ledger):
    total = BinarySum.calibrate(users=1000, epsilon=0.5, delta=1e-6)
    for wrong in (total, "hist", None):
        with pytest.raises(ParameterError, match="spend_elsewhere"):
            ledger.spend(wrong, what="total")
    assert ledger.entries == ()


def test_protocols_for_other_neighbours_are_refused(ledger, monkeypatch):
    monkeypatch.setattr("shuffledp.ledger.ledger.REPLACE_ONE", "one person more or less")
    with pytest.raises(ParameterError, match="to be entered in a ledger"):
        ledger.spend(HISTOGRAM, what="theme")


def test_an_existing_file_is_left_alone(path, ledger):
    fill(ledger, 1)
    with pytest.raises(DataError, match="already exists"):
        Ledger.create(path, epsilon=9, delta=1e-3, population="others")
    assert len(Ledger(path).entries) == 1
    with pytest.raises(DataError, match="cannot create"):
        Ledger.create(path.parent / "no folder" / "x", **LIMIT, population="x")


def test_a_missing_ledger_says_how_to_make_one(path):
    with pytest.raises(DataError, match=r"there is no ledger .*: create it with `shuffledp ledger FILE --limit`"):
        Ledger(path)
    assert not path.exists()
    with pytest.raises(DataError, match="is a folder"):
        Ledger(path.parent)
    for wrong in (3, "", None):
        with pytest.raises(ParameterError, match="name of a file"):
            Ledger(wrong)
    with pytest.raises(ParameterError, match="patience"):
        Ledger(path, patience=0)


def changed(path, *statements):
    """What someone does to the file with other means."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries",
        "UPDATE entries SET epsilon = 0.1",
        "UPDATE entries SET parameters = NULL",
        "UPDATE budget SET epsilon = 50",
        "DELETE FROM budget",
        "REPLACE INTO budget SELECT only, population, 9, delta, by_results, day, version FROM budget",
        "INSERT OR REPLACE INTO entries SELECT number, day, what, protocol, 0.1, delta, people, version, 1, NULL FROM"
        " entries",
        "UPDATE OR REPLACE entries SET number = 1",
    ],
)
def test_what_is_entered_cannot_be_changed(ledger, path, statement):
    fill(ledger, 1)
    with pytest.raises(sqlite3.IntegrityError, match=r"stays|spent is spent"):
        changed(path, statement)
    assert ledger.entries[0].made() == HISTOGRAM
    assert Ledger(path).budget.epsilon == 3.0


def test_files_of_before_have_fewer_triggers_and_still_open(ledger, path):
    changed(path, "DROP TRIGGER one_budget", "DROP TRIGGER entries_are_new")
    fill(Ledger(path), 2)
    assert len(Ledger(path).entries) == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a ledger"),
        (b"epsilon,delta\n1,1e-6\n" * 100, "not a ledger"),
        (b"SQLite format 3\0" + b"x" * 4096, "ledger|used"),
    ],
)
def test_other_files_are_refused(path, content, reason):
    path.write_bytes(content)
    with pytest.raises(DataError, match=reason):
        Ledger(path)
    assert path.read_bytes() == content


def test_other_databases_are_refused(path):
    changed(path, "CREATE TABLE entries (number INTEGER)")
    with pytest.raises(DataError, match="is not a ledger"):
        Ledger(path)


def test_newer_files_are_refused(ledger, path):
    changed(path, f"PRAGMA user_version = {store.SCHEMA + 1}")
    with pytest.raises(DataError, match="newer version of shuffledp"):
        Ledger(path)
    with pytest.raises(DataError, match="newer version"):
        ledger.spend(HISTOGRAM, what="theme")


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TRIGGER entries_stay", "DELETE FROM entries WHERE number = 1"],
        ["DROP TRIGGER entries_keep", "UPDATE entries SET day = 'yesterday'"],
        ["DROP TRIGGER entries_keep", "UPDATE entries SET day = x'00'"],
        ["DROP TRIGGER the_budget_stays", "DELETE FROM budget"],
        ["DROP TRIGGER the_limit_stays", "UPDATE budget SET epsilon = 99"],
        ["DROP TRIGGER the_limit_stays", "UPDATE budget SET delta = 'all'"],
        ["DROP TRIGGER the_limit_stays", "UPDATE budget SET population = ''"],
        ["PRAGMA user_version = 0"],
    ],
)
def test_damaged_files_are_refused(ledger, path, statements):
    fill(ledger, 2)
    changed(path, *statements)
    with pytest.raises(DataError, match="is damaged"):
        Ledger(path)


def test_every_connection_waits_for_the_disk(ledger, path):
    """An entry that is lost in a power failure would be spent twice; 3 is EXTRA."""
    with store._connected(path, patience=1) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_file_that_lost_its_end_is_refused(ledger, path):
    fill(ledger, 3)
    path.write_bytes(path.read_bytes()[:-4096])
    with pytest.raises(DataError, match="is damaged"):
        ledger.spend(HISTOGRAM, what="theme")


@pytest.mark.parametrize("parameters", ['{"class": "OfTheFuture"}', "{", '{"class": "Histogram", "users": -1}', "[[[["])
def test_entries_that_cannot_be_accounted_for_stop_everything(ledger, path, parameters):
    fill(ledger, 1)
    changed(path, "DROP TRIGGER entries_keep", f"UPDATE entries SET parameters = '{parameters}', version = '9.9'")
    with pytest.raises(DataError, match=r"entry 1 of the ledger has no readable parameters.*version 9\.9"):
        ledger.spend(HISTOGRAM, what="theme")
    assert len(ledger.entries) == 1


def test_another_file_in_the_place_of_a_ledger_is_noticed(tmp_path):
    """What counts is the limit of the file that is changed, not that of the one that was opened."""
    path = tmp_path / "budget.db"
    opened = Ledger.create(path, epsilon=5, delta=1e-5, population="people")
    path.unlink()
    Ledger.create(path, epsilon=0.1, delta=1e-5, population="people")
    protocol = Histogram.calibrate(users=10**4, bins=10, epsilon=1, delta=1e-6)
    with pytest.raises(DataError, match="was replaced"):
        opened.spend(protocol, what="theme")
    assert Ledger(path).entries == ()


def test_what_is_entered_once_is_found_again(ledger, path):
    """Only by its whole description and its curve: another protocol of that name is another release."""
    assert ledger.spend(HISTOGRAM, what="task 12  theme", once=True) == 1
    assert ledger.spend(HISTOGRAM, what="task 12 theme", once=True) == 1
    assert Ledger(path).spend(HISTOGRAM, what="task 12 theme", once=True) == 1
    assert ledger.spend(HISTOGRAM, what="task 13 theme", once=True) == 2
    other = Histogram.calibrate(users=10_000, bins=20, epsilon=0.5, delta=1e-6)
    assert ledger.spend(other, what="task 13 theme", once=True) == 3
    ledger.spend_elsewhere(epsilon=0.1, delta=1e-9, what="task 14 theme")
    assert ledger.spend(HISTOGRAM, what="task 14 theme", once=True) == 5
    assert ledger.spend(HISTOGRAM, what="task 13 theme") == 6
    assert len(ledger.entries) == 6


@pytest.mark.slow
def test_what_was_entered_once_is_not_refused_later(ledger):
    ledger.spend(HISTOGRAM, what="task 12 theme", once=True)
    fill(ledger, FIT - 1)
    with pytest.raises(BudgetError):
        ledger.spend(HISTOGRAM, what="task 13 theme", once=True)
    assert ledger.spend(HISTOGRAM, what="task 12 theme", once=True) == 1


@pytest.mark.parametrize(
    ("epsilon", "fitting"), [(0.5, "None of them fits"), (1.0, "Only the first fits"), (1.5, "Only the first 3 fit")]
)
def test_releases_that_do_not_fit_together_say_how_many_fit(tmp_path, epsilon, fitting):
    ledger = Ledger.create(tmp_path / "l", epsilon=epsilon, delta=1e-5, population="people")
    planned = {str(number): HISTOGRAM for number in range(10)}
    with pytest.raises(BudgetError, match=rf"^10 releases that are planned exceed .*\. {fitting}$"):
        ledger.check_fits(planned, entries={})
