"""HashedHistogram: what people send, the exact distribution of counts, coverage, and the noise that is counted.

Statistical assertions fail on correct code with a probability of at most 1e-6 each, under fixed seeds.
"""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, poisson

from shuffledp.accounting.support_curves import HashedCurve
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.hash_family import EXPANDED_SEEDS, HashFamily
from shuffledp.histogram.tally import Tally
from shuffledp.noise.compound_poisson import poisson as poisson_dummies
from shuffledp.protocols import HashedHistogram, Target
from tests.oracles.goodness import FALSE_FAILURE_RATE, assert_distribution, assert_not_distribution, p_value

RUNS = 400
LEAST = int(binom.ppf(FALSE_FAILURE_RATE, RUNS, 0.95))
"""The fewest successes of 400 runs that each succeed with probability 0.95."""


def small(**changes):
    fields = {
        "users": 10,
        "bins": 8,
        "family": HashFamily.of(modulus=3, values=8),
        "dummies": poisson_dummies(12.0),
        **changes,
    }
    return HashedHistogram(**fields)


# What one person sends ----------------------------------------------------------------------------------------------


def messages_of_one_person(protocol, held, runs, rng):
    """The numbers of messages of every kind, as one row for each of many people."""
    rows = np.zeros((runs, protocol.alphabet), dtype=np.int64)
    for row in rows:
        np.add.at(row, protocol.randomize(held, rng=rng), 1)
    return rows


def buckets_of(protocol, value):
    seeds = np.arange(protocol.family.seeds)
    return protocol.family.buckets(seeds, np.full(seeds.size, value))


@pytest.mark.slow
def test_one_person_sends_a_uniform_point_of_the_graph_and_uniform_dummies():
    """Every kind of message: Poisson dummies, and one more with probability 1 / seeds on the graph of the value."""
    protocol, rng = small(), np.random.default_rng(21)
    seeds, q = protocol.family.seeds, protocol.family.modulus
    mean = 12.0 / 10 / seeds
    rows = messages_of_one_person(protocol, 5, 2500, rng)
    own = buckets_of(protocol, 5)
    for seed, bucket in product(range(seeds), range(q)):
        dummies = poisson.pmf(np.arange(40), mean)
        expected = dummies
        if own[seed] == bucket:
            expected = (1 - 1 / seeds) * dummies + np.append(0, dummies[:-1]) / seeds
        assert_distribution(rows[:, seed * q + bucket], 0, expected)
    totals = rows.sum(axis=1) - 1
    assert_distribution(totals, 0, poisson.pmf(np.arange(60), 12.0 / 10 * q))
    for wrong in (0.7, 1.3):
        assert_not_distribution(totals, 0, poisson.pmf(np.arange(60), wrong * 12.0 / 10 * q))


@pytest.mark.slow
def test_pairs_of_messages_of_one_person_are_independent():
    """With almost no dummies: two values have seeds of their own, and so do the levels."""
    rng = np.random.default_rng(22)
    no_dummies = {"dummies": poisson_dummies(1e-12)}
    two = small(values_per_person=2, **no_dummies)
    levels = small(levels=2, **no_dummies)
    for protocol, offsets in ((two, (0, 0)), (levels, (0, levels.family.messages))):
        seen = Counter()
        for _ in range(2500):
            sent = protocol.randomize([[2, 7]], rng=rng) - offsets
            assert (sent >= 0).all()
            seeds = sent // 3
            assert protocol.family.buckets(seeds, np.array([2, 7])).tolist() == (sent % 3).tolist()
            seen[tuple(seeds.tolist())] += 1
        observed = np.array([seen[pair] for pair in product(range(9), repeat=2)])
        assert p_value(observed, np.full(81, 1 / 81)) > FALSE_FAILURE_RATE


