"""Releases from tallies: contents, distribution, and one ledger entry before the first release."""

import numpy as np
import pytest

from shuffledp import BudgetError, Ledger
from shuffledp.collect.analyzer import releases as releasing
from shuffledp.collect.analyzer.releases import Releasing, entered_as, release_of
from shuffledp.collect.analyzer.worker import BatchCounter
from shuffledp.collect.reasons import Reason
from shuffledp.collect.store import open_tally_store
from shuffledp.collect.store.tallies import from_bytes, to_bytes
from shuffledp.errors import DataError
from shuffledp.release.release import Release
from tests.collect.analyzer.batches import batch_of, sealed, sent_by, symbols_of, tiny_task
from tests.collect.releases import releases_of
from tests.collect.tasks import THEMES, small_task
from tests.oracles.goodness import assert_distribution, assert_not_distribution


@pytest.fixture
def store(tmp_path):
    with open_tally_store(tmp_path / "analyzer.db") as opened:
        yield opened


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "people.ledger", epsilon=3.0, delta=1e-5, population="people of 2026")


def tally_of(task, answers=None, *, forged=()):
    answers = ["dark"] * (task.users - 40) + ["light"] * 30 + [None] * 10 if answers is None else answers
    return task.protocol.tally(np.array([*symbols_of(task, answers), *forged]))


def keep(store, task, *tallies, refused=(), problem=None):
    """Store tallies under new ids."""
    store.prepare(task)
    for tally in tallies:
        batch_id = bytes([len(store.tallies(task.id)) + 1] * 16)
        assert store.keep_tally(task.id, batch_id, to_bytes(tally), task.users, dict(refused), problem)


# Content of releases ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "batches"), [("sparse", 1), ("sparse", 3), ("hist", 3), ("hist-unbiased", 1), ("dummy-poisson", 3)]
)
def test_a_collected_release_has_the_usual_interface(tmp_path, protocol, batches):
    task = small_task(protocol=protocol).task
    release = release_of(task, [tally_of(task) for _ in range(batches)], refused={}, beta=1e-9)  # false failures
    assert release.privacy.guarantee == task.guarantee
    assert release.estimate.people == batches * 200
    assert release.column == task.question
    assert set(release.estimate) <= {*THEMES, "(other)", "(none)"}
    assert release.estimate.interval("dark")[0] <= batches * 160 <= release.estimate.interval("dark")[1]
    again = Release.from_json(release.to_json())
    assert again.to_json() == release.to_json()
    assert again.explain() == release.explain()
    assert again.privacy.delta(1.0) == task.protocol.privacy.delta(1.0)
    for ending in (".html", ".csv", ".json", ".parquet") if batches > 1 else ():
        assert release.save(tmp_path / f"release{ending}").stat().st_size > 100


def test_a_release_says_that_nobody_held_the_data():
    kept = small_task(shufflers=2, honest_users=160)
    release = release_of(kept.task, [tally_of(kept.task)], refused={})
    for text in (release.explain(), release.to_html(), Release.from_json(release.to_json()).explain()):
        assert "nobody held the data" in text
        assert "seen every value" not in text
        assert kept.task.name in text
    notes = " ".join(release.notes)
    assert "unless all three servers cheat together" in notes
    assert "1 batch of 200 people." in notes
    assert "at least 160 of the 200 people" in release.explain()
    one = " ".join(release_of(small_task().task, [tally_of(small_task().task)], refused={}).notes)
    assert "unless the shuffler and the analyzer cheat together" in one
    assert "No message was refused." in one


def test_joined_batches_are_stated():
    task = small_task(honest_users=160).task
    release = release_of(task, [tally_of(task) for _ in range(4)], refused={})
    assert "The release counts 800 people in 4 batches of 200 people each." in " ".join(release.notes)
    assert "the guarantee of one batch" in " ".join(release.notes)
    assert "at least 160 of the 200 people of every batch follow the protocol" in release.explain()


@pytest.mark.parametrize(
    ("protocol", "explained"), [("dummy-poisson", True), ("hist-unbiased", True), ("sparse", False)]
)
def test_negative_numbers_are_explained_where_possible(protocol, explained):
    """The batch has no person with three of the five answers."""
    task = small_task(protocol=protocol).task
    everybody = [task.protocol.randomize(task.bin_of("dark")) for _ in range(task.users)]
    release = release_of(task, [task.protocol.tally(np.concatenate(everybody))] * 3, refused={})
    assert ("Read a negative number as 0." in release.explain()) == explained
    if not explained:
        assert all(row.count >= 0 and row.low >= 0 for row in release.estimate.top(5))


