"""Releases of texts that nobody listed: what they say, one ledger entry before them, and a search in the background."""

import re
import threading

import numpy as np
import pytest

from shuffledp import BudgetError, Ledger
from shuffledp.collect.analyzer.releases import Releasing, entered_as, release_of
from shuffledp.collect.analyzer.worker import stopped_by
from shuffledp.collect.server.background import StoppedError
from shuffledp.collect.store import open_tally_store
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.errors import DataError
from shuffledp.histogram.labels import NoText
from shuffledp.protocols.free_text import FreeText
from shuffledp.release.release import Release
from tests.collect.analyzer.texts import FORMULA, SCRIPT, forged_messages, tally_of, text_task
from tests.collect.releases import releases_of

PEOPLE = {"news.test/sport": 300, SCRIPT: 200, FORMULA: 150, "(other)": 120, None: 100}
OTHER, NONE = NoText("other"), NoText("none")
SURE = 1e-9
"""The failure probability of intervals, so that tests of them do not fail by chance."""


@pytest.fixture
def store(tmp_path):
    with open_tally_store(tmp_path / "analyzer.db") as opened:
        yield opened


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "people.ledger", epsilon=3.0, delta=1e-5, population="people of 2026")


def keep(store, task, *tallies):
    store.prepare(task)
    for at, tally in enumerate(tallies):
        assert store.keep_tally(task.id, bytes([at + 1] * 16), to_bytes(tally), task.users, {})


@pytest.mark.parametrize("batches", [1, 3])
def test_a_release_finds_texts_and_counts_the_rest(tmp_path, batches):
    task = text_task().task
    tallies = [tally_of(task, PEOPLE, seed=at) for at in range(batches)]
    release = release_of(task, tallies, refused={}, beta=SURE)
    found = release.estimate
    texts = {text for text in PEOPLE if text not in (None, "(other)")} | {'"(other)"'}
    assert set(found) == {*texts, OTHER, NONE}
    assert found.values_shown == len(texts)
    truth = {**PEOPLE, '"(other)"': 120, OTHER: 130, NONE: 100}
    for label in found:
        low, high = found.interval(label)
        assert low <= batches * truth[label] <= high
    assert found.people == batches * task.users
    assert release.privacy.guarantee == task.guarantee
    assert release.detection_limit == found.detection.limit
    again = Release.from_json(release.to_json())
    assert again.to_json() == release.to_json()
    assert again.explain() == release.explain()
    assert again.estimate.detection == found.detection
    for ending in (".html", ".csv", ".json", ".parquet"):
        assert release.save(tmp_path / f"release{ending}").stat().st_size > 100


def test_a_release_states_its_limits():
    task = text_task().task
    release = release_of(task, [tally_of(task, PEOPLE)], refused={})
    limit, most = release.detection_limit, release.estimate.simultaneous.unreported_high
    assert limit <= most
    page = re.sub(r"\s+", " ", release.to_html())
    for text in (str(release), release.explain()):
        assert f"Any text with at least {limit} people is shown with 95% probability." in text
        assert "The chance that any text shown is held by nobody is at most 1 in 1,000, if everyone follows" in text
    assert f"any text not shown has at most {most}." in release.explain()
    assert f"<b>{limit} or more</b><span>people with the same text: it is shown, with probability 0.95" in page
    assert "<b>1 in 1,000</b><span>or less: the chance that any text shown is held by nobody, if no one cheats" in page
    notes = " ".join(release.notes)
    assert "Any text of up to 256 bytes could be an answer; nobody listed the possible texts." in notes
    assert "at most 2 pieces of a public list" in notes
    assert "spaces at both ends are removed and letters become small" in notes
    assert "counted as (other), and no answer as (none)" in notes
    first = release.to_csv().splitlines()
    assert dict(zip(first[0].split(","), first[-1].split(","), strict=True))["detection_limit"] == str(limit)


@pytest.mark.slow
def test_joined_batches_find_texts_that_one_batch_does_not():
    """The noise of nine batches is three times the noise of one, and the text has nine times as many people."""
    task, text = text_task().task, "mail.test"
    alone = release_of(task, [tally_of(task, {})], refused={}).detection_limit
    some = alone // 3
    tallies = [tally_of(task, {text: some}, seed=at) for at in range(9)]
    single = [text in release_of(task, [tally], refused={}) for tally in tallies]
    together = release_of(task, tallies, refused={}, beta=SURE)
    assert sum(single) < 3
    low, high = together.interval(text)
    assert text in together
    assert low <= 9 * some <= high
    assert release_of(task, tallies, refused={}).detection_limit < 4 * alone


