"""Every protocol of the catalogue keeps the contract of docs/explanation/architecture.md; a new entry is taken up here.

Statistical assertions fail on a correct protocol with a probability of at most 1e-6 each (tests/oracles/goodness.py),
under fixed seeds.
"""

import pickle
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.auditing import audit, shuffled_messages, tallied_messages
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.estimators.base import Truncating
from shuffledp.formatting import at_most
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.shuffle import run, shuffle
from shuffledp.histogram.tally import Tally
from shuffledp.protocols import CATALOGUE, MessageProtocol, Target
from shuffledp.protocols.central import Curator
from shuffledp.protocols.protocol import Decodes, decoded
from tests.oracles.goodness import FALSE_FAILURE_RATE, same_distribution_p_value

COUNTS = np.array([70, 40, 20, 0])
VALUES = np.repeat(np.arange(COUNTS.size), COUNTS)
TARGET = Target(users=int(COUNTS.sum()), bins=COUNTS.size, epsilon=1.0, delta=1e-3)
MANY = Target(users=200_000, bins=100, epsilon=1.0, delta=1e-6)
"""Published parameters need many people: these are made, but their messages are those of the calibrated ones."""

RUNS = 250
CALLS = 2500
"""The number of people with one call each."""

MOST_DEVIATIONS = 5.5
"""By how many standard deviations sums over people may differ: by luck once in 2 * 10^7 per coordinate."""

NOISY = Target(users=300, bins=4, epsilon=0.4, delta=1e-3)
"""So few people that each makes noise in every third bin or so."""

MADE = [name for name, entry in CATALOGUE.items() if not entry.published]
SENDING = [name for name in MADE if CATALOGUE[name].model != "central"]
SHUFFLED = [name for name in SENDING if CATALOGUE[name].model == "shuffled"]

every = pytest.mark.parametrize("name", CATALOGUE)
made = pytest.mark.parametrize("name", MADE)
sending = pytest.mark.parametrize("name", SENDING)
shuffled = pytest.mark.parametrize("name", SHUFFLED)


def protocol_of(name, **changes):
    usual = MANY if CATALOGUE[name].published else TARGET
    return calibrated(name, CATALOGUE[name].kind, replace(usual, **{"honest_users": None, **changes}))


@cache
def calibrated(name, kind, target):
    """Protocols do not change, so that tests share them: some take half a second to calibrate."""
    assert CATALOGUE[name].kind is kind
    return CATALOGUE[name].make(target)


def other_noise(name):
    """The same protocol with more noise, or with less where there are too few people for more, of the same alphabet."""
    size = len(protocol_of(name).sample_tally(COUNTS))
    for change in ({"epsilon": 0.3}, {"epsilon": 0.5}, {"honest_users": 80}, {"epsilon": 3.0}, {"epsilon": 0.9}):
        with suppress(TooFewUsersError):
            other = protocol_of(name, **change)
            if len(other.sample_tally(COUNTS)) == size:
                return other
    raise AssertionError("no other noise to compare with")


def columns(tally):
    """The counts of a tally, with one column for each kind of message."""
    return tally.counts.reshape(len(tally), -1).ravel()


def counted(protocol, messages):
    """The counts of messages in the form that has the same symbols for all of them."""
    return columns(decoded(protocol, protocol.tally(messages)))


def same_distribution(one, other):
    """Whether every coordinate of two samples of vectors follows the same distribution."""
    pairs = zip(np.array(one).T, np.array(other).T, strict=True)
    return min(same_distribution_p_value(first, second) for first, second in pairs) > FALSE_FAILURE_RATE / 10


# What it is -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@every
def test_it_is_what_the_catalogue_says(name):
    entry, protocol = CATALOGUE[name], protocol_of(name)
    assert entry.title
    assert protocol.estimator.name == entry.estimator
    assert (
        protocol.estimator.false_positives == entry.false_positives == (not isinstance(protocol.estimator, Truncating))
    )
    assert isinstance(protocol, MessageProtocol) == (entry.model != "central")
    assert isinstance(protocol, Curator) == (entry.model == "central")
    assert 1 <= protocol.messages_per_user.expected <= protocol.messages_per_user.maximum
    assert protocol.bits_per_message >= 1
    assert protocol.drawing_cost >= 0