@pytest.mark.parametrize(("batches", "several"), [(1, 2), (3, 6)])
def test_the_effect_of_forged_reports_is_bounded(batches, several):
    task = small_task().task
    release = release_of(task, [tally_of(task)] * batches, refused={})
    most = task.most_messages
    assert (
        f"A forged report could have moved a shown count by at most {most} people, and {several} forged reports (1%) "
        f"by at most {several * most} people."
    ) in " ".join(release.notes)
    assert f"A report holds at most {most} messages. A client that draws more draws again." in " ".join(release.notes)
    padded = small_task(protocol="hist").task
    assert (
        f"Every report holds {padded.most_messages} messages. Some are padding and count for nothing, so its length "
        "reveals nothing. No client makes more."
    ) in " ".join(release_of(padded, [tally_of(padded)], refused={}).notes)
    assert f"by at most {2 * padded.most_messages} people. It could also have made a rare value appear" in (
        " ".join(release_of(padded, [tally_of(padded)], refused={}).notes)
    )


@pytest.mark.slow
def test_refused_messages_and_forgery_are_warned_about():
    task = small_task().task
    refused = {Reason.CANNOT_BE_OPENED.value: 1, Reason.REPEATED.value: 12}
    release = release_of(task, [tally_of(task)], refused=refused)
    assert "Refused: 1 message could not be decrypted; 12 messages had arrived before." in " ".join(release.notes)
    assert any("13 messages were refused" in text for text in release.warnings)
    forged = release_of(task, [tally_of(task), tally_of(task, forged=[0] * 4000)], refused={})
    (warned,) = [text for text in forged.warnings if "some reports are forged" in text]
    assert warned.endswith("The privacy guarantee needs people of a batch who follow the protocol: all 200")
    assert "who must follow the protocol: all 200." in " ".join(forged.notes)
    assert forged.privacy.guarantee == task.guarantee
    assert Release.from_json(forged.to_json()).to_json() == forged.to_json()
    honest = release_of(task, [tally_of(task)], refused={})
    assert not any("forged" in text or "refused" in text for text in honest.warnings)
    few = small_task(protocol="hist", honest_users=150).task
    short = release_of(few, [tally_of(few, ["dark"] * 155)], refused={})
    assert any("enough for the 150 honest people" in text for text in short.warnings)


def test_missing_noise_is_never_released():
    task = small_task().task
    with pytest.raises(DataError, match="noise is missing"):
        release_of(task, [tally_of(task, ["dark"] * 20)], refused={})


@pytest.mark.parametrize("admission", ["anybody", "secret", "tokens"])
def test_a_release_states_who_could_send_reports(admission):
    task = small_task(admission=admission).task
    release = release_of(task, [tally_of(task)], refused={})
    sentences = {"anybody": "any number of reports", "secret": "shared secret", "tokens": "each token was valid once"}
    assert sentences[admission] in " ".join(release.notes)
    assert sentences[admission] in release.explain()


# The distribution -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_releases_from_sealed_messages_follow_the_distribution_of_sample_tally():
    """Single releases and releases of three joined batches; false failure rate 1e-6 each.

    Negative controls: the distribution for another number of batches, and batches that lack three people.
    """
    kept, rng = tiny_task(), np.random.default_rng(5)
    task, count = kept.task, BatchCounter(kept.task, kept.keys[-1]).count
    answers = ["yes"] * 14 + ["no"] * 4 + [None] * 2
    truth = np.array([14, 4, 2])

    def counted(people):
        return count([b"".join(sealed(kept, sent_by(task, people, rng=rng)))]).tally

    def noise(tallies):
        """The number of noise messages of every value, where everybody sends one message."""
        return np.concatenate([truth * n + task.users * n - sum(t.counts for t in ts) for n, ts in tallies])

    tallies = [counted(answers) for _ in range(72)]
    single = task.protocol.noise.window
    assert_distribution(noise([(1, [tally]) for tally in tallies]), single.first, single.pmf)
    joined = task.protocol.joined(3).noise.window
    threes = noise([(3, tallies[at : at + 3]) for at in range(0, 72, 3)])
    assert_distribution(threes, joined.first, joined.pmf)
    assert_not_distribution(threes, single.first, single.pmf)
    incomplete = [counted(answers[:-3]) for _ in range(24)]
    assert_not_distribution(noise([(1, [tally]) for tally in incomplete]), single.first, single.pmf)
    estimate = release_of(task, tallies[:1], refused={}).estimate
    drawn = task.protocol.estimate(tallies[0], reports=task.users, domain=task.labels)
    assert estimate.counts.tolist() == drawn.counts.tolist()
    assert estimate.simultaneous.high.tolist() == drawn.simultaneous.high.tolist()


# Visibility -------------------------------------------------------------------------------------------------------


def test_every_batch_is_released_once(store, ledger):
    task = small_task().task
    keep(store, task, tally_of(task), tally_of(task))
    keep(store, task, tally_of(task, ["dark"] * 20), problem=Reason.TOO_FEW_MESSAGES.value)
    work = Releasing(task, store, ledger=ledger)
    assert work.release() == 2
    assert work.release() == 0
    assert Releasing(task, store, ledger=ledger).release() == 0
    assert [kept.number for kept in releases_of(store, task.id)] == [1, 2]
    assert [store.release(task.id, number) for number in (1, 2, None)] == [
        *releases_of(store, task.id),
        releases_of(store, task.id)[1],
    ]
    assert store.release(task.id, 3) is None
    keep(store, task, tally_of(task))
    assert work.release() == 1
    (entry,) = ledger.entries
    assert entry.what == entered_as(task)
    assert task.name in entry.what
    assert entry.published
    assert entry.curve == task.protocol.privacy
    assert (entry.people, entry.epsilon, entry.delta) == (200, 1.0, 1e-6)