@pytest.mark.slow
def test_a_dummy_is_independent_of_the_value():
    """Reports with exactly one dummy: the dummy's message is uniform, whatever seed the person's own message has."""
    protocol, rng = small(dummies=poisson_dummies(3.0)), np.random.default_rng(23)
    seen = Counter()
    for _ in range(8000):
        sent = protocol.randomize(5, rng=rng).tolist()
        if len(sent) == 2:
            seen[sent[0] // 3, sent[1]] += 1
    observed = np.array([seen[pair] for pair in product(range(9), range(27))])
    assert observed.sum() > 2430
    assert p_value(observed, np.full(243, 1 / 243)) > FALSE_FAILURE_RATE


def test_every_level_has_its_own_messages_and_dummies():
    protocol, rng = small(levels=3, dummies=poisson_dummies(2000.0)), np.random.default_rng(24)
    tally = protocol.tally(protocol.randomize(np.tile([1, 4, 7], (10, 1)), rng=rng))
    parts = [protocol.level(tally, level) for level in range(3)]
    assert sum(part.total for part in parts) == tally.total == tally.messages
    for value, part in zip((1, 4, 7), parts, strict=True):
        supports = protocol.estimator.statistic(part).counts
        assert (np.abs(supports - 2000) < 6 * math.sqrt(2020)).all()
        assert abs(part.total - 6010) < 6 * math.sqrt(6000)
        assert protocol.estimator.point(protocol.estimator.statistic(part))[value] == pytest.approx(10, abs=300)
    assert protocol.messages_per_user.expected == pytest.approx(3 + 3 * 3 * 200)


def test_rows_of_several_levels_are_checked():
    protocol = small(levels=3)
    for rows in ([[1, 2]], [1, 2, 8], [0.5, 1, 2], [[[1, 2, 3]]], [-1, 0, 0]):
        with pytest.raises(DataError):
            protocol.randomize(rows)
    with pytest.raises(ParameterError, match="levels"):
        protocol.sample_tally({3: 10})


# Privacy ------------------------------------------------------------------------------------------------------------


def test_only_dummies_of_honest_people_of_one_batch_count():
    target = Target(users=1000, bins=50, epsilon=1.0, delta=1e-6, honest_users=250)
    protocol = HashedHistogram.for_target(target)
    assert protocol.dummies.rate / 4 == pytest.approx(42.66, rel=1e-3)
    assert protocol.privacy == HashedCurve(
        rate=protocol.dummies.share(250, of=1000).rate, shared=1 / protocol.family.modulus
    )
    assert protocol.joined(3).privacy == protocol.privacy
    assert protocol.joined(3).dummies.rate == 3 * protocol.dummies.rate
    fewer = protocol.for_reports(900)
    assert fewer.honest == 150
    assert fewer.privacy.rate == pytest.approx(42.66 * 150 / 250, rel=1e-3)
    assert fewer.guarantee.epsilon > 1


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "rate"), [(1, 42.66), (8, 287.0), (16, 572.4)])
def test_every_level_is_composed(levels, rate):
    target = Target(users=10**6, bins=729 << 40, epsilon=1.0, delta=1e-6, padding_bins=0)
    protocol = HashedHistogram.for_levels(target, levels=levels, pieces=729)
    assert protocol.dummies.rate == pytest.approx(rate, rel=1e-3)
    assert protocol.messages_per_user.expected == pytest.approx(5 * levels, rel=0.01)
    assert protocol.privacy.delta(1.0) <= 1e-6
    assert protocol.privacy == HashedCurve(
        rate=protocol.dummies.rate, values=levels, shared=0.0 if levels > 1 else 1 / protocol.family.modulus
    )


@pytest.mark.slow
@pytest.mark.parametrize(("values", "users", "bins"), [(2, 1000, 5), (4, 1000, 1000), (8, 10**5, 10**6)])
def test_several_values_have_their_guarantee(values, users, bins):
    protocol = HashedHistogram.calibrate(users=users, bins=bins, epsilon=1.0, delta=1e-6, values_per_person=values)
    assert protocol.privacy.shared == 1 / protocol.family.modulus
    assert protocol.privacy.values == values
    assert 0.9e-6 < protocol.privacy.delta(1.0) <= 1e-6


def test_parameters_without_a_guarantee_are_refused():
    with pytest.raises(ParameterError, match="bins must be fewer"):
        HashedHistogram.calibrate(users=1000, bins=2**61, epsilon=1, delta=1e-6, values_per_person=2)
    expanded = HashFamily(modulus=3, values=8, pieces=3, seeds=EXPANDED_SEEDS)
    for changes, message in (
        ({"values_per_person": 2, "family": expanded}, "values_per_person"),
        ({"values_per_person": 2, "levels": 2}, "values_per_person"),
        ({"levels": 65}, "levels"),
        ({"family": HashFamily.of(modulus=3, values=9)}, "family"),
        ({"dummies": replace(poisson_dummies(1.0), size_weights=(2**39, 2**39))}, "one at a time"),
    ):
        with pytest.raises(ParameterError, match=message):
            small(**changes)


# Error --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", [(5, 5, 5), (5, 5, 0), (0, 1, 7), (6, 7, 4)])
def test_consistent_messages_are_binomial_over_all_seeds(held):
    """All 9^3 triples of seeds of three people, with fractions: c + Bin(3 - c, 1 / 3) for every value."""
    family = HashFamily.of(modulus=3, values=8)
    seeds, q = np.arange(family.seeds), Fraction(1, 3)
    matches = {
        (person, value): family.buckets(seeds, np.full(9, person)) == family.buckets(seeds, np.full(9, value))
        for person in held
        for value in range(8)
    }
    for value in range(8):
        totals = sum(np.meshgrid(*[matches[person, value].astype(int) for person in held], indexing="ij"))
        count = held.count(value)
        for others in range(4 - count):
            exact = math.comb(3 - count, others) * q**others * (1 - q) ** (3 - count - others)
            assert Fraction(int((totals == count + others).sum()), 9**3) == exact