@pytest.mark.slow
@made
def test_it_travels_to_other_processes(name):
    protocol = protocol_of(name)
    assert pickle.loads(pickle.dumps(protocol)) == protocol


@every
def test_bad_targets_are_refused(name):
    target = MANY if CATALOGUE[name].published else TARGET
    for field, value in (("users", 0), ("bins", 0), ("epsilon", 0), ("delta", 1), ("honest_users", target.users + 1)):
        with pytest.raises(ParameterError, match=field):
            protocol_of(name, **{field: value})
    with pytest.raises(TypeError, match="estimator"):
        CATALOGUE[name].kind.calibrate(users=100, bins=4, epsilon=1, delta=1e-3, estimator="best")


# Privacy ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@every
def test_the_curve_gives_the_guarantee(name):
    protocol, target = protocol_of(name), MANY if CATALOGUE[name].published else TARGET
    promised, curve = protocol.guarantee, protocol.privacy
    assert promised.epsilon == target.epsilon
    assert promised.delta in (0.0, target.delta)
    assert curve.delta(target.epsilon) <= target.delta
    assert curve.epsilon(target.delta) <= target.epsilon * (1 + 1e-9)
    assert "replaced" in curve.neighbours
    assert curve.exact in (False, True)
    deltas = [curve.delta(epsilon) for epsilon in (0.0, 0.5, 1.0, 2.0)]
    assert deltas == sorted(deltas, reverse=True)


@pytest.mark.slow
@shuffled
def test_only_honest_people_count(name):
    """Calibrated for half of the people it is private with half; calibrated for all it is not."""
    half = TARGET.users // 2
    careful = protocol_of(name, honest_users=half)
    assert careful.honest_users == half
    assert careful.privacy.delta(TARGET.epsilon) <= TARGET.delta
    careless = replace(protocol_of(name), honest_users=half)
    assert careless.privacy.delta(TARGET.epsilon) > TARGET.delta


@pytest.mark.parametrize("name", ["hist", "hist-unbiased", "dummy", "public-coin"])
def test_an_error_about_honest_people_names_them(name):
    with pytest.raises(TooFewUsersError, match="honest_users=20 is too few") as caught:
        protocol_of(name, honest_users=20)
    assert caught.value.minimum_users > 20


# The pipeline -----------------------------------------------------------------------------------------------------


@sending
@pytest.mark.slow
def test_sampled_tallies_and_messages_follow_one_distribution(name):
    """And the tally of another noise is detected."""
    protocol, rng = protocol_of(name), np.random.default_rng(70)
    vectorised = [counted(protocol, shuffle(protocol.randomize(VALUES, rng=rng), rng=rng)) for _ in range(RUNS)]
    drawn = [columns(protocol.sample_tally(COUNTS, rng=rng)) for _ in range(RUNS)]
    assert same_distribution(vectorised, drawn)
    other = other_noise(name)
    assert not same_distribution(drawn, [columns(other.sample_tally(COUNTS, rng=rng)) for _ in range(RUNS)])


def deviations(protocol, alone, value, rng):
    """How far the mean counts of people who call one by one are from those of people in one call, at most.

    In standard deviations, of which the larger one of what is seen and of coins with that mean counts.
    """
    single = np.array([counted(protocol, alone.randomize(value, rng=rng)) for _ in range(CALLS)], dtype=float)
    many = counted(protocol, protocol.randomize(np.full(4 * CALLS, value), rng=rng)) / (4 * CALLS)
    variance = np.maximum(single.var(axis=0), many * (1 - np.minimum(many, 1)) + 1e-9)
    return float((np.abs(single.mean(axis=0) - many) / np.sqrt(variance * (1 + 1 / 4) / CALLS)).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SENDING if name not in ("amplified", "sparse-best")])
def test_one_person_at_a_time_has_the_distribution_of_many(name):
    """As deployed. Noise that differs by 30 % is detected (tests/protocols/test_injected_faults.py)."""
    protocol = calibrated(name, CATALOGUE[name].kind, NOISY)
    assert deviations(protocol, protocol, 3, np.random.default_rng(79)) < MOST_DEVIATIONS


