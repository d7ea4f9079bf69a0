"""People who drop out: the guarantee is never better than with the worst of them missing, declared or not."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import BinarySum, DummyHistogram, Histogram, SparseHistogram, run
from shuffledp.errors import DataError, TooFewUsersError
from shuffledp.protocols import CATALOGUE, Target
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.shuffled.blanket import BlanketSum
from shuffledp.release.private_histogram import private_histogram

SHUFFLED = [name for name, entry in CATALOGUE.items() if entry.model == "shuffled" and not entry.published]
QUICK = [name for name in SHUFFLED if name not in ("shuffled-hashing", "amplified", "sparse-best")]
"""The others are of the same classes, and take longer to calibrate."""

TARGET = Target(users=300, bins=4, epsilon=1.0, delta=1e-3, honest_users=240)
"""Up to 60 people may do as they like."""


def worst_epsilon(protocol, *, reports):
    """The epsilon that holds for any missing people: all of them would have followed the protocol."""
    honest = max(1, protocol.honest - (protocol.users - reports))
    return replace(protocol, honest_users=honest).privacy.epsilon(protocol.guarantee.delta)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_the_guarantee_is_that_of_the_worst_choice_of_who_is_missing(name):
    protocol = CATALOGUE[name].make(TARGET)
    for reports in (299, 240, 239, 200, 90, 60, 1):
        ran = protocol.for_reports(reports)
        worst = worst_epsilon(protocol, reports=reports)
        assert ran.guarantee.epsilon >= min(worst, 500) * (1 - 2e-5)
        assert ran.privacy.epsilon(TARGET.delta) == pytest.approx(worst, rel=2e-5)  # a grid moves it by 1e-5
    assert protocol.for_reports(300).guarantee == protocol.guarantee
    assert protocol.for_reports(240).guarantee.epsilon > 1


@pytest.mark.parametrize(
    ("kind", "low", "high"), [(Histogram, 1.22, 1.23), (DummyHistogram, 1.22, 1.23), (SparseHistogram, np.inf, np.inf)]
)
def test_fewer_reports_than_honest_people(kind, low, high):
    """A review found 1.008, 1.008 and 1.011 here: of 800 honest people 210 may be missing."""
    protocol = kind.calibrate(users=1000, bins=10, epsilon=1, delta=1e-6, honest_users=800)
    assert low <= protocol.for_reports(790).guarantee.epsilon <= high
    assert protocol.for_reports(790).honest_users == 590
    assert protocol.for_reports(150).honest_users == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hist", "dummy", "dummy-poisson", "blanket"])
def test_every_missing_person_may_be_honest(name):
    """A review found 1.000 at 800 of 1,000 people with 800 honest ones, and 1.217 at 799."""
    protocol = CATALOGUE[name].make(Target(users=1000, bins=10, epsilon=1.0, delta=1e-6, honest_users=800))
    reports = [1000, 999, 900, 801, 800, 799, 700]
    ran = [protocol.for_reports(number) for number in reports]
    assert [each.honest for each in ran] == [800, 799, 700, 601, 600, 599, 500]
    epsilons = [each.guarantee.epsilon for each in ran]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] == 1 < 1.1 < epsilons[4]
    assert epsilons[5] - epsilons[3] < 0.01
    for each in ran:
        assert each.privacy.delta(each.guarantee.epsilon) <= 1e-6 * (1 + 1e-6)


# Not declared -----------------------------------------------------------------------------------------------------


def sent(protocol, people, rng):
    values = rng.integers(0, max(protocol.bins, 2), people)
    return protocol.tally(protocol.randomize(values, rng=rng))


CASES = [(name, 200, 2) for name in QUICK] + [(name, 1000, 10) for name in ("hist", "dummy", "dummy-poisson", "sparse")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "users", "bins"), [*CASES, ("hist", 4000, 200), ("sparse", 4000, 200)])
def test_missing_people_never_pass_for_the_whole_guarantee(name, users, bins):
    """However many are missing, the tally is refused, or the true epsilon is at most 1 % above the printed one.

    Fails on a correct protocol with probability 1e-9 for each number of people.
    """
    rng = np.random.default_rng(81)
    with suppress(TooFewUsersError):
        protocol = CATALOGUE[name].make(Target(users=users, bins=bins, epsilon=1.0, delta=1e-6))
        for share in (1.0, 0.995, 0.98, 0.9, 0.64, 0.18):
            people = int(share * users)
            tally = sent(protocol, people, rng)
            printed = None
            with suppress(DataError):
                printed = protocol.estimate(tally).guarantee
            if printed:
                assert printed == protocol.guarantee
                assert protocol.for_reports(people).privacy.delta(1.01 * printed.epsilon) <= printed.delta
            else:
                assert protocol.estimate(tally, reports=people).guarantee.epsilon >= 1


@pytest.mark.parametrize(("users", "bins", "missing"), [(200, 2, 164), (1000, 10, 360)])
def test_a_sparse_histogram_does_not_hide_missing_people(users, bins, missing):
    """As many as a review found to pass; told how many reported, it says that nothing is guaranteed."""
    protocol, rng = SparseHistogram.calibrate(users=users, bins=bins, epsilon=1, delta=1e-6), np.random.default_rng(82)
    tally = sent(protocol, users - missing, rng)
    with pytest.raises(DataError, match="reports="):
        protocol.estimate(tally)
    assert protocol.estimate(tally, reports=users - missing).guarantee.epsilon == np.inf


def test_a_sum_of_bits_does_not_know_who_is_missing():
    """Zeros look like nobody: 1,000 messages are 500 ones or 1,000 zeros."""
    protocol = BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6)
    for bits in (np.zeros(1000, dtype=int), np.ones(600, dtype=int), np.ones(1000, dtype=int)):
        with pytest.raises(DataError, match=r"could come from only \d+ of 1000 people.*reports="):
            protocol.estimate(protocol.tally(protocol.randomize(bits)))
        assert protocol.estimate(protocol.tally(protocol.randomize(bits)), reports=bits.size).people == bits.size
    spare = BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6, honest_users=400)
    tally = spare.tally(spare.randomize(np.ones(900, dtype=int)))
    with pytest.raises(DataError, match="could come from only"):  # those who are missing may be honest
        spare.estimate(tally)
    assert spare.estimate(tally, reports=900).guarantee.epsilon > 1
    drawn = protocol.estimate(protocol.sample_tally(300))
    assert drawn.guarantee == protocol.guarantee


def test_one_message_each_gives_the_number_of_people():
    protocol = BlanketSum.calibrate(users=1000, epsilon=1, delta=1e-6)
    with pytest.raises(DataError, match="do not fit 1000 people"):
        protocol.estimate(protocol.tally(protocol.randomize(np.zeros(999, dtype=int))))
    assert protocol.estimate(protocol.tally(protocol.randomize(np.zeros(1000, dtype=int)))).guarantee.epsilon == 1


@pytest.mark.slow
def test_runs_and_releases_know_how_many_there_are():
    """Where the messages alone could not tell."""
    values = [0] * 120 + [1] * 80
    for name in ("hist", "dummy", "sparse"):
        protocol = CATALOGUE[name].make(Target(users=200, bins=2, epsilon=1.0, delta=1e-6))
        assert run(protocol, values).guarantee == protocol.guarantee
        release = private_histogram(values, epsilon=1, delta=1e-6, domain=[0, 1], protocol=name, messages=True)
        assert release.estimate.guarantee.epsilon == 1


def test_a_tally_without_a_number_of_messages_needs_reports():
    class Silent(DummyHistogram):
        def participation_cumulant(self, tilts):
            return super(DummyHistogram, self).participation_cumulant(tilts)

    protocol = Silent.calibrate(users=5000, bins=4, epsilon=1, delta=1e-6)
    tally = protocol.tally(protocol.randomize(np.zeros(5000, dtype=int)))
    with pytest.raises(DataError, match="could come from only 1 of 5000 people"):
        protocol.estimate(tally)
    assert protocol.estimate(tally, reports=5000).guarantee == protocol.guarantee


# Changed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "change"),
    [
        (Histogram.calibrate(users=1000, bins=3, epsilon=1, delta=1e-6), {"users": 400, "honest_users": None}),
        (Histogram.calibrate(users=1000, bins=3, epsilon=1, delta=1e-6), {"missing_probability": 2.0**-6}),
        (SparseHistogram.calibrate(users=1000, bins=3, epsilon=1, delta=1e-6), {"honest_users": 900}),
        (BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6), {"users": 400, "honest_users": None}),
        (
            LaplaceHistogram.published(users=1000, bins=3, epsilon=1, delta=1e-6),
            {"noise": LaplaceHistogram.published(users=1000, bins=3, epsilon=2, delta=1e-6).noise},
        ),
        (StabilityHistogram.calibrate(users=1000, bins=3, epsilon=1, delta=1e-6), {"threshold": 9}),
    ],
)
def test_a_changed_protocol_does_not_keep_a_guarantee_that_it_has_lost(protocol, change):
    other = replace(protocol, **change)
    truth = other.privacy.epsilon(1e-6)
    counts = other.users if isinstance(other, BinarySum) else {0: other.users}
    if isinstance(other, LaplaceHistogram):
        counts = [other.users, 0, 0]
    estimate = other.estimate(other.sample_tally(counts))
    assert estimate.guarantee.epsilon == pytest.approx(truth)
    assert estimate.guarantee.epsilon > 1
    assert "parameters were changed" in estimate.guarantee.basis
    assert "parameters were changed" in estimate.explain()
    if not isinstance(other, LaplaceHistogram | StabilityHistogram):
        assert "parameters were changed" in other.describe()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "sparse-best"])
def test_what_was_not_changed_keeps_its_guarantee(name):
    entry = CATALOGUE[name]
    users = 200_000 if entry.published else 300
    protocol = entry.make(Target(users=users, bins=4, epsilon=1.0, delta=1e-3))
    assert protocol._as_kept is protocol
    assert protocol.for_reports(users)._as_kept is protocol
    pure = LaplaceHistogram.published(users=1000, bins=3, epsilon=1, delta=1e-6)
    assert pure._as_kept is pure


@pytest.mark.parametrize("name", QUICK)
def test_a_tally_that_does_not_say_how_many_messages_it_counts_needs_the_number_of_reports(name):
    """Made by hand, added to one that was, or a part of one: none of them shows that enough people reported."""
    protocol = CATALOGUE[name].make(TARGET)
    whole = sent(protocol, 150, np.random.default_rng(5))
    made = replace(whole, messages=None)
    for tally in (made, made + whole, replace(whole, complete=False), replace(made, complete=False)):
        with pytest.raises(DataError, match="reports="):
            protocol.estimate(tally)
    drawn = protocol.sample_tally([300, 0, 0, 0], rng=np.random.default_rng(6))
    assert drawn.drawn
    assert protocol.estimate(drawn).guarantee == protocol.guarantee


def test_a_sum_that_does_not_say_how_many_messages_it_counts_needs_the_number_of_reports():
    protocol = BinarySum.calibrate(users=300, epsilon=1, delta=1e-3)
    made = replace(protocol.tally(protocol.randomize(np.ones(150, dtype=int))), messages=None)
    with pytest.raises(DataError, match="reports="):
        protocol.estimate(made)
    assert protocol.estimate(protocol.sample_tally(10)).guarantee == protocol.guarantee