def test_joined_releases_count_all_batches_so_far(store, ledger):
    task = small_task().task
    work = Releasing(task, store, ledger=ledger, joined=True)
    tallies = [tally_of(task) for _ in range(3)]
    keep(store, task, *tallies[:2])
    assert work.release() == 1
    keep(store, task, tallies[2])
    assert work.release() == 1
    assert work.release() == 0
    first, second = (Release.from_json(kept.release.decode()) for kept in releases_of(store, task.id))
    assert (first.estimate.people, second.estimate.people) == (400, 600)
    assert second.messages == sum(tally.messages for tally in tallies)
    expected = task.protocol.joined(3).estimate(sum(tallies[1:], tallies[0]), reports=600, domain=task.labels)
    assert {each: second.estimate[each] for each in second.estimate} == {each: expected[each] for each in expected}
    assert second.privacy.guarantee == task.guarantee
    assert len(ledger.entries) == 1


class Killed(BaseException):
    """Stands for a kill of the process."""


class Broken:
    """A store that fails when a release is stored."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    def keep_release(self, *_, **__):
        raise Killed


def test_the_ledger_entry_comes_first_and_once_despite_kills(store, ledger):
    task = small_task().task
    keep(store, task, tally_of(task))
    for _ in range(2):
        with pytest.raises(Killed):
            Releasing(task, Broken(store), ledger=ledger).release()
        assert releases_of(store, task.id) == []
        assert [entry.published for entry in ledger.entries] == [False]
    assert Releasing(task, store, ledger=ledger).release() == 1
    assert [entry.published for entry in ledger.entries] == [True]


def test_the_ledger_entry_precedes_the_visible_release(store, ledger, monkeypatch):
    task, seen = small_task().task, []
    keep(store, task, tally_of(task))
    kept = store.keep_release
    monkeypatch.setattr(store, "keep_release", lambda *a, **k: (seen.append(len(ledger.entries)), kept(*a, **k))[1])
    Releasing(task, store, ledger=ledger).release()
    assert seen == [1]


def test_nothing_is_spent_if_a_release_fails(store, ledger, monkeypatch):
    task = small_task().task
    keep(store, task, tally_of(task))

    def fails(*_, **__):
        raise DataError("no release")

    with monkeypatch.context() as patch:
        patch.setattr(releasing, "release_of", fails)
        with pytest.raises(DataError, match="no release"):
            Releasing(task, store, ledger=ledger).release()
    with monkeypatch.context() as patch:
        patch.setattr(Release, "to_json", fails)
        with pytest.raises(DataError, match="no release"):
            Releasing(task, store, ledger=ledger).release()
    assert ledger.entries == ()
    assert releases_of(store, task.id) == []


def test_over_the_limit_nothing_is_published(store, tmp_path):
    task = small_task().task
    ledger = Ledger.create(tmp_path / "small.ledger", epsilon=0.5, delta=1e-6, population="people")
    keep(store, task, tally_of(task))
    with pytest.raises(BudgetError, match="exceeds the limit"):
        Releasing(task, store, ledger=ledger).release()
    assert releases_of(store, task.id) == []
    assert ledger.entries == ()


def test_two_tasks_have_separate_ledger_entries(store, ledger):
    one, other = small_task().task, small_task(answers=("a", "b")).task
    for task, answers in ((one, None), (other, ["a"] * 200)):
        keep_under = bytes([len(ledger.entries) + 70] * 16)
        store.prepare(task)
        store.keep_tally(task.id, keep_under, to_bytes(tally_of(task, answers)), task.users, {})
        Releasing(task, store, ledger=ledger).release()
    assert len(ledger.entries) == 2


def test_a_failure_to_mark_the_ledger_stops_nothing(store, ledger, monkeypatch):
    task = small_task().task
    keep(store, task, tally_of(task))

    def fails(self, number):
        raise DataError("in use")

    monkeypatch.setattr(Ledger, "finish", fails)
    assert Releasing(task, store, ledger=ledger).release() == 1
    assert len(releases_of(store, task.id)) == 1


def test_releases_without_a_ledger(store):
    task = small_task().task
    keep(store, task, tally_of(task))
    assert Releasing(task, store).release() == 1
    assert b"ledger" not in releases_of(store, task.id)[0].release


def test_the_stored_release_equals_the_count(store):
    kept = tiny_task()
    found = BatchCounter(kept.task, kept.keys[-1]).count([b"".join(batch_of(kept)[1])]).tally
    keep(store, kept.task, found)
    assert from_bytes(store.tallies(kept.task.id)[0].tally) == found
