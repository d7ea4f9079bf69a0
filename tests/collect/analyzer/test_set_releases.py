"""Releases of numbers and of several choices: order, quantiles, joined batches, forged reports, and the ledger."""

import json
import re

import numpy as np
import pytest

from shuffledp import BudgetError, Ledger
from shuffledp.accounting.composition import composed
from shuffledp.collect.analyzer.releases import Releasing, entered_as, release_of
from shuffledp.collect.analyzer.worker import check_noise
from shuffledp.collect.reasons import Refused
from shuffledp.collect.store import open_tally_store
from shuffledp.collect.store.tallies import from_bytes, to_bytes
from shuffledp.errors import DataError
from shuffledp.histogram.ordered_estimate import SHARES, OrderedEstimate
from shuffledp.protocols.ranges import Ranges
from shuffledp.release.free_text import Blocklist, hide
from shuffledp.release.release import Release
from tests.collect.releases import rendered_release
from tests.collect.tasks import small_task

RARE = 1e-9
"""Intervals of tests fail with this probability."""


def numbers_task(**options):
    return small_task(protocol="ranges", edges="0:100:5", users=300, **options).task


def choices_task(**options):
    return small_task(most=2, users=600, **options).task


def tally_of(task, answers, *, seed=1, forged=()):
    """The tally of a batch of people with these answers, in turn."""
    rng = np.random.default_rng(seed)
    held = [task.values_of(answers[at % len(answers)], rng=rng) for at in range(task.users)]
    messages = task.protocol.randomize(np.concatenate(held), rng=rng)
    return task.protocol.tally(np.concatenate([messages.astype(np.int64), np.array(forged, dtype=np.int64)]))


NUMBERS = [*range(1, 100), -5, 200, "x", None, ""]
CHOICES = [["dark"], ["dark", "light"], [], ["dark", "else"]]


@pytest.mark.parametrize("batches", [1, 3])
def test_numbers_are_released_in_order_with_their_quantiles(tmp_path, batches):
    task = numbers_task()
    tallies = [tally_of(task, NUMBERS, seed=seed) for seed in range(batches)]
    release = release_of(task, tallies, refused={}, beta=RARE)
    estimate = release.estimate
    assert isinstance(estimate, OrderedEstimate)
    assert isinstance(release.protocol, Ranges)
    labels = [row["label"] for row in estimate.rows()]
    assert labels == task.labels.decode(np.arange(24)).tolist()
    assert (labels[0], labels[-3:]) == ("below 0", ["100 and above", "(other)", "(none)"])
    assert release.people == 300 * batches
    assert release.privacy.guarantee == task.guarantee
    median, high = estimate.quantiles()
    assert (median.share, high.share) == (0.5, 0.9)
    assert median.low <= 50 <= median.high
    held = sum(0 <= number < 50 for number in (NUMBERS * 3)[:300] if isinstance(number, int)) * batches
    found = estimate.range(0, 50)
    assert found.low <= held <= found.high
    again = Release.from_json(release.to_json())
    assert again.to_json() == release.to_json()
    assert again.privacy.delta(1.0) == task.protocol.privacy.delta(1.0)
    assert [one.share for one in again.estimate.quantiles()] == [0.5, 0.9]
    page = release.to_html()
    assert page.index("50 to below 55") < page.index("95 to below 100")
    assert "<script" not in page
    for ending in (".html", ".csv", ".json", ".parquet"):
        assert release.save(tmp_path / f"release{ending}").stat().st_size > 100


@pytest.mark.slow
def test_a_release_shows_the_median_and_the_quantiles_of_the_task():
    task = numbers_task(quantiles=("0.1",))
    release = release_of(task, [tally_of(task, NUMBERS)], refused={})
    assert [one.share for one in release.estimate.quantiles()] == [0.1, 0.5]
    task = numbers_task(quantiles=())
    release = release_of(task, [tally_of(task, NUMBERS)], refused={})
    assert tuple(one.share for one in release.estimate.quantiles()) == SHARES


def test_a_release_of_numbers_says_what_was_counted():
    task = numbers_task()
    said = release_of(task, [tally_of(task, NUMBERS)], refused={}).explain()
    for words in (
        "Protocol: Ranges, as the task says.",
        "The edges between the 22 intervals of numbers are public.",
        "is no number is counted as (other), and no answer as (none); both belong to no range and no quantile",
        "The median is about ",
        "Replacing one person's value",
    ):
        assert words in said
    assert "with up to" not in said