@pytest.mark.slow
def test_the_stated_number_of_forged_reports_plants_a_text():
    """Extra messages do not stop a release."""
    task = text_task().task
    honest = release_of(task, [tally_of(task, PEOPLE)], refused={})
    (stated,) = re.findall(r"(\d+) forged reports together could have made a text appear", " ".join(honest.notes))
    each = task.most_messages // 2  # of two levels
    planted = release_of(
        task, [tally_of(task, {}, forged=forged_messages(task, "/private", int(stated) * each))], refused={}
    )
    assert "/private" in planted
    few = forged_messages(task, "/private", honest.detection_limit // 6)
    assert "/private" not in release_of(task, [tally_of(task, {}, forged=few)], refused={})
    many = release_of(task, [tally_of(task, PEOPLE, forged=forged_messages(task, "/private", 20_000))], refused={})
    assert any("some reports are forged" in text for text in many.warnings)
    assert many.privacy.guarantee == task.guarantee


def test_missing_noise_is_never_released():
    task = text_task().task
    part = tally_of(text_task(users=300).task, {})
    with pytest.raises(DataError, match="noise is missing"):
        release_of(task, [task.protocol.tally(part.symbols[part.symbols < task.alphabet])], refused={})


# Visibility -------------------------------------------------------------------------------------------------------


def test_the_ledger_has_an_entry_before_a_release_is_visible(store, ledger):
    task, seen = text_task().task, []

    class Watching:
        def __getattr__(self, name):
            if name == "keep_release":
                seen.append([entry.what for entry in ledger.entries])
            return getattr(store, name)

    keep(store, task, tally_of(task, PEOPLE), tally_of(task, PEOPLE, seed=2))
    assert Releasing(task, Watching(), ledger=ledger).release() == 2
    assert seen == [[entered_as(task)]] * 2
    assert Releasing(task, store, ledger=ledger).release() == 0
    assert len(releases_of(store, task.id)) == 2


def test_a_search_that_fails_spends_nothing(store, ledger, monkeypatch):
    task = text_task().task
    keep(store, task, tally_of(task, PEOPLE))

    def fails(*args, **options):
        raise DataError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(FreeText, "estimate", fails)
        with pytest.raises(DataError, match="out of memory"):
            Releasing(task, store, ledger=ledger).release()
    assert not ledger.entries
    assert not releases_of(store, task.id)
    assert Releasing(task, store, ledger=ledger).release() == 1


def test_a_stopped_search_is_made_again_after_the_next_start(store, ledger):
    task, stopping, steps = text_task().task, threading.Event(), []
    keep(store, task, tally_of(task, PEOPLE))
    report = stopped_by(stopping)

    def progress(what, share):
        report(what, share)
        steps.append(share)
        stopping.set()

    with pytest.raises(StoppedError):
        Releasing(task, store, ledger=ledger).release(progress)
    assert len(steps) == 1
    assert not ledger.entries
    assert not releases_of(store, task.id)
    assert Releasing(task, store, ledger=ledger).release(stopped_by(threading.Event())) == 1
    assert len(ledger.entries) == 1


def test_nothing_is_searched_without_a_budget(store, tmp_path, monkeypatch):
    task = text_task().task
    keep(store, task, tally_of(task, PEOPLE))
    poor = Ledger.create(tmp_path / "poor.ledger", epsilon=0.5, delta=1e-6, population="people")
    monkeypatch.setattr(FreeText, "estimate", lambda *args, **options: pytest.fail("it searched"))
    with pytest.raises(BudgetError):
        Releasing(task, store, ledger=poor).release()
    assert not poor.entries


def test_a_release_depends_on_messages_only_through_their_counts():
    """Shuffled again, the same batch gives the same release: the order of messages says nothing."""
    task = text_task().task
    tally = tally_of(task, PEOPLE)
    again = task.protocol.tally(np.random.default_rng(5).permutation(np.repeat(tally.symbols, tally.counts)))
    one, other = (release_of(task, [each], refused={}).to_json() for each in (tally, again))
    assert one == other
