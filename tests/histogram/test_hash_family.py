"""Hash families against their definition with plain integers: collisions, consistent values, exact arithmetic."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.histogram.hash_family import (
    EXPANDED_SEEDS,
    MOST_MESSAGES,
    MOST_MODULUS,
    HashFamily,
    is_prime,
    mix,
    next_prime,
)


def splitmix(state):
    """One output of SplitMix64 as published, with Python integers."""
    mask = (1 << 64) - 1
    z = (state + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def coefficient(family, seed, at):
    if family.seeds == EXPANDED_SEEDS:
        return splitmix(64 * seed + at) % family.modulus
    return seed // family.modulus**at % family.modulus


def bucket(family, seed, value):
    """The definition, with Python integers."""
    parent, piece = divmod(value, family.pieces)
    total, at = coefficient(family, seed, 0) * piece, 1
    while parent:
        parent, digit = divmod(parent, family.modulus)
        total, at = total + coefficient(family, seed, at) * digit, at + 1
    return total % family.modulus


FAMILIES = [
    HashFamily.of(modulus=2, values=2),
    HashFamily.of(modulus=2, values=13),
    HashFamily.of(modulus=3, values=1),
    HashFamily.of(modulus=5, values=4),
    HashFamily.of(modulus=5, values=117),
    HashFamily.of(modulus=7, values=60, pieces=4),
    HashFamily.of(modulus=11, values=83, pieces=1),
    HashFamily(modulus=7, values=100, pieces=7, seeds=EXPANDED_SEEDS),
    HashFamily(modulus=13, values=5 << 48, pieces=5, seeds=EXPANDED_SEEDS),
]

families = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f"{f.modulus}-{f.values}-{f.pieces}-{f.seeds}")


@families
def test_buckets_are_those_of_the_definition(family):
    rng = np.random.default_rng(11)
    seeds, values = rng.integers(0, family.seeds, size=300), rng.integers(0, family.values, size=300)
    expected = [bucket(family, seed, value) for seed, value in zip(seeds.tolist(), values.tolist(), strict=True)]
    assert family.buckets(seeds, values).tolist() == expected


@families
def test_supports_and_counts_are_those_of_the_definition(family):
    """Also for messages without a first coefficient, which are a share 1 / q of all, and for repeated messages."""
    rng = np.random.default_rng(12)
    messages = np.concatenate(
        [rng.integers(0, family.messages, size=150), rng.integers(0, family.messages, size=2).repeat(9)]
    )
    parents = np.arange(family.parents) if family.values < 1000 else rng.integers(0, family.parents, size=9)
    found = family.supports(messages, parents)
    assert found.shape == (parents.size, family.pieces)
    values = (parents[:, None] * family.pieces + np.arange(family.pieces)).ravel()
    expected = [
        sum(bucket(family, m // family.modulus, v) == m % family.modulus for m in messages.tolist())
        for v in values.tolist()
    ]
    assert found.ravel().tolist() == expected
    inside = values < family.values  # the last parent may have fewer pieces
    assert family.count(messages, values[inside]).tolist() == np.array(expected)[inside].tolist()


@pytest.mark.parametrize("first", [0, 1])
def test_messages_with_and_without_a_first_coefficient(first):
    family, rng = HashFamily.of(modulus=5, values=40), np.random.default_rng(13)
    seeds = rng.integers(0, 5, size=60) * 5 + first
    messages = seeds * 5 + rng.integers(0, 5, size=60)
    expected = [sum(bucket(family, m // 5, v) == m % 5 for m in messages.tolist()) for v in range(40)]
    assert family.supports(messages, np.arange(8)).ravel().tolist() == expected
    assert not family.supports(messages[:0], np.arange(8)).any()


@pytest.mark.parametrize(
    "family", [f for f in FAMILIES if f.seeds <= 1000], ids=lambda f: f"{f.modulus}-{f.values}-{f.pieces}"
)
def test_two_values_share_a_bucket_under_exactly_every_qth_seed(family):
    seeds = np.arange(family.seeds)
    rows = [family.buckets(seeds, np.full(seeds.size, value)) for value in range(family.values)]
    for one, other in combinations(rows, 2):
        assert family.modulus * np.count_nonzero(one == other) == family.seeds


def test_values_on_a_line_meet_all_at_once():
    """So that several values of a person can share one message: accounting must not assume pairs only."""
    family, seeds = HashFamily.of(modulus=5, values=25), np.arange(25)
    rows = np.array([family.buckets(seeds, np.full(25, value)) for value in (3, 4, 0, 1, 2)])
    together = (rows == rows[0]).sum(axis=0)
    assert Counter(together.tolist()) == {5: 5, 1: 20}


@pytest.mark.parametrize("modulus", [next_prime(MOST_MODULUS - 100), 8388617])
def test_arithmetic_is_exact_up_to_the_largest_modulus(modulus):
    """The largest digits and coefficients everywhere, and 64-bit values."""
    families = [
        HashFamily.of(modulus=modulus, values=modulus**2 // 4),
        HashFamily(modulus=modulus, values=1 << 62, pieces=16001, seeds=EXPANDED_SEEDS),
    ]
    rng = np.random.default_rng(14)
    for family in families:
        top = family.values - 1
        values = np.concatenate([[top, top - 1, 0, family.pieces - 1], rng.integers(0, family.values, size=20)])
        seeds = np.concatenate([[family.seeds - 1, family.seeds - 2, 0], rng.integers(0, family.seeds, size=20)])
        for value in values.tolist():
            expected = [bucket(family, seed, value) for seed in seeds.tolist()]
            buckets = family.buckets(seeds, np.full(seeds.size, value))
            assert buckets.tolist() == expected
            messages = seeds * modulus + buckets
            assert family.count(messages, np.array([value])).tolist() == [seeds.size]
            wrong = seeds * modulus + (buckets + 1) % modulus
            assert family.count(wrong, np.array([value])).tolist() == [0]
    small = families[1]  # rows of 16001 pieces
    value = np.array([small.values - 1])
    messages = seeds * modulus + small.buckets(seeds, np.full(seeds.size, value[0]))
    row = small.supports(messages, value // small.pieces)[0]
    assert row[value[0] % small.pieces] == seeds.size


def test_expanded_seeds_are_those_of_the_published_generator():
    words = np.array([0, 1, 64, 2**63, 2**64 - 1], dtype=np.uint64)
    assert mix(words).tolist() == [splitmix(word) for word in words.tolist()]
    assert splitmix(0) == 0xE220A8397B1DCDAF  # the first number of SplitMix64 from the seed 0


@pytest.mark.slow
def test_expanded_seeds_collide_about_every_qth_time():
    """Within 6 standard deviations, for random pairs and for pairs that differ in one digit; 30% more would fail."""
    family = HashFamily(modulus=101, values=3 << 48, pieces=3, seeds=EXPANDED_SEEDS)
    rng, number = np.random.default_rng(15), 100_000
    seeds = rng.integers(0, family.seeds, size=number)
    for one in rng.integers(0, family.values - 9, size=10).tolist():
        for other in (int(rng.integers(0, family.values)), one + 1):
            same = family.buckets(seeds, np.full(number, one)) == family.buckets(seeds, np.full(number, other))
            assert abs(same.sum() - number / 101) < 6 * np.sqrt(number / 101) < 0.3 * number / 101


def test_the_family_fits_a_machine_integer():
    assert not HashFamily.of(modulus=93787, values=10**6).expanded
    assert HashFamily.of(modulus=93787, values=10**6).messages == 93787**3
    long = HashFamily.of(modulus=13963, values=732 << 48, pieces=732)
    assert long.expanded
    assert long.messages == EXPANDED_SEEDS * 13963 <= MOST_MESSAGES
    at_limit = HashFamily.of(modulus=next_prime(1_600_000), values=10**9)
    assert not at_limit.expanded
    assert HashFamily.of(modulus=at_limit.modulus, values=10**9, levels=2).expanded


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"modulus": 6}, "prime"),
        ({"modulus": 1}, "prime"),
        ({"modulus": next_prime(MOST_MODULUS)}, "prime"),
        ({"pieces": 0}, "pieces"),
        ({"pieces": 8}, "pieces"),
        ({"seeds": 48}, "seeds"),
    ],
)
def test_bad_families_are_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        HashFamily(**{"modulus": 7, "values": 20, "pieces": 7, "seeds": 49, **changes})


def test_primes():
    assert [n for n in range(40) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
    assert not is_prime(10007 * 10007)
    assert next_prime(8) == 11