@pytest.mark.parametrize("protocol", ["dummy-poisson", "hist", "sparse"])
def test_choices_are_released_with_the_number_of_choices(protocol):
    task = choices_task(protocol=protocol)
    release = release_of(task, [tally_of(task, CHOICES), tally_of(task, CHOICES, seed=2)], refused={}, beta=RARE)
    truth = {"dark": 900, "light": 300, "(other)": 300, "(none)": 300}
    for label, number in truth.items():
        low, high = release.interval(label)
        assert low <= number <= high
    by_text = {str(row["label"]): row for row in release.estimate.rows()}
    one = by_text["(at most 1 value)"]
    assert one["low"] <= 600 <= one["high"]
    assert sum(row["count"] for row in by_text.values()) > release.people
    assert release.estimate.values_shown <= 5
    said = release.explain()
    for words in (
        "A person can have several, so counts may add up to more than the number of people.",
        "people with more are counted for 2 of them, chosen at random",
        "Replacing all of one person's values (up to 2)",
        "No choice at all is counted as the choice (none).",
    ):
        assert words in said
    assert Release.from_json(release.to_json()).explain() == said


@pytest.mark.parametrize(("task", "answers"), [(numbers_task(), NUMBERS), (choices_task(), CHOICES)])
def test_missing_noise_is_refused_and_surplus_is_warned_about(task, answers):
    good = tally_of(task, answers)
    check_noise(task, good)
    only_answers = np.concatenate([np.ravel(task.values_of(answers[0])) for _ in range(task.users)])
    bare = task.protocol.tally(only_answers[only_answers >= 0])
    with pytest.raises(Refused):
        check_noise(task, bare)
    with pytest.raises(DataError, match="noise is missing"):
        release_of(task, [bare], refused={})
    forged = release_of(task, [tally_of(task, answers, forged=[1] * 9000)], refused={})
    assert any("some reports are forged" in text for text in forged.warnings)
    assert forged.privacy.guarantee == task.guarantee


@pytest.mark.parametrize("protocol", ["dummy-poisson", "sparse"])
def test_listed_choices_are_public_and_not_hidden(protocol):
    """A blocklist is for texts that nobody listed; it must not make a release of choices unreadable."""
    task = choices_task(protocol=protocol)
    release = release_of(task, [tally_of(task, CHOICES)], refused={})
    assert hide(Release.from_json(release.to_json()), Blocklist.of(["dark"])).to_json() == release.to_json()


@pytest.mark.slow
def test_the_console_shows_numbers_in_order_and_the_shares_of_choices():
    task = numbers_task()
    page = str(rendered_release(release_of(task, [tally_of(task, NUMBERS)], refused={})))
    _, quantiles, rest = page.partition("Quantiles")
    assert quantiles
    assert rest.index("50% (median)") < rest.index("90%")
    table = rest[rest.index("Table: 24 values") :]
    at = [table.index(words) for words in ("below 0", "0 to below 5", "5 to below 10", "100 and above", "(none)")]
    assert at == sorted(at)
    assert "the median is about" in page
    task = choices_task()
    page = str(rendered_release(release_of(task, [tally_of(task, CHOICES)] * 9, refused={})))
    assert re.search(r"dark.*?7[45]\.\d+%", page, flags=re.DOTALL)  # of the people, not of the choices
    assert "Counts include at most 2 values per person" in page


@pytest.mark.slow
def test_a_task_of_numbers_is_entered_once_with_its_exact_curve(tmp_path):
    ledger = Ledger.create(tmp_path / "people.ledger", epsilon=3.0, delta=1e-5, population="people")
    for task, answers in ((numbers_task(), NUMBERS), (choices_task(), CHOICES)):
        with open_tally_store(tmp_path / "analyzer.db") as store:
            store.prepare(task)
            for at in range(2):
                tally = to_bytes(tally_of(task, answers, seed=at))
                assert store.keep_tally(task.id, task.id[:15] + bytes([at]), tally, task.users, {}, None)
            assert Releasing(task, store, ledger=ledger).release() == 2
            kept = store.release(task.id)
            assert from_bytes(store.tallies(task.id)[0].tally).messages
            assert json.loads(kept.release)["people"] == task.users
    first, second = Ledger(tmp_path / "people.ledger").entries
    assert (first.what, first.protocol) == (entered_as(numbers_task())[: len(first.what)], "Ranges")
    assert second.protocol == "DummyHistogram"
    both = composed([numbers_task().protocol.privacy, choices_task().protocol.privacy])
    assert ledger.total.delta(2.0) == pytest.approx(both.delta(2.0), rel=1e-6)
    alone = numbers_task().protocol.privacy
    assert both.delta(2.0) > 2 * alone.delta(2.0)


@pytest.mark.slow
def test_the_ledger_says_which_epsilon_would_fit(tmp_path):
    ledger = Ledger.create(tmp_path / "people.ledger", epsilon=0.5, delta=1e-6, population="people")
    task = numbers_task()
    with open_tally_store(tmp_path / "analyzer.db") as store:
        store.prepare(task)
        assert store.keep_tally(task.id, bytes(16), to_bytes(tally_of(task, NUMBERS)), task.users, {}, None)
        with pytest.raises(BudgetError) as caught:
            Releasing(task, store, ledger=ledger).release()
        assert 0.4 < caught.value.fits <= 0.5
        assert store.release(task.id) is None