@pytest.mark.slow
@sending
def test_the_number_of_messages_does_not_depend_on_the_value(name):
    protocol, rng = protocol_of(name), np.random.default_rng(71)
    sizes = [np.array([len(protocol.randomize(value, rng=rng)) for _ in range(400)]) for value in (0, 3)]
    assert same_distribution_p_value(*sizes) > FALSE_FAILURE_RATE
    assert sizes[0].max() <= protocol.messages_per_user.maximum
    spread = max(float(np.std(sizes)), 1e-9)
    assert abs(np.mean(sizes) - protocol.messages_per_user.expected) <= 6 * spread / np.sqrt(800)


@sending
def test_integers_of_every_width_mean_the_same(name):
    """Also the largest value that fits, in domains that need wider integers than it has."""
    for bins in (COUNTS.size, 300):
        protocol = protocol_of(name, bins=bins)
        for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
            values = np.full(20, min(np.iinfo(kind).max, bins - 1), dtype=kind)
            sent, wide = (
                protocol.randomize(v, rng=np.random.default_rng(72)) for v in (values, values.astype(np.int64))
            )
            assert sent.tobytes() == wide.tobytes()
            assert len(protocol.randomize(np.empty(0, dtype=kind))) == 0
        assert len(protocol.randomize([])) == 0
    estimate = run(protocol_of(name), VALUES.astype(np.uint8), rng=np.random.default_rng(72))
    assert estimate.people == TARGET.users
    assert estimate[0] == pytest.approx(70, abs=protocol_of(name).error(1e-6).simultaneous)


@pytest.mark.slow
@sending
def test_foreign_values_and_messages_are_refused_without_showing_them(name):
    protocol = protocol_of(name)
    for values in ([4], [-1], [0.5], ["secret"], [[0, 1]]):
        with pytest.raises(DataError) as caught:
            protocol.randomize(values)
        assert "secret" not in str(caught.value)
    with pytest.raises(DataError):
        protocol.tally(np.array([-1]))
    with pytest.raises(DataError, match="needs a tally"):
        protocol.estimate({0: 3})


@pytest.mark.slow
@made
def test_a_tally_of_another_kind_is_refused(name):
    protocol = protocol_of(name)
    columns = 3 - protocol.kinds  # one instead of two, two instead of one
    counts = np.ones((COUNTS.size, columns), dtype=np.int64)
    other = Tally(np.arange(COUNTS.size), counts if columns > 1 else counts[:, 0])
    with pytest.raises(DataError, match="kinds of messages"):
        protocol.estimate(other)
    with pytest.raises(DataError):
        protocol.sample_tally(Tally(np.arange(COUNTS.size), np.ones((COUNTS.size, 2), dtype=np.int64)))
    if protocol.estimator.false_positives:
        with pytest.raises(ParameterError, match="part must be False"):
            protocol.sample_tally(COUNTS, part=True)
        with pytest.raises(DataError):
            protocol.estimate(Tally(np.array([COUNTS.size + 5]), np.array([3])))


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.published])
def test_published_parameters_need_honest_users_only(name):
    with pytest.raises(ParameterError, match="leave out honest_users"):
        CATALOGUE[name].kind.published_for(replace(MANY, honest_users=MANY.users - 1))


@sending
def test_parts_of_the_messages_add_up(name):
    protocol = protocol_of(name)
    messages = protocol.randomize(VALUES, rng=np.random.default_rng(73))
    whole, halves = protocol.tally(messages), [protocol.tally(part) for part in np.array_split(messages, 2)]
    assert halves[0] + halves[1] == whole
    assert (halves[0] + halves[1]).messages == whole.messages == len(messages)


