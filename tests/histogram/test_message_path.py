"""Messages really made, shuffled and counted follow the distribution that privacy and error are computed from.

Each assertion fails on correct code with probability at most 1e-6 (see goodness.py); generators are seeded.
"""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from shuffledp import BinarySum, Histogram, Tally, shuffle
from shuffledp.histogram.shuffle import _permuted_in_buckets
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid
from tests.oracles.exact import shuffled_distribution
from tests.oracles.goodness import FALSE_FAILURE_RATE, assert_distribution, assert_not_distribution, p_value


def missing(protocol, tally, counts):
    """M of every bin: what is missing from (true count) + users."""
    return counts + protocol.users - tally.counts


def by_messages(protocol, values, rng):
    return protocol.tally(shuffle(protocol.randomize(values, rng=rng), rng=rng))


def one_by_one(protocol, values, rng):
    return protocol.tally(shuffle([protocol.randomize(int(v), rng=rng) for v in values], rng=rng))


def by_distribution(protocol, values, rng):
    return protocol.sample_tally(np.bincount(values, minlength=protocol.bins), rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [by_messages, one_by_one, by_distribution])
def test_every_coordinate_of_a_small_histogram(draw):
    protocol = Histogram(users=12, bins=3, missing_probability=0.25)
    values = np.array([0] * 5 + [1] * 7)
    counts = np.bincount(values, minlength=3)
    rng = np.random.default_rng(10)
    draws = np.array([missing(protocol, draw(protocol, values, rng), counts) for _ in range(2000)])
    for coordinate in range(3):
        assert_distribution(draws[:, coordinate], 0, protocol.noise.window.pmf)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [by_messages, one_by_one, by_distribution])
def test_joint_distribution_of_the_whole_tally_matches_enumeration(draw):
    protocol = Histogram(users=2, bins=2, missing_probability=0.375)
    values = np.array([0, 1])
    exact = Counter()
    for messages, probability in shuffled_distribution(
        protocol.randomizer_distribution(int(v)) for v in values
    ).items():
        exact[messages.count(0), messages.count(1)] += float(probability)
    rng = np.random.default_rng(11)
    seen = Counter(tuple(draw(protocol, values, rng).counts.tolist()) for _ in range(4000))
    assert set(seen) <= set(exact)
    outcomes = list(exact)
    observed = np.array([seen[o] for o in outcomes])
    assert p_value(observed, np.array([exact[o] for o in outcomes])) > FALSE_FAILURE_RATE


@pytest.mark.slow
@pytest.mark.parametrize("value", [0, 1, 2])
def test_one_persons_messages_follow_the_randomizers_distribution(value):
    protocol = Histogram(users=1, bins=3, missing_probability=0.375)
    distribution = protocol.randomizer_distribution(value)
    rng = np.random.default_rng(12)
    seen = Counter(tuple(sorted(protocol.randomize(value, rng=rng).tolist())) for _ in range(4000))
    assert set(seen) <= set(distribution)
    assert (
        p_value(np.array([seen[m] for m in distribution]), np.array([float(p) for p in distribution.values()]))
        > FALSE_FAILURE_RATE
    )


@pytest.mark.slow
@pytest.mark.parametrize("draw", [by_messages, by_distribution])
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.3])
def test_many_people_and_bins_with_negative_controls(draw, scale):
    users, bins = 3000, 400
    claimed = Binomial(trials=users, probability=round_up_to_grid(43 / users))
    protocol = Histogram(users=users, bins=bins, missing_probability=round_up_to_grid(scale * 43 / users))
    rng = np.random.default_rng(13)
    values = rng.integers(0, bins, users)
    counts = np.bincount(values, minlength=bins)
    draws = np.concatenate([missing(protocol, draw(protocol, values, rng), counts) for _ in range(8)])
    (assert_distribution if scale == 1.0 else assert_not_distribution)(draws, claimed.window.first, claimed.window.pmf)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.3])
def test_binary_sum_with_negative_controls(scale):
    users = 500
    claimed = Binomial(trials=users, probability=round_up_to_grid(0.08))
    protocol = BinarySum(users=users, missing_probability=round_up_to_grid(scale * 0.08))
    rng = np.random.default_rng(14)
    bits = np.arange(users) < 123
    messages = np.array([123 + users - by_messages(protocol, bits, rng).total for _ in range(2000)])
    distribution = np.array([123 + users - protocol.sample_tally(123, rng=rng).total for _ in range(2000)])
    for draws in (messages, distribution):
        (assert_distribution if scale == 1.0 else assert_not_distribution)(
            draws, claimed.window.first, claimed.window.pmf
        )


# the shuffler -----------------------------------------------------------------------------------------------------


def order_counts(permute, size, rounds, rng):
    orders = {order: i for i, order in enumerate(permutations(range(size)))}
    counts = np.zeros(len(orders), dtype=np.int64)
    for _ in range(rounds):
        counts[orders[tuple(permute(np.arange(size), rng).tolist())]] += 1
    return counts


def bucketed(messages, rng):
    """The bucket path on a tiny array: four buckets."""
    return _permuted_in_buckets(messages, rng, bucket_size=2)


def plain(messages, rng):
    return shuffle(messages, rng=rng)


def biased(messages, rng):
    """The textbook mistake: swap every place with any place."""
    messages = messages.copy()
    for i in range(messages.size):
        j = rng.integers(messages.size)
        messages[[i, j]] = messages[[j, i]]
    return messages


@pytest.mark.slow
@pytest.mark.parametrize(("permute", "rounds"), [(plain, 60_000), (bucketed, 1200)])
def test_every_order_is_equally_likely(permute, rounds):
    counts = order_counts(permute, 4, rounds, np.random.default_rng(15))
    assert p_value(counts, np.full(24, 1 / 24)) > FALSE_FAILURE_RATE


@pytest.mark.slow
def test_a_biased_shuffle_is_rejected():
    counts = order_counts(biased, 4, 20_000, np.random.default_rng(16))
    assert p_value(counts, np.full(24, 1 / 24)) <= FALSE_FAILURE_RATE


@pytest.mark.slow
def test_a_large_shuffle_keeps_the_multiset_and_moves_each_block_everywhere():
    size = 2_000_000
    messages = np.arange(size, dtype=np.uint32)
    shuffled = shuffle(messages, rng=np.random.default_rng(17))
    assert np.array_equal(np.sort(shuffled), messages)
    # of the messages in each tenth before, how many are in each tenth after: a hypergeometric table, nearly multinomial
    table = np.zeros((10, 10), dtype=np.int64)
    np.add.at(table, (shuffled // (size // 10), np.arange(size) // (size // 10)), 1)
    spread = ((table - size / 100) ** 2 / (size / 100)).sum()
    assert 25 < spread < 190  # chi-square with 81 degrees of freedom: outside with probability below 1e-9


def test_merging_parts_gives_the_tally_of_the_whole():
    protocol = Histogram.calibrate(users=1000, bins=50, epsilon=1, delta=1e-6)
    messages = protocol.randomize(np.arange(1000) % 50, rng=np.random.default_rng(18))
    parts = [protocol.tally(part) for part in np.array_split(messages, 7)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged + part
    assert merged == protocol.tally(messages)
    assert Tally.of(messages) == merged