def supports(protocol, held, runs, rng):
    """The statistics of many runs on the same people."""
    for _ in range(runs):
        yield protocol.estimator.statistic(protocol.tally(protocol.randomize(held, rng=rng)))


def crowd(values):
    """Some values that many hold, and some that nobody holds."""
    return np.concatenate([np.zeros(60, dtype=np.int64), np.arange(100) % (values // 2)])


CASES = {
    "mixed": ({"users": 160, "bins": 40}, crowd(40)),
    "one value": ({"users": 160, "bins": 40}, np.full(160, 17)),
    "expanded": ({"users": 160, "bins": 40, "expanded": True}, crowd(40)),
    "everybody holds one expanded value": ({"users": 160, "bins": 40, "expanded": True}, np.full(160, 17)),
    "sets": ({"users": 160, "bins": 40, "values_per_person": 2}, np.column_stack([crowd(40), 20 + crowd(40)])),
}


def case(name):
    fields, held = dict(CASES[name][0]), CASES[name][1]
    expanded = fields.pop("expanded", False)
    family = HashFamily.of(modulus=13, values=40)
    if expanded:
        family = replace(family, seeds=EXPANDED_SEEDS)
    return HashedHistogram(**fields, family=family, dummies=poisson_dummies(20.0)), held


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_estimates_cover_and_have_their_exact_distribution(name):
    """400 runs: coverage of intervals and errors, and the counts of a held and of an empty value against scipy."""
    protocol, held = case(name)
    rng, estimator = np.random.default_rng(25), protocol.estimator
    truth = np.bincount(held.ravel(), minlength=40)
    counts = np.array([statistic.counts for statistic in supports(protocol, held, RUNS, rng)])
    low, high = estimator.interval(counts, beta=0.05 / 40)
    assert ((low <= truth) & (truth <= high)).all(axis=1).sum() >= LEAST
    low, high = estimator.interval(counts, beta=0.05)
    assert (((low <= truth) & (truth <= high)).sum(axis=0) >= LEAST).all()
    errors, bound = np.abs(estimator.estimate(counts) - truth), protocol.error(0.05)
    assert (errors.max(axis=1) <= bound.simultaneous).sum() >= LEAST
    assert ((errors <= bound.per_bin).sum(axis=0) >= LEAST).all()
    assert (np.abs((estimator.estimate(counts) - truth).mean(axis=0)) < 6 * errors.std(axis=0) / 10).all()
    for value in (17, 39):
        others = np.arange(held.size - truth[value] + 1)
        pmf = np.convolve(binom.pmf(others, others[-1], 1 / 13), poisson.pmf(np.arange(120), 20.0))
        assert_distribution(counts[:, value], truth[value], pmf)
        for rate in (14.0, 26.0):
            wrong = np.convolve(binom.pmf(others, others[-1], 1 / 13), poisson.pmf(np.arange(120), rate))
            assert_not_distribution(counts[:, value], truth[value], wrong)


@pytest.mark.parametrize(("count", "messages"), [(0, 160), (159, 160), (160, 160), (160, 320)])
def test_the_estimator_uses_the_exact_distribution(count, messages):
    """Also if everybody holds the value, and nobody else is there to match it by chance."""
    protocol, _ = case("mixed")
    estimator = replace(protocol.estimator, messages=messages)
    window = estimator._distribution(count).window
    matches = np.arange(messages - count + 1)
    for k in (5, 20, 35, 60):
        exact = float(binom.pmf(matches, messages - count, 1 / 13) @ poisson.cdf(k - 1 - matches, 20.0))
        assert window.below(k) == pytest.approx(exact, rel=1e-9)
    assert estimator.variance(count) == pytest.approx(((messages - count) / 13 * (12 / 13) + 20) * (13 / 12) ** 2)


@pytest.mark.slow
def test_sampled_sets_need_only_the_counts():
    """Each value is hashed by itself, so the people who hold it do not matter: the sampled tally of sets is exact."""
    protocol, held = case("sets")
    truth = np.bincount(held.ravel(), minlength=40)
    rng = np.random.default_rng(26)
    drawn = np.array([protocol.estimator.statistic(protocol.sample_tally(truth, rng=rng)).counts for _ in range(RUNS)])
    for value in (0, 39):
        others = np.arange(320 - truth[value] + 1)
        pmf = np.convolve(binom.pmf(others, others[-1], 1 / 13), poisson.pmf(np.arange(120), 20.0))
        assert_distribution(drawn[:, value], truth[value], pmf)


def test_forged_and_foreign_messages():
    protocol = small()
    for messages in ([27], [-1]):
        with pytest.raises(DataError):
            protocol.tally(np.array(messages))
    counted = protocol.tally(Tally(np.array([26, 3]), np.array([2, 1])))
    assert counted.symbols.tolist() == [3, 26]
    assert counted.messages == 3