@pytest.mark.slow
@sending
def test_missing_reports_are_noticed_or_declared(name):
    """Half of many people: the tally is refused, unless the number who reported is given."""
    users = 40 * VALUES.size
    protocol = protocol_of(name, users=users)
    tally = protocol.tally(protocol.randomize(VALUES.repeat(20), rng=np.random.default_rng(74)))
    with pytest.raises(DataError, match="reports="):
        protocol.estimate(tally)
    estimate = protocol.estimate(tally, reports=users // 2)
    assert estimate.people == users // 2
    if CATALOGUE[name].model == "shuffled":
        assert estimate.guarantee.epsilon > TARGET.epsilon
        assert "fewer people reported" in estimate.guarantee.basis


# Estimates --------------------------------------------------------------------------------------------------------


def estimates(name, seed, runs=RUNS):
    """Many estimates of the same people, and the largest error of each."""
    protocol, rng = protocol_of(name), np.random.default_rng(seed)
    for _ in range(runs):
        tossed = protocol.fresh(rng)
        estimate = tossed.estimate(tossed.sample_tally(COUNTS, rng=rng))
        assert isinstance(estimate, Estimate)
        found = np.zeros(COUNTS.size)
        found[estimate.symbols] = estimate.counts
        yield estimate, found


def bounds(estimate, which):
    intervals = getattr(estimate, which)
    low, high = np.zeros(COUNTS.size), np.full(COUNTS.size, intervals.unreported_high)
    low[estimate.symbols], high[estimate.symbols] = intervals.low, intervals.high
    return (low <= COUNTS) & (high >= COUNTS)


@made
@pytest.mark.slow
def test_estimates_intervals_and_errors_are_what_they_claim(name):
    """Unbiased or nothing empty reported, covered, and within the bounds on errors."""
    bound, runs = protocol_of(name).error(0.05), list(estimates(name, seed=75))
    found, least = np.array([row for _, row in runs]), binom.ppf(FALSE_FAILURE_RATE, RUNS, 0.95)
    errors = np.abs(found - COUNTS)
    assert sum(bounds(estimate, "simultaneous").all() for estimate, _ in runs) >= least
    assert (sum(bounds(estimate, "per_bin") for estimate, _ in runs) >= least).all()
    assert ((errors <= bound.per_bin + 1e-9).sum(axis=0) >= least).all()
    assert (errors.max(axis=1) <= bound.simultaneous + 1e-9).sum() >= least
    assert bound.per_bin <= bound.simultaneous
    if CATALOGUE[name].estimator == "unbiased":
        assert (np.abs(found.mean(axis=0) - COUNTS) <= 6 * np.maximum(found.std(axis=0), 1e-9) / np.sqrt(RUNS)).all()
    if CATALOGUE[name].estimator == "truncated":
        assert not found[:, COUNTS == 0].any()
        assert all(set(estimate.symbols) <= set(np.flatnonzero(COUNTS)) for estimate, _ in runs)
    else:
        assert all(len(estimate) == COUNTS.size for estimate, _ in runs)
        assert all(estimate.simultaneous.unreported_high == 0 for estimate, _ in runs)


@made
def test_the_statistic_is_all_that_an_estimate_needs(name):
    protocol = protocol_of(name)
    tally = protocol.sample_tally(COUNTS, rng=np.random.default_rng(77))
    statistic = protocol.estimator.statistic(tally)
    again = protocol.estimator.statistic(statistic)
    assert again.symbols.tolist() == statistic.symbols.tolist()
    assert again.counts.tolist() == statistic.counts.tolist()
    estimate = protocol.estimate(tally)
    assert estimate.counts.tolist() == protocol.estimator.point(statistic).tolist()
    assert f"{at_most(protocol.error(0.05).simultaneous)} people" in protocol.describe()
    assert "differential" in estimate.explain()


@pytest.mark.slow
@made
def test_unseeded_draws_differ(name):
    protocol = protocol_of(name)
    drawn = {tuple(columns(protocol.sample_tally(COUNTS))) for _ in range(5)}
    assert len(drawn) > 1


# Audits -----------------------------------------------------------------------------------------------------------


FEW = Target(users=20, bins=3, epsilon=1.0, delta=0.05)
ALONE = Target(users=1, bins=3, epsilon=1.0, delta=0.05)
"""In the local model a message protects by itself."""


@sending
@pytest.mark.slow
def test_an_audit_accuses_it_only_without_its_noise(name):
    """With almost no noise the guarantee of epsilon 1 is refuted; both with a confidence of 1 - 1e-6."""
    entry, rng = CATALOGUE[name], np.random.default_rng(78)
    target = ALONE if entry.model == "local" else FEW
    dataset = np.arange(target.users) % 2
    neighbour = np.append(dataset[:-1], 2)

    def found(target):
        protocol = entry.make(target)
        compared = protocol.numbered_messages and not isinstance(protocol, Decodes)
        watch = shuffled_messages if compared else tallied_messages
        settings = {"trials": 1000, "delta": FEW.delta, "confidence": 1 - FALSE_FAILURE_RATE}
        return audit(watch(protocol), dataset, neighbour, **settings, rng=rng)

    assert not found(target).accuses(target.epsilon)
    assert found(replace(target, epsilon=20.0, delta=0.9)).accuses(target.epsilon)
